"""`LogMatching`: replicas' logs agree below the smaller high watermark (REPL-005).

What any replica ever held below its own high watermark is committed. The check keeps one entry
(value and record epoch) per offset from all replicas and all times; a second, different one is a
violation. The condition does not depend on the order of events of different brokers.
An election outside the ISR that says so begins a new generation (FAIL-002): what a replica appends
under it is compared with nothing older, and all that is below it with what the others have.
Each incarnation of the partition has a log of its own.
"""

from collections import defaultdict
from collections.abc import Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.generations import generations
from fencepost.conformance.checks.incarnations import split_by_incarnation
from fencepost.conformance.checks.replica_log import ReplicaEntry, ReplicaLog, replay
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant

_Committed = dict[int, tuple[ReplicaEntry, TraceEvent]]

_HELD_AS_TOLD = frozenset(
    {
        Action.BECOME_LEADER,
        Action.LEADER_APPEND,
        Action.FOLLOWER_APPEND,
        Action.ADVANCE_HIGH_WATERMARK,
    }
)
"""After these the log is one of their leader epoch; a new follower still has what it had."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge the events of one partition; the premise counts entries that two replicas committed."""
    evidence = Evidence(invariant=Invariant.LOG_MATCHING)
    for _, part in split_by_incarnation(events):
        _check_incarnation(part, evidence)
    return evidence.result()


def _check_incarnation(events: Sequence[TraceEvent], evidence: Evidence) -> None:
    logs = generations(events)
    committed: dict[int, _Committed] = defaultdict(dict)
    held: dict[int, int] = {}
    compared: dict[int, int] = {}
    for event, log in replay(events):
        start = min(compared.get(log.broker_id, 0), log.shortest)
        end = min(log.high_watermark, len(log.entries))
        generation = held.get(log.broker_id, 0)
        if event.action in _HELD_AS_TOLD:
            held[log.broker_id] = logs.of(event.leader_epoch)
        if held.get(log.broker_id, 0) != generation:
            generation, start = held[log.broker_id], 0
        _compare(event, log, range(start, end), committed[generation], evidence)
        compared[log.broker_id] = max(start, end)
        log.shortest = len(log.entries)


def _compare(
    event: TraceEvent,
    log: ReplicaLog,
    offsets: range,
    committed: _Committed,
    evidence: Evidence,
) -> None:
    for offset in offsets:
        entry = log.entries[offset]
        if entry is None:
            continue
        other, witness = committed.setdefault(offset, (entry, event))
        evidence.premise_count += witness.broker_id != log.broker_id
        if other != entry:
            message = f"Offset {offset} was committed as {other} and, on broker {log.broker_id},"
            evidence.violated(f"{message} as {entry}.", witness, event)
            return
