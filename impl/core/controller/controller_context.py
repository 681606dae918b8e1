"""What a controller knows of the cluster: all of it read in ZooKeeper since its election.

Values, and how a znode that was read changes them. `leader_election.py` decides on them.
"""

from collections.abc import Iterable, Mapping, Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType

from fencepost.impl.core.rules.controller.leadership import PartitionFacts
from fencepost.impl.core.rules.incarnations import BouncedMembers, remembered_bounces
from fencepost.impl.core.types.zookeeper import Check, Znode
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_INCARNATION,
    BrokerEpoch,
    BrokerId,
    PartitionIncarnation,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    BrokerDocument,
    LeaderAndIsr,
    MalformedZnodeError,
    TopicDocument,
    TopicPartition,
    assignment_of,
    parse_leader_and_isr,
    parse_topic_document,
    topic_id_path,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownTopic:
    """Which incarnation of a topic is known."""

    topic_id: str
    """Empty when its znode has none: its writes are not told from those of another incarnation."""
    czxid: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FullBrokerState:
    """All partitions of one broker as an INIT names them, and which reading of the topics it is."""

    broker_epoch: BrokerEpoch
    zxid: int
    keys: tuple[TopicPartition, ...]


KnownState = tuple[LeaderAndIsr, ZnodeVersion]
"""A state, and the version of its znode."""
LastIncarnation = tuple[frozenset[BrokerId], PartitionIncarnation]
"""The brokers that may have a replica of a partition, and its incarnation."""


