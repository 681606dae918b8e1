"""The state that a KRaft cluster publishes: the metadata of its brokers, and its quorum's leader.

Metadata is asked of the node that answered last, and of the others when that one does not: what a
node tells is what it has read of the metadata log, which is milliseconds old. One answer serves all
questions of one look at the cluster. The active
controller is found at the controllers' own listeners, where only the leader of the quorum answers;
of two that do, the one with the higher epoch counts.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from kio.schema.errors import ErrorCode as KafkaError

from fencepost.conformance.adapters.implementation import PublishedState
from fencepost.conformance.adapters.kafka import wire
from fencepost.conformance.adapters.kafka.started import STARTED
from fencepost.conformance.adapters.kafka.wire import BrokerSocket, NoAnswerError, NotSentError
from fencepost.fault_injection.injectors.injection import Registration
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

LOOK_S = 0.02
"""So long an answer serves: less than the pause between two looks."""
ANSWER_S = 0.5
"""A node that takes longer is paused or gone, and another one is asked."""
METADATA_LOG = "__cluster_metadata"
QUORUM = {"topics": [{"topic_name": METADATA_LOG, "partitions": [{"partition_index": 0}]}]}
REGISTERED = re.compile(r"Successfully registered broker \d+ with broker epoch (\d+)")


class MetadataState(PublishedState):
    """`PublishedState` as any live node tells it; nothing is published while none answers."""

    def __init__(
        self, brokers: Mapping[int, str], controllers: Mapping[int, str], logs: Mapping[int, Path]
    ) -> None:
        """Addresses of the nodes; of brokers the log with registrations, of controllers its own."""
        self._brokers = _sockets(brokers)
        self._controllers = _sockets(controllers)
        self._logs = logs
        self._epochs = {node: BrokerEpoch(logs[node]) for node in brokers}
        self._asked_first = next(iter(brokers))
        self._looked_at = -LOOK_S
        self._answer: Any = None

    def live_brokers(self) -> list[int]:
        """The brokers that are registered and not fenced, ascending."""
        return sorted(self._addresses())

    def registration(self, broker_id: int) -> Registration | None:
        """A live broker with its broker epoch: the offset of its registration in the log.

        A controller is not registered: its run counts, as long as it answers.
        """
        if broker_id in self._controllers:
            return self._run_of(broker_id)
        address = self._addresses().get(broker_id)
        epoch = self._epochs[broker_id].last()
        if address is None or epoch is None:
            return None
        return Registration(session_id=epoch, zxid=epoch, address=address)

    def controller(self) -> int | None:
        """The leader of the quorum."""
        leaders = [(told.leader_epoch, told.leader_id) for told in self._quorum()]
        return max(leaders)[1] if leaders else None

    def topics(self) -> list[str]:
        """All topics, ascending."""
        return sorted({key.topic for key in self._partitions()})

    def assignment(self, topic: str) -> dict[int, tuple[int, ...]]:
        """The assigned replicas of each partition."""
        found = self._partitions().items()
        return {
            key.partition: tuple(map(int, one.replica_nodes))
            for key, one in found
            if key.topic == topic
        }

    def state_of(self, partition: TopicPartition) -> LeaderAndIsr | None:
        """The published leader, epoch and ISR of a partition."""
        one = self._partitions().get(partition)
        if one is None:
            return None
        return LeaderAndIsr(
            leader=BrokerId(one.leader_id),
            leader_epoch=LeaderEpoch(one.leader_epoch),
            isr=frozenset(map(BrokerId, one.isr_nodes)),
        )

    def close(self) -> None:
        """Close all connections."""
        for one in (*self._brokers.values(), *self._controllers.values()):
            one.close()

    def _run_of(self, controller_id: int) -> Registration | None:
        asked = self._controllers[controller_id]
        if _asked(asked, wire.DESCRIBE_QUORUM, QUORUM) is None:
            return None
        run = self._logs[controller_id].read_text("utf-8", "replace").count(STARTED)
        return Registration(session_id=run, zxid=run, address=asked.address)

    def _addresses(self) -> dict[int, str]:
        told = self._metadata()
        return {one.node_id: f"{one.host}:{one.port}" for one in told.brokers} if told else {}

    def _partitions(self) -> dict[TopicPartition, Any]:
        told = self._metadata()
        return {
            TopicPartition(topic.name, one.partition_index): one
            for topic in (told.topics if told else ())
            for one in topic.partitions
        }

    def _metadata(self) -> Any:  # noqa: ANN401 - a message of kio
        """The answer of this look; None when no node gives one."""
        if monotonic() - self._looked_at >= LOOK_S:
            self._answer = self._asked_in_turn()
            self._looked_at = monotonic()
        return self._answer

    def _asked_in_turn(self) -> Any:  # noqa: ANN401 - a message of kio
        first = self._asked_first
        for node in sorted(self._brokers, key=lambda node: node != first):
            answer = _asked(self._brokers[node], wire.METADATA, wire.ALL_METADATA)
            if answer is not None and answer.brokers:
                self._asked_first = node
                return answer
        return None

    def _quorum(self) -> Iterator[Any]:
        for one in self._controllers.values():
            answer = _asked(one, wire.DESCRIBE_QUORUM, QUORUM)
            for topic in answer.topics if answer else ():
                yield from (p for p in topic.partitions if p.error_code is KafkaError.none)


class BrokerEpoch:
    """The epoch under which the last process of a broker has registered, by its log."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._read_to = 0
        self._last: int | None = None

    def last(self) -> int | None:
        """None before the first registration; reads only what the log has grown by."""
        if not self._log.exists():
            return None
        with self._log.open("rb") as file:
            file.seek(self._read_to)
            whole, end, _ = file.read().rpartition(b"\n")
        self._read_to += len(whole) + len(end)
        if found := REGISTERED.findall(whole.decode(errors="replace")):
            self._last = int(found[-1])
        return self._last


def _sockets(addresses: Mapping[int, str]) -> dict[int, BrokerSocket]:
    return {node: BrokerSocket(address, "harness") for node, address in addresses.items()}


def _asked(one: BrokerSocket, kind: int, request: Mapping[str, Any]) -> Any:  # noqa: ANN401
    try:
        return one.ask(kind, request, ANSWER_S)
    except (NotSentError, NoAnswerError):
        return None
