"""One replica of one partition: its state, and how it obeys commands.

An action of `spec/tla/Replication.tla` takes a `Replica` and returns the next one, with its line of
the trace; an action that is not enabled returns its argument, and None. What a leader and a
follower do with records is in `replication.py`, what a leader does with the ISR in `isr.py`.
The records themselves live with the shell: a step costs the same at 10 and at 10 million of them.
"""

from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from fencepost.impl.core.rules.producers import ProducerState
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.actions import Named, action, taken
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_CONTROLLER_EPOCH,
    NO_EPOCH,
    NO_INCARNATION,
    NO_OFFSET,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    ProducerId,
    ZnodeVersion,
)
from fencepost.spec.znodes import TopicPartition, broker_epochs_by_member

Acted = tuple["Replica", ActionTaken | None]
"""The replica after an action, and its line; the replica as it was, and None without one."""
EpochStarts = tuple[tuple[LeaderEpoch, Offset], ...]
"""The epoch cache: (leader_epoch, offset of its first record), both ascending."""


LOG_START = Offset(0)
NO_VERSION = ZnodeVersion(-1)


class RecoveredLog(Struct, frozen=True, kw_only=True):
    """What storage found of a partition when the broker started."""

    log_end_offset: Offset
    high_watermark: Offset
    epoch_starts: EpochStarts = ()
    producers: Mapping[ProducerId, ProducerState] = field(default_factory=dict)
    partition_incarnation: PartitionIncarnation = NO_INCARNATION
    """The incarnation of the records, as the directory says."""


class FollowerProgress(Struct, frozen=True, kw_only=True):
    """What a leader knows of a follower, by its fetches in this leader epoch only (H18)."""

    log_end_offset: Offset
    caught_up_ms: int
    """When it last had all that the leader had at that time."""
    fetched_ms: int
    leader_end_at_fetch: Offset
    """The leader's log end offset at its last fetch."""
    high_watermark_sent: Offset = NO_OFFSET


class Replica(Struct, frozen=True, kw_only=True):
    """The record `replica_state[broker_id]` of the specs."""

    broker_id: BrokerId
    topic_partition: TopicPartition
    topic_id: str = ""
    partition_incarnation: PartitionIncarnation = NO_INCARNATION
    role: Role = Role.WAITING
    assigned_replicas: tuple[BrokerId, ...] = ()
    leader: BrokerId = NO_BROKER
    leader_epoch: LeaderEpoch = NO_EPOCH
    controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
    isr: frozenset[BrokerId] = frozenset()
    znode_version: ZnodeVersion = NO_VERSION
    high_watermark: Offset = LOG_START
    log_end_offset: Offset = LOG_START
    epoch_starts: EpochStarts = ()
    needs_truncation: bool = False
    """A follower that has not yet asked its leader where their logs part (level >= 2)."""
    epoch_start_offset: Offset = LOG_START
    """A leader's log end offset when it took over."""
    followers: Mapping[BrokerId, FollowerProgress] = field(default_factory=dict)
    """Never changed in place."""
    isr_broker_epochs: Mapping[BrokerId, BrokerEpoch] = field(default_factory=dict)
    """Member of the maximal ISR -> the registration under which it joined (level 3)."""
    follower_broker_epochs: Mapping[BrokerId, BrokerEpoch] = field(default_factory=dict)
    """The registration under which each of `followers` fetches (level 3)."""
    leading_since_ms: int = 0
    wanted_isr: frozenset[BrokerId] | None = None
    """The ISR of a write that is in flight or undecided."""
    is_fenced: bool = False
    """A leader after its write met a newer version: it commits nothing any more (ISR-004)."""

    @property
    def is_leader(self) -> bool:
        """True while this replica believes that it leads; it may be a zombie."""
        return self.role is Role.LEADER

    @property
    def maximal_isr(self) -> frozenset[BrokerId]:
        """What a commit needs: the ISR and, while a change is in flight, the new one (ISR-003)."""
        return self.isr | self.wanted_isr if self.wanted_isr is not None else self.isr

    def progress_of(self, member: BrokerId) -> FollowerProgress | None:
        """What is known of a member; of another incarnation than the one that joined, nothing."""
        is_same = self.follower_broker_epochs.get(member) == self.isr_broker_epochs.get(member)
        return self.followers.get(member) if is_same else None

    def with_floor(self, leader_epoch: LeaderEpoch, znode_version: ZnodeVersion) -> "Replica":
        """ZooKeeper's state as read at the start: nothing older is obeyed (START-002)."""
        return replace(self, leader_epoch=leader_epoch, znode_version=znode_version)

    @property
    def last_epoch(self) -> LeaderEpoch:
        """The leader epoch of the last record, or -1 of an empty log."""
        return self.epoch_starts[-1][0] if self.epoch_starts else NO_EPOCH


