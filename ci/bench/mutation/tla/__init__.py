"""TLA+ as text that can be edited: tokens, expressions, definitions, and the edits."""
