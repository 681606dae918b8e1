"""The first hour is played as it is written: its edit, its commands in order, what they print.

Sections 4 to 7 of `docs/first_hour.md`, then what `docs/write_a_check.md` begins with, in a copy of
the rooms that is under git, as a checkout is. The sections before have tests of their own.
A change of the core may give the seeds other runs: with `--rewrite-pages` the blocks of the pages
say what is printed now. Read the difference: the sentences around them, and lines of traces, are
yours to change.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fencepost.ci.gate.stages import STAGES
from tests.test_documents import ROOT

ROOMS = ("spec", "impl", "conformance", "fault_injection", "reports", "ci")
README = ROOT / "README.md"
FIRST_HOUR = ROOT / "docs" / "first_hour.md"
WRITE_A_CHECK = ROOT / "docs" / "write_a_check.md"
PLAYED = (
    (FIRST_HOUR, "## 4. ", "\nNext: "),
    (WRITE_A_CHECK, "## Look at a trace first", "\n## The function"),
)
"""A page, and what its played part begins and ends with."""
OF_THE_GATE = re.compile(r"^  seed \d+: (\w+): (.+) — (fencepost simulate .+)$", re.MULTILINE)
"""Invariant, sentence and command of a violation, as the README shows the end of a gate."""
COMMAND = re.compile(r"(fencepost|grep|git) ")
TRACE_LINE = re.compile(r"(?P<ms>\d+) ms +(?P<words>.+)")
COMMAND_S = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What stands between two fences."""

    page: Path
    language: str
    text: str

    @property
    def lines(self) -> tuple[str, ...]:
        """Without the widths of columns."""
        return tuple(map(plain, self.text.splitlines()))

    @property
    def is_session(self) -> bool:
        return all(COMMAND.match(line) for line in self.lines)


def blocks() -> Iterator[Block]:
    for page, begin, end in PLAYED:
        text = page.read_text()
        part = text[text.index(begin) :]
        fenced = r"^```(\w*)\n(.*?)^```$"
        for language, inside in re.findall(
            fenced, part[: part.index(end)], re.MULTILINE | re.DOTALL
        ):
            yield Block(page=page, language=language, text=inside)


def commands() -> list[str]:
    """The lines of Fencepost that are executed here."""
    lines = [line for block in blocks() if block.is_session for line in block.lines]
    return [line for line in lines if line.startswith("fencepost ")]


def plain(line: str) -> str:
    """Without the widths of columns."""
    return " ".join(line.split())


@dataclass(slots=True, kw_only=True)
class Checkout:
    """A copy of the rooms under git, and what was printed since the last block of commands."""

    folder: Path
    said: str = ""

    def made(self) -> "Checkout":
        for room in ROOMS:
            left_out = ("__pycache__", ".*_cache", *(["runs"] if room == "reports" else []))
            ignore = shutil.ignore_patterns(*left_out)
            shutil.copytree(ROOT / room, self.folder / room, ignore=ignore)
        shutil.copytree(ROOT / "fencepost", self.folder / "fencepost", symlinks=True)
        shutil.copy(ROOT / ".gitignore", self.folder)
        command = self.folder / "bin" / "fencepost"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m fencepost.ci "$@"\n')
        command.chmod(0o755)
        self.run("git init -q && git add impl/core")
        self.run("git -c user.name=test -c user.email=test commit -q -m begin")
        return self

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        places = (str(self.folder / "bin"), os.environ["PATH"])
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env={**os.environ, "PATH": ":".join(places), "PYTHONPATH": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=COMMAND_S,
            check=False,
        )

    def play(self, block: Block) -> None:
        """Each line ends as its output says: with 1 when that is a violation, else with 0."""
        self.said = ""
        for line in block.lines:
            done = self.run(line)
            self.said += done.stdout
            has_failed = re.search(r"^FAIL: ", done.stdout, re.MULTILINE) is not None
            assert done.returncode == has_failed, f"{line}\n{done.stdout}\n{done.stderr}"

    def edit(self, block: Block) -> None:
        """The rule that the page names, with `max` in the place of `min`."""
        (line,) = block.lines
        path = self.folder / "impl/core/rules/replication.py"
        text = path.read_text()
        assert text.count(line) == 1
        path.write_text(text.replace(line, line.replace("min(", "max(")))

    def shows(self, block: Block) -> bool:
        """Whether the lines were printed, one after the other; those of a trace in short."""
        if TRACE_LINE.fullmatch(block.lines[0]):
            events = [json.loads(line) for line in self.said.splitlines() if line[0] == "{"]
            return all(any(is_short_for(line, event) for event in events) for line in block.lines)
        said = "\n".join(map(plain, self.said.splitlines()))
        return "\n".join(block.lines) in said

    def now(self, block: Block) -> str:
        """What was printed from the block's first word to that of its last line."""
        said = [line.rstrip() for line in self.said.splitlines()]
        words = [first_word(line) for line in said]
        begin = words.index(first_word(block.lines[0]))
        end = words.index(first_word(block.lines[-1]), begin)
        return "".join(f"{line}\n" for line in said[begin : end + 1])


