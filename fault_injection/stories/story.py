"""Stories: steps that follow each other, and actions beside them that wait for times and events.

What is drawn from a seed is a story of times only. The engine executes stories on real processes,
the simulator in virtual time. No clock, no I/O; `story_file.py` reads files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any

from msgspec import Struct

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.parameters import milliseconds, number
from fencepost.fault_injection.faults.targets import FaultError, Target
from fencepost.fault_injection.stories.steps.story_step import StoryStep
from fencepost.spec.trace import Phase

HEALTHY_WITHIN_MS = 25_000
DEADLINE_MS = 30_000
"""How long an action waits for what it waits for, when it does not say."""


class Operator(StrEnum):
    """How a field of an event is compared."""

    EQ = "eq"
    NE = "ne"
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    IN = "in"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One field of an event and what it is compared with; an absent field meets none but `ne`."""

    name: str
    operator: Operator
    value: Any

    def holds(self, found: object) -> bool:
        """True when the field is as it should be."""
        if isinstance(found, list):
            found = tuple(found)
        if self.operator is Operator.NE:
            return bool(found != self.value)
        if found is None:
            return False
        if self.operator is Operator.IN:
            return found in self.value
        if self.operator is Operator.EQ:
            return bool(found == self.value)
        return isinstance(found, int) and _is_ordered(self.operator, found, self.value)


def _is_ordered(operator: Operator, found: int, value: int) -> bool:
    """By size: of numbers only, which the reader has made sure of."""
    match operator:
        case Operator.LT:
            return found < value
        case Operator.LE:
            return found <= value
        case Operator.GT:
            return found > value
        case _:
            return found >= value


@dataclass(frozen=True, slots=True, kw_only=True)
class At:
    """A time, counted from the start of the story."""

    at_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterEvent:
    """The nth line of the nodes' traces that is as described, and a delay."""

    event: str = ""
    """The line's action; empty: any."""
    by: Target | None = None
    """The node that wrote it, by role as it is then; None: any."""
    match: tuple[Condition, ...] = ()
    nth: int = 1
    since: str = ""
    """Counted from the injection of this action; empty: from the start of the story."""
    plus_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterAction:
    """Another action has come to a phase, and a delay."""

    action_id: str
    phase: Phase = Phase.ACTIVE
    plus_ms: int = 0


Trigger = At | AfterEvent | AfterAction


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryAction:
    """One fault, when it begins, and when it ends if that is not after a time."""

    action_id: str
    fault: Fault
    when: Trigger
    until: Trigger | None = None
    """What ends it before its own time; it is without credit when that never comes."""
    deadline_ms: int = DEADLINE_MS
    """How long it may wait to begin, from the start of the story or of the phase it follows."""
    must_take_effect: bool = True
    covers: tuple[str, ...] = ()
    """Ids of requirements."""

    @classmethod
    def at(
        cls, *, action_id: str, at_ms: int, fault: Fault, must_take_effect: bool = True
    ) -> "StoryAction":
        """A fault at a time, in milliseconds from the start of the story."""
        when = At(at_ms=at_ms)
        return cls(action_id=action_id, fault=fault, when=when, must_take_effect=must_take_effect)

    @property
    def at_ms(self) -> int:
        """When it begins; 0 for an action that waits for something."""
        return self.when.at_ms if isinstance(self.when, At) else 0

    @property
    def references(self) -> tuple[str, ...]:
        """The actions that its triggers name."""
        return (*referred(self.when), *(referred(self.until) if self.until else ()))

    @property
    def end_ms(self) -> int | None:
        """When it is healed, of an action at a time; None: at the end of the story."""
        active_ms = self.fault.active_ms
        return None if active_ms is None else self.at_ms + active_ms


