"""Which steps of a diagram are the two ends of a message, told from the steps themselves."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from fencepost.spec.trace import Kind, TraceEvent

_Link = Callable[[TraceEvent, TraceEvent], str]
"""What the label is if one event sent what the other received; nothing otherwise."""
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
        links = _LINKS.get(event.action, ())
        if not links and event.request_id is None:
            continue
        far = max(0, received - NEAR)
        farther = (sent for sent in range(far - 1, -1, -1) if is_main[sent] and is_main[received])
        for sent in chain(range(received - 1, far - 1, -1), farther):
            label = "" if steps[sent].node == event.node else _label(steps[sent], event, links)
            if label:
                found.append(Arrow(sent=sent, received=received, label=label))
                break
    return tuple(found)


def _label(sent: TraceEvent, received: TraceEvent, links: Iterable[_Link]) -> str:
    if sent.action and sent.request_id is not None and sent.request_id == received.request_id:
        return sent.action
    return next(filter(None, (link(sent, received) for link in links)), "")


def _command(sent: TraceEvent, received: TraceEvent) -> str:
    is_ours = (
        sent.action == "SendLeaderAndIsr"
        and sent.peer == received.node
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
        and sent.leader_epoch == received.leader_epoch
        and bool(set(sent.values or ()) & set(received.values or ()))
    )
    return "fetched" if is_ours else ""


def _client(sent: TraceEvent, received: TraceEvent) -> str:
    if received.action == "LeaderAppend":
        is_asked = sent.kind is Kind.INVOKE and sent.action == "Produce"
        return "produce" if is_asked and set(sent.values or ()) & set(received.values or ()) else ""
    if received.kind is Kind.COMPLETE:
        is_answer = received.broker_id is not None and sent.node == f"broker-{received.broker_id}"
        carries = set(sent.values or ()) & set(received.values or ())
        return "answer" if is_answer and carries else ""
    return ""


def _write(sent: TraceEvent, received: TraceEvent) -> str:
    is_ours = (
        sent.kind is Kind.ZOOKEEPER
        and sent.zxid is not None
        and (sent.zxid == received.zxid or sent.znode_version == received.znode_version)
    )
    return "stored" if is_ours else ""


_LINKS: Mapping[str, Sequence[_Link]] = {
    "BecomeLeader": (_command,),
    "BecomeFollower": (_command,),
    "ServeFetch": (_fetch,),
    "FollowerAppend": (_fetch, _replication),
    "LeaderAppend": (_client,),
    "Produce": (_client,),
    "Fetch": (_client,),
    "PublishDecision": (_write,),
    "AdoptIsr": (_write,),
}
"""How a message that leads to an action is told; to others, by the request alone."""
