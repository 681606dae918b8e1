"""Edits of Python, and the processes in which they are judged."""