class Floors(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many acknowledged requests a run must have, to count."""

    before: Annotated[int, number("before the first fault", ge=0)] = 20
    during: Annotated[int, number("while faults are about", ge=0)] = 0
    after: Annotated[int, number("after the last fault was healed", ge=0)] = 20
    each: Annotated[int, number("while each fault lasts: a quorum stays", ge=0)] = 0


class QuietTime(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A time in which nothing is injected; what would begin then begins at its end."""

    at_ms: Annotated[int, milliseconds("from the start", ge=0)]
    for_ms: Annotated[int, milliseconds("how long", ge=1)]


class ClientLoad(StrEnum):
    """What clients do meanwhile."""

    STEADY = "steady"
    PIPELINED = "pipelined"
    """Idempotent producers, each with several batches in flight."""
    NONE = "none"

    @property
    def in_flight(self) -> int:
        """Batches of an idempotent producer that may be unanswered; 0: they are not idempotent."""
        return 3 if self is ClientLoad.PIPELINED else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryRun:
    """One cluster of a story, and the steps that it plays."""

    run_id: str = ""
    says: str = ""
    cluster: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from those of the story."""
    steps: tuple[StoryStep, ...] = ()
    """In place of those of the story; none: the story's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """Steps and actions in the order of the file, and what they are played on."""

    story_id: str = "story"
    says: str = ""
    """The story in one sentence."""
    covers: tuple[str, ...] = ()
    """Ids of requirements, besides those of the actions."""
    hazards: tuple[str, ...] = ()
    """Ids of the hazards in `spec/hazards.toml` that it shows."""
    kills: tuple[str, ...] = ()
    """Names of mutants of the reference that do not pass it."""
    seed: int = 0
    profile: ClientLoad = ClientLoad.STEADY
    cluster: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the cluster that differ from the usual ones, by name."""
    floors: Floors = field(default_factory=Floors)
    steps: tuple[StoryStep, ...] = ()
    runs: tuple[StoryRun, ...] = ()
    """The clusters on which it is played, one after the other; none: one, which has no name."""
    actions: tuple[StoryAction, ...] = ()
    quiet: tuple[QuietTime, ...] = ()
    healthy_within_ms: int = HEALTHY_WITHIN_MS
    """How long the cluster may take to be in sync after the last fault was healed."""
    further: tuple[str, ...] = ()
    """Commands and pages that show more of it."""
    from_level: int = 0
    """The first protocol level that has what it is about."""
    fails_at: tuple[int, ...] = ()
    """The protocol levels that are known to violate a check here."""
    origin: Mapping[str, Any] = field(default_factory=lambda: {"kind": "hand"})

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for action in self.actions:
            if action.action_id in seen:
                raise FaultError(f"the id {action.action_id!r} is used twice; rename one of them")
            self._check_references(action, seen)
            seen.add(action.action_id)
        for action in self.actions:
            self._check_end(action, seen)

    @property
    def played(self) -> tuple[StoryRun, ...]:
        """The runs, each with all of its settings and steps."""
        whole = StoryRun(cluster=self.cluster, steps=self.steps)
        return tuple(
            replace(run, cluster={**self.cluster, **run.cluster}, steps=run.steps or self.steps)
            for run in self.runs
        ) or (whole,)

    def place_of_steps(self, number: int) -> tuple[str | int, ...]:
        """Where the steps of a run stand in the document, by its number among those played."""
        own = bool(self.runs) and bool(self.runs[number].steps)
        return ("runs", number, "steps") if own else ("steps",)

    @property
    def requirements(self) -> tuple[str, ...]:
        """Ids of all that it and its actions cover, in order."""
        of_actions = (name for action in self.actions for name in action.covers)
        return tuple(dict.fromkeys((*self.covers, *of_actions)))

    @property
    def end_ms(self) -> int:
        """When the last fault that heals by itself has healed, of actions at times."""
        return max((action.end_ms or action.at_ms for action in self.actions), default=0)

    def is_quiet(self, now_ms: int) -> bool:
        """True when nothing may be injected now."""
        return any(q.at_ms <= now_ms < q.at_ms + q.for_ms for q in self.quiet)

    def _check_references(self, action: StoryAction, before: set[str]) -> None:
        """What an action follows stands before it, so that no two wait for each other."""
        for name in referred(action.when):
            if name not in before:
                raise FaultError(
                    f"{action.action_id}: when refers to {name!r}, which is not among the actions "
                    "before it; name one of those"
                )
        if action.at_ms < 0:
            raise FaultError(f"{action.action_id}: at_ms is {action.at_ms}; give 0 or more")
        if isinstance(action.when, At) and self.is_quiet(action.when.at_ms):
            raise FaultError(
                f"{action.action_id}: at_ms {action.when.at_ms} is in a quiet time; move one"
            )

    def _check_end(self, action: StoryAction, known: set[str]) -> None:
        for name in referred(action.until) if action.until else ():
            if name not in known:
                raise FaultError(
                    f"{action.action_id}: until refers to {name!r}, which is no action; "
                    f"choose one of {', '.join(sorted(known))}"
                )
        if not _can_end(action):
            raise FaultError(
                f"{action.action_id}: until never comes while it lasts; name something after its "
                "beginning that does not wait for its end"
            )


def _can_end(action: StoryAction) -> bool:
    """False when its end would come before its beginning, or waits for itself."""
    match action.until:
        case At(at_ms=end_ms):
            return not isinstance(action.when, At) or action.when.at_ms < end_ms
        case AfterAction(action_id=action.action_id, phase=phase):
            return phase not in (Phase.HEALING, Phase.HEALED)
        case _:
            return True


def referred(trigger: Trigger) -> tuple[str, ...]:
    """The actions that a trigger names."""
    match trigger:
        case AfterAction():
            return (trigger.action_id,)
        case AfterEvent():
            return (trigger.since,) if trigger.since else ()
        case At():
            return ()


def without(story: Story, dropped: tuple[StoryAction, ...]) -> Story:
    """The story without these actions, and without the actions that wait for one of them."""
    gone = {action.action_id for action in dropped}
    kept: list[StoryAction] = []
    for action in story.actions:
        if action.action_id in gone or not gone.isdisjoint(referred(action.when)):
            gone.add(action.action_id)
        else:
            kept.append(action)
    left = replace(story, actions=tuple(kept))
    endless = tuple(a for a in kept if a.until and not gone.isdisjoint(referred(a.until)))
    return without(left, endless) if endless else left
