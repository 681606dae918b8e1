"""Short spellings of the core's values for its tests."""

from collections.abc import Callable, Iterable
from typing import ParamSpec

from fencepost.impl.core.rules.replica import Acted, Replica
from fencepost.impl.core.rules.replication import leader_append
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState, Record
from fencepost.spec.vocabulary import (
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    ZnodeVersion,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition
from tests.impl.core.driver import broker_ids

P = ParamSpec("P")
T0 = TopicPartition("t", 0)
T1 = TopicPartition("t", 1)
ME = BrokerId(1)


def command(
    leader: int,
    leader_epoch: int,
    *,
    isr: Iterable[int] = (1, 2, 3),
    version: int = 0,
    key: TopicPartition = T0,
    incarnation: int = 0,
) -> PartitionState:
    """What a controller tells about a partition on brokers 1, 2 and 3."""
    return PartitionState(
        topic=key.topic,
        partition=key.partition,
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(leader_epoch),
        isr=tuple(map(BrokerId, isr)),
        znode_version=ZnodeVersion(version),
        assigned_replicas=(BrokerId(1), BrokerId(2), BrokerId(3)),
        partition_incarnation=PartitionIncarnation(incarnation),
    )


def order(*commands: PartitionState, controller: int = 3, epoch: int = 1) -> LeaderAndIsrRequest:
    """The commands as one request."""
    return LeaderAndIsrRequest(
        controller_id=BrokerId(controller),
        controller_epoch=ControllerEpoch(epoch),
        partitions=commands,
    )


def state(
    leader: int, leader_epoch: int, isr: Iterable[int], controller_epoch: int = 1
) -> LeaderAndIsr:
    """What ZooKeeper holds about a partition."""
    return LeaderAndIsr(
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(leader_epoch),
        isr=broker_ids(*isr),
        controller_epoch=ControllerEpoch(controller_epoch),
    )


def replica(
    role: Role = Role.WAITING, *, epoch: int = -1, version: int = -1, end: int = 0, high: int = 0
) -> Replica:
    """Broker 1's replica of t/0; its records, if any, are of epoch 0."""
    starts = ((LeaderEpoch(0), Offset(0)),) if end else ()
    return Replica(
        broker_id=ME,
        topic_partition=T0,
        role=role,
        leader=ME if role is Role.LEADER else BrokerId(2),
        assigned_replicas=(BrokerId(1), BrokerId(2), BrokerId(3)),
        isr=broker_ids(1, 2, 3),
        leader_epoch=LeaderEpoch(epoch),
        znode_version=ZnodeVersion(version),
        log_end_offset=Offset(end),
        high_watermark=Offset(high),
        epoch_starts=starts,
    )


def records(*epochs: int) -> tuple[Record, ...]:
    """One record per epoch, of that epoch."""
    return tuple(Record(LeaderEpoch(epoch), f"v{i}") for i, epoch in enumerate(epochs))


def state_after(action: Callable[P, Acted]) -> Callable[P, Replica]:
    """The action, without its line of the trace."""

    def acted(*args: P.args, **kwargs: P.kwargs) -> Replica:
        return action(*args, **kwargs)[0]

    return acted


def appended(leader: Replica, count: int) -> Replica:
    """The leader has appended so many records."""
    return leader_append(leader, records(*count * [leader.leader_epoch]))[0]
