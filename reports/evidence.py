"""What surrounds a violation: the replicas just before it, and the steps and messages around it.

Display order is `mono_ns` with ties broken by Lamport clock and sequence: good enough to draw one
host's run, and never used to decide anything. ZooKeeper's own lines carry no `mono_ns` when they
were read from its log after the run; they stand where their transaction was first heard of.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from conformance.verdict import Violation
from reports.messages import Message, messages_between
from reports.replicas import DOWN_FAULTS, ReplicaState, replica_states
from spec.trace import Kind, Phase, TraceEvent, encode
from spec.vocabulary import Outcome

STEPS_MAX = 44
"""Rows of a space-time diagram: more do not fit a page that is read."""

NEAR = 10
"""Events on each side of the violation that are shown, whatever they are."""

_WEIGHTS = {
    "TruncateLog": 0, "BecomeLeader": 0, "FenceLeader": 0, "LogRecovered": 1, "ElectController": 1,
    "ResignController": 1, "PublishDecision": 1, "BecomeFollower": 1, "ElectLeader": 2,
    "InitLeader": 2, "AdoptIsr": 2, "DetectBrokerChange": 2, "NodeStarted": 2, "ShrinkIsr": 3,
    "ExpandIsr": 3, "LeaderAppend": 3, "FollowerAppend": 4, "Produce": 4, "SendLeaderAndIsr": 4,
    "AdvanceHighWatermark": 5, "Fetch": 6, "WriteLeaderAndIsr": 6,
}  # fmt: skip
_UNTOLD = 9
"""Weight of what is shown only for want of anything better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of a diagram."""

    node: str
    action: str
    """As in the trace; a fault that stops the node is `down`, its end `up`."""
    at_ns: int
    """Since the run's first event."""
    text: str
    is_witness: bool
    is_fault: bool
    left_out: int
    """Events between the step before and this one that are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The surroundings of one violation."""

    at_ns: int
    """Since the run's first event."""
    replicas: tuple[ReplicaState, ...]
    """Just before the event that completes the contradiction."""
    before: str
    """That event, in words."""
    steps: tuple[Step, ...]
    messages: tuple[Message, ...]
    left_out_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessLine:
    """One event that proves a violation."""

    node: str
    at_ns: int
    text: str
    line: str
    """As in the trace."""


