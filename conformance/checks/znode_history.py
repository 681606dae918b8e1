"""ZooKeeper's own record of the znodes that matter to the protocol, in the order of zxids.

It is the ground truth of what each session wrote; it says nothing about real time.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from fencepost.conformance.checks.ordering import broker_of, by_zxid
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    LeaderAndIsr,
    MalformedZnodeError,
    TopicPartition,
    assignment_of as replicas_of,
    parse_controller_epoch,
    parse_leader_and_isr,
    parse_topic,
    parse_topic_document,
    partition_of,
)

DOCUMENTS_KEPT = 4096
"""LeaderAndISR documents that are decoded once: several checks read each."""
_STORES = frozenset({"Create", "SetData"})
_KNOWS_ITS_SESSION = frozenset(
    {
        Action.REGISTER_BROKER,
        Action.ELECT_CONTROLLER,
        "WriteLeaderAndIsr",
        "ReadLeaderAndIsr",
    }
)


def document_of(event: TraceEvent) -> LeaderAndIsr | None:
    """The LeaderAndISR document that a ZooKeeper line stored; None for other lines and nonsense."""
    if event.action not in _STORES or partition_of(event.path or "") is None:
        return None
    return read_document(event)


def read_document(event: TraceEvent) -> LeaderAndIsr | None:
    """The LeaderAndISR document in the data of any line; None for nonsense, and where none is."""
    return _leader_and_isr(event.data or "")


@lru_cache(maxsize=DOCUMENTS_KEPT)
def _leader_and_isr(data: str) -> LeaderAndIsr | None:
    try:
        return parse_leader_and_isr("", data.encode())
    except MalformedZnodeError:
        return None


def assignment_of(event: TraceEvent) -> Mapping[int, Sequence[int]] | None:
    """The replicas of each partition that a ZooKeeper line stored; None for other lines."""
    path = event.path or ""
    if event.action not in _STORES or path.rpartition("/")[0] != TOPICS:
        return None
    try:
        return parse_topic(path, (event.data or "").encode())
    except MalformedZnodeError:
        return None


def replicas_named(event: TraceEvent) -> Mapping[int, Sequence[int]]:
    """What the line of a topic's znode assigns; nothing where a deletion is begun, or done."""
    try:
        document = parse_topic_document("", (event.data or "").encode())
    except MalformedZnodeError:
        return {}
    return {} if document.is_deleted else replicas_of(document)


def epoch_of(event: TraceEvent) -> int | None:
    """The controller epoch that a ZooKeeper line stored; None for other lines and for nonsense."""
    if event.path != CONTROLLER_EPOCH or event.action not in _STORES:
        return None
    try:
        return parse_controller_epoch((event.data or "").encode())
    except MalformedZnodeError:
        return None


def brokers_by_session(events: Iterable[TraceEvent]) -> dict[int, int]:
    """Which broker each ZooKeeper session belongs to, as the brokers themselves tell."""
    sessions: dict[int, int] = {}
    for event in events:
        broker_id = broker_of(event)
        told = event.session_id if event.action in _KNOWS_ITS_SESSION else None
        if broker_id is not None and told is not None:
            sessions[told] = broker_id
    return sessions


def registrations(events: Iterable[TraceEvent]) -> dict[int, list[tuple[int, int]]]:
    """Broker -> the first and the last zxid at which each of its registrations stood."""
    found: dict[int, list[tuple[int, int]]] = {}
    for event in by_zxid(events):
        parent, _, name = (event.path or "").rpartition("/")
        if parent != BROKER_IDS or not name.isdecimal():
            continue
        stays, zxid = found.setdefault(int(name), []), event.zxid or 0
        if event.action == "Create":
            stays.append((zxid, sys.maxsize))
        elif event.action == "Delete" and stays:
            stays[-1] = (stays[-1][0], zxid - 1)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Reign:
    """The session that may act as controller at some zxid."""

    session_id: int | None = None
    """At level 0 the owner of `/controller`; from level 1 on the session that raised the epoch."""
    controller_epoch: int = 0
    """0 while `/controller_epoch` has not been raised: level 0, or no election yet."""

    def after(self, event: TraceEvent) -> "Reign":
        """The reign once ZooKeeper line `event` is done."""
        epoch = epoch_of(event)
        if epoch is not None:
            return Reign(session_id=event.session_id, controller_epoch=epoch) if epoch else self
        if self.controller_epoch:
            return self
        if event.path == CONTROLLER and event.action == "Create":
            return replace(self, session_id=event.session_id)
        gone = event.path == CONTROLLER and event.action == "Delete"
        expired = event.action == "CloseSession" and event.session_id == self.session_id
        return replace(self, session_id=None) if gone or expired else self


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderAndIsrWrite:
    """One stored LeaderAndISR document, with what it replaced and the controller at that time."""

    partition: TopicPartition
    event: TraceEvent
    before: LeaderAndIsr | None
    """None for the first document of a znode."""
    before_event: TraceEvent | None
    after: LeaderAndIsr | None
    """None when the document is malformed."""
    reign: Reign
    """In the transaction of the write: an election in the same zxid counts."""
    incarnation: int
    """The zxid at which the znode was created; 0 where the trace does not tell."""
    last_isr: frozenset[int]
    """The ISR before; where that is empty, the last one that was not."""

    @property
    def eligible(self) -> frozenset[int]:
        """What could lead before: the ISR and the replicas beside it, else the last ISR."""
        named = self.before.isr | self.before.eligible if self.before else frozenset[int]()
        return named or self.last_isr


@dataclass(slots=True)
class _Znodes:
    reign: Reign = field(default_factory=Reign)
    stored: dict[str, TraceEvent] = field(default_factory=dict)
    created: dict[str, int] = field(default_factory=dict)
    last_isr: dict[str, frozenset[int]] = field(default_factory=dict)


def leader_and_isr_writes(events: Iterable[TraceEvent]) -> list[LeaderAndIsrWrite]:
    """Every write of a LeaderAndISR znode, in the order of ZooKeeper's transactions."""
    znodes = _Znodes()
    writes: list[LeaderAndIsrWrite] = []
    for event in by_zxid(events):
        znodes.reign = znodes.reign.after(event)
        path = event.path or ""
        partition = partition_of(path)
        if partition is None:
            continue
        before = znodes.stored.pop(path, None)
        last_isr = znodes.last_isr.pop(path, frozenset[int]())
        if event.action not in _STORES:
            continue
        znodes.stored[path] = event
        if event.action == "Create":
            znodes.created[path] = event.zxid or 0
        after = document_of(event)
        znodes.last_isr[path] = (after and after.isr) or last_isr
        writes.append(
            LeaderAndIsrWrite(
                partition=partition,
                event=event,
                before=document_of(before) if before is not None else None,
                before_event=before,
                after=after,
                reign=znodes.reign,
                incarnation=znodes.created.get(path, 0),
                last_isr=last_isr,
            )
        )
    return writes
