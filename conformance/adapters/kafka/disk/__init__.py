"""The data folder of a broker: segments, and the record of what survives a loss of power."""
