"""What surrounds a violation: the replicas just before it, and the steps and messages around it.

Display order is `mono_ns` with ties broken by Lamport clock and sequence: good enough to draw one
host's run, and never used to decide anything. ZooKeeper's own lines carry no `mono_ns` when they
were read from its log after the run; they stand where their transaction was first heard of.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import msgspec
import numpy as np

from fencepost.conformance.verdict import Violation
from fencepost.reports.analysis.messages import Arrow, messages_between
from fencepost.reports.analysis.replicas import (
    DOWN_FAULTS,
    DOWN_PHASES,
    Replay,
    ReplicaState,
)
from fencepost.spec.trace import Kind, Phase, TraceEvent, encode
from fencepost.spec.vocabulary import Outcome

STEPS_MAX = 44
"""Rows of a space-time diagram: more do not fit a page that is read."""

NEAR = 10
"""Events on each side of the violation that are shown, whatever they are."""

MORE_MAX = 200
"""Events between and after the rows that the page holds for people that ask for them."""

AFTER = 100
"""Events after the violation among which those are chosen."""

_WEIGHTS = {
    "TruncateLog": 0, "BecomeLeader": 0, "FenceLeader": 0, "LogRecovered": 1, "ElectController": 1,
    "ResignController": 1, "PublishDecision": 1, "BecomeFollower": 1, "ElectLeader": 2,
    "InitLeader": 2, "AdoptIsr": 2, "DetectBrokerChange": 2, "NodeStarted": 2, "ShrinkIsr": 3,
    "ExpandIsr": 3, "LeaderAppend": 3, "FollowerAppend": 4, "Produce": 4, "SendLeaderAndIsr": 4,
    "AdvanceHighWatermark": 5, "ServeFetch": 5, "Fetch": 6, "WriteLeaderAndIsr": 6,
}  # fmt: skip
_UNTOLD = 9
"""Weight of what is shown only for want of anything better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagramStep:
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
    """Events between the step before and this one that the page does not hold."""
    event: str = ""
    """Its name in the run: node, incarnation and number, as `broker-1.2.345`."""
    is_main: bool = True
    """False for a step that is shown only when it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WitnessLine:
    """One event that proves a violation."""

    node: str
    at_ns: int
    text: str
    line: str
    """As in the trace."""
    event: str = ""
    """Its name in the run, as in `DiagramStep`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ViolationContext:
    """One violation and its surroundings."""

    message: str
    witness: tuple[WitnessLine, ...]
    at_ns: int
    """Since the run's first event."""
    replicas: tuple[ReplicaState, ...]
    """Just before the event that completes the contradiction."""
    before: str
    """That event, in words."""
    leading_before: tuple[str, ...]
    """Nodes that believed, before the first step, that they lead."""
    down_before: tuple[str, ...]
    """Nodes that a fault held down before the first step."""
    steps: tuple[DiagramStep, ...]
    messages: tuple[Arrow, ...]
    left_out_after: int


_mono_ns = attrgetter("mono_ns")


def display_order(events: Iterable[TraceEvent]) -> list[TraceEvent]:
    """All events in the order in which a diagram shows them; see the module's docstring."""
    rows = list(events)
    heard: dict[int, int] = {}
    for event in rows:
        if event.zxid is not None and event.mono_ns > 0:
            heard[event.zxid] = min(event.mono_ns, heard.get(event.zxid, event.mono_ns))
    known = sorted(heard)
    placed = [event if event.mono_ns > 0 else _placed(event, heard, known) for event in rows]
    by_time = sorted(placed, key=_mono_ns)
    if len({*map(_mono_ns, by_time)}) == len(by_time):
        return by_time
    return [
        event
        for _, together in groupby(by_time, key=_mono_ns)
        for event in sorted(together, key=_display_key)
    ]


def _placed(event: TraceEvent, heard: Mapping[int, int], known: Sequence[int]) -> TraceEvent:
    """Where its transaction, or the last one before it of those `known`, was first heard of."""
    if event.zxid is None or event.kind is not Kind.ZOOKEEPER:
        return event
    earlier = bisect_right(known, event.zxid)
    return msgspec.structs.replace(event, mono_ns=heard[known[earlier - 1]] if earlier else 0)


def _display_key(event: TraceEvent) -> tuple[int, bool, int, str, int, int]:
    is_ours = event.kind is not Kind.ZOOKEEPER
    return event.mono_ns, is_ours, event.lamport, event.node, event.incarnation, event.seq


