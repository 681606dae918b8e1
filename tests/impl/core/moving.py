"""A node that is the controller of brokers 1 to 4, and what its administrators ask."""

from msgspec.structs import replace

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.broker_reports import PartitionId
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    PartitionStop,
    Reassignment,
    RemovePartitionsRequest,
    RemovePartitionsResponse,
    StopReplicaRequest,
    StopReplicaResponse,
)
from fencepost.impl.core.types.topic_messages import ReplicaList
from fencepost.spec.vocabulary import BrokerId, ElectionKind, ErrorCode
from fencepost.spec.znodes import TopicDocument, TopicPartition, parse_topic_document, topic_path
from tests.impl.core.build import ME, T0
from tests.impl.core.driver import Driver

PARTITION_CHANGE_MS = Config(broker_id=ME).partition_change_ms


def governed(driver: Driver, *partitions: tuple[int, ...]) -> Driver:
    """Brokers 2, 3 and 4 are registered beside the node; topic `t` is led, and all were told."""
    for broker_id in (2, 3, 4):
        driver.register(broker_id)
    driver.start()
    driver.create_topic("t", *(partitions or ((2, 3),)))
    driver.acknowledge_commands()
    return driver


def acknowledge(driver: Driver) -> None:
    """Every command so far has been answered well; an answer may set the next one free."""
    answered: set[int] = set()
    for send in driver.sent:
        if send.request_id in answered:
            continue
        answered.add(send.request_id)
        if isinstance(send.request, LeaderAndIsrRequest):
            driver.respond(send, LeaderAndIsrResponse())
        elif isinstance(send.request, StopReplicaRequest):
            driver.respond(send, StopReplicaResponse())


def stops(driver: Driver, broker_id: int) -> list[PartitionStop]:
    """What a broker was told to give up."""
    requests = (send.request for send in driver.sent if send.to == broker_id)
    return [p for r in requests if isinstance(r, StopReplicaRequest) for p in r.partitions]


def topic(driver: Driver, name: str = "t") -> TopicDocument:
    """What the topic's znode says."""
    path = topic_path(name)
    return parse_topic_document(path, driver.zookeeper.peek(path).data)


def exists(driver: Driver, path: str) -> bool:
    """True when there is such a znode."""
    return driver.zookeeper.peek(path).stat is not None


def join_isr(driver: Driver, key: TopicPartition, *members: int) -> None:
    """The leader has written this ISR."""
    before = driver.state(key)
    isr = frozenset(map(BrokerId, members))
    driver.put_state(key, replace(before, isr=isr))


# What administrators ask, and how it is answered


def elect(driver: Driver, kind: ElectionKind, key: TopicPartition = T0) -> ErrorCode:
    wanted = (PartitionId(topic=key.topic, partition=key.partition),)
    request = ElectLeadersRequest(kind=kind, partitions=wanted)
    (result,) = driver.deliver(request, ElectLeadersResponse).partitions
    return result.error_code


def reassign(driver: Driver, *replicas: int, key: TopicPartition = T0) -> ErrorCode:
    target = tuple(map(BrokerId, replicas))
    one = Reassignment(topic=key.topic, partition=key.partition, replicas=target)
    request = AlterPartitionReassignmentsRequest(reassignments=(one,))
    (result,) = driver.deliver(request, AlterPartitionReassignmentsResponse).partitions
    return result.error_code


def listed(driver: Driver) -> tuple[OngoingReassignment, ...]:
    request = ListPartitionReassignmentsRequest()
    return driver.deliver(request, ListPartitionReassignmentsResponse).reassignments


def grow(driver: Driver, count: int, *assignment: tuple[int, ...]) -> ErrorCode:
    lists = tuple(ReplicaList(replicas=tuple(map(BrokerId, replicas))) for replicas in assignment)
    request = CreatePartitionsRequest(topic="t", partition_count=count, assignment=lists)
    return driver.deliver(request, CreatePartitionsResponse).error_code


def shrink(driver: Driver, *partitions: int) -> ErrorCode:
    request = RemovePartitionsRequest(topic="t", partitions=partitions)
    return driver.deliver(request, RemovePartitionsResponse).error_code
