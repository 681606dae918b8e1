"""Which steps of a diagram are the two ends of a message, told from the steps themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

from fencepost.spec.trace import Kind, TraceEvent

_OBEY = {"BecomeLeader", "BecomeFollower"}
NEAR = 60
"""Steps before one among which the sender of its message is looked for, whatever they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrow:
    """An arrow from one step to a later one, by their places among the steps."""

    sent: int
    received: int
    label: str


def messages_between(steps: Sequence[TraceEvent], is_main: Sequence[bool]) -> tuple[Arrow, ...]:
    """The arrows between `steps`, in the order of their arrival.

    A main step has its sender looked for among all main steps, any step among the `NEAR` before it.
    """
    found = []
    for received, event in enumerate(steps):
        for sent in range(received - 1, -1, -1):
            if received - sent > NEAR and not (is_main[sent] and is_main[received]):
                continue
            if steps[sent].node == event.node:
                continue
            label = _link(steps[sent], event)
            if label:
                found.append(Arrow(sent=sent, received=received, label=label))
                break
    return tuple(found)


def _link(sent: TraceEvent, received: TraceEvent) -> str:
    is_asked = sent.request_id is not None and sent.request_id == received.request_id
    return (
        (sent.action if is_asked else "")
        or _command(sent, received)
        or _fetch(sent, received)
        or _replication(sent, received)
        or _client(sent, received)
        or _write(sent, received)
    )


def _command(sent: TraceEvent, received: TraceEvent) -> str:
    is_ours = (
        sent.action == "SendLeaderAndIsr"
        and sent.peer == received.node
        and received.action in _OBEY
        and sent.znode_version == received.znode_version
    )
    return "LeaderAndIsr" if is_ours else ""


def _fetch(sent: TraceEvent, received: TraceEvent) -> str:
    """A follower asks from the end of its log on; what the leader serves is appended there."""
    is_same_epoch = sent.leader_epoch == received.leader_epoch
    if received.action == "ServeFetch":
        asks = received.peer == sent.node and sent.action in _ASKS and is_same_epoch
        return "fetch" if asks and _end_of(sent) == received.offset else ""
    if sent.action == "ServeFetch" and received.action == "FollowerAppend" and is_same_epoch:
        return "fetched" if sent.peer == received.node and sent.offset == received.offset else ""
    return ""


_ASKS = {"BecomeFollower", "TruncateLog", "FollowerAppend"}
"""What a follower does just before it asks for more."""


def _end_of(event: TraceEvent) -> int | None:
    """The end of the log after the step, where the step tells it."""
    if event.action == "FollowerAppend" and event.offset is not None:
        return event.offset + len(event.values or ())
    return event.log_end_offset


def _replication(sent: TraceEvent, received: TraceEvent) -> str:
    is_ours = (
        sent.action == "LeaderAppend"
        and received.action == "FollowerAppend"
        and sent.leader_epoch == received.leader_epoch
        and bool(set(sent.values or ()) & set(received.values or ()))
    )
    return "fetched" if is_ours else ""


def _client(sent: TraceEvent, received: TraceEvent) -> str:
    if sent.kind is Kind.INVOKE and sent.action == "Produce" and received.action == "LeaderAppend":
        return "produce" if set(sent.values or ()) & set(received.values or ()) else ""
    if received.kind is Kind.COMPLETE and received.action in {"Produce", "Fetch"}:
        is_answer = received.broker_id is not None and sent.node == f"broker-{received.broker_id}"
        carries = set(sent.values or ()) & set(received.values or ())
        return "answer" if is_answer and carries else ""
    return ""


def _write(sent: TraceEvent, received: TraceEvent) -> str:
    is_ours = (
        sent.kind is Kind.ZOOKEEPER
        and received.action in {"PublishDecision", "AdoptIsr"}
        and sent.zxid is not None
        and (sent.zxid == received.zxid or sent.znode_version == received.znode_version)
    )
    return "stored" if is_ours else ""
