"""Operations without an answer, classified by logs, the final read and ZooKeeper transactions.

A produce without an answer took effect if the final read has its record, or without that read if
every replica's log holds it at the end: no election takes it back. It had none if no replica's log
ever had it, or the whole log was read without it. A conditional write without an answer is in
ZooKeeper's transaction log, or it never happened. What was observed stays observed: a record that
a reader saw and the final read lacks is for the checks to judge, and stays open here.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from fencepost.conformance.checks.log_history import CLIENT_READS, final_read
from fencepost.conformance.checks.ordering import split_by_partition
from fencepost.conformance.checks.replica_log import replay
from fencepost.spec.trace import FINAL_READER, Kind, TraceEvent
from fencepost.spec.vocabulary import Action, Outcome

UNSETTLED_SHARE_MAX = 0.02
"""Above this share of all operations, a run has not seen enough to pass."""

_WRITE = "WriteLeaderAndIsr"
_TRANSACTIONS = frozenset({"Create", "SetData"})
_APPENDS = frozenset({Action.LEADER_APPEND, Action.FOLLOWER_APPEND})
_TELL_REPLICAS = frozenset({Action.BECOME_LEADER, Action.BECOME_FOLLOWER})


@dataclass(frozen=True, slots=True, kw_only=True)
class IndefiniteOutcomes:
    """How many operations there were, and what became of those without an answer."""

    operations: int = 0
    """Produces and conditional writes."""
    took_effect: int = 0
    had_none: int = 0
    unsettled: int = 0

    @property
    def indefinite(self) -> int:
        """How many had no answer."""
        return self.took_effect + self.had_none + self.unsettled

    @property
    def is_enough(self) -> bool:
        """Few enough are left open."""
        return self.unsettled <= UNSETTLED_SHARE_MAX * self.operations

    @property
    def sentence(self) -> str:
        """What a person is told."""
        return (
            f"{self.unsettled} of {self.operations} operations stayed indefinite; "
            f"of {self.indefinite} without an answer {self.took_effect} took effect "
            f"and {self.had_none} did not"
        )

    def joined(self, other: "IndefiniteOutcomes") -> "IndefiniteOutcomes":
        """Both together."""
        return IndefiniteOutcomes(
            operations=self.operations + other.operations,
            took_effect=self.took_effect + other.took_effect,
            had_none=self.had_none + other.had_none,
            unsettled=self.unsettled + other.unsettled,
        )


def classify_outcomes(
    events: Sequence[TraceEvent], *, has_transactions: bool = True, has_appends: bool = True
) -> IndefiniteOutcomes:
    """What became of every produce and conditional write of a run.

    Without the transaction log of ZooKeeper, writes that had no answer stay open; without lines of
    brokers, produces are settled by the final read alone.
    """
    outcomes = _classify_writes(events, has_transactions=has_transactions)
    for part in split_by_partition(events).values():
        outcomes = outcomes.joined(_classify_produces(part, has_appends=has_appends))
    return outcomes


def _classify_produces(events: Sequence[TraceEvent], *, has_appends: bool) -> IndefiniteOutcomes:
    """Of one partition."""
    operations = list(_operations(events, "Produce"))
    answers = [e for e in events if e.kind is Kind.COMPLETE and e.action in CLIENT_READS]
    final = final_read([event for event in answers if event.node == FINAL_READER])
    kept = frozenset(final.values) if final else _on_every_replica(events)
    is_whole = final is not None and len(final.values) == final.log_end_offset
    written = frozenset(_values(e for e in events if e.action in _APPENDS))
    seen = frozenset(_values(event for event in answers if event.outcome is Outcome.OK))
    took = none = left = 0
    for operation in operations:
        if operation.outcome is not Outcome.INDEFINITE:
            continue
        values = frozenset(operation.values or ())
        if values & kept:
            took += 1
        elif values & seen:
            left += 1
        elif is_whole or (has_appends and not values & written):
            none += 1
        else:
            left += 1
    return IndefiniteOutcomes(
        operations=len(operations), took_effect=took, had_none=none, unsettled=left
    )


def _on_every_replica(events: Sequence[TraceEvent]) -> frozenset[str]:
    """The values that each replica holds at the end; none when the log of one is not known."""
    count = max((len(e.isr or ()) for e in events if e.action in _TELL_REPLICAS), default=0)
    logs = {log.broker_id: log for _, log in replay(events)}
    if not count or len(logs) < count:
        return frozenset()
    held = (frozenset(one.value for one in log.entries if one) for log in logs.values())
    return frozenset.intersection(*held)


def _classify_writes(events: Sequence[TraceEvent], *, has_transactions: bool) -> IndefiniteOutcomes:
    """Of LeaderAndISR znodes: a transaction is known by its session, znode and content."""
    operations = list(_operations(events, _WRITE))
    done = {
        (e.session_id, e.path, e.data, e.znode_version)
        for e in events
        if e.kind is Kind.ZOOKEEPER and e.action in _TRANSACTIONS
    }
    open_ = [event for event in operations if event.outcome is Outcome.INDEFINITE]
    if not has_transactions:
        return IndefiniteOutcomes(operations=len(operations), unsettled=len(open_))
    took = sum(
        1 for e in open_ if (e.session_id, e.path, e.data, (e.expected_version or 0) + 1) in done
    )
    return IndefiniteOutcomes(
        operations=len(operations), took_effect=took, had_none=len(open_) - took
    )


def _operations(events: Sequence[TraceEvent], action: str) -> Iterator[TraceEvent]:
    """One event per operation: its completion, or its invocation as one without an answer."""
    completed = {
        (e.node, e.incarnation, e.op_id): e
        for e in events
        if e.kind is Kind.COMPLETE and e.action == action
    }
    for event in events:
        if event.kind is Kind.INVOKE and event.action == action:
            key = (event.node, event.incarnation, event.op_id)
            yield completed.get(key) or _unanswered(event)


def _unanswered(event: TraceEvent) -> TraceEvent:
    return replace(event, outcome=Outcome.INDEFINITE)


def _values(events: Iterable[TraceEvent]) -> Iterator[str]:
    for event in events:
        yield from event.values or ()