def _witness_places(violation: Violation, ordered: Sequence[TraceEvent]) -> list[int]:
    """Indices in `ordered` of the witnesses."""
    wanted = {_identity(event) for event in violation.witness}
    numbers = {event.seq for event in violation.witness}
    return [
        index
        for index, event in enumerate(ordered)
        if event.seq in numbers and _identity(event) in wanted
    ]


def gather(violation: Violation, ordered: Sequence[TraceEvent], start_ns: int) -> ViolationContext:
    """The surroundings of `violation` among the events of its partition and the shared ones."""
    (found,) = gather_all([violation], ordered, start_ns)
    return found


def gather_all(
    violations: Sequence[Violation], ordered: Sequence[TraceEvent], start_ns: int
) -> list[ViolationContext]:
    """The surroundings of each violation; the events are gone through once for all."""
    scenes = [_scene(violation, ordered) for violation in violations]
    places = {place for scene in scenes for place in (scene.first_shown, scene.instant)}
    replay = Replay(ordered)
    states = {place: replay.before(place) for place in sorted(places)}
    return [_context(scene, ordered, start_ns, states) for scene in scenes]


class _Scene(NamedTuple):
    """A violation, and places among the ordered events."""

    violation: Violation
    instant: int
    """Of the last witness, which completes the contradiction."""
    main: Sequence[int]
    """Steps that are shown, ascending."""
    chosen: Sequence[int]
    """With those that are shown when they are asked for."""

    @property
    def first_shown(self) -> int:
        return self.chosen[0] if self.chosen else 0


def _scene(violation: Violation, ordered: Sequence[TraceEvent]) -> _Scene:
    places = _witness_places(violation, ordered)
    instant = max(places, default=max(0, len(ordered) - 1))
    first = min(places, default=instant)
    main = _choose(ordered, first, instant, places)
    chosen = sorted({*main, *_more(len(ordered), (first, instant), main)})
    return _Scene(violation, instant, main, chosen)


def _context(
    scene: _Scene,
    ordered: Sequence[TraceEvent],
    start_ns: int,
    states: Mapping[int, tuple[ReplicaState, ...]],
) -> ViolationContext:
    violation, instant, main, chosen = scene
    witness = {_identity(event) for event in violation.witness}
    before = states[scene.first_shown]
    return ViolationContext(
        message=violation.message,
        witness=witness_lines(violation, start_ns),
        at_ns=max(0, ordered[instant].mono_ns - start_ns) if ordered else 0,
        replicas=states[instant],
        before=f"{ordered[instant].node}: {describe(ordered[instant])}" if ordered else "",
        leading_before=tuple(f"broker-{r.broker_id}" for r in before if r.role == "leader"),
        down_before=tuple(f"broker-{r.broker_id}" for r in before if r.process != "running"),
        steps=_steps(ordered, chosen, (witness, main), start_ns),
        messages=messages_between([ordered[i] for i in chosen], [i in main for i in chosen]),
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
            event=_event_name(event),
        )
        for event in violation.witness
    )


def _choose(
    ordered: Sequence[TraceEvent], first: int, instant: int, witnesses: Sequence[int]
) -> list[int]:
    """Indices of the events to show: witnesses, then what decides, then what is near."""
    begin, end = max(0, first - NEAR), min(len(ordered), instant + NEAR + 1)
    window = ordered[begin:end]
    weights = np.array([_weight(event) for event in window], np.int64)
    distances = np.abs(np.arange(begin, end) - instant)
    is_near = (distances <= NEAR) & (weights < _UNTOLD) & (weights >= 0)
    weights[is_near] = np.maximum(-1, weights[is_near] - 4)
    weights[[place - begin for place in witnesses]] = -2
    order = np.lexsort((distances, weights))[:STEPS_MAX]
    return sorted((begin + order[weights[order] < _UNTOLD]).tolist())


def _weight(event: TraceEvent) -> int:
    """Faults that took effect weigh less than any action."""
    if event.kind is Kind.FAULT:
        return -1 if event.phase in {Phase.ACTIVE, Phase.HEALED} else _UNTOLD
    return _WEIGHTS.get(event.action, _UNTOLD)


def _more(count: int, places: tuple[int, int], main: Sequence[int]) -> list[int]:
    """Of `count` events, those to hold besides the `main` ones: the nearest to one of them."""
    first, instant = places
    begin, end = max(0, first - NEAR), min(count, instant + AFTER + 1)
    distances: dict[int, int] = {}
    for near in main:
        for index in range(max(begin, near - MORE_MAX), min(end, near + MORE_MAX + 1)):
            distances[index] = min(abs(near - index), distances.get(index, MORE_MAX))
    others = distances.keys() - set(main)
    return sorted(others, key=lambda index: (distances[index], index))[:MORE_MAX]


