"""`LeaderComplete`: a new leader has every record committed before it (REPL-004, FAIL-001).

A record is committed in epoch e when the leader of e moves its high watermark above it
(`AdvanceHighWatermark`). A broker that becomes leader in a later epoch must hold the same entry
at the same offset, whenever in real time the two happened: an old leader may commit late only what
its successor had already fetched. An election outside the ISR that says so begins a new generation:
what was committed before it may be lost (FAIL-002). So does another incarnation of the partition.

Nor does a replica give up what it knows to be committed: it truncates no further than to its own
high watermark. What it agrees about with its leader reaches that far (CMD-005), and a member of the
ISR that gave up more would count for what it has not.

Where a trace does not tell which records a log holds, its length decides: a leader with a log
that ends at or below an offset that was committed lacks that record, whichever it is.

`CommittedDurable`, the invariant of the specs, has no check of its own. It asks at every instant
whether each member of the ISR holds what is committed, and a trace knows no instant across brokers.
What it protects is judged where it comes to bear: that a member that is elected has every record is
this condition, that it is the same record everywhere is `LogMatching`, and what clients may rely on
is `AcknowledgedDurable`.
"""

from collections.abc import Mapping, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.generations import Generations, generations
from fencepost.conformance.checks.incarnations import split_by_incarnation
from fencepost.conformance.checks.log_history import known
from fencepost.conformance.checks.ordering import order
from fencepost.conformance.checks.replica_log import (
    Agreed,
    ReplicaEntry,
    ReplicaLog,
    is_replica_event,
    replay,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NO_EPOCH, Action, Invariant

_Commits = dict[tuple[int, int, ReplicaEntry | None], TraceEvent]
"""Generation, offset and entry -> the first event, by leader epoch, that committed it.

The entry is None where the trace does not tell it.
"""

_Held = Sequence[ReplicaEntry | None] | Mapping[int, ReplicaEntry | None]
"""By offset the entry, of a log or of what is in doubt of it."""
_Leaders = list[tuple[TraceEvent, _Held, int]]
"""Those that became leader, what they had, and where their logs ended."""


def check(events: Sequence[TraceEvent], agreed: Agreed | None = None) -> CheckResult:
    """Judge one partition; the premise counts leaders after a committed record, and truncations.

    `agreed`: of one incarnation and generation, what lines there are that are not given. Among its
    doubted offsets is the first behind each that is, and the end of each leader's log.
    """
    evidence = Evidence(invariant=Invariant.LEADER_COMPLETE)
    for _, part in split_by_incarnation(events):
        _check_incarnation(part, agreed, evidence)
    return evidence.result()


def _check_incarnation(
    events: Sequence[TraceEvent], agreed: Agreed | None, evidence: Evidence
) -> None:
    commits: _Commits = {}
    leaders: _Leaders = []
    logs = generations(events)
    for event, log in replay(events, agreed):
        if event.action == Action.BECOME_LEADER and event.log_end_offset is not None:
            leaders.append((event, _held(log), len(log.entries)))
        elif event.action == Action.ADVANCE_HIGH_WATERMARK:
            _commit(event, log, logs, commits)
    in_order = sorted(commits.items(), key=lambda commit: commit[0][:2])
    for event, held, end in leaders:
        own = [commit for commit in in_order if commit[0][0] == logs.of(event.leader_epoch)]
        _check_leader(event, held, end, own, evidence)
    _check_truncations(events, logs, evidence)


def _held(log: ReplicaLog) -> _Held:
    if log.agreed is None:
        return list(log.entries)
    offsets = log.agreed.within(0, len(log.entries))
    return {offset: log.entries[offset] for offset in offsets}


def _check_truncations(events: Sequence[TraceEvent], logs: Generations, evidence: Evidence) -> None:
    """One premise per truncation by a process that has learnt a high watermark in its generation.

    What it had learnt in an earlier one is void with the first truncation after it.
    """
    learnt: dict[tuple[int | None, int], TraceEvent] = {}
    for event in order(filter(is_replica_event, events)):
        process = event.broker_id, event.incarnation
        known = learnt.get(process)
        committed = known.high_watermark or 0 if known is not None else 0
        if (event.high_watermark or 0) > committed:
            learnt[process] = event
        if event.action != Action.TRUNCATE_LOG or event.log_end_offset is None or known is None:
            continue
        if logs.of(known.leader_epoch) != logs.of(event.leader_epoch):
            learnt.pop(process, None)
            continue
        evidence.premise_count += 1
        if event.log_end_offset < committed:
            message = f"Broker {event.broker_id} truncated its log to {event.log_end_offset}"
            message = f"{message}, and knew of the high watermark {committed}."
            evidence.violated(message, known, event)


def _commit(event: TraceEvent, log: ReplicaLog, logs: Generations, commits: _Commits) -> None:
    """Add what is now below the high watermark, unless an earlier epoch had committed it."""
    generation, known = logs.of(event.leader_epoch), len(log.entries)
    end = log.high_watermark if event.log_end_offset is None else min(log.high_watermark, known)
    for offset in range(end - 1, -1, -1) if log.agreed is None else log.agreed.below(end):
        entry = log.entries[offset] if offset < known else None
        first = commits.get((generation, offset, entry))
        if first is not None and _epoch(first) <= _epoch(event):
            return
        commits[generation, offset, entry] = event


def _epoch(event: TraceEvent) -> int:
    return known(event.leader_epoch, NO_EPOCH)


def _check_leader(
    leader: TraceEvent,
    held: _Held,
    end: int,
    commits: Sequence[tuple[tuple[int, int, ReplicaEntry | None], TraceEvent]],
    evidence: Evidence,
) -> None:
    """One premise, and at most one violation, at the lowest offset, per new leader."""
    earlier = [commit for commit in commits if _epoch(commit[1]) < _epoch(leader)]
    evidence.premise_count += bool(earlier)
    for (_, offset, entry), commit in earlier:
        if offset < end and (entry is None or held[offset] in (entry, None)):
            continue
        found = held[offset] if offset < end else "nothing"
        message = (
            f"Broker {leader.broker_id} became leader of epoch {leader.leader_epoch} with {found}"
            f" at offset {offset}, where epoch {commit.leader_epoch} had committed"
            f" {entry or 'a record'}."
        )
        evidence.violated(message, commit, leader)
        return
