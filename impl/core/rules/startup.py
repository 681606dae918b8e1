"""What a starting broker keeps of its logs and reads in ZooKeeper (START-001 to 004)."""

from collections.abc import Mapping, Sequence

from fencepost.impl.core.rules.commands import are_different
from fencepost.impl.core.rules.producers import ProducerState
from fencepost.impl.core.rules.replica import RecoveredLog, Replica
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.vocabulary import (
    BrokerId,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    ProducerId,
    ZnodeVersion,
)
from fencepost.spec.znodes import LeaderAndIsr, parse_topic


def recovered_high_watermark(log: RecoveredLog) -> Offset:
    """What was checkpointed as committed, as far as the log still goes (START-003)."""
    return min(log.high_watermark, log.log_end_offset)


def recovered_producers(log: RecoveredLog) -> Mapping[ProducerId, ProducerState]:
    """A restart forgets nothing of the producers that the log tells of (CLI-005)."""
    return log.producers


def replicas_in(topic: Znode) -> Mapping[int, Sequence[BrokerId]]:
    """Partition -> brokers that have a replica, or are about to have one (H27).

    Raises `MalformedZnodeError`.
    """
    return parse_topic(topic.path, topic.data)


def is_kept(replica: Replica, znode: Znode, state: LeaderAndIsr | None, is_own: bool) -> bool:  # noqa: FBT001
    """True while a log belongs to the partition in any way (H27).

    Assigned or about to be (`is_own`), which the topic's znode says before anything is started; in
    the ISR; leader. And only while the partition is still the one that the log is of (H10b).
    """
    if znode.stat is None:
        return is_own and not replica.partition_incarnation
    if are_different(replica.partition_incarnation, PartitionIncarnation(znode.stat.czxid)):
        return False
    return is_own or state is None or replica.broker_id in {*state.isr, state.leader}


def floor_of(znode: Znode, state: LeaderAndIsr | None) -> tuple[LeaderEpoch, ZnodeVersion] | None:
    """The leader epoch and version below which no command is obeyed after a start (START-002)."""
    if state is None:
        return None
    assert znode.stat is not None
    return state.leader_epoch, znode.stat.version
