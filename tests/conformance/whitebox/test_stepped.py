"""Counterexamples on real processes: which can be led, and the verdict."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.conformance.adapters.command_line import CommandLine
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.stepped import (
    MOVES_FILE,
    SteppedPair,
    SteppedRun,
    follow,
    follow_file,
    select,
    shows,
)

RIDE = SteppedRun(
    level=2,
    mutant="m",
    moves=3,
    made=3,
    steps=2,
    refused="",
    found=("LeaderComplete",),
    decided=("LeaderComplete",),
    problem="",
    seconds=1.0,
    folder="f",
)
CLEAN = replace(RIDE, mutant="", found=(), refused="step 2, A of 1: no")
GUIDED = SteppedPair(
    name="m", row="m", violates="CommittedDurable", of=2, hazard=RIDE, repaired=CLEAN
)


def test_a_violation_with_the_hazard_and_none_without_is_a_pass() -> None:
    assert GUIDED.verdict is Verdict.PASS
    assert GUIDED.message == "the repair refuses step 2, A of 1"


def test_a_violation_that_does_not_appear_is_a_failure() -> None:
    silent = replace(GUIDED, hazard=replace(RIDE, found=("LeaderInIsr",)))

    assert silent.verdict is Verdict.FAIL
    assert silent.message == "CommittedDurable was to be seen, and LeaderInIsr was"


def test_a_violation_of_the_repaired_protocol_is_a_failure_before_all() -> None:
    broken = replace(
        GUIDED,
        hazard=replace(RIDE, problem="it stopped"),
        repaired=replace(CLEAN, found=("LogMatching",)),
    )

    assert broken.verdict is Verdict.FAIL
    assert broken.message == "violated without the hazard: LogMatching"


@pytest.mark.parametrize("side", ["hazard", "repaired"])
def test_moves_that_could_not_be_made_decide_nothing(side: str) -> None:
    stuck = replace(getattr(GUIDED, side), problem="at step 1, A of 1: no answer came")
    undecided = replace(GUIDED, **{side: stuck})

    assert undecided.verdict is Verdict.INCONCLUSIVE
    assert undecided.message == "at step 1, A of 1: no answer came"


def test_a_repaired_run_that_shows_nothing_is_vacuous() -> None:
    idle = replace(GUIDED, repaired=replace(CLEAN, decided=("LeaderInIsr",)))

    assert idle.verdict is Verdict.VACUOUS
    assert idle.message == "without the hazard nothing showed whether CommittedDurable holds"


def test_a_property_that_no_check_sees_is_no_failure_and_no_pass() -> None:
    unseen = replace(GUIDED, violates="RejectedCostsNothing", hazard=replace(RIDE, found=()))

    assert unseen.verdict is Verdict.NOT_OBSERVABLE
    assert unseen.message == "no check of a trace judges RejectedCostsNothing"


def test_a_property_that_is_a_check_is_shown_by_that_check() -> None:
    assert shows("LeaderInIsr", ["LeaderInIsr"])
    assert not shows("LeaderInIsr", ["LogMatching"])
    assert not shows("LeaderInIsr", [])


def test_a_row_is_known_by_its_name_and_by_its_schedules() -> None:
    (by_row,) = select(["high_watermark_from_leader_alone_two_leaders"])

    assert by_row == select(["high_watermark_from_leader_alone"])[0]
    assert len(select(["all"])) >= 30
    assert (
        select(["send_unwritten_decisions_obeyed"])[0]["row"] == "send_unwritten_decisions_obeyed"
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing_such", "unknown model nothing_such"),
        ("isr_changes", "isr_changes holds: it has no counterexample"),
        ("leader_ignores_command", "is a liveness property: its counterexample has no end"),
        ("leader_stays_outside", "the core is not stepped through Reassignment"),
    ],
)
def test_a_row_that_cannot_be_led_says_why(name: str, why: str) -> None:
    with pytest.raises(ChoiceError, match=why):
        select([name])


def test_an_implementation_without_stepped_runs_is_unsupported_and_not_begun(
    tmp_path: Path,
) -> None:
    foreign = CommandLine(command="./mine")
    why = "command does not declare what the run needs: "
    name = "leader_may_leave_isr"

    (pair,) = follow([name], out=tmp_path / "pair", implementation=foreign)
    left = tmp_path / "pair" / name / "hazard"
    _, run = follow_file(left / MOVES_FILE, out=tmp_path / "moves", implementation=foreign)

    assert (pair.verdict, pair.message) == (Verdict.UNSUPPORTED, f"{why}simulator, stepped runs")
    assert (run.verdict, run.problem, run.made) == (Verdict.UNSUPPORTED, f"{why}stepped runs", 0)
    assert [path.name for path in left.iterdir()] == [MOVES_FILE]