@dataclass(slots=True)
class ControllerContext:
    """Live brokers, assignments and partition states, as last read or written."""

    bounced_members: BouncedMembers = remembered_bounces
    """Of the level's `Rules`."""
    live: dict[BrokerId, BrokerEpoch] = field(default_factory=dict)
    """Live broker -> czxid of its registration."""
    endpoints: dict[BrokerId, BrokerDocument] = field(default_factory=dict)
    """Where each of them listens, if its registration says so."""
    states: dict[TopicPartition, KnownState] = field(default_factory=dict)
    topics: dict[str, KnownTopic] = field(default_factory=dict)
    incarnations: dict[TopicPartition, PartitionIncarnation] = field(default_factory=dict)
    """Of each state, the czxid of its znode."""
    seen_zxid: int = 0
    """Whatever is read from now on is not older than this transaction."""
    topics_zxid: int = 0
    """Nor were the topics when they were read last."""
    unreadable: set[str] = field(default_factory=set)
    """Topics with a malformed document."""
    skipped: set[TopicPartition] = field(default_factory=set)
    """Partitions with a malformed znode."""
    bounced: dict[TopicPartition, frozenset[BrokerId]] = field(default_factory=dict)
    """Brokers that were away since the state of the partition was written."""
    considered: dict[TopicPartition, frozenset[BrokerId]] = field(default_factory=dict)
    """The part of `bounced` that the decision in flight took into account."""
    offline: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    """Live broker -> partitions with a log that failed since it registered."""
    shutting_down: set[BrokerId] = field(default_factory=set)
    """Live brokers that have asked to end since they registered (BEP-005)."""
    undecided: dict[TopicPartition, LeaderAndIsr] = field(default_factory=dict)
    """Decisions of which it is not known whether ZooKeeper holds them."""
    moving: dict[str, Mapping[TopicPartition, frozenset[BrokerId]]] = field(default_factory=dict)
    """Topic with partitions that are being moved or removed -> of each the brokers that its znode
    names as leaving, which may have a replica until they have stopped it."""
    with_folder: set[TopicPartition] = field(default_factory=set)
    """Partitions with a folder but without LeaderAndISR."""
    touched: set[TopicPartition] = field(default_factory=set)
    """Partitions of which the metadata may be others than when they were told last."""
    are_brokers_touched: bool = False
    """The same of the live brokers."""
    assignments: Mapping[TopicPartition, tuple[BrokerId, ...]] = field(init=False)
    """The replicas of every partition that is managed, the preferred one first: a view."""
    _assignments: dict[TopicPartition, tuple[BrokerId, ...]] = field(default_factory=dict)
    _of_broker: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    _of_topic: dict[str, set[TopicPartition]] = field(default_factory=dict)
    _ended: dict[str, dict[TopicPartition, LastIncarnation]] = field(default_factory=dict)
    """By topic, the partitions with a state that was there and is gone."""

    def __post_init__(self) -> None:
        self.assignments = MappingProxyType(self._assignments)

    def assign(self, key: TopicPartition, replicas: tuple[BrokerId, ...]) -> None:
        """The partition has these replicas, and is managed."""
        self.unassign(key)
        self._assignments[key] = replicas
        self.touched.add(key)
        self.skipped.discard(key)
        self._of_topic.setdefault(key.topic, set()).add(key)
        for broker_id in replicas:
            self._of_broker.setdefault(broker_id, set()).add(key)

    def unassign(self, key: TopicPartition) -> None:
        """The partition is not managed."""
        self.touched.add(key)
        for broker_id in self._assignments.pop(key, ()):
            self._of_broker[broker_id].discard(key)
        of_topic = self._of_topic.get(key.topic)
        if of_topic is not None:
            of_topic.discard(key)
            if not of_topic:
                del self._of_topic[key.topic]

    def see(self, zxid: int) -> None:
        """This node has heard of the transaction."""
        self.seen_zxid = max(self.seen_zxid, zxid)

    def full_state_of(self, broker_id: BrokerId) -> FullBrokerState | None:
        """All partitions of the broker; None while a znode is unreadable that may name more."""
        if self.skipped or self.unreadable or broker_id not in self.live:
            return None
        return FullBrokerState(
            broker_epoch=self.live[broker_id],
            zxid=self.topics_zxid,
            keys=tuple(self.partitions_of((broker_id,))),
        )

    @staticmethod
    def registered_in(znodes: Iterable[Znode]) -> dict[BrokerId, BrokerEpoch]:
        """The live brokers, as their registrations tell."""
        return {
            BrokerId(int(znode.path.rpartition("/")[2])): BrokerEpoch(znode.stat.czxid)
            for znode in znodes
            if znode.stat is not None
        }

    @property
    def is_touched(self) -> bool:
        """True when the metadata may be others than when they were told last."""
        return self.are_brokers_touched or bool(self.touched)

    def learn_brokers(
        self,
        live: dict[BrokerId, BrokerEpoch],
        endpoints: dict[BrokerId, BrokerDocument],
        changed: frozenset[BrokerId],
    ) -> None:
        """These brokers are live; of the changed ones nothing that was known holds (H2).

        A broker counts as bounced from when it is seen to be gone: it may be back before the
        decision about that succeeds, and is another incarnation then.
        """
        before, self.live = self.live, live
        self.endpoints, self.are_brokers_touched = endpoints, True
        self.see(max(live.values(), default=0))
        for broker_id in changed:
            self.touched |= self.offline.pop(broker_id, set())
            self.shutting_down.discard(broker_id)
        gone = changed & before.keys()
        for key in self.partitions_of(gone):
            self.add_bounced(key, gone)

    def partitions_of(self, brokers: Iterable[BrokerId]) -> list[TopicPartition]:
        """The partitions assigned to any of them, ascending."""
        return sorted(set().union(*(self._of_broker.get(one, ()) for one in brokers)))

    def partitions_of_topic(self, topic: str) -> list[TopicPartition]:
        """The partitions of the topic, ascending; none when it is not known."""
        return sorted(self._of_topic.get(topic, ()))

    def all_of_topic(self, topic: str) -> list[TopicPartition]:
        """As `partitions_of_topic`, with those that are skipped or have ended."""
        skipped = (key for key in self.skipped if key.topic == topic)
        return sorted({*self._of_topic.get(topic, ()), *self._ended.get(topic, ()), *skipped})

    def leave_undecided(self, key: TopicPartition, decision: LeaderAndIsr) -> None:
        """The reply was lost or a refusal: what ZooKeeper holds will tell (ZK-006)."""
        self.undecided[key] = decision

    def take_undecided(self, key: TopicPartition) -> LeaderAndIsr | None:
        """Once: the decision that was left undecided."""
        return self.undecided.pop(key, None)

    def state(self, key: TopicPartition) -> LeaderAndIsr | None:
        """The state of the partition, if it has one."""
        known = self.states.get(key)
        return known[0] if known is not None else None

    def add_bounced(self, key: TopicPartition, brokers: frozenset[BrokerId]) -> None:
        """These brokers may not stay in the ISR, or lead on, as if they had never been away."""
        self.bounced[key] = self.bounced.get(key, frozenset()) | brokers

    def bounced_in(
        self, key: TopicPartition, seen: LeaderAndIsr | None = None
    ) -> AbstractSet[BrokerId]:
        """Live members of the partition's ISR that were away since they joined, and the like.

        A leader may have written another ISR than is known: with `seen`, that state counts.
        """
        remembered: AbstractSet[BrokerId] = self.bounced.get(key, frozenset())
        state = self.state(key) if seen is None else seen
        return self.bounced_members(state, self.live, remembered) if state else remembered

    def add_offline(
        self, broker_id: BrokerId, keys: Iterable[TopicPartition]
    ) -> list[TopicPartition]:
        """The logs of these partitions failed on the broker; returns the newly failed ones."""
        known = self.offline.setdefault(broker_id, set())
        fresh = [key for key in keys if key not in known]
        known.update(fresh)
        self.touched.update(fresh)
        return fresh

    def live_for(self, key: TopicPartition) -> AbstractSet[BrokerId]:
        """The brokers that can serve the partition: live, with a working log, and not ending.

        One that is shutting down counts as long as no other member of the ISR could lead.
        """
        if not self.offline and not self.shutting_down:
            return self.live.keys()
        failed = self.offline_in(key)
        serving = self.live.keys() - failed if failed else self.live.keys()
        if not self.shutting_down & serving:
            return serving
        staying, state = serving - self.shutting_down, self.state(key)
        assigned = self._assignments.get(key, ())
        could_lead = state.isr - self.bounced_in(key) if state else {*assigned}
        return staying if could_lead & staying else serving

    def still_led_by(self, broker_id: BrokerId) -> list[TopicPartition]:
        """The partitions that the broker leads and another could, ascending."""
        return [
            key
            for key in self.partitions_of((broker_id,))
            if (state := self.state(key)) is not None
            and state.leader == broker_id
            and broker_id not in self.live_for(key)
        ]

    def has_live_leader(self, key: TopicPartition) -> bool:
        """The partition is led by a live broker, as far as is known."""
        known = self.states.get(key)
        return known is not None and known[0].leader in self.live

    def offline_in(self, key: TopicPartition) -> AbstractSet[BrokerId]:
        """The live brokers with a failed log of the partition."""
        return {broker_id for broker_id, keys in self.offline.items() if key in keys}

    def begin_decision(self, key: TopicPartition) -> None:
        """A decision that takes all bounced brokers into account is in flight."""
        self.considered[key] = self.bounced.get(key, frozenset())

    def end_decision(
        self,
        key: TopicPartition,
        decision: LeaderAndIsr,
        znode_version: ZnodeVersion,
        zxid: int | None = None,
    ) -> None:
        """ZooKeeper holds the decision, since `zxid` if that is known.

        A state of no known incarnation was created by it. Brokers that bounced since it was made
        are still to be considered.
        """
        self.states[key] = (decision, znode_version)
        self.touched.add(key)
        self._resume(key)
        self.see(zxid or 0)
        if zxid is not None and key not in self.incarnations:
            self.incarnations[key] = PartitionIncarnation(zxid)
        considered = self.considered.pop(key, frozenset())
        self.bounced[key] = self.bounced.get(key, frozenset()) - considered

    def unknown_topics(self, names: Iterable[str]) -> list[str]:
        """The topics to read: new ones, and ones with partitions that could not be parsed."""
        skipped = {key.topic for key in self.skipped}
        return [name for name in names if name not in self.topics or name in skipped]

    def topic_id(self, topic: str) -> str:
        """The id of the incarnation that is known; empty when there is none."""
        known = self.topics.get(topic)
        return known.topic_id if known is not None else ""

    def facts(
        self,
        key: TopicPartition,
        *,
        unclean_leader_election: bool = False,
        is_confirmed: bool = False,
    ) -> PartitionFacts:
        """What a decision about the managed partition is made on."""
        state, znode_version = self.states.get(key, (None, ANY_VERSION))
        return PartitionFacts(
            key=key,
            assigned_replicas=self._assignments[key],
            live=self.live_for(key),
            bounced=self.bounced_in(key),
            state=state,
            znode_version=znode_version,
            topic_id=self.topic_id(key.topic),
            incarnation=self.incarnation(key),
            has_folder=key in self.with_folder,
            unclean_leader_election=unclean_leader_election,
            is_confirmed=is_confirmed,
        )

    def id_check(self, topic: str) -> tuple[Check, ...]:
        """What makes a write fail that is meant for another incarnation of the topic (H12)."""
        topic_id = self.topic_id(topic)
        if not topic_id:
            return ()
        return (Check(path=topic_id_path(topic, topic_id), expected_version=ANY_VERSION),)

    def incarnation(self, key: TopicPartition) -> PartitionIncarnation:
        """The incarnation of the partition's state; 0 when it is not known."""
        return self.incarnations.get(key, NO_INCARNATION)

    def note_incarnation(self, key: TopicPartition, incarnation: PartitionIncarnation) -> None:
        """The state was read elsewhere: the reply to its creation may never have come."""
        self.incarnations[key] = incarnation

    def last_incarnation(self, key: TopicPartition) -> LastIncarnation | None:
        """Its ISR and incarnation, also when its state is gone; None when it never had one."""
        state = self.states.get(key)
        if state is None:
            return self._ended.get(key.topic, {}).get(key)
        return state[0].isr, self.incarnation(key)

    def end(self, key: TopicPartition) -> None:
        """As `forget`, but its replicas are still to be stopped."""
        known, assigned = self.last_incarnation(key), self._assignments.get(key, ())
        self.forget(key)
        if known is not None:
            self._end(key, known[0] | frozenset(assigned), known[1])

    def forget_topic(self, topic: str) -> None:
        """Nothing of the topic is known, nor anything of its partitions."""
        self.topics.pop(topic, None)
        self.moving.pop(topic, None)
        self.unreadable.discard(topic)
        self.with_folder = {key for key in self.with_folder if key.topic != topic}
        for key in self.all_of_topic(topic):
            self.forget(key)
        self._ended.pop(topic, None)

    def learn_topic(
        self, topic: str, znode: Znode
    ) -> tuple[list[TopicPartition], MalformedZnodeError | None]:
        """The topic's partitions have their assignment; the new ones, and why there are none."""
        if znode.stat is None:
            return [], None
        try:
            document = parse_topic_document(znode.path, znode.data)
        except MalformedZnodeError as error:
            self.unreadable.add(topic)
            return [], error
        self.see(znode.stat.czxid)
        self.unreadable.discard(topic)
        self.note_moving(topic, document)
        topic_id = document.topic_id or ""
        self.topics[topic] = KnownTopic(topic_id=topic_id, czxid=znode.stat.czxid)
        added = []
        for partition, replicas in assignment_of(document).items():
            key = TopicPartition(topic, partition)
            if key not in self._assignments:
                added.append(key)
            self.assign(key, replicas)
        return added, None

    def learn_state(self, key: TopicPartition, znode: Znode) -> MalformedZnodeError | None:
        """The partition's state is what was read, none without a znode; returns why not."""
        self.touched.add(key)
        if znode.stat is None:
            last = self.last_incarnation(key)
            self.states.pop(key, None)
            self.incarnations.pop(key, None)
            if last is not None:
                self._end(key, *last)
            return None
        try:
            state = parse_leader_and_isr(znode.path, znode.data)
        except MalformedZnodeError as error:
            self.skip(key, PartitionIncarnation(znode.stat.czxid))
            return error
        self.states[key] = (state, znode.stat.version)
        self.incarnations[key] = PartitionIncarnation(znode.stat.czxid)
        self._resume(key)
        return None

    def note_moving(self, topic: str, document: TopicDocument | None) -> None:
        """The topic's znode is this one now; of one that is gone all counts until it is stopped."""
        if document is None:
            return
        self.moving.pop(topic, None)
        if document.adding or document.removing:
            leaving = (document.removing or {}).items()
            self.moving[topic] = {
                TopicPartition(topic, int(name)): frozenset(map(BrokerId, brokers))
                for name, brokers in leaving
                if name.isdecimal()
            }

    def holders(self, key: TopicPartition) -> frozenset[BrokerId]:
        """The brokers that are assigned to the partition, and those that are leaving it."""
        leaving = self.moving.get(key.topic, {}).get(key, frozenset())
        return leaving.union(self._assignments.get(key, ()))

    def forget(self, key: TopicPartition) -> None:
        """The topic does not name the partition any more."""
        self.unassign(key)
        self.skipped.discard(key)
        self._resume(key)
        for known in (
            self.states,
            self.incarnations,
            self.bounced,
            self.considered,
            self.undecided,
        ):
            known.pop(key, None)

    def skip(self, key: TopicPartition, incarnation: PartitionIncarnation = NO_INCARNATION) -> None:
        """The partition is not managed until a topic comes or goes, or a failover (ZK-002).

        When its topic goes, its replicas of this `incarnation` are still to be stopped (TOP-002).
        """
        isr, last = self.last_incarnation(key) or (frozenset[BrokerId](), NO_INCARNATION)
        known = max(last, incarnation)
        if known != NO_INCARNATION:
            self._end(key, isr.union(self._assignments.get(key, ())), known)
        self.skipped.add(key)
        self.unassign(key)
        self.states.pop(key, None)
        self.incarnations.pop(key, None)

    def _end(
        self, key: TopicPartition, brokers: frozenset[BrokerId], incarnation: PartitionIncarnation
    ) -> None:
        self._ended.setdefault(key.topic, {})[key] = brokers, incarnation

    def _resume(self, key: TopicPartition) -> None:
        """The partition has a state again, or all of it is forgotten."""
        self._ended.get(key.topic, {}).pop(key, None)
