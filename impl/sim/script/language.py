"""The text of a scenario: commands, `----`, what they print; as in etcd's data-driven tests.

    # A comment, to the end of the line.
    create-topic t replicas=1,2,3
    at 1200ms kill broker=2
    ----
    ok

A block is one or more commands, the line `----`, and the expected output, which a blank line or
the end of the file ends. A command is a verb, words and `name=value` options; `at <time>` before it
puts it off. What the verbs mean is said in `stage.py` and `tests/scenarios/README.md`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

SEPARATOR = "----"
_OPTION = re.compile(r"([a-z][a-z_]*)=(.*)")
_TIME = re.compile(r"(\d+)(ms|s)?")
_MS_PER_S = 1000


class ScriptError(ValueError):
    """A scenario that cannot be played; one sentence that begins with file and line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One line of a block."""

    place: str
    """File and line, for errors."""
    at_ms: int | None = None
    """When it is done, in virtual milliseconds from now; None: at once."""
    verb: str
    words: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    def error(self, reason: str) -> ScriptError:
        """This line cannot be played."""
        return ScriptError(f"{self.place}: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Commands and what they print together."""

    first: int
    """Line number of the first command."""
    separator: int
    """Of `----`."""
    end: int
    """Of the first line after the expected output."""
    commands: tuple[Command, ...]
    expected: tuple[str, ...]


def parse(text: str, name: str) -> tuple[Block, ...]:
    """The blocks of a scenario called `name`; raises `ScriptError`."""
    lines = text.splitlines()
    blocks: list[Block] = []
    at = 0
    while (start := _next_command(lines, at)) is not None:
        block = _block(lines, start, name)
        blocks.append(block)
        at = block.end - 1
    if not blocks:
        raise ScriptError(f"{name}: there is no command; write one, then {SEPARATOR}")
    return tuple(blocks)


def rewritten(text: str, blocks: Sequence[Block], outputs: Sequence[Sequence[str]]) -> str:
    """The same text with these outputs; comments and commands stay as they are."""
    lines = text.splitlines()
    pieces: list[str] = []
    at = 0
    for block, output in zip(blocks, outputs, strict=True):
        pieces += [*lines[at : block.separator], *output]
        at = block.end - 1
    return "\n".join([*pieces, *lines[at:]]) + "\n"


def milliseconds(text: str) -> int:
    """`1200ms`, `2s` or plain `1200`; raises `ValueError` with a sentence."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no time; write 1200ms or 2s")
    return int(match[1]) * (_MS_PER_S if match[2] == "s" else 1)


def _next_command(lines: Sequence[str], at: int) -> int | None:
    """Index of the next line that is neither blank nor a comment."""
    return next((i for i in range(at, len(lines)) if _code(lines[i])), None)


def _code(line: str) -> str:
    """The line without its comment: `#` at the start, or after a space."""
    return re.split(r"(?:^|\s)#", line, maxsplit=1)[0].strip()


def _block(lines: Sequence[str], start: int, name: str) -> Block:
    commands: list[Command] = []
    index = start
    while index < len(lines) and lines[index].strip() != SEPARATOR:
        place = f"{name}:{index + 1}"
        if not lines[index].strip():
            raise ScriptError(f"{place}: the block of line {start + 1} has no {SEPARATOR}")
        if code := _code(lines[index]):
            commands.append(_command(code, place))
        index += 1
    if index == len(lines):
        raise ScriptError(f"{name}:{start + 1}: the block has no {SEPARATOR}")
    if not commands:
        raise ScriptError(f"{name}:{index + 1}: {SEPARATOR} without a command before it")
    end = next((i for i in range(index + 1, len(lines)) if not lines[i].strip()), len(lines))
    return Block(
        first=start + 1,
        separator=index + 1,
        end=end + 1,
        commands=tuple(commands),
        expected=tuple(line.rstrip() for line in lines[index + 1 : end]),
    )


def _command(code: str, place: str) -> Command:
    words = code.split()
    at_ms = None
    if words[0] == "at":
        if len(words) < 3:
            raise ScriptError(f"{place}: at needs a time and a command, as in at 1200ms kill ...")
        try:
            at_ms = milliseconds(words[1])
        except ValueError as error:
            raise ScriptError(f"{place}: {error}") from error
        words = words[2:]
    verb, *rest = words
    options: dict[str, str] = {}
    for option, value in _options(rest):
        if option in options:
            raise ScriptError(f"{place}: {option} is given twice")
        options[option] = value
    plain = tuple(word for word in rest if not _OPTION.fullmatch(word))
    return Command(place=place, at_ms=at_ms, verb=verb, words=plain, options=options)


def _options(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    for word in words:
        if match := _OPTION.fullmatch(word):
            yield match[1], match[2]
