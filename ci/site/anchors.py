"""The name of a heading in a link: the same here as where the documents are read as files."""

import re

NO_LETTER = re.compile(r"[^\w\- ]")


def anchor(heading: str, _separator: str = "-") -> str:
    """`heading` in small letters, without marks, with a dash for each space."""
    return NO_LETTER.sub("", heading.strip().lower()).replace(" ", "-")
