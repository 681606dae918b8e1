"""The state of every replica of one partition at an instant, rebuilt from the trace alone."""

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from fencepost.conformance.checks.ordering import broker_of
from fencepost.conformance.checks.replica_log import APPENDS
from fencepost.spec.trace import Kind, Phase, TraceEvent

LAST_RECORDS = 8
"""Records at the end of a log that are shown."""

DOWN_FAULTS = {
    "proc.pause": "paused",
    "proc.stutter": "paused",
    "proc.kill": "killed",
    "proc.crash_at": "stopped",
    "proc.term": "ended",
    "proc.rolling": "ended",
    "proc.bounce_fast": "killed",
    "disk.lose_unsynced": "without power",
    "disk.corrupt_tail": "without power",
    "disk.stale_checkpoint": "killed",
    "disk.enospc": "ended",
    "disk.eio": "ended",
}
"""Faults that stop a broker, and the word for a broker so stopped."""
DOWN_PHASES = {Phase.INJECTING: True, Phase.ACTIVE: True} | dict.fromkeys(
    (Phase.HEALED, Phase.INEFFECTIVE, Phase.FAILED), False
)
"""Whether a broker is down from a phase on: what is proven later began with the injection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaRecord:
    """One record of a replica's log; its epoch is -1 where the trace does not tell."""

    offset: int
    value: str
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """What one broker believed about the partition; -1 where it had not said anything yet."""

    broker_id: int
    role: str
    """`leader`, `follower`, `fenced leader` or `none`."""
    process: str
    """`running`, `killed` or `paused`."""
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    high_watermark: int
    log_end_offset: int
    last_records: tuple[ReplicaRecord, ...]


@dataclass(slots=True, kw_only=True)
class _Replica:
    role: str = "none"
    process: str = "running"
    leader: int = -1
    leader_epoch: int = -1
    isr: tuple[int, ...] = ()
    high_watermark: int = -1
    log_end_offset: int = -1
    log: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Value and leader epoch of a record, by offset."""
    offsets: list[int] = field(default_factory=list)
    """Of `log`, ascending."""

    def put(self, offset: int, value: str, leader_epoch: int) -> None:
        """Add the record, in place of what was at its offset."""
        if offset not in self.log:
            insort(self.offsets, offset)  # nearly always at the end
        self.log[offset] = value, leader_epoch

    def cut(self, end: int) -> None:
        """Drop what lies at `end` or above."""
        while self.offsets and self.offsets[-1] >= end:
            del self.log[self.offsets.pop()]


_OBEYS = frozenset({"BecomeLeader", "BecomeFollower"})
_TELLS_ISR = _OBEYS | {"AdoptIsr"}
_ROLES = {
    "BecomeLeader": "leader",
    "BecomeFollower": "follower",
    "FenceLeader": "fenced leader",
    "NodeStarted": "none",
}


def replica_states(events: Iterable[TraceEvent]) -> tuple[ReplicaState, ...]:
    """The replicas by broker, after `events` of one partition and shared ones in display order."""
    replicas: dict[int, _Replica] = {}
    _see(replicas, events)
    return _all_frozen(replicas)


class Replay:
    """The replicas before any of these events in display order, if asked ascending."""

    def __init__(self, ordered: Iterable[TraceEvent]) -> None:
        self._ordered = iter(ordered)
        self._replicas: dict[int, _Replica] = {}
        self._at = 0

    def before(self, place: int) -> tuple[ReplicaState, ...]:
        """As `replica_states` of the events before that place."""
        assert place >= self._at
        _see(self._replicas, islice(self._ordered, place - self._at))
        self._at = place
        return _all_frozen(self._replicas)


def _see(replicas: dict[int, _Replica], events: Iterable[TraceEvent]) -> None:
    """Bring the replicas up to date."""
    for event in events:
        kind = event.kind
        if kind is Kind.FAULT and event.broker_id is not None:
            _apply_fault(_replica_of(replicas, event.broker_id), event)
        elif kind is Kind.ACTION or kind is Kind.RUN:
            broker_id = broker_of(event)
            if broker_id is not None:
                _apply(_replica_of(replicas, broker_id), event)


def _replica_of(replicas: dict[int, _Replica], broker_id: int) -> _Replica:
    if broker_id not in replicas:
        replicas[broker_id] = _Replica()
    return replicas[broker_id]


def _all_frozen(replicas: dict[int, _Replica]) -> tuple[ReplicaState, ...]:
    return tuple(_frozen(broker_id, replica) for broker_id, replica in sorted(replicas.items()))


def _apply_fault(replica: _Replica, event: TraceEvent) -> None:
    word = DOWN_FAULTS.get(event.fault or "")
    is_down = DOWN_PHASES.get(event.phase or Phase.PLANNED)
    if word is not None and is_down is not None:
        replica.process = word if is_down else "running"


def _apply(replica: _Replica, event: TraceEvent) -> None:
    if event.action == "NodeStarted":
        replica.process = "running"
    replica.role = _ROLES.get(event.action, replica.role)
    if event.partition is None:
        return
    _apply_numbers(replica, event)
    _apply_log(replica, event)


def _apply_numbers(replica: _Replica, event: TraceEvent) -> None:
    """Take over what the broker says of itself; what it tells others is not its own state."""
    if event.action in _TELLS_ISR:
        _apply_role(replica, event)
    if event.high_watermark is not None:
        replica.high_watermark = event.high_watermark
    if event.log_end_offset is not None:
        replica.log_end_offset = event.log_end_offset
    elif replica.log_end_offset < replica.high_watermark:
        replica.log_end_offset = -1  # it has grown, and no line says how far


def _apply_role(replica: _Replica, event: TraceEvent) -> None:
    if event.action in _OBEYS and event.leader is not None:
        replica.leader = event.leader
    if event.action in _OBEYS and event.leader_epoch is not None:
        replica.leader_epoch = event.leader_epoch
    if event.isr is not None:
        replica.isr = tuple(event.isr)


def _apply_log(replica: _Replica, event: TraceEvent) -> None:
    """Add what was appended; a log end offset below a record says that the record is gone."""
    if event.action in APPENDS and event.offset is not None:
        values = event.values or ()
        epochs = event.record_epochs or [-1] * len(values)
        for place, (value, epoch) in enumerate(zip(values, epochs, strict=False), event.offset):
            replica.put(place, value, epoch)
    if event.log_end_offset is not None:
        replica.cut(event.log_end_offset)


def _frozen(broker_id: int, replica: _Replica) -> ReplicaState:
    return ReplicaState(
        broker_id=broker_id,
        role=replica.role,
        process=replica.process,
        leader=replica.leader,
        leader_epoch=replica.leader_epoch,
        isr=replica.isr,
        high_watermark=replica.high_watermark,
        log_end_offset=replica.log_end_offset,
        last_records=tuple(
            ReplicaRecord(offset=offset, value=value, leader_epoch=leader_epoch)
            for offset in replica.offsets[-LAST_RECORDS:]
            for value, leader_epoch in [replica.log[offset]]
        ),
    )
