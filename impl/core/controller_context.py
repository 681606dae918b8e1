"""What a controller knows of the cluster: all of it read in ZooKeeper since its election.

Values and how a read znode changes them; when to read, and what to decide, is `controller.py`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from impl.core.zookeeper import Znode
from spec.vocabulary import BrokerEpoch, BrokerId, ZnodeVersion
from spec.znodes import (
    LeaderAndIsr,
    MalformedZnodeError,
    TopicPartition,
    parse_leader_and_isr,
    parse_topic,
)


@dataclass(slots=True)
class ControllerContext:
    """Live brokers, assignments and partition states, as last read or written."""

    live: dict[BrokerId, BrokerEpoch] = field(default_factory=dict)
    """Live broker -> czxid of its registration."""
    assignments: dict[TopicPartition, tuple[BrokerId, ...]] = field(default_factory=dict)
    states: dict[TopicPartition, tuple[LeaderAndIsr, ZnodeVersion]] = field(default_factory=dict)
    skipped: set[TopicPartition] = field(default_factory=set)
    """Partitions whose znode is malformed."""
    bounced: dict[TopicPartition, frozenset[BrokerId]] = field(default_factory=dict)
    """Who was away since the state of the partition was written."""
    considered: dict[TopicPartition, frozenset[BrokerId]] = field(default_factory=dict)
    """Those of `bounced` that the decision in flight knows of."""
    undecided: dict[TopicPartition, LeaderAndIsr] = field(default_factory=dict)
    """Decisions of which it is not known whether ZooKeeper holds them."""

    def detect_broker_change(self, znodes: Iterable[Znode]) -> frozenset[BrokerId]:
        """`live` is what the registrations tell; returns who came, went or came back (H2)."""
        before = self.live
        self.live = {
            BrokerId(int(znode.path.rpartition("/")[2])): BrokerEpoch(znode.stat.czxid)
            for znode in znodes
            if znode.stat is not None
        }
        changed = frozenset(
            broker_id
            for broker_id in before.keys() | self.live.keys()
            if before.get(broker_id) != self.live.get(broker_id)
        )
        back = changed & before.keys() & self.live.keys()
        for key in self.partitions_of(changed) if back else ():
            self.add_bounced(key, back)
        return changed

    def partitions_of(self, brokers: frozenset[BrokerId]) -> list[TopicPartition]:
        """The partitions assigned to any of them, ascending."""
        return [key for key in sorted(self.assignments) if brokers & set(self.assignments[key])]

    def leave_undecided(self, key: TopicPartition, decision: LeaderAndIsr) -> None:
        """The reply was lost or a refusal: what ZooKeeper holds will tell (ZK-006)."""
        self.undecided[key] = decision

    def is_settled_as_decided(self, key: TopicPartition) -> bool:
        """True once: when ZooKeeper is read to hold the decision that was left undecided."""
        decision = self.undecided.pop(key, None)
        return decision is not None and key in self.states and self.states[key][0] == decision

    def add_bounced(self, key: TopicPartition, brokers: frozenset[BrokerId]) -> None:
        """They may not go on in the ISR or as leader as if nothing had been."""
        self.bounced[key] = self.bounced.get(key, frozenset()) | brokers

    def begin_decision(self, key: TopicPartition) -> None:
        """A decision that knows all who bounced so far is in flight."""
        self.considered[key] = self.bounced.get(key, frozenset())

    def end_decision(
        self, key: TopicPartition, decision: LeaderAndIsr, znode_version: ZnodeVersion
    ) -> None:
        """ZooKeeper holds the decision; who bounced since then is still to be considered."""
        self.states[key] = (decision, znode_version)
        since = self.bounced.pop(key, frozenset()) - self.considered.pop(key, frozenset())
        if since:
            self.bounced[key] = since

    def known_topics(self) -> set[str]:
        """Topics that need not be read again."""
        return {key.topic for key in self.assignments} - {key.topic for key in self.skipped}

    def learn_topic(self, topic: str, znode: Znode) -> MalformedZnodeError | None:
        """The topic's partitions have their assignment; returns why not."""
        if znode.stat is None:
            return None
        try:
            assignment = parse_topic(znode.path, znode.data)
        except MalformedZnodeError as error:
            return error
        for partition, replicas in assignment.items():
            key = TopicPartition(topic, partition)
            self.assignments[key] = replicas
            self.skipped.discard(key)
        return None

    def learn_state(self, key: TopicPartition, znode: Znode) -> MalformedZnodeError | None:
        """The partition's state is what was read, none without a znode; returns why not."""
        if znode.stat is None:
            self.states.pop(key, None)
            return None
        try:
            state = parse_leader_and_isr(znode.path, znode.data)
        except MalformedZnodeError as error:
            self.skip(key)
            return error
        self.states[key] = (state, znode.stat.version)
        return None

    def skip(self, key: TopicPartition) -> None:
        """The partition is not managed until a topic comes or goes, or a failover (ZK-002)."""
        self.skipped.add(key)
        self.assignments.pop(key, None)
        self.states.pop(key, None)
