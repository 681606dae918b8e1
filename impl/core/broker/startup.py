"""What a starting broker reads in ZooKeeper, and which of its logs it keeps (V3 E; START-001, 004).

`ReadAssignment` and `RecoverReplicas` of `Startup`. The broker is registered by then, so that no
server answers from before that, and what changes afterwards is told to it by the controller.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, list_children, read
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.vocabulary import PartitionIncarnation
from fencepost.spec.znodes import (
    TOPICS,
    LeaderAndIsr,
    MalformedZnodeError,
    TopicPartition,
    leader_and_isr_path,
    parse_leader_and_isr,
    topic_path,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerAssignment:
    """What ZooKeeper says of this broker's partitions."""

    own: frozenset[TopicPartition]
    """The partitions that this broker has a replica of."""
    topics: Mapping[str, int]
    """Every topic that there is -> czxid of its znode."""
    unreadable: frozenset[str]
    """Topics with a malformed document: it is not known which partitions they have."""


class Startup:
    """One start of a broker: nothing is obeyed before it is over."""

    def __init__(self, config: Config, outbox: Outbox, broker: Broker) -> None:
        self._config = config
        self._outbox = outbox
        self._broker = broker

    def run(self) -> Generator[Ask, Answer, bool]:
        """Replicas stand on what ZooKeeper holds; false when the connection failed.

        They lead or follow only when a controller says so (START-002).
        """
        assignment = yield from self.read_assignment()
        if assignment is None:
            return False
        keys = sorted({*assignment.own, *self._broker.replicas.partitions()})
        znodes = yield from read(*(leader_and_isr_path(key) for key in keys))
        if znodes is None:
            return False
        self.recover_replicas(assignment, dict(zip(keys, znodes, strict=True)))
        return True

    @action
    def read_assignment(self) -> Generator[Ask, Answer, BrokerAssignment | None]:
        """What is assigned to this broker is known, as of its registration or later."""
        listed = yield from list_children(TOPICS)
        if listed is None:
            return None
        topics = listed[0].names or ()
        znodes = yield from read(*(topic_path(topic) for topic in topics))
        if znodes is None:
            return None
        own: set[TopicPartition] = set()
        unreadable = set()
        czxids = {}
        for topic, znode in zip(topics, znodes, strict=True):
            if znode.stat is None:
                continue
            czxids[topic] = znode.stat.czxid
            try:
                own |= self._own(topic, znode)
            except MalformedZnodeError as error:
                self._outbox.report(error)
                unreadable.add(topic)
        self._outbox.took(taken(self.read_assignment))
        return BrokerAssignment(own=frozenset(own), topics=czxids, unreadable=frozenset(unreadable))

    def _own(self, topic: str, znode: Znode) -> set[TopicPartition]:
        return {
            TopicPartition(topic, partition)
            for partition, replicas in self._config.rules.replicas_in(znode).items()
            if self._config.broker_id in replicas
        }

    @action
    def recover_replicas(
        self, assignment: BrokerAssignment, znodes: Mapping[TopicPartition, Znode]
    ) -> None:
        """Delete logs that are no longer this broker's; the rest obeys nothing older."""
        broker = self._broker
        report = self._outbox.report
        states = {key: parsed(parse_leader_and_isr, one, report) for key, one in znodes.items()}
        for key in list(broker.replicas.partitions()):
            replica, is_own = broker.replicas[key], key in assignment.own
            is_kept = self._config.rules.is_kept(replica, znodes[key], states[key], is_own)
            if key.topic not in assignment.unreadable and not is_kept:
                self._outbox.took(taken(self.recover_replicas, replica))
                broker.stop_replicas.delete(key)
        for key in sorted(assignment.own):
            self._set_floor(key, znodes[key], states[key])
        broker.stop_replicas.start_from(broker.broker_epoch, assignment.topics)

    def _set_floor(self, key: TopicPartition, znode: Znode, state: LeaderAndIsr | None) -> None:
        floor = self._config.rules.floor_of(znode, state)
        if floor is None:
            return
        assert znode.stat is not None
        replica = self._broker.replicas.get(key)
        if replica is None:
            replica = Replica(
                broker_id=self._config.broker_id,
                topic_partition=key,
                partition_incarnation=PartitionIncarnation(znode.stat.czxid),
            )
        is_idle = replica.role in (Role.WAITING, Role.OFFLINE)
        assert is_idle, "no command is obeyed before the start is over"
        self._broker.replicas.put(replica.with_floor(*floor))
