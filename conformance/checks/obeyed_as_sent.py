"""`ObeyedAsSent`: what a broker obeys, refuses or does for another was sent to it so (CMD-001).

A command reaches one broker as its controller wrote it down before it left (`SendLeaderAndIsr`,
`SendStopReplica`), or not at all; what a person or the harness sends is written down, too
(`CommandByHand`). So are metadata (`SendUpdateMetadata`, UMD-002) and what one broker forwards to
another (`ForwardRequest`, FWD-003). A line of a broker about a request that was sent to it by none
of them tells of one that was changed on its way, or that went to another broker. Of each of the
three kinds, a run that tells of nothing that was sent is not judged. A fetch that a leader refuses
by its leader epoch is one of a follower, which the line names, and the error says so (REPL-006); a
command that is refused was not obeyed (CMD-009). A controller that has told a broker to stop a
replica tells it nothing more of that leader epoch, or of an older one (CMD-008).
"""

from collections.abc import Iterable, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.log_history import known
from fencepost.conformance.checks.ordering import broker_named, order
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import BY_HAND, TraceEvent
from fencepost.spec.vocabulary import NO_EPOCH, Action, ErrorCode, Invariant, RefusalKind

_STATES = {Action.BECOME_LEADER, Action.BECOME_FOLLOWER, RefusalKind.REFUSE_COMMAND}
_STOPS = {Action.STOP_REPLICA, RefusalKind.REFUSE_STOP}
_TOLD_BY = (
    ({Action.SEND_LEADER_AND_ISR, Action.SEND_STOP_REPLICA}, _STATES | _STOPS),
    ({Action.SEND_UPDATE_METADATA}, {Action.UPDATE_METADATA}),
    ({Action.FORWARD_REQUEST}, {Action.APPLY_MUTATION}),
)
"""Lines of senders, and those of receivers about what was sent."""
JUDGED = frozenset(
    {BY_HAND, RefusalKind.REFUSE_FETCH}.union(*(sent | told for sent, told in _TOLD_BY))
)
"""All of them, and what is sent by hand."""
_REFUSED = (RefusalKind.REFUSE_COMMAND, RefusalKind.REFUSE_STOP)
_FENCES = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)
"""Why a leader refuses a fetch of another leader epoch."""

_Request = tuple[object, ...]
_OfBroker = tuple[int | None, _Request]
"""The receiver, and what a request says."""


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge a whole run; the premise counts what brokers tell of requests that were sent."""
    evidence = Evidence(invariant=Invariant.OBEYED_AS_SENT)
    actions = {event.action for event in events}
    judged = set[str]().union(*(told for sent, told in _TOLD_BY if sent & actions))
    sent = _sent(events)
    for event in order(one for one in events if one.action in judged):
        heard = _heard(event)
        if heard is None:
            continue
        evidence.premise_count += 1
        epochs = sent.get((event.broker_id, heard), set[int | None]())
        if epochs.isdisjoint({None, _broker_epoch(event)}):
            evidence.violated(
                f"{event.action} of broker {event.broker_id} is about a request of"
                f" controller epoch {event.controller_epoch} that was not sent to it so.",
                event,
            )
    for event in (one for one in events if one.action == RefusalKind.REFUSE_FETCH):
        if broker_named(event.peer or "") in (None, event.broker_id):
            message = f"Broker {event.broker_id} tells that it refused a fetch of no follower."
            evidence.violated(message, event)
        if event.error_code not in _FENCES:
            message = f"Broker {event.broker_id} tells of a fetch refused by no leader epoch."
            evidence.violated(message, event)
    for event in (one for one in events if one.action in _REFUSED):
        if event.error_code == ErrorCode.NONE:
            message = f"Broker {event.broker_id} tells that it refused what it obeyed."
            evidence.violated(message, event)
    _judge_stopped(events, evidence)
    return evidence.result()


def _judge_stopped(events: Sequence[TraceEvent], evidence: Evidence) -> None:
    """What a broker was told to stop, it is not told of again."""
    stops: dict[tuple[object, ...], TraceEvent] = {}
    for event in order(one for one in events if one.action in _TOLD_BY[0][0]):
        place = event.node, event.incarnation, event.controller_epoch, event.peer
        key = *place, event.topic, event.partition, event.partition_incarnation
        if event.action == Action.SEND_STOP_REPLICA:
            stops[key] = event
            continue
        stop = stops.get(key)
        if stop is None:
            continue
        evidence.premise_count += 1
        stopped = known(stop.leader_epoch, NO_EPOCH)
        if stopped == NO_EPOCH or known(event.leader_epoch, NO_EPOCH) <= stopped:
            of = f"{event.topic}/{event.partition} in leader epoch {event.leader_epoch}"
            message = f"The controller tells {event.peer} of {of}, which it has told it to stop."
            evidence.violated(message, stop, event)


def _sent(events: Iterable[TraceEvent]) -> dict[_OfBroker, set[int | None]]:
    """By receiver and request the broker epochs that are named; None where none is."""
    found: dict[_OfBroker, set[int | None]] = {}
    for event in events:
        broker_id = broker_named(event.peer or "")
        for request in _said(event):
            found.setdefault((broker_id, request), set()).add(_broker_epoch(event))
    return found


def _broker_epoch(event: TraceEvent) -> int | None:
    """The incarnation that it is for; from level 4 on the last one."""
    return event.broker_epoch if event.max_broker_epoch is None else event.max_broker_epoch


def _said(event: TraceEvent) -> Iterable[_Request]:
    """What a line of a sender may be about; by hand it may be a state or a stop."""
    if event.action in (Action.SEND_LEADER_AND_ISR, BY_HAND):
        yield _state(event)
    if event.action in (Action.SEND_STOP_REPLICA, BY_HAND):
        yield _stop(event)
    if event.action == Action.SEND_UPDATE_METADATA:
        yield _metadata(event)
    if event.action == Action.FORWARD_REQUEST:
        yield (event.forwarded_request,)


def _heard(event: TraceEvent) -> _Request | None:
    """What a line of a receiver is about; None where nothing of it was sent, or it is one of many.

    Metadata have a line for the request, and others for the partitions that are told otherwise.
    """
    if event.action in _STATES:
        return _state(event)
    if event.action in _STOPS:
        return _stop(event)
    if event.action == Action.UPDATE_METADATA:
        return _metadata(event) if event.partition is None else None
    return None if event.forwarded_request is None else (event.forwarded_request,)


def _state(event: TraceEvent) -> _Request:
    return (
        *_stop(event),
        event.leader,
        frozenset(event.isr or ()),
        event.znode_version,
        event.partition_incarnation,
    )


def _stop(event: TraceEvent) -> _Request:
    return event.topic, event.partition, event.leader_epoch, event.controller_epoch


def _metadata(event: TraceEvent) -> _Request:
    return event.controller_epoch, event.metadata_version
