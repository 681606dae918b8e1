"""Runs of the core are behaviours of the spec; runs of a wrong core are not, and that is told."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fencepost.ci.cli import run as main
from fencepost.impl.sim.adapter import simulate, simulate_long, simulate_modelled
from fencepost.spec.replay.recorded_run import RecordedRun, as_lines, recorded_run
from fencepost.spec.replay.replay import (
    ZOOKEEPER,
    Replayed,
    ReplayReport,
    ReplayResult,
    line_text,
    replay,
)
from fencepost.spec.trace import BY_HAND, Kind
from tests.recorded import write_run

LEVELS = (0, 1, 2)
ALONE = "high_watermark_from_leader_alone"
HASTY = "acknowledge_before_replication"


def simulated(name: str, seed: int, level: int, mutant: str | None = None) -> RecordedRun:
    return recorded_run(name, as_lines(simulate_modelled(seed, level=level, mutant=mutant)))


@pytest.fixture(scope="module")
def found() -> ReplayReport:
    """Good runs of each level and two wrong ones, replayed together."""
    good = [
        simulated(f"level {level}, {seed}", seed, level) for level in LEVELS for seed in (40, 43)
    ]
    return replay([*good, *(simulated(mutant, 40, 2, mutant) for mutant in (ALONE, HASTY))])


def results_of(found: ReplayReport, run: str) -> list[ReplayResult]:
    return [result for result in found.results if result.run.startswith(run)]


def of_the_partition(found: ReplayReport, run: str) -> ReplayResult:
    """The result of the one partition; ZooKeeper did nothing wrong."""
    results = results_of(found, run)
    zookeeper, partition = sorted(results, key=lambda result: result.partition != ZOOKEEPER)
    assert zookeeper.verdict is Replayed.ACCEPTED
    return partition


@pytest.mark.tlc
@pytest.mark.parametrize("level", LEVELS)
def test_what_the_core_does_is_what_the_spec_allows(found: ReplayReport, level: int) -> None:
    results = results_of(found, f"level {level}")

    assert {result.verdict for result in results} == {Replayed.ACCEPTED}
    assert sum(result.events for result in results) > 300
    assert found.events == sum(result.events for result in found.results)


@pytest.mark.tlc
def test_a_long_run_is_one_behaviour_from_its_first_event_to_its_last() -> None:
    events = simulate_long(21, level=2, seconds=30)
    found = replay([recorded_run("long", as_lines(events))], partitions_max=1)

    assert {result.verdict for result in found.results} == {Replayed.ACCEPTED}
    assert found.events > 3_000


@pytest.mark.tlc
def test_a_leader_that_commits_alone_is_told_with_line_state_and_alternatives(
    found: ReplayReport,
) -> None:
    result = of_the_partition(found, ALONE)

    assert result.verdict is Replayed.REJECTED
    assert "the spec does not allow AdvanceHighWatermark (trace-broker-" in result.why
    explanation = result.explanation
    assert explanation is not None
    assert json.loads(line_text(explanation.event))["action"] == "AdvanceHighWatermark"
    assert isinstance(explanation.state, dict)
    leader = explanation.event.line.event.broker_id
    assert ("LeaderAppend", leader) in explanation.enabled
    assert isinstance(explanation.state["replicas"], list)
    assert leader is not None
    replica = explanation.state["replicas"][leader - 1]
    assert isinstance(replica, dict)
    assert replica["role"] == "leader"


@pytest.mark.tlc
def test_an_acknowledgement_before_replication_is_rejected(found: ReplayReport) -> None:
    result = of_the_partition(found, HASTY)

    assert result.verdict is Replayed.REJECTED
    assert "the spec does not allow Produce" in result.why


@pytest.mark.long
@pytest.mark.tlc
def test_the_command_replays_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path, 40)
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn" / "trace-broker-1-1.ndjson").write_bytes(b"{")

    code = main(["check", "--trace", str(tmp_path), "--json"])

    told = json.loads(capsys.readouterr().out)
    assert code == 3
    assert told["verdict"] == "ERROR"
    verdicts = {Path(row["run"]).name: row["verdict"] for row in told["replays"]}
    assert verdicts == {tmp_path.name: "accepted", "torn": "unreadable"}


def test_runs_in_two_folders_have_the_same_names(tmp_path: Path) -> None:
    for folder in (tmp_path / "a", tmp_path / "b"):
        (torn := folder / "chaos" / "torn").mkdir(parents=True)
        (torn / "trace-broker-1-1.ndjson").write_bytes(b"{")
        (result,) = replay((), folder / "chaos", named_below=folder).results

        assert (result.run, result.verdict) == ("chaos/torn", Replayed.UNREADABLE)


def test_the_command_says_in_a_sentence_that_there_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--trace", str(tmp_path / "none")]) == 4
    assert "it is not there" in capsys.readouterr().err


@pytest.mark.tlc
def test_what_an_implementation_does_not_show_is_told_and_not_replayed() -> None:
    run = simulated("unseen", 40, 2)
    observes = {"state_writes": "exact", "roles": "log", "elections": "exact"}
    run = replace(run, detail=msgspec.structs.replace(run.detail, observes=observes))

    zookeeper, partitions = replay([run]).results

    assert (zookeeper.partition, zookeeper.verdict) == (ZOOKEEPER, Replayed.ACCEPTED)
    assert partitions.verdict is Replayed.NOT_OBSERVABLE
    lacking = "roles, appends, high_watermarks, isr_changes"
    assert partitions.why == f"the spec needs every one of: {lacking}"


def test_the_refusal_of_a_command_by_hand_is_left_out() -> None:
    """No controller sent it, and it changes nothing.

    What is about an incarnation that the broker does not have is not told as a refusal.
    """
    lines = as_lines(simulate(40, level=2, mutant=None))
    sent = [line.event for line in lines if line.event.action == BY_HAND]
    known = max(one.partition_incarnation or 0 for one in sent)
    by_hand = [one for one in sent if one.partition_incarnation == known]

    kept = recorded_run("by hand", lines).lines

    left_out = [line for line in lines if line not in kept]
    assert len(left_out) == len(by_hand) > 0
    assert {line.event.kind for line in left_out} == {Kind.REFUSAL}
