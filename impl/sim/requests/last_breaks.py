"""What brokers answer that lose ZooKeeper while they look, whatever they were asked (ZK-006).

A question of the broker fails at some moment after the request has left. What is said not to be
done is not done, what is said to be done is; and what may have happened is told as that.
"""

from collections.abc import Generator, Sequence

from msgspec import structs

from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.faults.zookeeper_faults import FailZooKeeperRequests
from fencepost.impl.core.types.config_messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    EntityChange,
    EntryChange,
    IncrementalAlterConfigsRequest,
)
from fencepost.impl.core.types.messages import (
    CreatePartitionsRequest,
    InitProducerIdRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    RemovePartitionsRequest,
    Request,
    Response,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicsRequest,
    DeleteTopicRequest,
    DeleteTopicsRequest,
    ReplicaList,
)
from fencepost.impl.sim.requests.asking import (
    After,
    Asked,
    AskingClient,
    Replicas,
    Step,
    results,
)
from fencepost.impl.sim.requests.last_configs import LastConfigs
from fencepost.impl.sim.world.admin_workload import election, reassignment
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import ErrorCode, ProtocolLevel
from fencepost.spec.znodes import TopicPartition

BREAKS = 10
MOMENTS_MS = (0, 6)
"""After so much time the next question fails: requests ask up to four, of some milliseconds."""
LASTS_MS = 20
OK = ErrorCode.NONE
NOT_DONE, UNSURE = ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.REQUEST_TIMED_OUT
STANDS = "last-stands"
KEY = TopicPartition(STANDS, 0)
COME = ("last-comes-1", "last-comes-2")
ENTITY, COLOR = ConfigEntity(EntityKind.TOPIC, (STANDS,)), "color"


