"""A run in which topics are deleted and created again is replayed, not refused."""

from functools import partial

from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.incarnations import first_incarnation
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import project
from fencepost.spec.replay.recorded_run import TraceFileLine, as_lines, recorded_run
from fencepost.spec.replay.tlc_run import run_tlc
from fencepost.spec.trace import TRACE_VERSION, Kind
from fencepost.spec.znodes import TopicPartition, topic_path
from tests.impl.sim.build import calm
from tests.impl.sim.crashes import create, delete

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


def test_what_comes_after_the_deletion_is_another_incarnation() -> None:
    lines = with_two_incarnations()
    first = first_incarnation(lines, T0)
    deleted = lines[len(first)].event

    assert deleted.kind is Kind.ZOOKEEPER
    assert deleted.action == "Delete"
    assert (deleted.path or "").startswith(topic_path("t"))
    assert any(line.event.action == "StopReplica" for line in lines[len(first) :])
    assert first_incarnation(lines, TopicPartition("u", 0)) == lines
