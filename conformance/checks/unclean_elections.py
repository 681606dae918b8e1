"""UncleanOnlyIfIsrDead: no leader outside the ISR while a member of the ISR is alive.

An election of such a leader was needless when a member of the ISR was registered as it was written,
and its author either was the controller no more, or could have known: the member had traced its
registration before the author read the state on which it decided, and a controller that reads the
live brokers after that sees it. Stepped runs are judged by it; elsewhere its premise is rare.
"""

from collections.abc import Sequence

from fencepost.conformance.checks.ordering import by_zxid
from fencepost.conformance.checks.znode_history import leader_and_isr_writes, registrations
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import NO_BROKER, Action
from fencepost.spec.znodes import CONTROLLER, LeaderAndIsr, partition_of

UNCLEAN_ONLY_IF_ISR_DEAD = "UncleanOnlyIfIsrDead"


def judge_elections(events: Sequence[TraceEvent]) -> tuple[int, tuple[str, ...]]:
    """How many leaders were elected, and one sentence per needless election."""
    registered = registrations(events)
    elections, needless = 0, []
    for write in leader_and_isr_writes(events):
        before, after, line = write.before, write.after, write.event
        if before is None or after is None:
            continue
        if after.leader_epoch == before.leader_epoch or after.leader == NO_BROKER:
            continue
        elections += 1
        if after.leader in before.isr:
            continue
        back = {
            member: first
            for member in before.isr
            for first, last in registered.get(member, ())
            if first <= (line.zxid or 0) <= last
        }
        if _controller_session(events, line) == line.session_id:
            heard_ns = _heard_ns(events, line, after)
            back = {m: zxid for m, zxid in back.items() if _told(events, m, zxid, heard_ns)}
        if back:
            needless.append(
                f"broker {after.leader} was elected in {line.path} though broker {min(back)} of "
                "the ISR is there"
            )
    return elections, tuple(needless)


def _controller_session(events: Sequence[TraceEvent], before: TraceEvent) -> int | None:
    """The session that owns the controller's znode when ZooKeeper writes the line `before`."""
    changes = [
        line
        for line in by_zxid(events)
        if line.path == CONTROLLER
        and line.action in ("Create", "Delete")
        and (line.zxid or 0) <= (before.zxid or 0)
    ]
    is_there = bool(changes) and changes[-1].action == "Create"
    return changes[-1].session_id if is_there else None


def _told(events: Sequence[TraceEvent], member: int, zxid: int, before_ns: int | None) -> bool:
    """The member had told of this registration of its own by then."""
    return before_ns is not None and any(
        event.action == Action.REGISTER_BROKER
        and event.node == f"broker-{member}"
        and event.zxid == zxid
        and event.mono_ns < before_ns
        for event in events
    )


def _heard_ns(events: Sequence[TraceEvent], line: TraceEvent, state: LeaderAndIsr) -> int | None:
    """When the author of the election heard the state that it rests on."""
    partition = partition_of(line.path or "")
    elected = next(
        (
            event
            for event in events
            if event.action == Action.ELECT_LEADER
            and partition == (event.topic, event.partition)
            and event.leader == state.leader
            and event.leader_epoch == state.leader_epoch
        ),
        None,
    )
    if elected is None:
        return None
    reads = [
        event.mono_ns
        for event in events
        if event.kind is Kind.COMPLETE
        and event.action == "ReadLeaderAndIsr"
        and event.path == line.path
        and (event.node, event.incarnation) == (elected.node, elected.incarnation)
        and event.mono_ns < elected.mono_ns
    ]
    return max(reads, default=None)
