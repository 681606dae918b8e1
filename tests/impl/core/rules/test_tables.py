"""The tables are what happens: every row is executed, and what has no row does not happen."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TypeVar

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules.controller.leadership import choose_leader
from fencepost.impl.core.rules.tables import (
    CHOICES,
    COMMANDS,
    MAY_WRITE,
    PARTITIONS,
    CommandKind,
    ElectionCause,
    IsrCondition,
    PartitionEvent,
    PartitionStage,
    Role,
    WriteKind,
    Writer,
    ZnodeKind,
)
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.config_messages import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    EntityChange,
    EntryChange,
    ExpireDelegationTokenRequest,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    RenewDelegationTokenRequest,
)
from fencepost.impl.core.types.events import LogFailed
from fencepost.impl.core.types.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    LeaderAndIsrResponse,
    PartitionStop,
    StopReplicaRequest,
    StopReplicaResponse,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    DeleteTopicRequest,
    DeleteTopicResponse,
)
from fencepost.impl.core.types.zookeeper import Create, Delete, SetData
from fencepost.spec.config_store import EntityKind
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NEWEST_LEVEL,
    BrokerId,
    ControllerEpoch,
    ElectionKind,
    ErrorCode,
    LeaderEpoch,
    PartitionIncarnation,
)
from fencepost.spec.znodes import (
    CONTROLLER,
    LEADER_ELECTION,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    TOPICS,
    ElectionDocument,
    ReplicasDocument,
    TopicPartition,
    document_bytes,
    leader_and_isr_path,
    request_path,
    topic_path,
)
from tests.impl.core.build import ME, T0, T1, command, order, state
from tests.impl.core.driver import Driver, broker_ids
from tests.impl.core.moving import acknowledge, elect, governed, reassign, shrink
from tests.impl.core.roles import ASSIGNED, elect_other, leading

Key = TypeVar("Key")
Value = TypeVar("Value")


def without(table: dict[Key, Value], row: Key) -> dict[Key, Value]:
    assert row in table
    return {key: value for key, value in table.items() if key != row}


# Role and command

LEADS, FOLLOWS, GONE = "leads", "follows", "gone"
STALE = ErrorCode.STALE_LEADER_EPOCH
OBEYED = {
    # LEAD, FOLLOW, LEAD_AGAIN, FOLLOW_AGAIN, FOLLOW_OLDER, STOP, STOP_OLDER
    Role.WAITING: (LEADS, FOLLOWS, *2 * [ErrorCode.REPLICA_NOT_AVAILABLE], STALE, GONE, STALE),
    Role.LEADER: (LEADS, FOLLOWS, STALE, STALE, STALE, GONE, STALE),
    Role.FOLLOWER: (LEADS, FOLLOWS, STALE, STALE, STALE, GONE, STALE),
    Role.OFFLINE: (*5 * [ErrorCode.STORAGE_ERROR], GONE, STALE),
}


def in_role(role: Role, config: Config) -> Driver:
    """Broker 1 has a replica in this role; ZooKeeper holds leader epoch 3, at version 1."""
    driver = Driver(config)
    elect_other(driver, 3)
    driver.create_topic("t", ASSIGNED)
    driver.put_state(T0, state(2, 3, ASSIGNED))
    driver.put_state(T0, state(2, 3, ASSIGNED))
    driver.start()
    if role is not Role.WAITING:
        first = command(1 if role is Role.LEADER else 2, 4, version=2)
        driver.deliver(order(first, epoch=1), LeaderAndIsrResponse)
    if role is Role.OFFLINE:
        driver.step(LogFailed(topic_partition=T0))
    assert driver.replica(T0).role is role
    return driver


def obeyed(driver: Driver, kind: CommandKind) -> str | ErrorCode:
    """What the replica is afterwards, or why it has refused."""
    replica = driver.replica(T0)
    epoch, version = replica.leader_epoch, replica.znode_version
    if kind in (CommandKind.STOP, CommandKind.STOP_OLDER):
        stop = PartitionStop(
            topic="t",
            partition=0,
            partition_incarnation=PartitionIncarnation(replica.partition_incarnation),
            leader_epoch=LeaderEpoch(epoch - (kind is CommandKind.STOP_OLDER)),
        )
        request = StopReplicaRequest(
            controller_id=ME, controller_epoch=ControllerEpoch(1), partitions=(stop,)
        )
        (error,) = driver.deliver(request, StopReplicaResponse).partitions
        is_gone = driver.node.broker.replicas.get(T0) is None
        return GONE if is_gone else error.error_code
    told = {
        CommandKind.LEAD: command(1, epoch + 1),
        CommandKind.FOLLOW: command(2, epoch + 1),
        CommandKind.LEAD_AGAIN: command(1, epoch, version=version - 1),
        CommandKind.FOLLOW_AGAIN: command(2, epoch, version=version - 1),
        CommandKind.FOLLOW_OLDER: command(2, epoch - 1),
    }[kind]
    (error,) = driver.deliver(order(told, epoch=1), LeaderAndIsrResponse).partitions
    if error.error_code is not ErrorCode.NONE:
        return error.error_code
    return {Role.LEADER: LEADS, Role.FOLLOWER: FOLLOWS}[driver.replica(T0).role]


@pytest.mark.parametrize(("role", "kind"), [*product(Role, CommandKind)])
def test_a_command_is_obeyed_as_its_row_says(role: Role, kind: CommandKind) -> None:
    expected = dict(zip(CommandKind, OBEYED[role], strict=True))
    assert obeyed(in_role(role, Config(broker_id=ME)), kind) == expected[kind]

    rules = replace(LEVELS[NEWEST_LEVEL], commands=without({**COMMANDS}, (role, kind)))
    with pytest.raises(KeyError):
        obeyed(in_role(role, Config(broker_id=ME, rules=rules)), kind)


# Partition and event

UNKNOWN = TopicPartition("unknown", 0)
REQUESTS = {
    PartitionEvent.REMOVAL: (PARTITIONS_REMOVE, b"{}"),
    PartitionEvent.ADDITION: (PARTITIONS_ADD, document_bytes(ReplicasDocument(replicas=[3]))),
    PartitionEvent.REASSIGNMENT: (
        PARTITIONS_REASSIGNED,
        document_bytes(ReplicasDocument(replicas=[3, 2])),
    ),
    PartitionEvent.ELECTION: (
        LEADER_ELECTION,
        document_bytes(ElectionDocument(kind=ElectionKind.PREFERRED)),
    ),
}


def ask(driver: Driver, event: PartitionEvent, key: TopicPartition) -> None:
    """The request stands in ZooKeeper, and the controller has looked."""
    kind, data = REQUESTS[event]
    path = request_path(kind, key)
    driver.write(Create(path=path.rpartition("/")[0], data=b""), Create(path=path, data=data))
    driver.tick(100)


def end_then(driver: Driver, key: TopicPartition, act: Callable[[], None]) -> None:
    """A request ends; before the controller looks once more, `act` happens."""
    driver.plan_read(topic_path(key.topic), None)
    driver.plan_read(topic_path(key.topic), None, first=act)
    ask(driver, PartitionEvent.ELECTION, key)


def orphan(driver: Driver) -> None:
    """The leader is one that does not live, and the controller was not told."""
    driver.put_state(T0, state(9, 1, (2, 3)))


def unwritten(driver: Driver) -> None:
    driver.write(Delete(path=leader_and_isr_path(T0), expected_version=ANY_VERSION))


def happen(stage: PartitionStage, event: PartitionEvent, driver: Driver) -> None:
    """The event happens to a partition in this stage; the node is controller."""
    match stage, event:
        case _, PartitionEvent.BROKERS_CHANGED:
            governed(driver, (2, 3))
            driver.unregister(2)
        case PartitionStage.LEAVING, _:
            governed(driver, (2, 3), (3, 4))
            shrink(driver, 1)
            acknowledge(driver)
        case PartitionStage.NO_TOPIC | PartitionStage.UNNAMED, _:
            governed(driver, (2, 3))
            key = UNKNOWN if stage is PartitionStage.NO_TOPIC else T1
            ask(driver, PartitionEvent.ELECTION if event is PartitionEvent.LOOK else event, key)
        case PartitionStage.NEW, PartitionEvent.LOOK:
            governed(driver, (2, 3))
            end_then(driver, T0, lambda: unwritten(driver))
        case PartitionStage.UNSETTLED, PartitionEvent.LOOK:
            governed(driver, (2, 3))
            end_then(driver, T0, lambda: orphan(driver))
        case PartitionStage.SETTLED, PartitionEvent.LOOK:
            governed(driver, (2, 3))
            ask(driver, PartitionEvent.ELECTION, T0)
        case _:
            governed(driver, (9,) if stage is PartitionStage.NEW else (2, 3))
            if stage is PartitionStage.UNSETTLED:
                orphan(driver)
            ask(driver, event, T0)


@pytest.mark.parametrize("row", PARTITIONS)
def test_a_partition_change_asks_its_row(row: tuple[PartitionStage, PartitionEvent]) -> None:
    happen(*row, Driver(Config(broker_id=ME)))

    rules = replace(LEVELS[NEWEST_LEVEL], partitions=without({**PARTITIONS}, row))
    with pytest.raises(KeyError, match=f"{row[0].name}.*{row[1].name}"):
        happen(*row, Driver(Config(broker_id=ME, rules=rules)))


# ISR and cause


IN_ORDER = (BrokerId(1), BrokerId(2), BrokerId(3))
LIVE = {
    IsrCondition.STEADY: broker_ids(1, 2),
    IsrCondition.SHAKEN: broker_ids(2),
    IsrCondition.RETURNED: broker_ids(2),
    IsrCondition.OUTSIDE_ONLY: broker_ids(3),
    IsrCondition.DEAD: broker_ids(),
}


@pytest.mark.parametrize(("condition", "cause"), [*product(IsrCondition, ElectionCause)])
def test_a_choice_asks_its_row(
    condition: IsrCondition, cause: ElectionCause, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = without({**CHOICES}, (condition, cause))
    monkeypatch.setattr("fencepost.impl.core.rules.controller.leadership.CHOICES", rows)

    away = LIVE[condition] if condition is IsrCondition.RETURNED else frozenset()
    with pytest.raises(KeyError, match=f"{condition.name}.*{cause.name}"):
        choose_leader(state(1, 4, (1, 2)), IN_ORDER, LIVE[condition], away, cause)


# Writer and znode

ANY_BROKER_WRITES = LEVELS[4]  # above it the controller alone writes the configuration


def producer_id(driver: Driver) -> int:
    return driver.deliver(InitProducerIdRequest(), InitProducerIdResponse).producer_id


def administer(driver: Driver) -> None:
    """Topics and partitions come, move and go; all that a controller writes is written."""
    governed(driver, (2, 3), (3, 4))
    driver.unregister(2)
    driver.register(2)
    reassign(driver, 4)
    reassign(driver, 4, 3)
    reassign(driver)
    acknowledge(driver)
    driver.put_state(T0, state(3, 9, (2, 3)))
    elect(driver, ElectionKind.PREFERRED)
    shrink(driver, 1)
    acknowledge(driver)
    for _ in range(2):
        request = CreateTopicRequest(topic="u", partition_count=2, replication_factor=2)
        driver.deliver(request, CreateTopicResponse)
        driver.deliver(DeleteTopicRequest(topic="u"), DeleteTopicResponse)
    alter(driver)
    lend(driver)


def alter(driver: Driver) -> None:
    """A configuration is made, and changed."""
    for change in (EntryChange(name="a", value="1"), EntryChange(name="a", value="2")):
        entity = EntityChange(kind=EntityKind.TOPIC, names=("t",), changes=(change,))
        request = IncrementalAlterConfigsRequest(entities=(entity,))
        driver.deliver(request, IncrementalAlterConfigsResponse)


def lend(driver: Driver) -> None:
    """A token is made, renewed and ended."""
    asker = Asker("User:alice", is_proven=True)
    token = driver.ask(CreateDelegationTokenRequest(), asker)
    token_id = driver.reply(token, CreateDelegationTokenResponse).token_id
    driver.ask(RenewDelegationTokenRequest(token_id=token_id, renew_ms=1), asker)
    driver.ask(ExpireDelegationTokenRequest(token_id=token_id), asker)


def live_twice(driver: Driver) -> None:
    """A broker takes producer ids in two lives, and is controller in both, people or not."""
    driver.start()
    first = producer_id(driver)
    driver.lose_session()
    driver.start(recovered=True)
    assert producer_id(driver) > first
    driver.write(SetData(path=CONTROLLER, data=b"", expected_version=ANY_VERSION))


def lead(driver: Driver) -> None:
    """A leader drops members that lag."""
    leading(driver)
    driver.tick(2001)
    alter(driver)
    lend(driver)


def live(monkeypatch: pytest.MonkeyPatch, config: Config) -> Driver:
    """Nodes write all that they may; returns the last one."""
    for act in (lead, live_twice, administer):
        act(Driver(config))
    monkeypatch.setattr("fencepost.impl.core.rules.controller.topic_tree.TOGETHER_MAX", 1)
    last = Driver(config)
    administer(last)
    return last


PERMISSIONS = [
    (writer, znode, kind)
    for writer, znodes in MAY_WRITE.items()
    for znode, kinds in znodes.items()
    for kind in sorted(kinds, key=lambda one: one.value)
]


@pytest.mark.parametrize(("writer", "znode", "kind"), PERMISSIONS)
def test_a_write_needs_its_row(
    writer: Writer, znode: ZnodeKind, kind: WriteKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    fewer = {**MAY_WRITE[writer], znode: MAY_WRITE[writer][znode] - {kind}}
    rules = replace(ANY_BROKER_WRITES, may_write={**MAY_WRITE, writer: fewer})

    with pytest.raises(AssertionError, match="this writer may not"):
        live(monkeypatch, Config(broker_id=ME, rules=rules))


def test_nodes_write_only_what_the_table_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    last = live(monkeypatch, Config(broker_id=ME, rules=ANY_BROKER_WRITES))

    assert last.zookeeper.children(TOPICS) == ("t",)
