"""The report of a run of the conformance suite: one page, a badge for each target."""
