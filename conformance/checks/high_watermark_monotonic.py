"""`HighWatermarkMonotonic`: it never moves back on one leader, and never passes the log's end.

Per broker, start, incarnation of the partition and leader epoch, in the broker's own order
(REPL-002); one read back at a start is at most the log end that was recovered (START-003). A
follower takes its leader's word, which may lag after an election (REPL-003): only the log's end
binds it.
"""

from collections.abc import Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.incarnations import incarnation_of
from fencepost.conformance.checks.ordering import order
from fencepost.conformance.checks.replica_log import is_replica_event
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant

LEADER_ACTIONS = frozenset({Action.LEADER_APPEND, Action.ADVANCE_HIGH_WATERMARK})


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge one partition; the premise counts pairs of neighbouring high watermarks."""
    evidence = Evidence(invariant=Invariant.HIGH_WATERMARK_MONOTONIC)
    latest: dict[tuple[int | None, int, int, int | None], TraceEvent] = {}
    for event in order(e for e in events if is_replica_event(e) and e.high_watermark is not None):
        _check_bound(event, evidence)
        key = event.broker_id, event.incarnation, incarnation_of(event), event.leader_epoch
        before = latest.get(key)
        if before is not None and event.action in LEADER_ACTIONS:
            evidence.premise_count += 1
            _check_step(before, event, evidence)
        latest[key] = event
    return evidence.result()


def _check_bound(event: TraceEvent, evidence: Evidence) -> None:
    high_watermark, log_end_offset = event.high_watermark, event.log_end_offset
    if high_watermark is None or log_end_offset is None or high_watermark <= log_end_offset:
        return
    where = f"on broker {event.broker_id}"
    message = f"High watermark {high_watermark} {where} lies above log end {log_end_offset}."
    evidence.violated(message, event)


def _check_step(before: TraceEvent, event: TraceEvent, evidence: Evidence) -> None:
    if (event.high_watermark or 0) >= (before.high_watermark or 0):
        return
    where = f"on broker {event.broker_id} in leader epoch {event.leader_epoch}"
    message = f"The high watermark {where} fell from {before.high_watermark}"
    evidence.violated(f"{message} to {event.high_watermark}.", before, event)
