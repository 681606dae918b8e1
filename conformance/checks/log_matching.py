"""`LogMatching`: replicas' logs agree below the smaller high watermark (REPL-005).

What any replica ever held below its own high watermark is committed. The check keeps one entry
(value and record epoch) per offset from all replicas and all times; a second, different one is a
violation. The condition does not depend on the order of events of different brokers.
"""

from collections.abc import Sequence

from conformance.checks.evidence import Evidence
from conformance.checks.replica_log import Entry, ReplicaLog, replay
from conformance.verdict import CheckResult
from spec.trace import TraceEvent
from spec.vocabulary import Invariant

_Committed = dict[int, tuple[Entry, TraceEvent]]


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge the events of one partition; the premise counts entries that two replicas committed."""
    evidence = Evidence(invariant=Invariant.LOG_MATCHING)
    committed: _Committed = {}
    compared: dict[int, int] = {}
    for event, log in replay(events):
        start = min(compared.get(log.broker_id, 0), log.shortest)
        end = min(log.high_watermark, len(log.entries))
        _compare(event, log, range(start, end), committed, evidence)
        compared[log.broker_id] = max(start, end)
        log.shortest = len(log.entries)
    return evidence.result()


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
