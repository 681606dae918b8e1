"""Counterexamples on real processes: the verdict, and two of them the whole way."""

from dataclasses import replace
from pathlib import Path

import pytest

from conformance.adapter import UsageError
from conformance.guided import Guided, Ride, follow, select, shows
from conformance.scenario_run import read_folder
from conformance.verdict import Verdict
from spec.pacing import read_moves
from spec.trace import TraceEvent

QUICK = ("no_step_down", "controller_epoch_not_raised")
"""One that loses a record, and one of the control plane."""

RIDE = Ride(
    level=2,
    mutant="m",
    moves=3,
    made=3,
    steps=2,
    refused="",
    found=("LeaderComplete",),
    problem="",
    seconds=1.0,
    folder="f",
)
CLEAN = replace(RIDE, mutant="", found=(), refused="step 2, A of 1: no")
GUIDED = Guided(name="m", row="m", violates="CommittedDurable", of=2, hazard=RIDE, repaired=CLEAN)


def test_a_violation_with_the_hazard_and_none_without_is_a_pass() -> None:
    assert GUIDED.verdict is Verdict.PASS
    assert GUIDED.message == "the repair leaves it at step 2, A of 1: no"


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


def test_a_property_that_no_check_sees_is_no_failure_and_no_pass() -> None:
    unseen = replace(GUIDED, violates="UncleanOnlyIfIsrDead", hazard=replace(RIDE, found=()))

    assert unseen.verdict is Verdict.NOT_OBSERVABLE
    assert unseen.message == "no check of a trace judges UncleanOnlyIfIsrDead"


def test_a_property_that_is_a_check_is_shown_by_that_check() -> None:
    assert shows("LeaderInIsr", ["LeaderInIsr"])
    assert not shows("LeaderInIsr", ["LogMatching"])
    assert not shows("LeaderInIsr", [])


def test_a_row_is_known_by_its_name_and_by_its_schedules() -> None:
    (by_row,) = select(["high_watermark_from_leader_alone_two_leaders"])

    assert by_row == select(["high_watermark_from_leader_alone"])[0]
    assert len(select(["all"])) >= 30
    with pytest.raises(UsageError, match="no counterexample of nothing_such is kept"):
        select(["nothing_such"])


@pytest.mark.zookeeper
def test_processes_follow_counterexamples_move_by_move(tmp_path: Path) -> None:
    results = follow(QUICK, out=tmp_path)

    assert [(r.name, r.verdict, r.message[:27]) for r in results] == [
        (name, Verdict.PASS, "the repair leaves it at ste") for name in QUICK
    ]
    assert [(r.hazard.steps, r.hazard.made) for r in results] == [
        (r.of, r.hazard.moves) for r in results
    ]
    for name in QUICK:
        events, doubts = read_folder(tmp_path / name / "hazard")
        assert doubts == []
        assert read_moves(tmp_path / name / "hazard" / "moves.ndjson").name == name
        assert awake(events) == {name}
        assert awake(read_folder(tmp_path / name / "repaired")[0]) == set()


def awake(events: list[TraceEvent]) -> set[str | None]:
    """The mutants that brokers say they have."""
    return {event.detail for event in events if event.action == "MutantAwake"}