class LastBreaks:
    """The part of the last requests in which brokers lose ZooKeeper."""

    def __init__(self, client: AskingClient, replicas: Replicas) -> None:
        """The client asks, of topics on these replicas."""
        self._client = client
        self._replicas = replicas
        self._configs = LastConfigs(client)
        self._begun = 0

    def script(self) -> Step:
        """Some requests, each of a broker that loses ZooKeeper, or has lost it just before."""
        yield from self._client.expect(self._creation(STANDS), OK)
        yield self._client.served(KEY, self._replicas)
        options = self._client.cluster.options
        has_configs = options.level >= ProtocolLevel.CONTROLLER_MUTATIONS
        steps = [self._is_asked, self._topics_come_and_go]
        if has_configs:
            yield from self._is_set("none")
            steps.append(self._configuration_changes)
        for _ in range(BREAKS):
            yield from self._client.random.choice(steps)()
        if has_configs:
            yield from self._configs.drop(AlterConfigsRequest, ENTITY, (COLOR,))
        yield from self._client.expect(DeleteTopicRequest(topic=STANDS), OK)
        yield self._client.rest()

    def _is_asked(self) -> Step:
        """For what changes nothing."""
        request, *codes = self._client.random.choice(self._attempts())
        name = type(request).__name__
        told = yield from self._breaks(request)
        if not {*told} <= {*codes, NOT_DONE, UNSURE}:
            self._client.wrong.append(f"{name} without ZooKeeper: {', '.join(told)}")
        told = results((yield None, request))
        if not {*told} <= {*codes}:
            self._client.wrong.append(f"{name} with ZooKeeper again: {', '.join(told)}")

    def _attempts(self) -> tuple[tuple[Request, ErrorCode, *tuple[ErrorCode, ...]], ...]:
        """What is answered to each when all is well.

        A broker may have lost its session, and a move that was asked for before may stand still.
        """
        more = CreatePartitionsRequest(topic=STANDS, partition_count=3, validate_only=True)
        new = self._creation(COME[0])
        all_of_it = RemovePartitionsRequest(topic=STANDS, partitions=(0,))
        return (
            (reassignment(KEY, ()), ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, OK),
            (election(KEY), ErrorCode.ELECTION_NOT_NEEDED, OK),
            (ListPartitionReassignmentsRequest(), OK),
            (MetadataRequest(), OK),
            (more, OK),
            (structs.replace(new, validate_only=True), OK),
            (CreateTopicsRequest(topics=(new,), validate_only=True), OK),
            (reassignment(KEY, self._replicas), OK),
            (InitProducerIdRequest(), OK),
            (all_of_it, ErrorCode.INVALID_PARTITIONS),
        )

    def _configuration_changes(self) -> Step:
        """The value is the new one, or as before, as the answer says."""
        before, after = f"{self._begun}", f"{self._begun + 1}"
        yield from self._is_set(before)
        told = yield from self._breaks(_colored(after))
        possible = {before, after} if told == [UNSURE] else {after if told == [OK] else before}
        if told not in ([OK], [UNSURE], [NOT_DONE], [ErrorCode.NOT_CONTROLLER]):
            self._client.wrong.append(f"a change without ZooKeeper: {', '.join(told)}")
        request = DescribeConfigsRequest(kind=ENTITY.kind, names=ENTITY.names)
        yield from self._configs.is_told(
            request, lambda told: told.get(ENTITY.names, {}).get(COLOR) in possible
        )

    def _is_set(self, color: str) -> Step:
        yield from self._client.expect(_colored(color), OK)
        yield from self._configs.tells(ENTITY, **{COLOR: color})

    def _topics_come_and_go(self) -> Step:
        """One in a request of its own, or two together."""
        topics = COME[: self._client.random.randint(1, len(COME))]
        creations = tuple(map(self._creation, topics))
        together = CreateTopicsRequest(topics=creations)
        yield from self._is_as_told(topics, together if topics[1:] else creations[0], there=True)
        left = [topic for topic in topics if self._is_there(topic)]
        if not left:
            return
        all_left = DeleteTopicsRequest(topics=tuple(left))
        deletion = all_left if left[1:] else DeleteTopicRequest(topic=left[0])
        yield from self._is_as_told(left, deletion, there=False)
        for topic in filter(self._is_there, left):
            yield from self._client.expect(DeleteTopicRequest(topic=topic), OK)
        yield self._client.rest()

    def _is_as_told(self, topics: Sequence[str], request: Request, *, there: bool) -> Step:
        """Each topic is there or not, as the answer says of it."""
        told = yield from self._breaks(request)
        codes = told if len(told) == len(topics) else [UNSURE] * len(topics)
        for topic, code in zip(topics, codes, strict=True):
            if code is not UNSURE and code is not (
                OK if self._is_there(topic) is there else NOT_DONE
            ):
                name = type(request).__name__
                self._client.wrong.append(f"{name} without ZooKeeper is told as {code}")

    def _breaks(self, request: Request) -> Generator[Asked, Response | None, list[ErrorCode]]:
        """What a broker answers that loses ZooKeeper at some moment; all is well afterwards."""
        to = self._client.any_broker()
        fault = FailZooKeeperRequests(target=broker(to), for_ms=LASTS_MS)
        moment_ms = self._client.random.randint(*MOMENTS_MS)
        self._begun += 1
        self._client.begin_fault(f"last-break-{self._begun}", fault, moment_ms)
        answer = yield to, request
        yield After(moment_ms + LASTS_MS)
        yield self._client.rest()
        return results(answer)

    def _is_there(self, topic: str) -> bool:
        return any(key.topic == topic for key in self._client.cluster.assignments())

    def _creation(self, topic: str) -> CreateTopicRequest:
        lists = (ReplicaList(replicas=self._replicas),)
        return CreateTopicRequest(topic=topic, assignment=lists)


def _colored(color: str) -> Request:
    change = EntryChange(name=COLOR, value=color)
    entity = EntityChange(kind=ENTITY.kind, names=ENTITY.names, changes=(change,))
    return IncrementalAlterConfigsRequest(entities=(entity,))