def first_word(line: str) -> str:
    """`- {run_ms` of a step."""
    return " ".join(re.split(r"[ :]+", line.strip())[: 2 if line.lstrip().startswith("-") else 1])


def is_short_for(line: str, event: dict[str, Any]) -> bool:
    """`4203 ms broker-4 action LeaderAppend offset=0 ...`: time, names and values of this event."""
    found = TRACE_LINE.fullmatch(line)
    assert found is not None
    node, kind, action, *rest = found["words"].split()
    if (node, kind, action) != (event["node"], event["kind"], event["action"]):
        return False
    told = {name: value for name, _, value in (word.partition("=") for word in rest) if value}
    values = [word for word in rest if "=" not in word]
    return (
        int(found["ms"]) == event["mono_ns"] // 1_000_000
        and all(str(event.get(name)) == value for name, value in told.items())
        and set(values) <= set(event.get("values", ()))
    )


def shown_by_readme() -> list[tuple[str, str, str]]:
    return OF_THE_GATE.findall(README.read_text())


def replace_in(page: Path, before: str, after: str) -> None:
    text = page.read_text()
    assert text.count(before) == 1, before
    page.write_text(text.replace(before, after))


def try_readme(checkout: Checkout, *, rewrites: bool) -> None:
    """Each violation that the README shows is what its command prints."""
    for invariant, sentence, command in shown_by_readme():
        row = re.search(
            rf"^\d+ +(\w+) +(.+?) +{command} *$", checkout.run(command).stdout, re.MULTILINE
        )
        assert row is not None, f"{command} violates nothing now: choose another seed"
        if rewrites:
            before, after = (
                f"{i}: {s} — {command}" for i, s in ((invariant, sentence), row.groups())
            )
            replace_in(README, before, after)
        else:
            assert row.groups() == (invariant, sentence)


@pytest.mark.long(seconds=1000)
def test_the_pages_lead_where_they_say(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    rewrites = bool(pytestconfig.getoption("--rewrite-pages"))
    checkout = Checkout(folder=tmp_path).made()
    for block in list(blocks()):
        if block.language == "python":
            checkout.edit(block)
            try_readme(checkout, rewrites=rewrites)
        elif block.is_session:
            checkout.play(block)
        elif rewrites and not checkout.shows(block):
            replace_in(block.page, block.text, checkout.now(block))
        else:
            assert checkout.shows(block), f"{block.lines}\n{checkout.said}"

    changed = checkout.run("git status --porcelain impl/core").stdout
    assert changed == "", "the page undoes its edit"
    assert (tmp_path / "broken" / "report.html").exists()
    assert list((tmp_path / "traces").glob("seed-2-*/trace-*.ndjson"))


def test_the_pages_have_an_edit_sessions_and_what_they_print() -> None:
    found = list(blocks())

    assert sum(block.language == "python" for block in found) == 1
    assert sum(block.is_session for block in found) > 6
    assert sum(not block.is_session and not block.language for block in found) > 5
    assert "fencepost simulate --seed 4 --out broken" in commands()


def test_the_readme_shows_every_stage_of_the_gate_and_two_violations() -> None:
    table = README.read_text().partition("\nstage     verdict")[2]
    rows = re.findall(r"^(\w+) +(?:PASS|FAIL) +\d", table, re.MULTILINE)

    assert rows == [stage.name for stage in STAGES]
    assert len(shown_by_readme()) == 2


def test_a_line_in_short_is_that_of_one_event_only() -> None:
    event = {
        "node": "client-1",
        "kind": "invoke",
        "action": "Produce",
        "mono_ns": 4_201_705_000,
        "acks": -1,
        "values": ["client-1/2/1"],
    }

    assert is_short_for("4201 ms client-1 invoke Produce acks=-1 client-1/2/1", event)
    assert not is_short_for("4202 ms client-1 invoke Produce acks=-1 client-1/2/1", event)
    assert not is_short_for("4201 ms client-1 invoke Produce acks=1", event)
    assert not is_short_for("4201 ms client-1 invoke Produce client-1/3/1", event)


def test_a_block_is_rewritten_from_its_first_word_to_that_of_its_last_line() -> None:
    said = "PASS: other\nseed  why   \n3     a\nFAIL: 1\nsteps:\n  - x\n  - {run_ms: 2}\n  - y\n"
    table = Block(page=README, language="", text="seed  why\n2 b\n5 c\nFAIL: 2\n")
    steps = Block(page=README, language="", text="steps:\n  - z\n  - {run_ms: 9}\n")
    checkout = Checkout(folder=Path(), said=said)

    assert not checkout.shows(table)
    assert checkout.now(table) == "seed  why\n3     a\nFAIL: 1\n"
    assert checkout.now(steps) == "steps:\n  - x\n  - {run_ms: 2}\n"
