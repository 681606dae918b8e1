"""`ObeyedAsSent`: what a broker obeys or refuses is what a controller has sent to it (CMD-001).

A command reaches one broker as its controller wrote it down before it left (`SendLeaderAndIsr`,
`SendStopReplica`), or not at all; what a person or the harness sends is written down, too
(`CommandByHand`). A line of a broker about a command that was sent to it by none of them tells of
a request that was changed on its way, or that went to another broker.
"""

from collections.abc import Iterable, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.ordering import broker_named, order
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import BY_HAND, TraceEvent
from fencepost.spec.vocabulary import Action, Invariant, RefusalKind

_BY_CONTROLLERS = {Action.SEND_LEADER_AND_ISR, Action.SEND_STOP_REPLICA}
_SENT = {*_BY_CONTROLLERS, BY_HAND}
_STATES = {Action.BECOME_LEADER, Action.BECOME_FOLLOWER, RefusalKind.REFUSE_COMMAND}
_STOPS = {Action.STOP_REPLICA, RefusalKind.REFUSE_STOP}
_TOLD = _STATES | _STOPS
JUDGED = frozenset(_SENT | _TOLD)
"""Lines of controllers about what they send, and of brokers about what they were told."""

_Command = tuple[object, ...]
_OfBroker = tuple[int | None, _Command]
"""The receiver, and what a command says."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts what brokers tell of commands."""
    evidence = Evidence(invariant=Invariant.OBEYED_AS_SENT)
    if not any(event.action in _BY_CONTROLLERS for event in events):
        return evidence.result()
    sent = _sent(events)
    for event in order(one for one in events if one.action in _TOLD):
        evidence.premise_count += 1
        command = _stop(event) if event.action in _STOPS else _state(event)
        epochs = sent.get((event.broker_id, command))
        if epochs is None or not epochs & {None, event.broker_epoch}:
            evidence.violated(
                f"{event.action} of broker {event.broker_id} is about a command of"
                f" controller epoch {event.controller_epoch} that was not sent to it so.",
                event,
            )
    return evidence.result()


def _sent(events: Iterable[TraceEvent]) -> dict[_OfBroker, set[int | None]]:
    """By receiver and command the broker epochs that are named; None where none is."""
    found: dict[_OfBroker, set[int | None]] = {}
    for event in events:
        if event.action not in _SENT:
            continue
        broker_id = broker_named(event.peer or "")
        for command in _said(event):
            found.setdefault((broker_id, command), set()).add(event.broker_epoch)
    return found


def _said(event: TraceEvent) -> Iterable[_Command]:
    """What a line of a sender may be about; by hand it may be either."""
    if event.action != Action.SEND_STOP_REPLICA:
        yield _state(event)
    if event.action != Action.SEND_LEADER_AND_ISR:
        yield _stop(event)


def _state(event: TraceEvent) -> _Command:
    return (
        *_stop(event),
        event.leader,
        frozenset(event.isr or ()),
        event.znode_version,
        event.partition_incarnation,
    )


def _stop(event: TraceEvent) -> _Command:
    return event.topic, event.partition, event.leader_epoch, event.controller_epoch