def _steps(
    ordered: Sequence[TraceEvent],
    chosen: Sequence[int],
    marks: tuple[set[tuple[str, int, int]], Sequence[int]],
    start_ns: int,
) -> tuple[DiagramStep, ...]:
    """`marks`: the witnesses, and the indices of the main steps."""
    witness, main = marks[0], set(marks[1])
    steps = []
    previous = chosen[0] - 1 if chosen else 0
    for index in chosen:
        event = ordered[index]
        steps.append(
            DiagramStep(
                node=_lane_of(event),
                action=_step_action(event),
                at_ns=max(0, event.mono_ns - start_ns),
                text=describe(event),
                is_witness=_identity(event) in witness,
                is_fault=event.kind is Kind.FAULT,
                left_out=index - previous - 1,
                event=_event_name(event),
                is_main=index in main,
            )
        )
        previous = index
    return tuple(steps)


def _lane_of(event: TraceEvent) -> str:
    """Where a diagram shows `event`: a fault at its victim, whatever the harness called it."""
    if event.kind is Kind.FAULT and event.broker_id is not None:
        return f"broker-{event.broker_id}"
    return event.node


def _step_action(event: TraceEvent) -> str:
    """`down` and `up` for a fault that stops a process, else the action."""
    if event.fault not in DOWN_FAULTS:
        return event.action
    is_down = DOWN_PHASES.get(event.phase or Phase.PLANNED)
    return {True: "down", False: "up", None: "fault"}[is_down]


def describe(event: TraceEvent) -> str:
    """What happened, in a few words with the numbers that matter."""
    if event.kind is Kind.FAULT:
        return f"{event.fault} {event.phase}"
    told = [f"{name} {_short(value)}" for name, value in _facts(event) if value is not None]
    return " · ".join([_name(event), *told])


def _name(event: TraceEvent) -> str:
    if event.kind is Kind.INVOKE:
        return f"{event.action} asked"
    if event.kind is Kind.COMPLETE:
        answer = "ok" if event.outcome is Outcome.OK else event.error_code or str(event.outcome)
        return f"{event.action} answered {answer}"
    return f"{event.action} to {event.peer}" if event.action in _TO_PEER else event.action


_TO_PEER = {"SendLeaderAndIsr"}
_DECISION = ("leader", "leader_epoch", "isr", "znode_version")
_ROLE = ("leader", "leader_epoch", "isr", "high_watermark", "log_end_offset")
_TOLD = {
    "InitLeader": _DECISION,
    "ElectLeader": _DECISION,
    "PublishDecision": _DECISION,
    "SendLeaderAndIsr": _DECISION,
    "BecomeLeader": _ROLE,
    "BecomeFollower": _ROLE,
    "LeaderAppend": ("offset", "values", "leader_epoch"),
    "FollowerAppend": ("offset", "values", "leader_epoch", "high_watermark"),
    "TruncateLog": ("leader_epoch", "high_watermark", "log_end_offset"),
    "AdvanceHighWatermark": ("high_watermark", "leader_epoch", "isr"),
    "Produce": ("offset", "values", "leader_epoch", "acks"),
    "Fetch": ("offset", "values", "high_watermark", "leader_epoch"),
    "ServeFetch": ("peer", "offset"),
    "DetectBrokerChange": ("live_brokers",),
    "WriteLeaderAndIsr": ("expected_version", "znode_version"),
    "ReadLeaderAndIsr": ("znode_version",),
}
"""What a diagram tells of an action; of any other, whichever of `_OTHERWISE` it carries."""

_OTHERWISE = (*_ROLE, "controller_id", "controller_epoch", "znode_version", "offset", "data")


def _facts(event: TraceEvent) -> list[tuple[str, object]]:
    return [(name, getattr(event, name)) for name in _TOLD.get(event.action, _OTHERWISE)]


def _short(value: object) -> str:
    if isinstance(value, list):
        shown = ", ".join(str(item) for item in value[:5])
        return f"[{shown}{f', +{len(value) - 5}' if len(value) > 5 else ''}]"
    words = str(value)
    return words if len(words) <= 60 else words[:59] + "…"


def _identity(event: TraceEvent) -> tuple[str, int, int]:
    return event.node, event.incarnation, event.seq


def _event_name(event: TraceEvent) -> str:
    return f"{event.node}.{event.incarnation}.{event.seq}"
