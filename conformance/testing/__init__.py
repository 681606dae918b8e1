"""Chaos tests with pytest, also in other projects: the plugin, its fixtures, and how a run ends."""
