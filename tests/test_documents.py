"""The documents speak of what is there, and show every command."""

import ast
import re
import shlex
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from fencepost.ci.cli import COMMANDS, command_of
from fencepost.ci.site.api_pages import public_names
from fencepost.fault_injection.stories.story_file import read_story

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("spec", "impl", "conformance", "fault_injection", "reports", "ci", "tests")
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for room in (*ROOMS, "docs") for path in (ROOT / room).rglob("*.md")),
    ]
)
PATH = re.compile(rf"`((?:{'|'.join(ROOMS)}|\.ci)/[\w./-]*)`")
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)\)")
MADE_BY_A_RUN = "reports/runs"
COMMAND = r"(?:\.venv/bin/)?(?:fencepost |python -m fencepost\.|make [a-z])"
NEEDS_MORE = re.compile(r"^@mutant|^asyncio\.run|localhost|127\.0\.0\.1", re.MULTILINE)
"""A block that needs a cluster, or declares again what the suite has."""


def paths_in(document: Path) -> Iterator[Path]:
    """What a document names or links."""
    text = document.read_text()
    yield from (ROOT / path for path in PATH.findall(text) if not path.startswith(MADE_BY_A_RUN))
    yield from (document.parent / link for link in LINK.findall(text))


def test_every_path_in_a_document_exists() -> None:
    named = {(document, path) for document in DOCUMENTS for path in paths_in(document)}

    assert [f"{document}: {path}" for document, path in named if not path.exists()] == []


def test_every_module_in_the_readme_of_a_room_exists() -> None:
    texts = [(ROOT / room / "README.md").read_text() for room in ROOMS[:-1]]
    names = re.findall(r"`(?:[\w./]*/)?(\w+\.py)`", "\n".join(texts))
    there = {path.name for place in ROOMS for path in (ROOT / place).rglob("*.py")}

    assert sorted(set(names) - there) == []


def test_documents_of_the_root_are_there() -> None:
    lines = {path.stem: len(path.read_text().splitlines()) for path in ROOT.glob("*.md")}

    for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG"):
        assert lines[name] > 10


def commands() -> set[str]:
    """Every command of `fencepost`, with its group: `gate`, `cluster up`."""
    found = set()
    for name in COMMANDS:
        below = vars(command_of(name)).get("commands")
        found |= {f"{name} {inner}" for inner in below} if below else {name}
    return found


def test_every_command_that_starts_or_judges_something_is_shown() -> None:
    pages = (ROOT / "README.md").read_text() + (ROOT / "docs" / "commands.md").read_text()
    missing = {name for name in commands() if f"fencepost {name}" not in pages}

    assert missing == {"cluster status", "topics list", "topics describe", "reassign cancel"}


def command_lines(text: str) -> Iterator[list[str]]:
    """The words of each `fencepost`, `python -m` or `make` line, in a block or in a sentence."""
    shown = re.findall(rf"^\$? ?({COMMAND}.*)$", text, re.MULTILINE)
    for line in (*shown, *re.findall(rf"`({COMMAND}[^`]*)`", text)):
        yield shlex.split(line.replace("…", "").replace("...", ""), comments=True)


def command_and_options(words: list[str]) -> tuple[Any, set[str]]:
    """The command that a line calls, None when there is none; and the options that it names."""
    name, *rest = words
    command: Any = command_of(name) if name in COMMANDS else None
    below = vars(command).get("commands") if command else None
    if below and rest:
        command = below.get(rest[0])
    return command, {word.partition("=")[0] for word in rest if word.startswith("--")}


def misspelt(words: list[str]) -> list[str]:
    """What a command line names that is not there."""
    tool, *rest = Path(words[0]).name, *words[1:]
    if tool == "make":
        targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
        return [word for word in rest if word.isalpha() and word.islower() and word not in targets]
    if tool == "python":
        return [] if find_spec(rest[1]) else [rest[1]]
    if not rest or rest[0].startswith("--"):
        return []
    command, options = command_and_options(rest)
    if command is None:
        return [" ".join(rest[:2])]
    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
    return sorted(options - known - {"--help"})


