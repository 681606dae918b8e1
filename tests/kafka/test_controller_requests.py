"""What the controller of a release sends to a broker: in which order, and with which epochs.

The broker is a listener that registers in ZooKeeper as broker 9 and keeps what it hears.
Source: `KafkaController.scala` and `ControllerChannelManager.scala` of the releases.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from fencepost.conformance.adapters.choices import EMBEDDED
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.kafka import wire
from fencepost.conformance.adapters.kafka.kafka import Kafka
from fencepost.conformance.adapters.kafka.releases import find_target
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import zookeeper_for
from fencepost.conformance.clients.administrator import RefusedError
from fencepost.fault_injection.processes.supervisor import Supervisor
from tests.conformance.adapters.kafka.fake_broker import Answers, Heard, fake_broker

pytestmark = pytest.mark.kafka

FAKE = 9
WITHIN_S = 20.0
LEADER_IS_DELETED = -2
TAKEN: Mapping[str, Any] = {"error_code": ErrorCode.none, "partition_errors": [], "topics": []}
COMMAND, METADATA = wire.LEADER_AND_ISR, wire.UPDATE_METADATA
ANSWERS: Answers = dict.fromkeys((COMMAND, METADATA, wire.STOP_REPLICA), TAKEN)


@contextmanager
def cluster_of(target: str, folder: Path) -> Iterator[ClusterUnderTest]:
    """Brokers 1, the controller, and 2."""
    kafka = implementation_of(target)
    assert isinstance(kafka, Kafka)
    settings = ClusterSettings(
        implementation=kafka,
        brokers=2,
        first_controller=1,
        session_timeout_ms=3000,
        replica_lag_ms=30000,
    )
    with (
        Supervisor(folder / "processes", "fake") as supervisor,
        zookeeper_for("fake", supervisor=supervisor, folder=folder, choice=EMBEDDED) as zookeeper,
        ClusterUnderTest(
            settings, folder=folder, run_id="fake", supervisor=supervisor, zookeeper=zookeeper
        ).running() as cluster,
    ):
        yield cluster


def register(cluster: ClusterUnderTest, address: str) -> int:
    """Broker 9 is registered at the address; its broker epoch."""
    host, _, port = address.rpartition(":")
    document = {
        "version": 4,
        "host": host,
        "port": int(port),
        "jmx_port": -1,
        "timestamp": "0",
        "endpoints": [f"PLAINTEXT://{address}"],
        "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"},
    }
    path = cluster.paths.broker_path(FAKE)
    cluster.znodes.create(path, json.dumps(document).encode(), ephemeral=True)
    return cluster.znodes.read(path).czxid


def states_of(message: object, topic: str) -> list[Any]:
    """What a request says of the partitions of a topic, in any version."""
    grouped = getattr(message, "topic_states", ())
    found = [one for of in grouped if of.topic_name == topic for one in of.partition_states]
    ungrouped = getattr(message, "ungrouped_partition_states", ())
    return found + [one for one in ungrouped if one.topic_name == topic]


def deletes(one: Heard) -> bool:
    """True of a StopReplica that removes the data."""
    if one.kind != wire.STOP_REPLICA:
        return False
    message = one.message
    states = [one for of in getattr(message, "topic_states", ()) for one in of.partition_states]
    if states:
        return all(one.delete_partition for one in states)
    return bool(getattr(message, "delete_partitions", False))


def kinds_about(heard: Sequence[Heard], topic: str) -> list[int]:
    """The kinds of the requests that say something of the topic, in order."""
    return [kind for kind, message in heard if states_of(message, topic)]


def of_epoch(one: Heard, controller_epoch: int) -> bool:
    return bool(one.message.controller_epoch == controller_epoch)


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What broker 9 heard, by what had happened before."""

    broker_epoch: int
    after_start: Sequence[Heard]
    after_creation: Sequence[Heard]
    after_failover: Sequence[Heard]
    after_deletion: Sequence[Heard]


def recorded(target: str, folder: Path) -> Recording:
    """Broker 9 starts, gets a replica of `new`, sees the controller die, and loses the replica."""
    heard: list[Heard] = []

    def parts() -> Iterator[Sequence[Heard]]:
        begin = 0
        while True:
            end = len(heard)
            yield tuple(heard[begin:end])
            begin = end

    part = parts()
    with fake_broker(ANSWERS, heard) as address, cluster_of(target, folder) as cluster:

        def await_heard(holds: Callable[[Heard], bool], what: str) -> Sequence[Heard]:
            there = lambda: any(map(holds, tuple(heard)))  # noqa: E731
            cluster.await_state(there, WITHIN_S, what, may_end=True)
            return next(part)

        cluster.create_topic("old", [[1, 2]])
        broker_epoch = register(cluster, address)
        start = await_heard(lambda one: bool(states_of(one.message, "old")), "all metadata")
        cluster.administrator.create_topic("new", [[2, FAKE]])
        creation = await_heard(
            lambda one: one.kind == METADATA and bool(states_of(one.message, "new")), "a topic"
        )
        cluster.process(1).kill()
        await_heard(lambda one: one.kind == METADATA and of_epoch(one, 2), "the next controller")
        await_heard(lambda one: one.kind == COMMAND and of_epoch(one, 2), "its commands")
        failover = [one for one in heard if of_epoch(one, 2)]
        with suppress(RefusedError):  # it waits in vain for broker 9 to delete
            cluster.administrator.delete_topic("new")
        deletion = await_heard(deletes, "StopReplica that deletes")
    return Recording(
        broker_epoch=broker_epoch,
        after_start=start,
        after_creation=creation,
        after_failover=failover,
        after_deletion=deletion,
    )


@pytest.mark.parametrize("target", ["kafka:0.10.1.1", "kafka:0.10.2.2", "kafka:3.9.1"])
def test_a_controller_tells_a_broker_in_order(target: str, tmp_path: Path) -> None:
    release = find_target(target).release.number

    told = recorded(target, tmp_path)

    heard = [*told.after_start, *told.after_creation, *told.after_failover, *told.after_deletion]
    assert {one.kind for one in told.after_start} == {METADATA}
    assert kinds_about(told.after_creation, "new") == [COMMAND, METADATA]
    (state,) = states_of(told.after_creation[0].message, "new")
    assert (state.leader, state.leader_epoch, state.controller_epoch) == (2, 0, 1)
    if release >= (2, 2):  # KIP-380
        assert {one.message.broker_epoch for one in heard} == {told.broker_epoch}
    # KAFKA-4443: a follower refuses a leader of which it has not heard that it lives.
    first = COMMAND if release < (0, 10, 2) else METADATA
    assert told.after_failover[0].kind == first
    epochs = [one.message.controller_epoch for one in heard]
    assert epochs == sorted(epochs)
    of_deletion = [one for one in told.after_deletion if one.kind == METADATA]
    leaders = [state.leader for one in of_deletion for state in states_of(one.message, "new")]
    assert leaders[-1] == LEADER_IS_DELETED
    stops = [deletes(one) for one in told.after_deletion if one.kind == wire.STOP_REPLICA]
    assert {*stops[:-1]} == {False}
    assert stops[-1]
