"""What reports cost, on traces that are made for it."""
