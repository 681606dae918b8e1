"""The expressions of a TLA+ module as a tree over its text: enough of the language for the specs.

Bulleted lists follow TLA+'s rule: an item is what stands to the right of its bullet, up to the next
token that does not. Everything else is read by precedence.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from fencepost.ci.bench.mutation.tla.tokens import (
    TlaSyntaxError,
    Token,
    TokenKind,
    line_of,
    tokens_of,
)

INFIX = {
    **dict.fromkeys(("=>",), 1),
    **dict.fromkeys(("<=>", "~>"), 2),
    **dict.fromkeys(("/\\", "\\/"), 3),
    **dict.fromkeys(("=", "#", "/=", "<", ">", "<=", "=<", ">=", "\\leq", "\\geq"), 5),
    **dict.fromkeys(("\\in", "\\notin", "\\subseteq"), 5),
    **dict.fromkeys(("@@",), 6),
    **dict.fromkeys((":>",), 7),
    **dict.fromkeys(("\\cup", "\\union", "\\cap", "\\intersect", "\\"), 8),
    **dict.fromkeys(("..",), 9),
    **dict.fromkeys(("+", "\\X"), 10),
    **dict.fromkeys(("-",), 11),
    **dict.fromkeys(("*", "%", "\\div", "\\o"), 13),
    **dict.fromkeys(("^",), 14),
}
"""Infix operator -> how strongly it binds."""
PREFIX = {
    **dict.fromkeys(("~", "[]", "<>", "ENABLED"), 4),
    **dict.fromkeys(("UNCHANGED", "DOMAIN", "SUBSET", "UNION"), 9),
    "-": 12,
}
BULLETS = frozenset({"/\\", "\\/"})
QUANTIFIERS = frozenset({"\\A", "\\E", "CHOOSE", "LAMBDA"})
CLOSING = {"(": ")", "{": "}", "<<": ">>", "[": "]"}
_NO_DEFINITION = frozenset(
    {"EXTENDS", "CONSTANT", "CONSTANTS", "VARIABLE", "VARIABLES", "ASSUME", "THEOREM", "RECURSIVE"}
)


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of the text: what it is, its operator or name, and the expressions in it."""

    kind: str
    """`name`, `value`, `infix`, `prefix`, `list` (bulleted), `if`, `case`, `arm`, `let`,
    `definition`, `quantifier`, `apply`, `except`, `update`, or `group` for everything else."""
    symbol: str
    start: int
    end: int
    parts: tuple["Expression", ...] = ()

    def walk(self) -> Iterator["Expression"]:
        """It and all that is in it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def text_in(self, text: str) -> str:
        """Its part of the text."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class TlaModule:
    """A module: its text and its definitions."""

    name: str
    text: str
    definitions: dict[str, Expression] = field(hash=False)
    """Name -> body, `INSTANCE`s left out."""


def read_module(name: str, text: str) -> TlaModule:
    """The module; raises `TlaSyntaxError` where a definition is not read whole."""
    tokens = tokens_of(text)
    heads = [place for place in range(len(tokens)) if _begins_unit(tokens, place)]
    definitions = {}
    for head, end in zip(heads, [*heads[1:], len(tokens)], strict=True):
        if (found := _definition(text, tokens[head:end])) is not None:
            definitions[tokens[head].text] = found
    return TlaModule(name, text, definitions)


def _begins_unit(tokens: tuple[Token, ...], place: int) -> bool:
    return tokens[place].column == 0 and tokens[place].kind in {TokenKind.NAME, TokenKind.RULE}


def _definition(text: str, tokens: tuple[Token, ...]) -> Expression | None:
    """The body of a definition; None for what defines no operator."""
    head = tokens[0]
    if head.kind is TokenKind.RULE or head.text in _NO_DEFINITION:
        return None
    equals = next((place for place, token in enumerate(tokens) if token.text == "=="), None)
    if equals is None or tokens[equals + 1].text == "INSTANCE":
        return None
    reader = _Reader(text, tokens, equals + 1)
    body = reader.expression()
    if reader.place < len(tokens):
        raise reader.error("is not expected in the definition of " + head.text)
    return body