def display_order(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """All events in the order in which a diagram shows them; see the module's docstring."""
    rows = list(events)
    heard: dict[int, int] = {}
    for event in rows:
        if event.zxid is not None and event.mono_ns > 0:
            heard[event.zxid] = min(event.mono_ns, heard.get(event.zxid, event.mono_ns))
    placed = [event if event.mono_ns > 0 else _placed(event, heard) for event in rows]
    return sorted(placed, key=_display_key)


def _placed(event: TraceEvent, heard: dict[int, int]) -> TraceEvent:
    if event.zxid is None or event.kind is not Kind.ZOOKEEPER:
        return event
    earlier = [zxid for zxid in heard if zxid <= event.zxid]
    return msgspec.structs.replace(event, mono_ns=heard[max(earlier)] if earlier else 0)


def _display_key(event: TraceEvent) -> tuple[int, bool, int, str, int, int]:
    is_ours = event.kind is not Kind.ZOOKEEPER
    return event.mono_ns, is_ours, event.lamport, event.node, event.incarnation, event.seq


def instant_of(violation: Violation, ordered: Sequence[TraceEvent]) -> int:
    """Index in `ordered` of the witness that completes the contradiction; the end without one."""
    places = {_identity(event): index for index, event in enumerate(ordered)}
    found = [places[_identity(event)] for event in violation.witness if _identity(event) in places]
    return max(found, default=len(ordered) - 1)


def gather(violation: Violation, ordered: Sequence[TraceEvent], start_ns: int) -> Evidence:
    """The surroundings of `violation` among the events of its partition and the shared ones."""
    instant = instant_of(violation, ordered)
    witness = {_identity(event) for event in violation.witness}
    first = min((i for i, e in enumerate(ordered) if _identity(e) in witness), default=instant)
    chosen = _choose(ordered, first, instant, witness)
    steps = _steps([(i, ordered[i]) for i in chosen], witness, start_ns)
    return Evidence(
        at_ns=max(0, ordered[instant].mono_ns - start_ns) if ordered else 0,
        replicas=replica_states(ordered[:instant]),
        before=f"{ordered[instant].node}: {describe(ordered[instant])}" if ordered else "",
        steps=steps,
        messages=messages_between([ordered[i] for i in chosen]),
        left_out_after=len(ordered) - 1 - chosen[-1] if chosen else 0,
    )


def witness_lines(violation: Violation, start_ns: int) -> tuple[WitnessLine, ...]:
    """The events that prove `violation`, for people and for grep."""
    return tuple(
        WitnessLine(
            node=event.node,
            at_ns=max(0, event.mono_ns - start_ns),
            text=describe(event),
            line=encode(event).decode().rstrip("\n"),
        )
        for event in violation.witness
    )


def _choose(
    ordered: Sequence[TraceEvent], first: int, instant: int, witness: set[tuple[str, int, int]]
) -> list[int]:
    """Indices of the events to show: witnesses, then what decides, then what is near."""

    def weight(index: int) -> tuple[int, int]:
        event, distance = ordered[index], abs(instant - index)
        if _identity(event) in witness:
            return -2, distance
        if event.kind is Kind.FAULT:
            return (-1 if event.phase in {Phase.ACTIVE, Phase.HEALED} else _UNTOLD), distance
        near = -1 if distance <= NEAR and event.action in _WEIGHTS else 0
        return max(-1, _WEIGHTS.get(event.action, _UNTOLD) + 4 * near), distance

    window = range(max(0, first - NEAR), min(len(ordered), instant + NEAR + 1))
    told = [i for i in window if weight(i)[0] < _UNTOLD]
    return sorted(sorted(told, key=weight)[:STEPS_MAX])


def _steps(
    chosen: list[tuple[int, TraceEvent]], witness: set[tuple[str, int, int]], start_ns: int
) -> tuple[Step, ...]:
    steps = []
    previous = chosen[0][0] - 1 if chosen else 0
    for index, event in chosen:
        steps.append(
            Step(
                node=event.node if event.kind is not Kind.FAULT else event.target or event.node,
                action=_step_action(event),
                at_ns=max(0, event.mono_ns - start_ns),
                text=describe(event),
                is_witness=_identity(event) in witness,
                is_fault=event.kind is Kind.FAULT,
                left_out=index - previous - 1,
            )
        )
        previous = index
    return tuple(steps)


def _step_action(event: TraceEvent) -> str:
    """`down` and `up` for a fault that stops a process, else the action."""
    if event.fault not in DOWN_FAULTS:
        return event.action
    return {Phase.ACTIVE: "down", Phase.HEALED: "up"}.get(event.phase or Phase.PLANNED, "fault")


def describe(event: TraceEvent) -> str:
    """What happened, in a few words with the numbers that matter."""
    if event.kind is Kind.FAULT:
        return f"{event.fault} {event.phase}"
    parts = [_name(event)]
    for label, value in _facts(event):
        if value is not None:
            parts.append(f"{label} {_short(value)}")
    return " · ".join(parts)


def _name(event: TraceEvent) -> str:
    if event.kind is Kind.INVOKE:
        return f"{event.action} asked"
    if event.kind is Kind.COMPLETE:
        answer = "ok" if event.outcome is Outcome.OK else event.error_code or str(event.outcome)
        return f"{event.action} answered {answer}"
    return event.action


def _facts(event: TraceEvent) -> tuple[tuple[str, object], ...]:
    return (
        ("to", event.peer if event.action == "SendLeaderAndIsr" else None),
        ("from", event.peer if event.action == "ServeFetch" else None),
        ("leader", event.leader),
        ("leader_epoch", event.leader_epoch),
        ("controller_epoch", event.controller_epoch),
        ("isr", event.isr),
        ("live_brokers", event.live_brokers),
        ("offset", event.offset),
        ("values", event.values),
        ("high_watermark", event.high_watermark),
        ("log_end_offset", event.log_end_offset),
        ("znode_version", event.znode_version),
        ("acks", event.acks if event.kind is Kind.INVOKE else None),
    )


def _short(value: object) -> str:
    if isinstance(value, list):
        shown = [str(item) for item in value[:3]]
        more = f" +{len(value) - 3}" if len(value) > 3 else ""
        return "[" + " ".join(shown) + more + "]"
    return str(value)


def _identity(event: TraceEvent) -> tuple[str, int, int]:
    return event.node, event.incarnation, event.seq
