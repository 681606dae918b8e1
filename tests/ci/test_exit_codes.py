"""One list of exit codes, and every command held to it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.core import TyperCommand, TyperGroup

from fencepost.ci import cli, exit_codes
from fencepost.ci.cli import COMMANDS, command_of, run
from fencepost.ci.exit_codes import INCOMPLETE, INTERRUPTED, MEANINGS, USAGE
from fencepost.conformance.suite.comparison import DIFFERS
from fencepost.conformance.verdict import ExitCode
from fencepost.impl.client.command import EXIT_INTERRUPTED

ROOT = Path(__file__).resolve().parents[2]


def leaves(name: str, command: TyperCommand | TyperGroup) -> Iterator[list[str]]:
    """The words of each command that does something."""
    if not isinstance(command, TyperGroup):
        yield [name]
        return
    for below, one in command.commands.items():
        assert isinstance(one, TyperCommand | TyperGroup)
        yield from ([name, *words] for words in leaves(below, one))


ALL = [words for name in COMMANDS for words in leaves(name, command_of(name))]


@pytest.mark.parametrize("words", ALL, ids=" ".join)
def test_every_command_ends_with_a_code_of_the_list(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words, "--help"]) == 0
    assert run([*words, "--no-such-option"]) == USAGE

    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith("fencepost: No such option: --no-such-option")


@pytest.mark.parametrize(
    ("raised", "code"),
    [(KeyboardInterrupt(), INTERRUPTED), (cli.Terminated(), INTERRUPTED), (OSError(5), 3)],
    ids=lambda one: type(one).__name__,
)
def test_however_a_command_ends_it_has_a_code_of_the_list(
    raised: BaseException, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(TyperCommand, "invoke", end)

    assert run(["faults", "list"]) == code
    assert code in MEANINGS


def test_a_code_that_means_nothing_is_a_defect_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(TyperCommand, "invoke", lambda *_: 7)

    assert run(["faults", "list"]) == INCOMPLETE
    assert "ended with 7, which means nothing; this is a defect" in capsys.readouterr().err


def test_no_command_writes_down_a_code_that_is_not_in_the_list() -> None:
    returned = [
        (path.name, node.value.value)
        for path in sorted((ROOT / "ci" / "commands").glob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Return) and isinstance(node.value, ast.Constant)
        if type(node.value.value) is int
    ]

    assert returned
    assert [found for found in returned if found[1] not in MEANINGS] == []


def test_the_list_is_the_same_wherever_it_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    table = [f"| {code} | {meaning} |" for code, meaning in sorted(MEANINGS.items())]

    assert {one.value for one in ExitCode} < MEANINGS.keys()
    assert MEANINGS.keys() - {one.value for one in ExitCode} == {DIFFERS, INTERRUPTED, 141}
    assert DIFFERS == exit_codes.DIFFERENT
    assert EXIT_INTERRUPTED == INTERRUPTED
    assert "\n".join(table) in (ROOT / "README.md").read_text()
    assert run(["--help"]) == 0
    assert " ".join(exit_codes.listed().split()) in " ".join(capsys.readouterr().out.split())
