"""`LeaderInIsr`: the leader is in its own ISR, which is never empty (ISR-006, FAIL-003).

It holds for every stored LeaderAndISR document, every decision of a controller and every ISR that
a leader works with or asks for. What a leader needs for a commit (`maximal_isr`) contains its ISR
and, from the moment at which it asks for another one until that is decided, the other one too
(ISR-003); what it adopts then is what it asked for, or what ZooKeeper held at that version when it
read it back (ISR-004, ZK-006). A partition without a leader keeps its last ISR.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import actions, by_zxid
from fencepost.conformance.checks.trace_dialect import SPEC, TraceDialect
from fencepost.conformance.checks.znode_history import document_of
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NO_BROKER, Action, Invariant

_NAMES_THE_LEADER = frozenset(
    {
        Action.INIT_LEADER,
        Action.ELECT_LEADER,
        Action.PUBLISH_DECISION,
        Action.BECOME_LEADER,
        Action.BECOME_FOLLOWER,
    }
)
_LEADER_ACTS = frozenset(
    {Action.ADVANCE_HIGH_WATERMARK, Action.SHRINK_ISR, Action.EXPAND_ISR, Action.ADOPT_ISR}
)
ASKS = frozenset({Action.SHRINK_ISR, Action.EXPAND_ISR})
DECIDES = frozenset(
    {Action.ADOPT_ISR, Action.FENCE_LEADER, Action.BECOME_LEADER, Action.BECOME_FOLLOWER}
)


_Stored = tuple[int | None, frozenset[int]]
"""A version of the state, and the ISR that ZooKeeper held under it."""


class _Belief(NamedTuple):
    leader: int | None
    isr: Collection[int]
    event: TraceEvent


def check(events: Sequence[TraceEvent], dialect: TraceDialect = SPEC) -> CheckResult:
    """Judge one partition; the premise counts ISRs that have a leader."""
    evidence = Evidence(invariant=Invariant.LEADER_IN_ISR)
    for event in [*by_zxid(events), *actions(events)]:
        belief = _belief(event)
        if belief is not None and (dialect.keeps_last_isr or _is_led(belief)):
            _check_belief(belief, evidence)
    _check_commits(events, evidence)
    return evidence.result()


def _belief(event: TraceEvent) -> _Belief | None:
    document = document_of(event)
    if document is not None:
        return _Belief(document.leader, document.isr, event)
    if event.isr is None:
        return None
    if event.action in _NAMES_THE_LEADER:
        return _Belief(event.leader, event.isr, event)
    return _Belief(event.broker_id, event.isr, event) if event.action in _LEADER_ACTS else None


def _is_led(belief: _Belief) -> bool:
    return belief.leader not in (None, NO_BROKER)


def _check_belief(belief: _Belief, evidence: Evidence) -> None:
    isr = sorted(belief.isr)
    if not isr:
        evidence.violated(f"{belief.event.action} has an empty ISR.", belief.event)
        return
    if not _is_led(belief):
        return
    evidence.premise_count += 1
    if belief.leader not in isr:
        message = f"{belief.event.action} has leader {belief.leader} outside its ISR {isr}."
        evidence.violated(message, belief.event)


def _check_commits(events: Sequence[TraceEvent], evidence: Evidence) -> None:
    wanted: dict[tuple[str, int], TraceEvent] = {}
    stored = {
        (event.znode_version, frozenset[int](document.isr))
        for event in by_zxid(events)
        if (document := document_of(event)) is not None
    }
    for event in actions(events):
        key = event.node, event.incarnation
        if event.action in ASKS:
            wanted[key] = event
        elif event.action in DECIDES:
            _check_adopted(event, wanted.pop(key, None), stored, evidence)
        elif event.action == Action.ADVANCE_HIGH_WATERMARK:
            _check_maximal(event, wanted.get(key), evidence)


def _check_adopted(
    event: TraceEvent, asked: TraceEvent | None, stored: Collection[_Stored], evidence: Evidence
) -> None:
    if event.action != Action.ADOPT_ISR or asked is None:
        return
    version, isr = event.znode_version or 0, frozenset(event.isr or ())
    is_later = version > (asked.expected_version or 0)
    if isr != frozenset(asked.isr or ()) and not (is_later and (version, isr) in stored):
        message = f"Leader {event.broker_id} adopts {sorted(isr)}, while it asked for"
        evidence.violated(f"{message} {sorted(asked.isr or ())}.", asked, event)


def _check_maximal(event: TraceEvent, asked: TraceEvent | None, evidence: Evidence) -> None:
    needed = {*(event.isr or ()), *((asked.isr or ()) if asked else ())}
    maximal = event.maximal_isr
    if maximal is not None and not needed <= set(maximal):
        message = f"A commit asks for {sorted(maximal)} only, while it needs {sorted(needed)}."
        evidence.violated(message, asked, event)
