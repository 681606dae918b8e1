"""Whether what an action waits for has happened: counts events, notes phases, knows the delays.

It is told all events and phases and asked at any time; it reads nothing by itself.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fencepost.fault_injection.faults.targets import Target
from fencepost.fault_injection.stories.story import (
    AfterAction,
    AfterEvent,
    At,
    StoryAction,
    Trigger,
)
from fencepost.spec.trace import Kind, Phase, TraceEvent

OVER = (Phase.HEALED, Phase.INEFFECTIVE, Phase.FAILED)
Resolve = Callable[[Target], int | None]
"""The broker that has a role now."""


@dataclass(slots=True, kw_only=True)
class Count:
    """How often a pattern has occurred, and when it had often enough."""

    trigger: AfterEvent
    is_counting: bool
    times: int = 0
    fired_ms: int | None = None


@dataclass(slots=True, kw_only=True)
class Watch:
    """All that the actions of one story wait for; times count from the start of the story."""

    resolve: Resolve
    _counts: dict[AfterEvent, Count] = field(default_factory=dict)
    _phases: dict[tuple[str, Phase], int] = field(default_factory=dict)

    @property
    def needs_events(self) -> bool:
        """True while a trigger counts events."""
        return any(count.fired_ms is None for count in self._counts.values())

    def follow(self, actions: Iterable[StoryAction]) -> None:
        """Watch all that the actions wait for and last until."""
        for action in actions:
            self.add(action.when)
            self.add(action.until)

    def add(self, trigger: Trigger | None) -> None:
        """The trigger is watched from now on, or from the action on that it names."""
        if isinstance(trigger, AfterEvent):
            begins = not trigger.since or self._has_begun(trigger.since)
            self._counts.setdefault(trigger, Count(trigger=trigger, is_counting=begins))

    def note(self, action_id: str, phase: Phase, now_ms: int) -> None:
        """An action has come to a phase."""
        self._phases.setdefault((action_id, phase), now_ms)
        if phase is Phase.INJECTING:
            for count in self._counts.values():
                count.is_counting = count.is_counting or count.trigger.since == action_id

    def observe(self, event: TraceEvent, now_ms: int) -> None:
        """A line of a trace."""
        for count in self._counts.values():
            if count.is_counting and count.fired_ms is None and self._is_meant(count, event):
                count.times += 1
                if count.times == count.trigger.nth:
                    count.fired_ms = now_ms

    def tell(self, event: TraceEvent, now_ms: int) -> None:
        """A line of a trace, which may be that of a fault."""
        if event.kind is Kind.FAULT and event.fault_id and event.phase:
            self.note(event.fault_id, event.phase, now_ms)
        else:
            self.observe(event, now_ms)

    def has_come(self, trigger: Trigger, now_ms: int) -> bool:
        """True when it has happened and its delay is over."""
        match trigger:
            case At():
                return now_ms >= trigger.at_ms
            case AfterEvent():
                fired_ms = self._counts[trigger].fired_ms
                return fired_ms is not None and now_ms >= fired_ms + trigger.plus_ms
            case AfterAction():
                since_ms = self._reached_ms(trigger)
                return since_ms is not None and now_ms >= since_ms + trigger.plus_ms

    def is_hopeless(self, trigger: Trigger) -> bool:
        """True when the action that it follows has ended without coming so far."""
        match trigger:
            case AfterAction():
                return self._reached_ms(trigger) is None and self._is_over(trigger.action_id)
            case AfterEvent():
                since = trigger.since
                return bool(since) and not self._has_begun(since) and self._is_over(since)
            case At():
                return False

    def why_never(self, action: StoryAction, now_ms: int) -> str:
        """Why what the action waits for does not come any more; empty while it may.

        Its deadline counts from when it can be expected.
        """
        when = action.when
        if self.is_hopeless(when):
            return "the action that it follows did not come so far"
        since_ms = None if isinstance(when, At) else self.since_ms(when)
        if since_ms is None or now_ms <= since_ms + action.deadline_ms:
            return ""
        return f"what it waits for did not come in {action.deadline_ms} ms"

    def _is_over(self, action_id: str) -> bool:
        return any((action_id, phase) in self._phases for phase in OVER)

    def since_ms(self, trigger: AfterEvent | AfterAction) -> int | None:
        """From when on it can be expected: a fault that it follows has to be injected first."""
        if isinstance(trigger, AfterEvent):
            return self._begun_ms(trigger.since) if trigger.since else 0
        return self._begun_ms(trigger.action_id)

    def _begun_ms(self, action_id: str) -> int | None:
        return self._phases.get((action_id, Phase.INJECTING))

    def _reached_ms(self, trigger: AfterAction) -> int | None:
        return self._phases.get((trigger.action_id, trigger.phase))

    def _has_begun(self, action_id: str) -> bool:
        return (action_id, Phase.INJECTING) in self._phases

    def _is_meant(self, count: Count, event: TraceEvent) -> bool:
        trigger = count.trigger
        if trigger.event and event.action != trigger.event:
            return False
        if not all(one.holds(getattr(event, one.name)) for one in trigger.match):
            return False
        return trigger.by is None or event.node == f"broker-{self.resolve(trigger.by)}"
