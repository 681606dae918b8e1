"""TLC's printed values as JSON-able ones.

Numbers, strings and booleans stay; sequences and sets become lists, records and functions become
objects with text keys, and a model value becomes its name.
"""

import re
from dataclasses import dataclass

Value = int | str | bool | list["Value"] | dict[str, "Value"]

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|-?\d+|\w+|<<|>>|\|->|:>|@@|\.\.|[{}\[\](),])')


class TlaValueError(ValueError):
    """A text that is not a value as TLC prints it."""


def parse_value(text: str) -> Value:
    """The value of a text such as `<<1, {2}, [a |-> TRUE]>>`; raises `TlaValueError`."""
    reader = _Reader(tokens=_tokens(text))
    value = reader.value()
    if not reader.is_done():
        raise TlaValueError(f"unexpected {reader.tokens[reader.at]!r} after a value")
    return value


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    at = 0
    end = len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            raise TlaValueError(f"cannot read {text[at : at + 40]!r}")
        tokens.append(match[1])
        at = match.end()
    return tokens


@dataclass(slots=True)
class _Reader:
    tokens: list[str]
    at: int = 0

    def is_done(self) -> bool:
        return self.at == len(self.tokens)

    def take(self) -> str:
        if self.is_done():
            raise TlaValueError("the value ends too early")
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, token: str) -> None:
        found = self.take()
        if found != token:
            raise TlaValueError(f"expected {token!r}, found {found!r}")

    def next_is(self, token: str) -> bool:
        return not self.is_done() and self.tokens[self.at] == token

    def value(self) -> Value:
        token = self.take()
        match token:
            case "<<":
                return self.items(">>")
            case "{":
                return self.items("}")
            case "[":
                return self.fields("|->", ",", "]")
            case "(":
                return self.fields(":>", "@@", ")")
            case "TRUE" | "FALSE":
                return token.startswith("T")
            case _:
                return self.simple(token)

    def simple(self, token: str) -> Value:
        if token.startswith('"'):
            return re.sub(r"\\(.)", r"\1", token[1:-1])
        if re.fullmatch(r"-?\d+", token):
            return self.number_or_interval(int(token))
        if token.isidentifier():
            return token
        raise TlaValueError(f"unexpected {token!r}")

    def number_or_interval(self, first: int) -> Value:
        if not self.next_is(".."):
            return first
        self.take()
        return list(range(first, int(self.take()) + 1))

    def items(self, end: str) -> Value:
        found: list[Value] = []
        while not self.next_is(end):
            found.append(self.value())
            if not self.next_is(end):
                self.expect(",")
        self.take()
        return found

    def fields(self, arrow: str, separator: str, end: str) -> Value:
        found: dict[str, Value] = {}
        while not self.next_is(end):
            key = self.value()
            self.expect(arrow)
            found[str(key)] = self.value()
            if not self.next_is(end):
                self.expect(separator)
        self.take()
        return found
