"""The tokens of a TLA+ module, with their places; comments are no tokens."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_COMMENT_EDGE = re.compile(r"\(\*|\*\)")
_TOKEN = re.compile(
    r"""
      (?P<space>\s+|\\\*[^\n]*)
    | (?P<rule>----+|====+)
    | (?P<string>"(?:[^"\\]|\\.)*")
    | (?P<name>\d*[A-Za-z_]\w*)
    | (?P<number>\d+)
    | (?P<symbol>\\[A-Za-z]+|<=>|\|->|/\\|\\/|=>|->|<-|==|=<|>=|<=|/=|~>|:>|@@|\.\.|<<|>>_|>>|\]_
        |\[\]|<>|::|[][(){},:.!'~=\#<>+*@^%\\|&$-])
    """,
    re.VERBOSE,
)


class TlaSyntaxError(ValueError):
    """A text that is not read; the message is one sentence with the line."""


class TokenKind(StrEnum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    STRING = "string"
    SYMBOL = "symbol"
    RULE = "rule"
    """A line of `-` or `=`, which separates definitions or ends the module."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word of the text; `column` counts from 0."""

    kind: TokenKind
    text: str
    start: int
    column: int

    @property
    def end(self) -> int:
        """The offset behind it."""
        return self.start + len(self.text)


def tokens_of(text: str) -> tuple[Token, ...]:
    """All tokens; raises `TlaSyntaxError` for a character or comment that is none."""
    return tuple(_read(text))


def _read(text: str) -> Iterator[Token]:
    place = 0
    while place < len(text):
        if text.startswith("(*", place):
            place = _behind_comment(text, place)
            continue
        found = _TOKEN.match(text, place)
        if found is None:
            raise TlaSyntaxError(f"line {line_of(text, place)}: {text[place]!r} begins no token")
        place = found.end()
        if (kind := found.lastgroup) != "space":
            column = found.start() - (text.rfind("\n", 0, found.start()) + 1)
            yield Token(TokenKind(str(kind)), found[0], found.start(), column)


def _behind_comment(text: str, start: int) -> int:
    """Comments stand in each other."""
    depth = 0
    for edge in _COMMENT_EDGE.finditer(text, start):
        depth += 1 if edge[0] == "(*" else -1
        if depth == 0:
            return edge.end()
    raise TlaSyntaxError(f"line {line_of(text, start)}: a comment has no end")


def line_of(text: str, offset: int) -> int:
    """The number of the line, from 1, in which `offset` is."""
    return text.count("\n", 0, offset) + 1