def in_documents(wrong: Callable[[list[str]], list[str]]) -> list[str]:
    """What is wrong with a documented command, and in which document."""
    return [
        f"{document.relative_to(ROOT)}: {word}"
        for document in DOCUMENTS
        for words in command_lines(document.read_text())
        for word in wrong(words)
    ]


def test_every_command_and_option_in_a_document_exists() -> None:
    assert in_documents(misspelt) == []


PLACEHOLDER = re.compile(r"[A-Z_]+|.*\|.*|.*\.\w+|all")
"""What stands for a name, or is a file; all: each name."""


def unknown(words: list[str]) -> list[str]:
    """The values of a command line that its completion would never give."""
    tool, *rest = Path(words[0]).name, *words[1:]
    command = command_and_options(rest)[0] if tool == "fencepost" and rest else None
    if command is None or "commands" in vars(command):
        return []
    given = rest[1:] if command.name == rest[0] else rest[2:]
    context = command.make_context(command.name, given, resilient_parsing=True)
    return [
        f"{one.name} {value}"
        for one in command.params
        if getattr(one, "_custom_shell_complete", None)
        for value in as_list(context.params.get(one.name))
        if not PLACEHOLDER.fullmatch(value)
        and not {value, f"{value}/"}
        & {part for item in one.shell_complete(context, value) for part in parts_of(item.value)}
    ]


def parts_of(name: str) -> tuple[str, str]:
    """The name, and that of the group in which it is."""
    return name, f"{name.partition('/')[0]}/"


def as_list(value: object) -> list[str]:
    """Of an option that may be given once, or again and again."""
    return [str(one) for one in (value if isinstance(value, list | tuple) else [value]) if one]


def test_every_name_in_a_documented_command_is_known() -> None:
    assert in_documents(unknown) == []


def test_an_unknown_name_is_seen() -> None:
    lines = ["chaos --story leader_paws --story FILE", "explain LogMatch", "check no_step_down"]

    assert [unknown(["fencepost", *shlex.split(line)]) for line in lines] == [
        ["story leader_paws"],
        ["name LogMatch"],
        [],
    ]


def test_a_misspelt_command_is_seen() -> None:
    text = "`fencepost gate --sed 1` and\nmake gates\nfencepost topic list\n"

    assert [misspelt(words) for words in command_lines(text)] == [
        ["gates"],
        ["topic list"],
        ["--sed"],
    ]


def blocks(language: str) -> list[Any]:
    """Every block of a language in the documents."""
    fence = re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return [
        pytest.param(text, id=f"{path.relative_to(ROOT)}:{number}")
        for path in DOCUMENTS
        for number, text in enumerate(fence.findall(path.read_text()), start=1)
    ]


@pytest.mark.parametrize("block", blocks("python"))
def test_every_python_block_runs(
    block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or, where it needs a cluster or declares what exists: compiles, and its imports are there."""
    monkeypatch.chdir(tmp_path)
    tree = ast.parse(dedent(block))
    if block.startswith(" "):
        assert any(block in path.read_text() for path in (ROOT / "impl" / "core").rglob("*.py"))
        return
    if NEEDS_MORE.search(block):
        tree.body = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]

    exec(compile(tree, "block", "exec"), {"__name__": "block", "events": []})  # noqa: S102  our own documents


@pytest.mark.parametrize("block", blocks("yaml"))
def test_every_yaml_block_is_a_story(block: str, tmp_path: Path) -> None:
    path = tmp_path / "story.yaml"
    path.write_text(block)

    assert read_story(path).actions


def test_the_page_of_the_public_api_names_what_is_there() -> None:
    missing = [
        f"{module}.{name}"
        for module, name in sorted(set(public_names()))
        if not hasattr(import_module(module), name) and not find_spec(f"{module}.{name}")
    ]

    assert missing == []


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150