@dataclass(slots=True)
class _Reader:
    """Reads one definition from left to right."""

    text: str
    tokens: tuple[Token, ...]
    place: int
    columns: list[int] = field(default_factory=list)
    """Of the bullets of the items in which we are: what is not to the right of it ends one."""

    def error(self, what: str) -> TlaSyntaxError:
        token = self.tokens[min(self.place, len(self.tokens) - 1)]
        return TlaSyntaxError(f"line {line_of(self.text, token.start)}: {token.text!r} {what}")

    def peek(self) -> Token | None:
        """The next token, if it still belongs to the item that is read."""
        if self.place >= len(self.tokens):
            return None
        token = self.tokens[self.place]
        return token if not self.columns or token.column > self.columns[-1] else None

    def sees(self, *texts: str) -> bool:
        token = self.peek()
        return token is not None and token.kind is not TokenKind.STRING and token.text in texts

    def take(self, *texts: str) -> Token:
        """The next token, which must be one of these, if any are named."""
        token = self.peek()
        if token is None or (texts and token.text not in texts):
            raise self.error(f"stands where {' or '.join(texts) or 'an expression'} should")
        self.place += 1
        return token

    def expression(self, binding: int = 0) -> Expression:
        """As much as binds more strongly than `binding`."""
        left = self.operand()
        while (token := self.peek()) is not None and INFIX.get(token.text, 0) > binding:
            self.take()
            right = self.expression(INFIX[token.text])
            left = Expression("infix", token.text, left.start, right.end, (left, right))
        return left

    def operand(self) -> Expression:
        token = self.peek()
        if token is None:
            raise self.error("comes before an expression is whole")
        if token.text in BULLETS:
            return self.bullets(token)
        if (token.kind is TokenKind.SYMBOL and token.text in PREFIX) or token.text in PREFIX:
            self.take()
            part = self.expression(PREFIX[token.text] - 1)
            return Expression("prefix", token.text, token.start, part.end, (part,))
        return self.with_postfixes(self.primary(self.take()))

    def bullets(self, first: Token) -> Expression:
        """A list of items with the same bullet in the same column."""
        items = []
        while (token := self.peek()) and (token.text, token.column) == (first.text, first.column):
            self.take()
            self.columns.append(first.column)
            items.append(self.expression())
            self.columns.pop()
        return Expression("list", first.text, first.start, items[-1].end, tuple(items))

    def primary(self, token: Token) -> Expression:
        if token.kind in {TokenKind.NUMBER, TokenKind.STRING} or token.text == "@":
            return Expression("value", token.text, token.start, token.end)
        if token.text in QUANTIFIERS:
            return self.quantifier(token)
        if token.text in CLOSING:
            return self.bracketed(token)
        readers = {"IF": self.if_, "CASE": self.case, "LET": self.let}
        if token.text in readers:
            return readers[token.text](token)
        if token.kind is TokenKind.NAME:
            return self.name(token)
        self.place -= 1
        raise self.error("begins no expression")

    def name(self, token: Token) -> Expression:
        """A name, that of an instance's operator, or an operator with its arguments."""
        last = token
        while self.sees("!") and self.tokens[self.place + 1].kind is TokenKind.NAME:
            self.take("!")
            last = self.take()
        named = Expression("name", self.text[token.start : last.end], token.start, last.end)
        if named.symbol in {"WF_", "SF_"}:
            self.primary(self.take("<<"))
        if not self.sees("("):
            return named
        self.take("(")
        arguments = self.several(")")
        end = self.take(")").end
        return Expression("apply", named.symbol, token.start, end, tuple(arguments))

    def several(self, closing: str) -> list[Expression]:
        """Expressions with commas between them, up to `closing`, which is not taken."""
        parts: list[Expression] = []
        while not self.sees(closing):
            parts.append(self.expression())
            if not self.sees(closing):
                self.take(",")
        return parts

    def with_postfixes(self, inner: Expression) -> Expression:
        while token := self.peek():
            if token.text == "'":
                self.take()
                inner = Expression("group", "'", inner.start, token.end, (inner,))
            elif token.text == "!":  # of an instance with arguments: Instance(a)!Operator(b)
                self.take()
                operator = self.name(self.take())
                inner = Expression("group", "!", inner.start, operator.end, (inner, operator))
            elif token.text == ".":
                self.take()
                end = self.take().end
                inner = Expression("group", ".", inner.start, end, (inner,))
            elif token.text == "[":
                self.take()
                keys = self.several("]")
                end = self.take("]").end
                inner = Expression("group", "[", inner.start, end, (inner, *keys))
            else:
                break
        return inner

    def bounds(self, closing: str) -> list[Expression]:
        """The sets of bounds, `x, y` in `S` or `<<a, b>>` in `T`; `closing` is taken, too."""
        sets = []
        while not self.sees(closing):
            if self.sees("\\in"):
                self.take()
                sets.append(self.expression(INFIX["\\in"]))
            else:
                self.take()
        self.take(closing)
        return sets

    def quantifier(self, token: Token) -> Expression:
        sets = self.bounds(":")
        body = self.expression()
        return Expression("quantifier", token.text, token.start, body.end, (*sets, body))

    def if_(self, token: Token) -> Expression:
        condition = self.expression()
        self.take("THEN")
        then = self.expression()
        self.take("ELSE")
        other = self.expression()
        return Expression("if", "IF", token.start, other.end, (condition, then, other))

    def case(self, token: Token) -> Expression:
        arms = [self.arm()]
        while self.sees("[]"):
            self.take()
            arms.append(self.arm())
        return Expression("case", "CASE", token.start, arms[-1].end, tuple(arms))

    def arm(self) -> Expression:
        condition = self.expression()
        self.take("->")
        value = self.expression()
        return Expression("arm", "->", condition.start, value.end, (condition, value))

    def let(self, token: Token) -> Expression:
        definitions = []
        while not self.sees("IN"):
            name = self.take()
            while not self.sees("=="):
                self.take()
            self.take("==")
            body = self.expression()
            definitions.append(Expression("definition", name.text, name.start, body.end, (body,)))
        self.take("IN")
        body = self.expression()
        return Expression("let", "LET", token.start, body.end, (*definitions, body))

    def bracketed(self, token: Token) -> Expression:
        if token.text == "[":
            return self.square(token)
        parts = self.set_(token) if token.text == "{" else self.several(CLOSING[token.text])
        closing = (">>", ">>_") if token.text == "<<" else (CLOSING[token.text],)
        end = self.take(*closing)
        if end.text == ">>_":
            parts.append(self.primary(self.take()))
        return Expression("group", token.text, token.start, end.end, tuple(parts))

    def set_(self, _opening: Token) -> list[Expression]:
        """Elements, those of a set with a property, or what comes of each of a set."""
        parts = self.several_or_bound()
        if self.sees(":"):
            self.take()
            if len(parts) == 1 and _is_bound(parts[0]):
                return [parts[0].parts[1], self.expression()]
            return [*parts, *self.bounds_until_brace()]
        return parts

    def several_or_bound(self) -> list[Expression]:
        parts: list[Expression] = []
        while not self.sees("}", ":"):
            parts.append(self.expression())
            if self.sees(","):
                self.take()
        return parts

    def bounds_until_brace(self) -> list[Expression]:
        sets = self.bounds("}")
        self.place -= 1
        return sets

    def square(self, token: Token) -> Expression:
        """A function, a record, an EXCEPT, a set of functions or records, or `[A]_v`."""
        if parts := self.function_or_record():
            return self.closed(token, "[", parts)
        first = self.expression()
        if self.sees("EXCEPT"):
            self.take()
            updates = [self.update()]
            while self.sees(","):
                self.take()
                updates.append(self.update())
            return self.closed(token, "EXCEPT", [first, *updates])
        if self.sees("->"):
            self.take()
            return self.closed(token, "->", [first, self.expression()])
        if self.sees("]_"):
            self.take()
            variables = self.primary(self.take())
            return Expression("group", "]_", token.start, variables.end, (first, variables))
        raise self.error("is not expected behind [")

    def closed(self, token: Token, symbol: str, parts: list[Expression]) -> Expression:
        kind = "except" if symbol == "EXCEPT" else "group"
        return Expression(kind, symbol, token.start, self.take("]").end, tuple(parts))

    def function_or_record(self) -> list[Expression]:
        """The parts of a function over a set, of a record or a set of records; else none."""
        second = self.tokens[self.place + 1].text
        if second in {"|->", ":"}:
            return self.fields()
        mark = self.place
        if second in {"\\in", ","} or self.sees("<<"):
            sets = self.bounds("|->")
            return [*sets, self.expression()]
        self.place = mark
        return []

    def fields(self) -> list[Expression]:
        parts = []
        while True:
            self.take()
            self.take("|->", ":")
            parts.append(self.expression())
            if not self.sees(","):
                return parts
            self.take(",")

    def update(self) -> Expression:
        """`![b].x = e` of an EXCEPT."""
        start = self.take("!")
        keys: list[Expression] = []
        while not self.sees("="):
            if self.take("[", ".").text == "[":
                keys += self.several("]")
                self.take("]")
            else:
                self.take()
        end = self.take("=").start
        value = self.expression()
        path = self.text[start.start : end].strip()
        return Expression("update", path, start.start, value.end, (*keys, value))


def _is_bound(part: Expression) -> bool:
    return part.kind == "infix" and part.symbol == "\\in"
