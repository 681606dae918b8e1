"""Each lab prints what is kept of it, shows a loss and its repair, and names what is there."""

import json
import os
import pty
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.conformance.scenarios import STORIES
from fencepost.conformance.whitebox.labs import LABS, ORDER, lab_story, play_lab
from fencepost.fault_injection.stories.steps.story_step import SayStep
from fencepost.spec.tlc.models import load_models
from tests.labs import ends
from tests.test_documents import misspelt

KEPT = Path(__file__).parent / "labs"
ROOT = Path(__file__).resolve().parents[3]
VIOLATED = "violated: "

played_lab = cache(play_lab)


@pytest.mark.parametrize("name", ORDER)
def test_a_lab_prints_what_is_kept_of_it(
    name: str, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    assert run(["lab", name]) == 0

    told, kept = capsys.readouterr().out, KEPT / f"{name}.txt"
    if request.config.getoption("--rewrite-stories"):
        kept.write_text(told, encoding="utf-8")
    assert told == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ORDER)
def test_a_lab_violates_something_first_and_nothing_at_the_end(name: str) -> None:
    lab = played_lab(name)
    wrong = {
        run.run_id: {
            line
            for stop in run.stops
            for _, printed in stop.orders
            for line in printed
            if line.startswith(VIOLATED)
        }
        for run in lab.runs
    }

    first, *_, last = wrong.values()
    assert first
    assert not last
    assert lab.difference == ()


@pytest.mark.parametrize("name", ORDER)
def test_every_stop_says_what_is_done_and_what_to_look_at(name: str) -> None:
    for played in played_lab(name).runs:
        assert played.says
        assert len(played.stops) >= 5
        assert all(stop.says and stop.look and stop.orders for stop in played.stops)


@pytest.mark.parametrize("name", ORDER)
def test_the_same_steps_are_played_with_the_rule_and_without(name: str) -> None:
    story = lab_story(name)

    assert [one.run_id for one in story.runs if one.steps] == []
    assert isinstance(story.steps[0], SayStep)


@pytest.mark.parametrize("name", ORDER)
def test_what_a_lab_names_is_there(name: str) -> None:
    further = lab_story(name).further
    commands = [shlex.split(line) for line in further if line.startswith("fencepost ")]
    models = {model.name for model in load_models()}

    assert [word for words in commands for word in misspelt(words)] == []
    for _, command, *rest in commands:
        if command == "check":
            assert rest[0] in models
        if command == "chaos" and rest[0] == "--story":
            assert (STORIES / f"{rest[1]}.yaml").is_file()
        if command == "chaos" and rest[0] == "--from-counterexample":
            assert rest[1] in models
    assert {"check", "chaos"} <= {command for _, command, *_ in commands}
    pages = [line for line in further if not line.startswith("fencepost ")]
    assert pages
    assert [page for page in pages if not (ROOT / page).is_file()] == []


@pytest.mark.long
@pytest.mark.tlc
@pytest.mark.parametrize("line", ends("fencepost check "))
def test_the_models_that_labs_name_end_as_they_must(
    line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(shlex.split(line)[1:]) == 0

    assert "PASS: 1 of 1 model as expected" in capsys.readouterr().out


def test_the_list_has_every_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab"]) == 0

    told = capsys.readouterr().out
    assert sorted(path.stem for path in LABS.glob("*.yaml")) == sorted(ORDER)
    assert [name for name in ORDER if lab_story(name).says not in told] == []


def test_an_unknown_lab_is_told_with_the_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "kip101"]) == 4

    assert "there is no lab 'kip101'; did you mean kip-101?" in capsys.readouterr().err


def test_a_program_gets_all_states(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "kip-101", "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    second = told["runs"][0]["stops"][1]
    (partition,) = second["after"]["partitions"]
    assert partition["replicas"][1]["high_watermark"] == 0
    assert partition["replicas"][1]["log_end_offset"] == 1
    assert second["before"]["partitions"][0]["replicas"][1]["log_end_offset"] == 0


def on_a_terminal(arguments: list[str], typed: bytes) -> str:
    """What the command shows on a terminal of 80 columns on which that is typed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "fencepost.ci", *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "COLUMNS": "80", "TERM": "dumb"},
    )
    os.close(theirs)
    os.write(ours, typed)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(ours)
    assert process.wait(60) == 0
    return shown.decode()


def test_on_a_terminal_each_stop_waits_for_enter() -> None:
    on_its_own = on_a_terminal(["lab", "kip-279", "--no-wait"], b"")
    shown = on_a_terminal(["lab", "kip-101"], b"\nq\n")

    assert shown.count("[Enter: go on; q and Enter: end]") == 2
    assert "kip-101, level_1, 2 of 10" in shown
    assert "kip-101, level_1, 3 of 10" not in shown
    assert "Enter: go on" not in on_its_own
    assert "kip-279, until_they_agree, 12 of 12" in on_its_own


@pytest.mark.parametrize("name", ORDER)
def test_a_lab_fits_a_terminal_of_80_columns(name: str) -> None:
    lines = (KEPT / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    steps = " " * 4  # as long as they are in their file

    assert [line for line in lines if len(line.rstrip()) > 80 and not line.startswith(steps)] == []
