"""What surrounds a violation: the replicas just before it, and the steps and messages around it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fencepost.conformance.verdict import Violation
from fencepost.reports.analysis.messages import Arrow, messages_between
from fencepost.reports.analysis.replicas import (
    DOWN_FAULTS,
    DOWN_PHASES,
    ReplicaState,
)
from fencepost.reports.kernels.displayed import UNTOLD_WEIGHT, Displayed, identity
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

_BLOCK = 1 << 20
"""Events that are weighed in one go."""


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


def instant_of(violation: Violation, displayed: Displayed) -> int:
    """The place of the last witness, which completes the contradiction; else of the last event."""
    return max(displayed.places_of(violation.witness), default=max(0, len(displayed) - 1))


def gather(
    violations: Sequence[Violation], displayed: Displayed, start_ns: int
) -> list[ViolationContext]:
    """The surroundings of each violation among the events of its partition and the shared ones."""
    scenes = [_scene(violation, displayed) for violation in violations]
    places = {place for scene in scenes for place in (scene.first_shown, scene.instant)}
    states = displayed.states(places)
    shown = sorted({at for scene in scenes for at in scene.shown}) if len(displayed) else []
    events = dict(zip(shown, displayed.events(shown), strict=True))
    return [_context(scene, len(displayed), start_ns, states, events) for scene in scenes]


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

    @property
    def shown(self) -> Sequence[int]:
        """Those of which anything is told."""
        return [*self.chosen, self.instant]


def _scene(violation: Violation, displayed: Displayed) -> _Scene:
    places = displayed.places_of(violation.witness)
    instant = instant_of(violation, displayed)
    first = min(places, default=instant)
    main = _choose(displayed, first, instant, places)
    chosen = sorted({*main, *_more(len(displayed), (first, instant), main)})
    return _Scene(violation, instant, main, chosen)


def _context(
    scene: _Scene,
    count: int,
    start_ns: int,
    states: Mapping[int, tuple[ReplicaState, ...]],
    events: Mapping[int, TraceEvent],
) -> ViolationContext:
    """`count`: of all ordered events; `events`: those that are shown, by their places."""
    violation, instant, main, chosen = scene
    witness = {identity(event) for event in violation.witness}
    before = states[scene.first_shown]
    shown, last = [events[place] for place in chosen], events.get(instant)
    return ViolationContext(
        message=violation.message,
        witness=witness_lines(violation, start_ns),
        at_ns=max(0, last.mono_ns - start_ns) if last else 0,
        replicas=states[instant],
        before=f"{last.node}: {describe(last)}" if last else "",
        leading_before=tuple(f"broker-{r.broker_id}" for r in before if r.role == "leader"),
        down_before=tuple(f"broker-{r.broker_id}" for r in before if r.process != "running"),
        steps=_steps(shown, chosen, (witness, main), start_ns),
        messages=messages_between(shown, np.isin(chosen, main).tolist()),
        left_out_after=count - 1 - chosen[-1] if chosen else 0,
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


def _choose(displayed: Displayed, first: int, instant: int, witnesses: Sequence[int]) -> list[int]:
    """Indices of the events to show: witnesses, then what decides, then what is near."""
    begin, end = max(0, first - NEAR), min(len(displayed), instant + NEAR + 1)
    best: list[tuple[int, int, int]] = []
    for start in range(begin, end, _BLOCK):
        block = np.arange(start, min(end, start + _BLOCK))
        best = sorted([*best, *_ranked(displayed, block, instant, witnesses)])[:STEPS_MAX]
    return sorted(place for weight, _, place in best if weight < UNTOLD_WEIGHT)


def _ranked(
    displayed: Displayed, block: NDArray[np.int64], instant: int, witnesses: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """The first of some events: what each weighs, how far it is, and its place."""
    start = int(block[0])
    weights = displayed.weights(start, start + len(block))
    distances = np.abs(block - instant)
    is_near = (distances <= NEAR) & (weights < UNTOLD_WEIGHT) & (weights >= 0)
    weights[is_near] = np.maximum(-1, weights[is_near] - 4)
    own = [place - start for place in witnesses if start <= place < start + len(block)]
    weights[own] = -2
    order = np.lexsort((distances, weights))[:STEPS_MAX]
    yield from zip(
        weights[order].tolist(), distances[order].tolist(), block[order].tolist(), strict=True
    )


def _more(count: int, places: tuple[int, int], main: Sequence[int]) -> list[int]:
    """Of `count` events, those to hold besides the `main` ones: the nearest to one of them."""
    first, instant = places
    begin, end = max(0, first - NEAR), min(count, instant + AFTER + 1)
    around = np.add.outer(np.array(main, np.int64), np.arange(-MORE_MAX, MORE_MAX + 1))
    indices = np.unique(around[(around >= begin) & (around < end)])
    indices = indices[~np.isin(indices, main)]
    ends = np.array([-count - MORE_MAX, *main, 2 * count + MORE_MAX], np.int64)
    above = np.searchsorted(ends, indices)
    distances = np.minimum(indices - ends[above - 1], ends[above] - indices)
    nearest: list[int] = indices[np.argsort(distances, kind="stable")][:MORE_MAX].tolist()
    return nearest


def _steps(
    shown: Sequence[TraceEvent],
    chosen: Sequence[int],
    marks: tuple[set[tuple[str, int, int]], Sequence[int]],
    start_ns: int,
) -> tuple[DiagramStep, ...]:
    """`marks`: the witnesses, and the indices of the main steps."""
    witness, main = marks[0], set(marks[1])
    steps = []
    previous = chosen[0] - 1 if chosen else 0
    for index, event in zip(chosen, shown, strict=True):
        steps.append(
            DiagramStep(
                node=_lane_of(event),
                action=_step_action(event),
                at_ns=max(0, event.mono_ns - start_ns),
                text=describe(event),
                is_witness=identity(event) in witness,
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


def _event_name(event: TraceEvent) -> str:
    return f"{event.node}.{event.incarnation}.{event.seq}"