@action
def become_leader(
    replica: Replica, command: PartitionState, request: LeaderAndIsrRequest, now_ms: int
) -> Acted:
    """Lead from the log end on; what followers have is unknown until they fetch (V3 C, H18)."""
    after = replace(
        _obey(replica, command, request),
        role=Role.LEADER,
        epoch_start_offset=replica.log_end_offset,
        leading_since_ms=now_ms,
    )
    return after, _role_taken(become_leader, after, request)


@action
def become_follower(
    replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
) -> Acted:
    """Follow, and fetch from the log end on."""
    after = replace(_obey(replica, command, request), role=Role.FOLLOWER)
    return after, _role_taken(become_follower, after, request)


def become_comparing_follower(
    replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
) -> Acted:
    """Follow, and fetch nothing before the logs are compared (KIP-101).

    Also on a new epoch of the same leader: the log may have parted in between (H16).
    """
    after, line = become_follower(replica, command, request)
    return replace(after, needs_truncation=replica.log_end_offset > 0), line


def _role_taken(action: Named, after: Replica, request: LeaderAndIsrRequest) -> ActionTaken:
    by, epoch = request.controller_id, request.controller_epoch
    return taken(action, after, controller_id=by, controller_epoch=epoch)


def _obey(replica: Replica, command: PartitionState, request: LeaderAndIsrRequest) -> Replica:
    return replace(
        replica,
        topic_id=command.topic_id,
        partition_incarnation=command.partition_incarnation or replica.partition_incarnation,
        assigned_replicas=command.assigned_replicas,
        leader=command.leader,
        leader_epoch=command.leader_epoch,
        controller_epoch=request.controller_epoch,
        isr=frozenset(command.isr),
        isr_broker_epochs=broker_epochs_by_member(command.isr, command.isr_broker_epochs),
        follower_broker_epochs={},
        znode_version=command.znode_version,
        needs_truncation=False,
        followers={},
        wanted_isr=None,
        is_fenced=False,
    )


def is_sound(replica: Replica) -> bool:
    """True when nothing is taken for committed that is not in the log."""
    return 0 <= replica.high_watermark <= replica.log_end_offset


def begins_anew(replica: Replica) -> bool:
    """True when the last epoch of the log is noted where it begins, and not once more."""
    starts = replica.epoch_starts
    return len(starts) < 2 or starts[-1][0] != starts[-2][0]


def go_offline(replica: Replica) -> Replica:
    """The log failed: what this replica knew of it may not be what the disk holds (START-006)."""
    return replace(
        replica, role=Role.OFFLINE, needs_truncation=False, followers={}, wanted_isr=None
    )


def tells_failure(replica: Replica) -> bool:
    """True of a log that failed: the controller must elect another leader (START-006)."""
    return replica.role is Role.OFFLINE


@action
def truncate_log(replica: Replica, offset: Offset) -> Acted:
    """The log ends at `offset` at the latest; the high watermark never stays above it."""
    if offset >= replica.log_end_offset:
        return replica, None
    kept = tuple(entry for entry in replica.epoch_starts if entry[1] < offset)
    after = replace(
        replica,
        log_end_offset=offset,
        high_watermark=min(replica.high_watermark, offset),
        epoch_starts=kept,
    )
    return after, taken(truncate_log, after, offset=offset)


def end_offset_for_epoch(replica: Replica, leader_epoch: LeaderEpoch) -> tuple[LeaderEpoch, Offset]:
    """The largest epoch of the log that is not above `leader_epoch`, and where it ends.

    (-1, 0) when the log has none: nothing up to that epoch is shared (KIP-279).
    """
    found = NO_EPOCH
    for epoch, start in replica.epoch_starts:
        if epoch > leader_epoch:
            return (found, start) if found != NO_EPOCH else (NO_EPOCH, Offset(0))
        found = epoch
    return (found, replica.log_end_offset) if found != NO_EPOCH else (NO_EPOCH, Offset(0))


def compare_logs(
    replica: Replica, leader_epoch: LeaderEpoch, end_offset: Offset
) -> tuple[Offset, bool]:
    """Where to truncate, and whether the logs then agree or must be compared again (KIP-279).

    `leader_epoch` and `end_offset` are the leader's answer about this replica's last epoch.
    """
    own_epoch, own_end = end_offset_for_epoch(replica, leader_epoch)
    if own_epoch == leader_epoch:
        return min(own_end, end_offset), True
    return own_end, own_epoch == NO_EPOCH
