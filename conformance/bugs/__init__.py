"""Bugs of real releases, each as a story that shows it: `bugs.toml` and `stories/`."""
