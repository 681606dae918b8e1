"""The pages of the site that no file holds: labs as they are played, commands, names, the API."""

from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import count

from fencepost.ci.cli import COMMANDS, command_of, run
from fencepost.ci.screens.lab_screen import LEGEND, further_lines, show_orders, show_state
from fencepost.ci.site.api_pages import api_pages
from fencepost.ci.site.name_pages import name_pages, prose
from fencepost.conformance.whitebox.labs import ORDER, LabStop, play_lab

LOOK = "Look"
"""Heads the sentences on what is to be seen after a stop."""


def made_pages() -> Iterator[tuple[str, str]]:
    """Path and Markdown of each."""
    yield from ((f"labs/{name}.md", lab_page(name)) for name in ORDER)
    yield "reference/commands.md", commands_page()
    yield from ((f"reference/{kind}.md", text) for kind, text in name_pages())
    yield from api_pages()


def printed(*arguments: str) -> str:
    """What a command prints; raises `RuntimeError` when it does not end well."""
    with redirect_stdout(StringIO()) as out:
        code = run(arguments)
    if code:
        raise RuntimeError(f"fencepost {' '.join(arguments)} ended with code {code}")
    return out.getvalue()


def block(text: str) -> str:
    """`text` as a block, without spaces at the ends of lines."""
    lines = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
    return f"```text\n{lines}\n```"


def lab_page(name: str) -> str:
    """A lab as it is played: each stop with its words, steps, state and what to see."""
    lab = play_lab(name)
    if lab.difference:
        raise RuntimeError(f"lab {name} prints something else than its file says")
    parts = [
        f"# {name}",
        prose(lab.story.says),
        f"Stop by stop in a terminal: `fencepost lab {name}`.",
    ]
    parts.append(prose(LEGEND))
    numbers = count(1)
    for played in lab.runs:
        parts += [f"## {played.run_id}", prose(played.says)]
        parts += [text for stop in played.stops for text in _stop(next(numbers), stop)]
    parts += ["## Further", block("\n".join(further_lines(lab)))]
    return "\n\n".join(parts) + "\n"


def _stop(number: int, stop: LabStop) -> Iterator[str]:
    """The parts of one stop; its first sentence is its heading."""
    first, _, rest = " ".join(stop.says.split()).partition(". ")
    yield f"### {number}. {prose(first.rstrip('.'))}"
    if rest:
        yield prose(rest)
    with redirect_stdout(StringIO()) as out:
        show_orders(stop)
        if stop.after is not None:
            show_state(stop.before, stop.after)
    if out.getvalue():
        yield block(out.getvalue())
    if stop.look:
        yield f"**{LOOK}:** {prose(stop.look)}"


def commands_page() -> str:
    """Every command with its options, as `--help` has them."""
    parts = [
        "# All commands and options",
        "[Commands](../docs/commands.md) has them by what they are for.",
    ]
    for name in COMMANDS:
        below = vars(command_of(name)).get("commands")
        for words in [[name, inner] for inner in below] if below else [[name]]:
            parts += [f"## fencepost {' '.join(words)}", block(help_of(words))]
    return "\n\n".join(parts) + "\n"


def help_of(words: list[str]) -> str:
    """What `--help` prints."""
    return printed(*words, "--help")
