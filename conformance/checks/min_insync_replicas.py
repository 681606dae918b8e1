"""`MinInsyncReplicas`: no append for acks=all begins under an ISR that is too small (REPL-008).

The run says how many replicas must be in sync (`min_insync_replicas` of `RunStarted`), the leader's
own lines say which ISR it knew when it appended. A record that was produced with fewer acks may be
appended under any ISR, and a retry that is found in the log appends nothing. An ISR that shrinks
after the append takes nothing back: what is committed later is the high watermark's to decide.
"""

from collections.abc import Iterable, Mapping, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import actions
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant

TELLS_ISR = frozenset({Action.BECOME_LEADER, Action.ADOPT_ISR})
"""Lines of a leader from which on it works with another ISR."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge one partition, beginning with the run's `RunStarted`.

    The premise counts appends for acks=all where the run asks for more than the leader itself.
    """
    evidence = Evidence(invariant=Invariant.MIN_INSYNC_REPLICAS)
    least = least_of(events)
    if least > 1:
        _check_appends(events, least, evidence)
    return evidence.result()


def least_of(events: Iterable[TraceEvent]) -> int:
    """What the run asks for; 1, which any leader has, of a run that does not tell."""
    told = (event.min_insync_replicas for event in events)
    return next((least for least in told if least is not None), 1)


def _check_appends(events: Sequence[TraceEvent], least: int, evidence: Evidence) -> None:
    acks = _acks(events)
    known: dict[tuple[str, int], TraceEvent] = {}
    for event in actions(events, *TELLS_ISR, Action.LEADER_APPEND):
        place = event.node, event.incarnation
        if event.action in TELLS_ISR:
            known[place] = event
            continue
        told = known.get(place)
        if told is None or told.isr is None or not _is_for_all(event, acks):
            continue
        evidence.premise_count += 1
        if len(told.isr) < least:
            message = (
                f"Broker {event.broker_id} appended a record of acks=all while its ISR was"
                f" {sorted(told.isr)}, and {least} replicas must be in sync."
            )
            evidence.violated(message, told, event)


def _acks(events: Iterable[TraceEvent]) -> Mapping[str, int]:
    """Record -> the acks of the produce that wrote it."""
    return {
        value: event.acks
        for event in events
        if event.acks is not None
        for value in event.values or ()
    }


def _is_for_all(append: TraceEvent, acks: Mapping[str, int]) -> bool:
    return any(acks.get(value) == -1 for value in append.values or ())
