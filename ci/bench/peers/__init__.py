"""Other checkers beside ours, on the same histories."""
