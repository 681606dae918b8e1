"""Benchmarks: what is measured, how, and the target beside it. No test looks at a clock."""
