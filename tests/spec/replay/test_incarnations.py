"""A run in which topics are deleted and created again is replayed, not refused."""

from dataclasses import replace
from functools import partial

import pytest

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.replay.assignments import (
    Incarnation,
    first_incarnation,
    incarnations,
    partitions_of_run,
)
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Event, Projection, project, project_all
from fencepost.spec.replay.recorded_run import TraceFileLine, as_lines, recorded_run
from fencepost.spec.replay.tlc_run import run_tlc
from fencepost.spec.trace import TRACE_VERSION, Kind
from fencepost.spec.vocabulary import NEWEST_LEVEL
from fencepost.spec.znodes import TopicPartition, topic_path
from tests.impl.sim.build import calm
from tests.impl.sim.crashes import create, delete

ADDED_AGAIN = 4
"""In this seed a partition of a topic is removed and added once more."""

T0 = TopicPartition("t", 0)
LEVEL = 2
LIMIT_MS = 15_000


def with_two_incarnations() -> list[TraceFileLine]:
    cluster = VirtualCluster(calm(), "incarnations")
    cluster.tell_run("RunStarted", {"trace_version": TRACE_VERSION, "level": LEVEL})
    for ask in (create, delete, create):
        asked = ask(cluster, "t")
        limit_ms = cluster.scheduler.now_ms + LIMIT_MS
        assert cluster.scheduler.run_until(limit_ms, partial(getattr, asked, "is_granted"))
        cluster.scheduler.run_until(cluster.scheduler.now_ms + 2_000)
    cluster.tell_run("RunEnded", {})
    return list(as_lines(cluster.recorder.events))


def test_the_first_incarnation_of_a_deleted_topic_is_replayed_up_to_its_end() -> None:
    ordered = total_order(recorded_run("run", with_two_incarnations()))
    ((key, assigned),) = partitions_of_run(ordered).items()
    projection = project("run", LEVEL, ordered, key, assigned)

    markers = list(run_tlc([projection]))
    assert key == T0
    assert [marker.values[0] for marker in markers if marker.name == "accepted"] == [1]


@pytest.mark.tlc
def test_so_is_the_next_one_with_what_brokers_knew_before() -> None:
    ordered = total_order(recorded_run("run", with_two_incarnations()))
    ((key, assigned),) = partitions_of_run(ordered).items()
    first, second = project_all("run", LEVEL, ordered, key, assigned)
    untold = replace(second, events=tuple(e for e in second.events if not is_election(e)))

    assert (first.subject, second.subject) == ("t/0", "t/0, incarnation 2")
    assert {"ZkElect", "InitLeader", "BecomeLeader"} <= {e.fields["action"] for e in second.events}
    # Its controller was elected before the first incarnation ended.
    assert first.events[-1].line.event.mono_ns > election_of(second).line.event.mono_ns
    markers = run_tlc([second, untold])
    assert [marker.values[0] for marker in markers if marker.name == "accepted"] == [1]


def is_election(event: Event) -> bool:
    return event.fields["action"] == "ElectController"


def election_of(projection: Projection) -> Event:
    return next(filter(is_election, projection.events))


def test_a_partition_that_comes_again_begins_with_the_write_that_names_it() -> None:
    lines = as_lines(simulate_modelled(ADDED_AGAIN, level=NEWEST_LEVEL, mutant=None))
    ordered = total_order(recorded_run("run", lines))
    found = incarnations(ordered, TopicPartition("t", 1))

    begins = [topic_written(one) for one in found if one.since]

    assert begins[0].event.action == "SetData"


def topic_written(one: Incarnation) -> TraceFileLine:
    return next(line for line in one.lines if line.event.zxid == one.since)


def test_what_comes_after_the_deletion_is_another_incarnation() -> None:
    lines = with_two_incarnations()
    first = first_incarnation(lines, T0)
    deleted = lines[len(first)].event

    assert deleted.kind is Kind.ZOOKEEPER
    assert deleted.action == "Delete"
    assert (deleted.path or "").startswith(topic_path("t"))
    assert any(line.event.action == "StopReplica" for line in lines[len(first) :])
    assert first_incarnation(lines, TopicPartition("u", 0)) == lines
