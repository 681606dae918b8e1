"""What a person sees while something runs: a bar on a terminal, plain lines elsewhere.

Progress goes to stderr, so that stdout holds the result alone and a machine can read it.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from textwrap import TextWrapper
from unicodedata import category

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

LINE_EVERY_S = 5.0
"""Where there is no terminal, at most one line of progress in this time."""

PIPE_WIDTH = 2000
"""Columns where output is no terminal; a row is as wide as what is in it."""

FURTHER_IN = 12
"""Columns before what did not fit on its line."""

SPACE = "Zs"
"""What Unicode calls spaces of any width: they move no cursor but forward."""

Advance = Callable[[int, int, str], None]
"""Called with what is done, what there is to do, and what was last seen to happen."""


@contextmanager
def progress(title: str) -> Iterator[Advance]:
    """Show how far something is; yields the function to call with each step."""
    console = Console(stderr=True)
    if console.is_terminal:
        with _bar(title, console) as advance:
            yield advance
    else:
        yield _lines(title)


@contextmanager
def _bar(title: str, console: Console) -> Iterator[Advance]:
    columns = (
        TextColumn("{task.description:10}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=None, text="")

        def advance(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, text=text)

        yield advance


def _lines(title: str) -> Advance:
    last = -LINE_EVERY_S

    def advance(done: int, total: int, text: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LINE_EVERY_S or done == total:
            last = now
            print(f"{title}: {done}/{total} {text}".rstrip(), file=sys.stderr, flush=True)

    return advance


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; on a pipe it is as wide as its content, so that grep finds whole rows."""
    console = Console() if sys.stdout.isatty() else Console(width=PIPE_WIDTH, highlight=False)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    console.print(table)


def printable(text: str) -> str:
    """`text` with every control character, and what is no character, written as an escape."""
    return "".join(
        c if c.isprintable() or category(c) == SPACE else c.encode("unicode_escape").decode()
        for c in text
    )


def show_json(value: object) -> None:
    """Print `value` as one JSON document."""
    print(json.dumps(value, indent=2, sort_keys=True))


def tell(document: Mapping[str, object], *sentences: str, as_json: bool) -> None:
    """Print what came of a command: its sentences, or for programs the same as a document."""
    if as_json:
        show_json(document)
        return
    for sentence in sentences:
        say(sentence)


def note(message: str) -> None:
    """Print one line beside the result, on stderr."""
    print(message, file=sys.stderr, flush=True)


def complain(message: str) -> None:
    """Print what is wrong on stderr, as one line."""
    note(f"fencepost: {' '.join(message.split())}")


def say(message: str) -> None:
    """Print one line of the result, at once."""
    print(message, flush=True)


def say_fitted(text: str) -> None:
    """Print lines of the result; on a terminal what is too long goes on further in."""
    lines = text.splitlines()
    if sys.stdout.isatty():
        fold = TextWrapper(
            width=Console().width, subsequent_indent=" " * FURTHER_IN, break_on_hyphens=False
        )
        lines = [part for line in lines for part in fold.wrap(line) or [""]]
    print("\n".join(lines))


def _cell(value: object) -> str | Text:
    if isinstance(value, Text):
        return value
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value).replace("[", "\\[")
