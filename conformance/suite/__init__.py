"""The conformance suite: cases, profiles, runs over several targets, and what a run shows."""
