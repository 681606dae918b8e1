"""What an administrator asks of a healed cluster: what can be done is done, all else is refused.

The requests are about topics of their own, so that nothing that the run left behind decides them.
"""

import re
from functools import partial
from typing import Any

from msgspec import structs

from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.workload.operations import Fetch, ListOffsets, Produce
from fencepost.impl.core.broker.produce import SEQUENCE_MAX
from fencepost.impl.core.rules.controller.topic_tree import TOGETHER_MAX
from fencepost.impl.core.types.messages import (
    CreatePartitionsRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ProduceRequest,
    ProduceResponse,
    RemovePartitionsRequest,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicsRequest,
    DeleteTopicRequest,
    DeleteTopicsRequest,
    ReplicaList,
)
from fencepost.impl.sim.injectors.driver import SimulatedFaultDriver
from fencepost.impl.sim.requests.asking import After, AskingClient, Replicas, Step, Until, results
from fencepost.impl.sim.requests.last_breaks import LastBreaks
from fencepost.impl.sim.requests.last_configs import LastConfigs
from fencepost.impl.sim.requests.last_coordinators import LastCoordinators
from fencepost.impl.sim.requests.last_looks import LastLooks
from fencepost.impl.sim.requests.last_rights import LastRights
from fencepost.impl.sim.requests.last_tokens import LastTokens
from fencepost.impl.sim.requests.late_commands import LateCommands
from fencepost.impl.sim.world.admin_workload import (
    addition,
    election,
    reassignment,
)
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.operations import request_of
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_EPOCH,
    NO_INCARNATION,
    NO_PRODUCER,
    BrokerId,
    ElectionKind,
    ErrorCode,
    LeaderEpoch,
    ProtocolLevel,
)
from fencepost.spec.znodes import TopicPartition, broker_path, leader_and_isr_path, topic_path

