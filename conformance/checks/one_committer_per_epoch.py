"""`OneCommitterPerEpoch`: only one leader can commit (CMD-010, ISR-004; V3 Discussion 3).

Within a leader epoch, high watermarks advance on one broker only, and acknowledgements with
acks=all come from that broker. No epoch commits at or above the offset at which a later epoch's
leader began (the log end offset of its `BecomeLeader`): there a zombie would have committed what
its successor does not have. A leader from outside the ISR that was elected as such owes nothing to
the epochs before it (FAIL-002). Each incarnation of the partition counts its epochs from the start.

An acknowledgement that names no epoch is of the leader that appended its records; these
have its epoch in the logs of replicas. It may have come in a later epoch of the same
leader: where it lies is not compared with where epochs began.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.generations import Generations, generations
from fencepost.conformance.checks.incarnations import split_by_incarnation
from fencepost.conformance.checks.log_history import known
from fencepost.conformance.checks.ordering import actions, order
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NO_EPOCH, Action, Invariant, Outcome


class _Commit(NamedTuple):
    leader_epoch: int
    broker_id: int | None
    length: int
    """Offsets below it are committed by this."""
    event: TraceEvent


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge one partition; the premise counts commits."""
    evidence = Evidence(invariant=Invariant.ONE_COMMITTER_PER_EPOCH)
    for _, part in split_by_incarnation(events):
        _check_incarnation(part, evidence)
    return evidence.result()


def _check_incarnation(events: Sequence[TraceEvent], evidence: Evidence) -> None:
    commits = [commit for event in order(events) if (commit := _commit(event)) is not None]
    unnamed = list(_by_record_epoch(events))
    evidence.premise_count += len(commits) + len(unnamed)
    _check_one_broker([*commits, *unnamed], evidence)
    _check_starts(commits, actions(events, Action.BECOME_LEADER), generations(events), evidence)


def _commit(event: TraceEvent) -> _Commit | None:
    epoch = known(event.leader_epoch, NO_EPOCH)
    if event.action == Action.ADVANCE_HIGH_WATERMARK:
        return _Commit(epoch, event.broker_id, known(event.high_watermark, 0), event)
    if _is_acknowledgement(event) and epoch != NO_EPOCH:
        length = known(event.offset, 0) + len(event.values or ())
        return _Commit(epoch, event.broker_id, length, event)
    return None


def _is_acknowledgement(event: TraceEvent) -> bool:
    return event.outcome is Outcome.OK and event.acks == -1


def _by_record_epoch(events: Sequence[TraceEvent]) -> Iterator[_Commit]:
    """Acknowledgements that name a broker and no epoch, where a log has their first record."""
    epochs = _record_epochs(events)
    for event in order(filter(_is_acknowledgement, events)):
        if known(event.leader_epoch, NO_EPOCH) != NO_EPOCH:
            continue
        offset, values = known(event.offset, -1), event.values or [""]
        epoch = epochs.get((offset, values[0]))
        if epoch is not None and event.broker_id is not None:
            yield _Commit(epoch, event.broker_id, offset + len(values), event)


def _record_epochs(events: Iterable[TraceEvent]) -> dict[tuple[int, str], int]:
    """Offset and record -> its leader epoch, wherever a replica held it."""
    found = {}
    for event in events:
        if event.offset is None:
            continue
        pairs = zip(event.values or (), event.record_epochs or (), strict=False)
        for offset, (value, epoch) in enumerate(pairs, start=event.offset):
            found[offset, value] = epoch
    return found


def _check_one_broker(commits: Iterable[_Commit], evidence: Evidence) -> None:
    """One violation per epoch and pair of brokers."""
    first: dict[int, _Commit] = {}
    reported: set[tuple[int, int | None]] = set()
    for commit in commits:
        other = first.setdefault(commit.leader_epoch, commit)
        case = commit.leader_epoch, commit.broker_id
        if other.broker_id == commit.broker_id or case in reported:
            continue
        reported.add(case)
        message = f"Brokers {other.broker_id} and {commit.broker_id} both committed"
        evidence.violated(f"{message} in leader epoch {case[0]}.", other.event, commit.event)


def _check_starts(
    commits: Iterable[_Commit],
    starts: Iterable[TraceEvent],
    logs: Generations,
    evidence: Evidence,
) -> None:
    """One violation per later leader: the greatest commit of an earlier epoch decides."""
    for start in starts:
        epoch, offset = known(start.leader_epoch, -1), start.log_end_offset
        earlier = [
            commit
            for commit in commits
            if commit.leader_epoch < epoch and logs.of(commit.leader_epoch) == logs.of(epoch)
        ]
        greatest = max(earlier, key=lambda commit: commit.length, default=None)
        if greatest is None or offset is None or greatest.length <= offset:
            continue
        message = (
            f"Broker {greatest.broker_id} committed up to offset {greatest.length} in leader epoch"
            f" {greatest.leader_epoch}, and epoch {epoch} began at {offset} on broker"
            f" {start.broker_id}."
        )
        evidence.violated(message, greatest.event, start)
