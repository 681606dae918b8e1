"""A person may depose a controller and a disk may forget; a stranger's state ends a replay."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from fencepost.conformance.checks.registry import judge
from fencepost.fault_injection.faults.admin_faults import KickController
from fencepost.fault_injection.faults.fault import Fault
from fencepost.impl.sim.adapter import play_story
from fencepost.impl.sim.stories.play import play
from fencepost.impl.sim.world.admin_workload import write_bad_topic
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.offices import NO_BROKER
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Projection, project
from fencepost.spec.replay.recorded_run import TraceFileLine, as_lines, recorded_run
from fencepost.spec.replay.tlc_run import Marker, run_tlc
from fencepost.spec.trace import TRACE_VERSION, Kind, TraceEvent
from fencepost.spec.znodes import topic_path
from tests.impl.sim.build import calm, inject, run_for, settled, topic

LEVEL = 2


def run_with(*faults: Fault, has_bad_topic: bool = False) -> list[TraceFileLine]:
    cluster = VirtualCluster(calm(*((100, fault) for fault in faults)), "run")
    started = json.dumps({"trace_version": TRACE_VERSION, "level": LEVEL})
    harness = cluster.recorder.node("start")
    harness.write({"kind": Kind.RUN, "action": "RunStarted", "detail": started})
    topic(cluster)
    if has_bad_topic:
        write_bad_topic(cluster)
    assert settled(cluster)
    inject(cluster)
    run_for(cluster, 2_000)
    harness.write({"kind": Kind.RUN, "action": "RunEnded", "detail": "{}"})
    return list(as_lines(cluster.recorder.events))


def projected(lines: list[TraceFileLine]) -> Projection:
    ordered = total_order(recorded_run("run", lines))
    ((key, assigned),) = partitions_of_run(ordered).items()
    return project("run", LEVEL, ordered, key, assigned)


def actions(projection: Projection) -> list[object]:
    return [event.fields["action"] for event in projection.events]


@pytest.mark.tlc
def test_a_replay_goes_on_where_a_person_deposes_the_controller() -> None:
    lines = run_with(KickController())
    silent = [line for line in lines if line.event.kind is not Kind.FAULT]

    told, untold = projected(lines), projected(silent)

    by_hand = {"action": "ZkDismiss", "broker_id": NO_BROKER}
    at = next(at for at, event in enumerate(told.events) if event.fields == by_hand)
    assert told.ended == ""
    assert "ElectController" in actions(told)[at:]
    # Without the fault in the trace it is a deletion that the spec does not have.
    assert actions(untold)[at] == "Unknown"
    assert found(run_tlc([told, untold])) == [("accepted", 1)]


def test_a_run_ends_where_a_stranger_writes_the_state_and_says_so() -> None:
    lines = run_with(KickController())
    states = [line for line in lines if is_state(line)]
    by_stranger = replace(states[-1], event=structs.replace(states[-1].event, session_id=99))

    ended = projected([by_stranger if line == states[-1] else line for line in lines]).ended

    assert ended.endswith(f"a client that is no broker wrote {states[-1].event.path}")


def is_state(line: TraceFileLine) -> bool:
    return line.event.kind is Kind.ZOOKEEPER and "leaderAndISR" in (line.event.path or "")


def test_a_topic_that_cannot_be_read_has_no_partition_and_hides_no_other() -> None:
    bad = run_with(has_bad_topic=True)

    assert any(line.event.path == topic_path("bad") for line in bad)
    assert projected(bad).partition.topic == "t"
    assert "BecomeLeader" in actions(projected(bad))


def run_with_a_kill(wipe: str) -> list[TraceFileLine]:
    kill = {"id": "kill", "kind": "proc.kill", "target": 2, "for_ms": 300, "params": {"wipe": wipe}}
    events = play_story({"schema": 1, "id": "a", "actions": [kill]}, level=LEVEL)
    return total_order(recorded_run("run", as_lines(events)))


def of_each_partition(lines: list[TraceFileLine]) -> list[Projection]:
    partitions = partitions_of_run(lines).items()
    return [project("run", LEVEL, lines, key, assigned) for key, assigned in partitions]


@pytest.mark.tlc
def test_a_replay_goes_on_past_a_disk_that_lost_records() -> None:
    lines = run_with_a_kill("all")
    told = of_each_partition(lines)
    silent = of_each_partition([line for line in lines if line.event.kind is not Kind.FAULT])

    assert [one.ended for one in told] == [""] * 3
    # Without the fault in the trace it is a start that the spec does not have.
    markers = run_tlc([*told, *silent])
    assert sorted(found(markers)) == [("accepted", number) for number in (1, 2, 3)]


@pytest.mark.tlc
def test_what_is_lost_with_a_disk_is_found_where_it_is_lost() -> None:
    story = Path("tests/stories/h2b_next_controller_forgets.yaml").read_text()
    runs = [one for trace in play(story, judge).traces for one in of_each_partition(whole(trace))]

    markers = run_tlc(runs)

    assert sorted(found(markers)) == [("accepted", 2), ("accepted", 3), ("violated", 1)]
    (violated,) = (marker for marker in markers if marker.name == "violated")
    assert violated.values[2] == ["LeaderComplete"]


def found(markers: Sequence[Marker]) -> list[tuple[str, int]]:
    return [(marker.name, int(str(marker.values[0]))) for marker in markers]


def whole(trace: Sequence[TraceEvent]) -> list[TraceFileLine]:
    """A run of a story, which does not say that it ended."""
    begun = next(event for event in trace if event.action == "RunStarted")
    last = max(event.seq for event in trace if event.node == begun.node)
    ends = structs.replace(begun, action="RunEnded", seq=last + 1, mono_ns=trace[-1].mono_ns + 1)
    return total_order(recorded_run("run", as_lines([*trace, ends])))


def test_a_disk_that_lost_nothing_ends_no_replay() -> None:
    assert [one.ended for one in of_each_partition(run_with_a_kill("none"))] == [""] * 3


def test_what_a_stranger_asks_to_write_is_no_wish_of_a_broker() -> None:
    lines = run_with_a_kill("none")
    at = next(
        index
        for index, line in enumerate(lines)
        if line.event.kind is Kind.INVOKE and line.event.action == "WriteLeaderAndIsr"
    )
    by_stranger = structs.replace(lines[at].event, node="harness", broker_id=None)
    more = [*lines[:at], replace(lines[at], event=by_stranger), *lines[at:]]

    of_all = [actions(one) for one in of_each_partition(lines)]
    assert [actions(one) for one in of_each_partition(more)] == of_all
    assert any("WriteAsked" in told for told in of_all)