NAME = "client-last"
TOPIC = "last"
OTHERS = ("last-2", "last-3")
LARGE = "last-large"
MISSING = "missing"
KEY = TopicPartition(TOPIC, 0)
NO_PARTITION = TopicPartition(TOPIC, 9)
PAUSED_MS = 300
"""Less than a session: the broker is not missed."""
RACES = 4
APART_MS = (0, 25)
"""Between two requests that race."""
LARGE_TOPICS = 0.1
DEATHS = 0.25
"""Share in which brokers die as well, which takes the time of some sessions."""
INVALID = ErrorCode.INVALID_REPLICA_ASSIGNMENT
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class LastRequests(AskingClient):
    """Asks for one thing after the other, wrong things among them."""

    def __init__(self, cluster: VirtualCluster, driver: SimulatedFaultDriver) -> None:
        super().__init__(cluster, NAME, driver)
        controller = cluster.view().controller_id
        brokers = sorted(cluster.disks)
        drawn = self.random.sample(brokers, len(brokers))
        self._third = next(one for one in drawn if one != controller)
        self._first, self._second = [one for one in drawn if one != self._third][:2]
        self._absent = BrokerId(brokers[-1] + 1)

    def script(self) -> Step:
        """All requests in turn."""
        yield self.rest()
        yield from self._topic_is_created()
        yield from self._records_are_taken()
        yield from self._leaders_are_elected()
        yield from self._partition_moves()
        yield from LateCommands(self, KEY).script()
        yield from self._log_is_told()
        yield from self._batches_are_taken_once()
        yield from self._move_is_cancelled()
        yield from self._moves_race()
        yield from self._partitions_are_added()
        yield from self._partitions_are_removed()
        yield from self._nothing_is_tried_out()
        yield from self._topics_come_and_go()
        yield from self._topic_comes_again()
        if self.random.random() < DEATHS and not self.cluster.options.unclean_leader_election:
            yield from self._isr_is_dead()
        if self.cluster.options.level >= ProtocolLevel.CONTROLLER_MUTATIONS:
            yield from LastConfigs(self).script()
        if (
            self.cluster.options.secured
            and self.cluster.options.level >= ProtocolLevel.BROKER_EPOCH
        ):
            yield from LastRights(self, LastTokens.of).script()
        yield from LastCoordinators(self).script()
        yield from LastBreaks(self, (self._first, self._second)).script()
        if self.random.random() < LARGE_TOPICS:
            yield from self._large_topic_goes()
        yield from LastLooks(self).script()

    def _topic_is_created(self) -> Step:
        """TOP-003, TOP-004."""
        too_many = len(self.cluster.disks) + 1
        for replicas in ((self._absent,), (self._first, self._first), ()):
            yield from self.expect(_creation(TOPIC, replicas), INVALID)
        for count, factor in ((0, 1), (1, 0), (1, too_many)):
            wrong = CreateTopicRequest(
                topic=TOPIC, partition_count=count, replication_factor=factor
            )
            yield from self.expect(wrong, INVALID)
        bad_name = CreateTopicRequest(topic="no topic")
        yield from self.expect(bad_name, ErrorCode.INVALID_TOPIC)
        yield from self.expect(_creation(TOPIC, (self._third, self._first)), ErrorCode.NONE)
        yield self.served(KEY, (self._third, self._first))
        again = _creation(TOPIC, (self._first,))
        yield from self.expect(again, ErrorCode.TOPIC_ALREADY_EXISTS)

    def _records_are_taken(self) -> Step:
        """What is well-formed is appended, and what is not is refused (CLI-001)."""
        yield from self._append(KEY, 1)
        good = ProduceRequest(topic=TOPIC, partition=0, values=(f"{NAME}/0/1",))
        mistakes: tuple[dict[str, Any], ...] = (
            {"values": ()},
            {"acks": 5},
            {"producer_id": 1, "producer_epoch": -1},
            {"producer_id": 1, "base_sequence": -1},
        )
        leader = self.leader_of(KEY)
        for mistake in mistakes:
            malformed = structs.replace(good, **mistake)
            yield from self.expect(malformed, ErrorCode.INVALID_REQUEST, to=leader)

    def _log_is_told(self) -> Step:
        """The leader alone tells it, in its epoch and incarnation (REPL-006, CLI-001)."""
        known, leader = self.cluster.state(KEY), self.leader_of(KEY)
        epoch = known[0].leader_epoch if known is not None else NO_EPOCH
        stat = self.cluster.zookeeper.peek(leader_and_isr_path(KEY)).stat
        incarnation = stat.czxid if stat is not None else NO_INCARNATION
        listed = yield from self.operate(ListOffsets(partition=KEY))
        fetched = yield from self.operate(Fetch(partition=KEY, offset=0))
        for told in (listed, fetched):
            place = told.leader_epoch, told.partition_incarnation
            ends = told.high_watermark, told.log_end_offset
            if (*place, *ends) != (epoch, incarnation, 2, 2):
                self.wrong.append(f"the log of epoch {epoch} is told as {(*place, *ends)}")
        if fetched.values != (f"{NAME}/1/1", f"{NAME}/2/1"):
            self.wrong.append(f"the log holds {fetched.values}")
        for offset, named, error in (
            (9, NO_EPOCH, ErrorCode.OFFSET_OUT_OF_RANGE),
            (0, epoch - 1, ErrorCode.FENCED_LEADER_EPOCH),
            (0, epoch + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ):
            wrong = Fetch(partition=KEY, offset=offset, leader_epoch=LeaderEpoch(named))
            yield from self.expect(request_of(wrong), error, to=leader)
        follower = self._first if leader == self._second else self._second
        elsewhere = request_of(ListOffsets(partition=KEY))
        yield from self.expect(elsewhere, ErrorCode.NOT_LEADER_OR_FOLLOWER, to=follower)
        missing = request_of(ListOffsets(partition=TopicPartition(MISSING, 0)))
        yield from self.expect(missing, UNKNOWN)

    def _batches_are_taken_once(self) -> Step:
        """Ids are given once, and what comes twice is appended once (KIP-98)."""
        ids = []
        for to in (self._first, self._second, self._first):
            given = yield to, InitProducerIdRequest()
            ids.append(
                given.producer_id if isinstance(given, InitProducerIdResponse) else NO_PRODUCER
            )
        if NO_PRODUCER in ids or len({*ids}) < len(ids):
            self.wrong.append(f"the ids of three producers are {ids}")
            return
        values = (f"{NAME}/4/1", f"{NAME}/4/2")
        batch = Produce(partition=KEY, values=values, producer_id=ids[0])
        first, leader = (yield from self.operate(batch)), self.leader_of(KEY)
        again = yield leader, request_of(batch)
        if not isinstance(again, ProduceResponse) or again.base_offset != first.offset:
            self.wrong.append("a batch that comes twice is not where it was")
        gap = structs.replace(batch, base_sequence=7)
        yield from self.expect(request_of(gap), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, to=leader)
        most = self.cluster.options.fetch_records_max
        for mistake, code in (
            ({"values": (values * most)[: most + 1]}, ErrorCode.RECORD_LIST_TOO_LARGE),
            ({"values": (values * most)[:most]}, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            ({"base_sequence": SEQUENCE_MAX - 2}, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
            ({"base_sequence": SEQUENCE_MAX - 1}, ErrorCode.INVALID_REQUEST),
        ):
            wrong = request_of(structs.replace(gap, **mistake))
            yield from self.expect(wrong, code, to=leader)
        newer = structs.replace(batch, values=(f"{NAME}/5/1",), producer_epoch=1)
        yield from self.operate(newer)
        late = structs.replace(batch, base_sequence=2)
        yield from self.expect(request_of(late), ErrorCode.INVALID_PRODUCER_EPOCH, to=leader)

    def _leaders_are_elected(self) -> Step:
        """The first assigned replica leads already, and no other one is wanted (KIP-460)."""
        for kind in ElectionKind:
            yield from self.expect(election(KEY, kind), ErrorCode.ELECTION_NOT_NEEDED)
            yield from self.expect(election(NO_PARTITION, kind), UNKNOWN)

    def _partition_moves(self) -> Step:
        """First its preferred leader changes, then it is everywhere, then less so (REAS-001)."""
        for replicas in ((self._absent,), (self._second, self._second)):
            yield from self.expect(reassignment(KEY, replicas), INVALID)
        yield from self.expect(reassignment(NO_PARTITION, (self._first,)), UNKNOWN)
        yield from self.expect(reassignment(KEY, ()), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        turned = (self._first, self._third)
        yield from self._move_to(turned)
        if self.leader_of(KEY) != self._first:
            yield from self.expect(election(KEY), ErrorCode.NONE)
        yield Until("the preferred leader", lambda: self.leader_of(KEY) == self._first)
        yield self.served(KEY, turned)
        yield from self._move_to(tuple(sorted(self.cluster.disks)))
        yield from self._move_to((self._first, self._second))
        yield from self._append(KEY, 2)

    def _move_is_cancelled(self) -> Step:
        """A move that waits for a broker is listed, and is taken back (REAS-004)."""
        target = (self._second, self._third)
        self.begin_fault(NAME, PauseBroker(target=broker(self._third), for_ms=PAUSED_MS))
        yield Until("the pause", lambda: self.cluster.processes[self._third].is_paused)
        to = self._first
        yield from self.expect(reassignment(KEY, target), ErrorCode.NONE, to=to)
        listed = yield to, ListPartitionReassignmentsRequest()
        if not isinstance(listed, ListPartitionReassignmentsResponse) or [
            (one.key, one.replicas) for one in listed.reassignments
        ] != [(KEY, target)]:
            self.wrong.append("the list of moves is not that of the one that is under way")
        yield from self.expect(reassignment(KEY, ()), ErrorCode.NONE, to=to)
        yield self.served(KEY, (self._first, self._second))
        yield from self.expect(reassignment(KEY, ()), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)

    def _moves_race(self) -> Step:
        """A move is taken back, and what is assigned without it stands; or it is replaced (H33)."""
        here, there = (self._first, self._second), (self._second, self._third)
        for _ in range(RACES):
            yield from self.expect(reassignment(KEY, there), ErrorCode.NONE)
            yield self._moment()
            told = results((yield None, reassignment(KEY, ())))
            if told not in ([ErrorCode.NONE], [ErrorCode.NO_REASSIGNMENT_IN_PROGRESS]):
                self.wrong.append(f"a move is not taken back: {', '.join(told)}")
            yield self.rest()
            if self.cluster.assignments().get(KEY) == there:
                here, there = there, here
            elif told != [ErrorCode.NONE]:
                self.wrong.append("a move was not done and is not under way")
            yield self.served(KEY, here)
        yield from self.expect(reassignment(KEY, there), ErrorCode.NONE)
        yield self._moment()
        yield from self._move_to((self._first, self._second))

    def _partitions_are_added(self) -> Step:
        """Those that are there stay; as many are added as are missing."""
        yield from self._least_is_told()
        yield from self.expect(addition(MISSING, 2), UNKNOWN)
        wrong: tuple[tuple[Replicas, ...], ...] = (
            ((self._absent,),),
            ((self._first, self._first),),
            ((),),
            ((self._first,), (self._first,)),
        )
        for lists in wrong:
            yield from self.expect(_addition(2, lists), INVALID)
        all_brokers = tuple(sorted(self.cluster.disks))
        yield from self.expect(_addition(2, (all_brokers,)), ErrorCode.NONE)
        yield self.served(TopicPartition(TOPIC, 1), all_brokers)
        yield from self.expect(addition(TOPIC, 3), ErrorCode.NONE)
        yield self.served(TopicPartition(TOPIC, 2))

    def _least_is_told(self) -> Step:
        """A refusal names the smallest number of partitions that is taken."""
        refused = yield None, addition(TOPIC, 1)
        told = re.search(r"give (\d+) to", getattr(refused, "message", ""))
        if results(refused) != [ErrorCode.INVALID_PARTITIONS] or told is None:
            self.wrong.append("no refusal says how many partitions may be asked for")
            return
        least = int(told[1])
        for count, code in ((least - 1, ErrorCode.INVALID_PARTITIONS), (least, ErrorCode.NONE)):
            asked = CreatePartitionsRequest(topic=TOPIC, partition_count=count, validate_only=True)
            yield from self.expect(asked, code)

    def _partitions_are_removed(self) -> Step:
        """Never all, and none that is not there."""
        for numbers in ((), (0, 1, 2), (9,)):
            wrong = RemovePartitionsRequest(topic=TOPIC, partitions=numbers)
            yield from self.expect(wrong, ErrorCode.INVALID_PARTITIONS)
        missing = RemovePartitionsRequest(topic=MISSING, partitions=(0,))
        yield from self.expect(missing, UNKNOWN)
        for numbers in ((2,), (1,)):
            removal = RemovePartitionsRequest(topic=TOPIC, partitions=numbers)
            yield from self.expect(removal, ErrorCode.NONE)
            left = [TopicPartition(TOPIC, number) for number in range(numbers[0])]
            yield Until("the removal", partial(self._has_left, left))

    def _topics_come_and_go(self) -> Step:
        """Many in one request, each by itself (TOP-002)."""
        second, third = OTHERS
        creations = (
            _creation(second, (self._first, self._third)),
            _creation(TOPIC, (self._first,)),
            _creation(third, (self._second,)),
            _creation(MISSING, (self._absent,)),
        )
        codes = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.NONE, INVALID)
        yield from self.expect(CreateTopicsRequest(topics=creations), *codes)
        yield self.served(TopicPartition(second, 0), (self._first, self._third))
        yield self.served(TopicPartition(third, 0), (self._second,))
        deletion = DeleteTopicsRequest(topics=(second, MISSING))
        yield from self.expect(deletion, ErrorCode.NONE, UNKNOWN)
        yield from self.expect(DeleteTopicRequest(topic=third), ErrorCode.NONE)
        yield from self.expect(DeleteTopicRequest(topic=third), UNKNOWN)
        for topic in OTHERS:
            yield Until(f"the deletion of {topic}", partial(self._is_gone, topic))

    def _topic_comes_again(self) -> Step:
        """It is deleted as soon as it is there, and created elsewhere while that goes on."""
        topic = OTHERS[0]
        for replicas in ((self._first, self._third), (self._third, self._second)):
            yield from self.expect(_creation(topic, replicas), ErrorCode.NONE)
            yield self._moment()
            yield from self.expect(DeleteTopicRequest(topic=topic), ErrorCode.NONE)
            yield self._moment()
        last = (self._second, self._first)
        yield from self.expect(_creation(topic, last), ErrorCode.NONE)
        key = TopicPartition(topic, 0)
        yield self.served(key, last)
        yield from self._append(key, 3)
        yield self.rest()

    def _isr_is_dead(self) -> Step:
        """No other replica leads unless an unclean election is asked for (FAIL-003, KIP-460)."""
        key = TopicPartition(OTHERS[1], 0)
        yield from self.expect(_creation(key.topic, (self._third, self._first)), ErrorCode.NONE)
        yield self.served(key, (self._third, self._first))
        for name, one in (("dies-first", self._first), ("dies-third", self._third)):
            self.begin_fault(name, KillBroker(target=broker(one), restart_after_ms=None))
            yield Until("the death", partial(self._is_not_live, one))
            yield Until("a smaller ISR", partial(self._is_isr, key, self._third))
        to = self._second
        yield Until("a controller that is known", partial(self._knows_controller, to))
        none = election(key, ElectionKind.UNCLEAN)
        yield from self.expect(none, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, to=to)
        yield from self.expect(election(key), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, to=to)
        self.end_fault("dies-first")
        yield Until("the return", lambda: not self._is_not_live(self._first))
        if self.leader_of(key) == self._first:
            self.wrong.append("a replica out of the ISR leads that was not asked to")
        yield from self.expect(none, ErrorCode.NONE, to=to)
        yield Until("the unclean election", lambda: self.leader_of(key) == self._first)
        self.end_fault("dies-third")
        yield self.rest()

    def _large_topic_goes(self) -> Step:
        """Its deletion is begun in one multi; the controller finishes it in others (TOP-003)."""
        topic = LARGE
        for count in (TOGETHER_MAX, TOGETHER_MAX + 1):
            large = CreateTopicRequest(topic=topic, partition_count=count, replication_factor=1)
            yield from self.expect(large, ErrorCode.NONE)
            yield self.served(TopicPartition(topic, count - 1))
            yield self.rest()
            yield from self.expect(DeleteTopicRequest(topic=topic), ErrorCode.NONE)
            yield Until("the deletion of a large topic", partial(self._is_gone, topic))
            yield self.rest()

    def _nothing_is_tried_out(self) -> Step:
        """What is only validated is judged as if it were asked for, and changes nothing."""
        new = OTHERS[1]
        creations = (
            _creation(new, (self._first, self._third)),
            CreateTopicRequest(topic=new, partition_count=2, replication_factor=1),
            structs.replace(_creation(new, (self._first,)), partition_count=0),
            _creation(TOPIC, (self._first,)),
            _creation(MISSING, (self._absent,)),
            CreateTopicRequest(topic=".."),
        )
        for asked, *codes in (
            (creations[:1], ErrorCode.NONE),
            (creations[1:2], ErrorCode.NONE),
            (creations[2:3], ErrorCode.NONE),
            (creations[3:], ErrorCode.TOPIC_ALREADY_EXISTS, INVALID, ErrorCode.INVALID_TOPIC),
        ):
            request = CreateTopicsRequest(topics=asked, validate_only=True)
            yield from self.expect(request, *codes)
        yield from self.expect(CreateTopicRequest(topic=new, validate_only=True), ErrorCode.NONE)
        more = CreatePartitionsRequest(topic=TOPIC, partition_count=9, validate_only=True)
        yield from self.expect(more, ErrorCode.NONE)
        if self._partitions(new) or self._partitions(TOPIC) != [KEY]:
            self.wrong.append("what was only to be validated was done")

    # What they are made of

    def _append(self, key: TopicPartition, number: int) -> Step:
        yield from self.operate(Produce(partition=key, values=(f"{NAME}/{number}/1",)))

    def _move_to(self, replicas: Replicas) -> Step:
        yield from self.expect(reassignment(KEY, replicas), ErrorCode.NONE)
        yield self.served(KEY, replicas)

    def _moment(self) -> After:
        return After(self.random.randint(*APART_MS))

    def _partitions(self, topic: str) -> list[TopicPartition]:
        return sorted(key for key in self.cluster.assignments() if key.topic == topic)

    def _has_left(self, left: list[TopicPartition]) -> bool:
        return self._partitions(TOPIC) == left

    def _is_isr(self, key: TopicPartition, only: BrokerId) -> bool:
        known = self.cluster.state(key)
        return known is not None and known[0].isr == {only}

    def _knows_controller(self, broker_id: BrokerId) -> bool:
        """The broker is the controller, or forwards to it."""
        election = self.cluster.processes[broker_id].node.controller_election
        return election.active_controller_id == self.cluster.view().controller_id != NO_BROKER

    def _is_not_live(self, broker_id: BrokerId) -> bool:
        return self.cluster.zookeeper.peek(broker_path(broker_id)).stat is None

    def _is_gone(self, topic: str) -> bool:
        key = TopicPartition(topic, 0)
        processes = self.cluster.processes.values()
        is_there = self.cluster.zookeeper.peek(topic_path(topic)).stat is not None
        return not is_there and not any(
            key in one.node.broker.replicas.partitions() for one in processes
        )


def _creation(topic: str, replicas: Replicas) -> CreateTopicRequest:
    return CreateTopicRequest(topic=topic, assignment=(ReplicaList(replicas=replicas),))


def _addition(count: int, lists: tuple[Replicas, ...]) -> CreatePartitionsRequest:
    entries = tuple(ReplicaList(replicas=one) for one in lists)
    return CreatePartitionsRequest(topic=TOPIC, partition_count=count, assignment=entries)
