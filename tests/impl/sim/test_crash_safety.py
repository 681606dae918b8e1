"""What takes several writes survives the death of the controller between any two of them.

The next controller completes it (PART-001, PART-002, REAS-003).
"""

from dataclasses import replace
from itertools import takewhile

import pytest

from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    Reassignment,
    RemovePartitionsRequest,
    Request,
)
from fencepost.impl.core.types.topic_messages import ReplicaList
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import CONTROLLER, TopicPartition, parse_controller
from tests.impl.sim.build import T0, calm, run_for, settled, topic, violated

T1 = TopicPartition("t", 1)
WRITES_MAX = 12
"""Of a controller, for one change: more would not be few."""


def brokers(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def move(*replicas: int) -> Request:
    one = Reassignment(topic="t", partition=0, replicas=brokers(*replicas))
    return AlterPartitionReassignmentsRequest(reassignments=(one,))


ADD = CreatePartitionsRequest(
    topic="t", partition_count=2, assignment=(ReplicaList(replicas=brokers(2, 3)),)
)
REMOVE = RemovePartitionsRequest(topic="t", partitions=(1,))

CHANGES: dict[str, tuple[tuple[Request, ...], Request, dict[TopicPartition, set[int]]]] = {
    "move": ((), move(3, 4), {T0: {3, 4}}),
    "move_by_one": ((), move(1, 4), {T0: {1, 4}}),
    "grow": ((), move(1, 2, 3), {T0: {1, 2, 3}}),
    "add": ((), ADD, {T0: {1, 2}, T1: {2, 3}}),
    "remove": ((ADD,), REMOVE, {T0: {1, 2}}),
    "add_again": ((ADD, REMOVE), ADD, {T0: {1, 2}, T1: {2, 3}}),
}
"""What is done before, the change, and the partitions afterwards."""


def started() -> VirtualCluster:
    """Four brokers; t/0 is on two of them, led, and all is at rest."""
    cluster = VirtualCluster(replace(calm(), brokers=4, replication_factor=2), "run")
    topic(cluster)
    assert settled(cluster)
    return cluster


def controller(cluster: VirtualCluster) -> BrokerId:
    return BrokerId(parse_controller(CONTROLLER, cluster.zookeeper.peek(CONTROLLER).data).brokerid)


def ask(cluster: VirtualCluster, request: Request) -> None:
    """A broker that is not the controller has written the request down."""
    other = next(b for b in sorted(cluster.disks) if b != controller(cluster))
    answered: list[object] = []
    SimulatedClient(cluster, "client-admin").ask(other, request, answered.append)
    limit_ms = cluster.scheduler.now_ms + 1_000
    assert cluster.scheduler.run_until(limit_ms, lambda: bool(answered))
    assert answered[0] is not None


def crashed(change: str, nth: int) -> bool:
    """The controller dies after its n-th write; false when it has made its last one before."""
    before, request, after = CHANGES[change]
    cluster = started()
    for earlier in before:
        ask(cluster, earlier)
        assert settled(cluster)
    victim = controller(cluster)
    process = cluster.processes[victim]
    process.crash_at("after_write", nth)
    ask(cluster, request)
    run_for(cluster, 3_000)
    has_died = not process.is_alive
    process.spare()
    if has_died:
        cluster.start(victim)
    assert settled(cluster), (change, nth)
    assert {key: set(replicas) for key, replicas in cluster.assignments().items()} == after
    assert violated(cluster.recorder.events) == set()
    return has_died


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_survives_a_crash_after_each_write(change: str) -> None:
    writes = range(1, WRITES_MAX)
    deaths = list(takewhile(lambda nth: crashed(change, nth), writes))

    assert deaths, "the controller writes at least once"
    assert deaths != [*writes], "every write was tried"
