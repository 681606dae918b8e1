"""Of every command: a document for programs, and names that a shell and a list can tell."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fencepost.ci.cli import COMMANDS, command_of, run
from fencepost.ci.completion import SOURCES, completing

TAKES_NAMES = {
    "lab": {"name"},
    "check": {"models", "--hazard"},
    "prove": {"--module"},
    "simulate": {"--mutant", "--steps", "--story"},
    "chaos": {"--story", "--from-counterexample", "--mutant"},
    "explain": {"name"},
    "faults explain": {"kind"},
    "conform selftest": {"--select", "--mutant"},
    "conform list": {"--profile", "--select", "--skip"},
    "conform explain": {"name"},
    "conform run": {"--profile", "--select", "--skip"},
    "bugs explain": {"bug"},
    "bugs run": {"bug"},
}
"""Command -> its parameters that name something which Fencepost knows beforehand."""
OTHER_TEXT = {
    *("--zookeeper", "--target", "--spark-master", "--shard", "--soak", "--network", "--every"),
    *("--table", "--bootstrap-server", "--replicas", "--replica-assignment", "--value", "--acks"),
    *("--offset", "--user", "--client-id", "--topic", "--broker", "--operation", "--host"),
    *("--allow-principal", "--deny-principal", "--prefix", "--renewer", "--owner"),
    *("named", "first", "second", "topic", "entries", "names", "token_id"),
}
"""Parameters of free text: addresses, sizes, and names that a user gave to something."""
LISTS = {
    "lab": ["lab", "--list"],
    "check": ["check", "--list"],
    "prove": ["prove", "--list"],
    "simulate": ["simulate", "--list"],
    "chaos": ["chaos", "--list"],
    "explain": ["explain", "--list"],
    "faults": ["faults", "list"],
    "conform": ["conform", "list"],
    "conform run": ["conform", "run", "--list"],
    "bugs": ["bugs", "list"],
    "mutants": ["mutants", "list"],
}
"""Command or group -> the command that names what can be named."""


def below(words: list[str], command: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  of typer
    """Each command of a tree by its words."""
    inner = vars(command).get("commands")
    if not inner:
        yield " ".join(words), command
    for name, one in (inner or {}).items():
        yield from below([*words, name], one)


def every_command() -> list[tuple[str, Any]]:
    return [found for name in COMMANDS for found in below([name], command_of(name))]


def name_of(parameter: Any) -> str:  # noqa: ANN401  of typer
    """The long option, or the name of an argument."""
    long = (str(option) for option in parameter.opts if option.startswith("--"))
    return next(long, str(parameter.name))


def test_every_command_has_a_document_for_programs() -> None:
    found = every_command()
    without = [
        words
        for words, command in found
        if "--json" not in {option for one in command.params for option in one.opts}
    ]

    assert without == []
    assert len(found) > 60


def test_every_name_is_completed_by_a_shell() -> None:
    completed = {
        words: {name_of(one) for one in command.params if one._custom_shell_complete}
        for words, command in every_command()
    }

    assert {words: names for words, names in completed.items() if names} == TAKES_NAMES


def test_a_new_parameter_of_text_is_a_name_or_free() -> None:
    """A parameter without a type of its own is in one of the two tables."""
    unknown = {
        (words, name_of(one))
        for words, command in every_command()
        for one in command.params
        if one.bare_type is str and name_of(one) not in TAKES_NAMES.get(words, set()) | OTHER_TEXT
    }

    assert unknown == set()


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_name_has_names_and_completes_them(kind: str) -> None:
    known = list(SOURCES[kind]())
    last = known[-1]

    assert len(known) > 1
    assert last in completing(kind)(last[:-1].upper())
    assert completing(kind)("no such name") == []


def test_every_command_that_takes_names_has_a_list() -> None:
    assert {words.split()[0] for words in TAKES_NAMES} <= set(LISTS)


@pytest.mark.parametrize("words", sorted(LISTS))
def test_names_are_listed_where_they_are_taken(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(LISTS[words]) == 0
    shown = capsys.readouterr().out
    assert run([*LISTS[words], "--json"]) == 0
    document = json.loads(capsys.readouterr().out)

    assert document
    assert len(shown.splitlines()) > 1


def test_what_simulate_takes_is_listed_by_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert "--mutant\tno_step_down" in lines
    assert "--story\tleader_pause" in lines
    assert run(["simulate", "--list", "--seed", "1"]) == 4


def test_a_list_of_labs_is_that_without_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab"]) == 0
    bare = capsys.readouterr().out
    assert run(["lab", "--list"]) == 0

    assert capsys.readouterr().out == bare
    assert run(["lab", "kip-101", "--list"]) == 4


def test_conform_run_lists_what_it_would_play(capsys: pytest.CaptureFixture[str]) -> None:
    def listed(*words: str) -> list[str]:
        assert run(["conform", *words, "--json"]) == 0
        return [row["id"] for row in json.loads(capsys.readouterr().out)["cases"]]

    assert listed("run", "--list") == listed("list", "--profile", "core")
    assert listed("run", "--list", "--select", "isr") == listed("list", "--select", "isr")
    assert run(["conform", "run", "--list", "--resume", "x"]) == 4


@pytest.mark.long
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fencepost expl", "explain"),
        ("fencepost chaos --sto", "--story"),
        ("fencepost chaos --story leader_pau", "leader_pause"),
        ("fencepost explain no_step_d", "no_step_down"),
        ("fencepost cluster st", "status"),
        ("fencepost lab kip-2", "kip-279"),
        ("fencepost simulate --steps no_step_d", "no_step_down"),
        ("fencepost conform run --profile cor", "core"),
    ],
)
def test_a_shell_completes_commands_options_and_names(line: str, expected: str) -> None:
    environment = {
        **os.environ,
        "_FENCEPOST_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(line.split()) - 1),
    }
    command = [sys.executable, "-m", "fencepost.ci"]

    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=120
    )

    assert expected in done.stdout.split(), done.stderr


SESSION = [
    ("cluster up --brokers 2 --network proxy", "brokers"),
    ("topics create t --replica-assignment 1:2", "created"),
    ("topics create t --if-not-exists", "created"),
    ("partitions add t --partitions 2", "partitions"),
    ("partitions remove t --partition 1", "removed"),
    ("configs set min.insync.replicas=1 --topic t", "set"),
    ("configs delete min.insync.replicas --topic t", "deleted"),
    ("acls add --allow-principal User:a --operation Read --topic t", "added"),
    ("acls remove --allow-principal User:a --operation Read --topic t", "removed"),
    ("quotas set 5 --user alice", "rate"),
    ("quotas remove --user alice", "rate"),
    ("elect t", "partitions"),
    ("coordinator billing", "address"),
    ("reassign execute t --replicas 1,2", "partitions"),
    ("cluster pause 2", "undo"),
    ("cluster resume 2", "proof"),
    ("cluster cut 1 2", "undo"),
    ("cluster mend 1 2", "proof"),
    ("cluster expire 2", "proof"),
    ("cluster kill 2", "undo"),
    ("cluster start 2", "is_running"),
    ("cluster stop 2", "is_running"),
    ("topics delete t", "deleted"),
    ("cluster down", "is_up"),
]
"""What changes a cluster, and a key of the document that tells it."""


@pytest.mark.long
@pytest.mark.zookeeper
def test_what_changes_a_cluster_tells_programs_what_came_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    told = dict[str, Any]()
    try:
        for line, _ in SESSION:
            assert run([*line.split(), "--json"]) == 0, line
            told[line] = json.loads(capsys.readouterr().out)
    finally:
        if "cluster down" not in told:
            run(["cluster", "down"])

    assert [line for line, key in SESSION if key not in told[line]] == []
    assert told["topics create t --if-not-exists"]["created"] is False
    assert told["cluster kill 2"]["undo"] == "fencepost cluster start 2"
