"""Corruptions of what a process tells that it did not act upon, and of stops."""

from collections.abc import Iterator

import msgspec

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, ErrorCode, RefusalKind
from tests.spec.replay.corruptions import (
    Corrupted,
    Events,
    command_of,
    live_of,
    renumbered,
)


def refused(event: TraceEvent) -> TraceEvent:
    """A command that was obeyed is refused, as if a newer controller were known."""
    return msgspec.structs.replace(
        event,
        kind=Kind.REFUSAL,
        action=RefusalKind.REFUSE_COMMAND,
        error_code=ErrorCode.STALE_CONTROLLER_EPOCH,
        high_watermark=None,
        log_end_offset=None,
    )


def refused_as_stale_controllers(event: TraceEvent) -> TraceEvent | None:
    """A command with an old leader epoch is refused for its controller epoch."""
    if event.error_code != ErrorCode.STALE_LEADER_EPOCH:
        return None
    return msgspec.structs.replace(event, error_code=ErrorCode.STALE_CONTROLLER_EPOCH)


def stop_never_sent(events: Events) -> Iterator[Corrupted]:
    """A StopReplica that was obeyed is in no line of its sender."""
    for event in events:
        if event.action == Action.STOP_REPLICA:
            kept = [other for other in events if not is_stop_sent(other, event)]
            yield Corrupted(renumbered(kept), event)


def is_stop_sent(line: TraceEvent, obeyed: TraceEvent) -> bool:
    """The line of a controller that sends what the other line obeys."""
    about = line.action == Action.SEND_STOP_REPLICA and line.peer == obeyed.node
    return about and command_of(line) == command_of(obeyed)


def fetch_refused(event: TraceEvent) -> TraceEvent:
    """A follower of the present epoch is told that it has an old one."""
    return msgspec.structs.replace(
        event,
        kind=Kind.REFUSAL,
        action=RefusalKind.REFUSE_FETCH,
        error_code=ErrorCode.FENCED_LEADER_EPOCH,
    )


def is_refused_for_good(events: Events, at: int) -> bool:
    """Its controller, which never saw the broker leave, elects as if it had been away."""
    event = events[at]
    if event.error_code != ErrorCode.REPLICA_NOT_AVAILABLE:
        return False
    key = (event.topic, event.partition)
    election = next(
        (n for n in range(at, len(events)) if is_action(events[n], Action.ELECT_LEADER, key)), None
    )
    if election is None:
        return False
    isr = events[election].isr or []
    is_treated_so = isr == [event.broker_id] or event.broker_id not in isr
    return is_treated_so and len(epochs_seen(events[:election], event)) == 1


def refusals_never_told(events: Events) -> Iterator[Corrupted]:
    """A command that was refused for good was so in no line, however often it came."""
    for at, event in enumerate(events):
        if event.action == RefusalKind.REFUSE_COMMAND and is_refused_for_good(events, at):
            kept = [other for other in events if not is_same_refusal(other, event)]
            yield Corrupted(renumbered(kept), event)


def is_same_refusal(line: TraceEvent, refused: TraceEvent) -> bool:
    """The same broker refuses the same command."""
    return (line.node, line.action, line.error_code, *command_of(line)) == (
        refused.node,
        refused.action,
        refused.error_code,
        *command_of(refused),
    )


def is_action(event: TraceEvent, action: str, key: tuple[str | None, int | None]) -> bool:
    """The line of this action about this partition."""
    return event.action == action and (event.topic, event.partition) == key


def epochs_seen(events: Events, refusal: TraceEvent) -> set[int | None]:
    """The broker epochs of the refusing broker that its controller told of; None: it was away."""
    return {
        live_of(one).get(refusal.broker_id or 0)
        for one in events
        if one.action == Action.DETECT_BROKER_CHANGE and one.broker_id == refusal.controller_id
    }
