"""Takes faults through their phases in any world, and never waits.

    planned -> injecting -> active -> healing -> healed | ineffective | failed

A driver asks for what is due: by a thread that waits (`driver.py`), or by a virtual scheduler.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Generic

from fencepost.fault_injection.engine.progress import EVIDENCE_MS, HEAL_MS, RunningFault
from fencepost.fault_injection.engine.world import FaultWorld
from fencepost.fault_injection.faults.catalogue import require_backend
from fencepost.fault_injection.faults.targets import ANY_BROKER, Target
from fencepost.fault_injection.injectors.injector import Evidence
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.fault_injection.stories.triggers import Watch
from fencepost.spec.trace import Phase

RESOLVE_MS = 8_000
"""How long a role may stay vacant or its broker away; then the fault counts as without effect."""


@dataclass(slots=True, kw_only=True)
class FaultEngine(Generic[Evidence]):
    """All faults of a run, each in its phase."""

    world: FaultWorld[Evidence]
    planned: list[RunningFault[Evidence]] = field(init=False, default_factory=list)
    """All faults, in the order in which they were planned."""
    begun: list[RunningFault[Evidence]] = field(init=False, default_factory=list)
    """The faults that were injected or given up, in that order."""
    armed: list[RunningFault[Evidence]] = field(init=False, default_factory=list)
    """The faults that have begun and are not over."""
    waiting: list[RunningFault[Evidence]] = field(init=False, default_factory=list)
    """The faults of the story that have not begun."""
    start_ms: int = field(init=False, default=0)
    """When the story that is followed began."""
    _story: Story = field(init=False, default_factory=lambda: Story(story_id=""))
    _watch: Watch = field(init=False)
    _news: list[tuple[str, Phase]] = field(init=False, default_factory=list)
    """Phases that triggers are told at the next tick: what waits for one begins after it."""
    _started_ns: int = field(init=False)

    def __post_init__(self) -> None:
        self._watch = Watch(resolve=self._resolved)
        self._started_ns = self.world.now_ns()

    @property
    def now_ms(self) -> int:
        """Since the start of the engine."""
        return (self.world.now_ns() - self._started_ns) // 1_000_000

    @property
    def needs_events(self) -> bool:
        """True while an action waits for a line of a trace."""
        return self._watch.needs_events

    @property
    def is_done(self) -> bool:
        """True when no action waits, and no fault is active but those that stay for good."""
        return not self.waiting and not any(
            running.phase is not Phase.ACTIVE or self._ends_ms(running) is not None
            for running in self.armed
        )

    def follow(self, story: Story) -> None:
        """Begin each action of the story at its time, counted from now."""
        self._story, self.start_ms = story, self.now_ms
        self.world.traces.skip()
        self._watch.follow(story.actions)
        self.waiting = [self.plan(action) for action in story.actions]

    def plan(self, action: StoryAction, *, is_held: bool = False) -> RunningFault[Evidence]:
        """Record a fault that will begin; held, it lasts until `heal`, whatever its own time.

        Raises `FaultError` for one that this world cannot do.
        """
        require_backend(action.action_id, action.fault.kind, self.world.backend)
        running: RunningFault[Evidence] = RunningFault(action=action, is_held=is_held)
        self.planned.append(running)
        self._move(running, Phase.PLANNED)
        return running

    def tick(self) -> None:
        """Begin what is due of the story, and take all steps that are due."""
        for action_id, phase in self._news:
            self._watch.note(action_id, phase, self._story_ms)
        self._news.clear()
        if self.needs_events:
            for event in self.world.traces.events():
                self._watch.observe(event, self._story_ms)
        self.waiting = [running for running in self.waiting if not self._begins(running)]
        self.step_all()

    def step_all(self) -> None:
        """Take all steps that are due."""
        for running in self.armed:
            self.step(running)

    def begin(self, running: RunningFault[Evidence]) -> None:
        """The time of the fault has come."""
        self.begun.append(running)
        self.armed.append(running)
        running.since_ms = self.now_ms
        self.step(running)

    def due_ms(self, running: RunningFault[Evidence]) -> int | None:
        """When the next step is due; None: not before `heal`, or what the fault lasts until."""
        if running.phase is Phase.ACTIVE:
            return self._ends_ms(running)
        return None if running.is_over else running.next_look_ms

    def step(self, running: RunningFault[Evidence]) -> None:
        """Take the step that is due, if one is."""
        due_ms, is_ended = self.due_ms(running), self._is_ended(running)
        if not is_ended and (due_ms is None or self.now_ms < due_ms):
            return
        match running.phase:
            case Phase.PLANNED:
                self._resolve(running)
            case Phase.INJECTING:
                self._look_for_evidence(running)
            case Phase.ACTIVE:
                running.is_overdue = running.action.until is not None and not is_ended
                self.heal(running)
            case _:
                self._look_for_health(running)

    def heal(self, running: RunningFault[Evidence]) -> None:
        """Begin to heal the fault, if it is not over or healing."""
        if running.is_over or running.phase is Phase.HEALING:
            return
        if running.injection is None:
            self._give_up(running, "the run ended before its time")
        elif running.evidence is None:
            self._give_up(running, "it was to end before anything was seen of it")
        else:
            self._start_healing(running)

    def heal_all(self, keep: Collection[str] = ()) -> None:
        """Begin to heal all faults but those of `keep`, the last one first.

        Before that, brokers and clients are asked for no more changes.
        """
        in_order = sorted(self.armed, key=lambda running: running.action.fault.is_awaited)
        for running in reversed(in_order):
            if running.action.action_id not in keep:
                self.heal(running)

    def undo_all(self) -> None:
        """Undo what is left unhealed, without waiting for the target to be well."""
        for running in reversed(self.armed):
            if running.injection is None:
                self.heal(running)
                continue
            if running.phase is not Phase.HEALING:
                self._move(running, Phase.HEALING, why=running.error)
            if not running.is_undone:
                self._undo(running)
            if running.is_undone:
                self._end(running, None, "undone at the end of the run")

    def _begins(self, running: RunningFault[Evidence]) -> bool:
        """Its time has come, or never will: either way it waits no more."""
        if self._watch.has_come(running.action.when, self._story_ms):
            if self._story.is_quiet(self._story_ms):
                return False
            self.begin(running)
            return True
        if why := self._watch.why_never(running.action, self._story_ms):
            running.error = why
            self.begun.append(running)
            self._give_up(running, "what it waits for did not come")
        return running.is_over

    def _resolve(self, running: RunningFault[Evidence]) -> None:
        """Inject as soon as a broker that is there has the role."""
        view, fault = self.world.view(), running.action.fault
        broker_id = fault.victim.resolve(view)
        if fault.victim == ANY_BROKER or self.world.is_there(broker_id):
            running.broker_id, running.receiver_id = broker_id, fault.towards.resolve(view)
            self._inject(running)
        elif self.now_ms - running.since_ms > RESOLVE_MS:
            self._give_up(running, f"{fault.victim} is no registered broker")

    def _inject(self, running: RunningFault[Evidence]) -> None:
        """Inject the fault; whatever interrupts that, from its first line on it can be undone."""
        try:
            running.injection = self.world.injector(running)
        except self.world.trouble as error:
            running.error = str(error)
        running.injected_ms, running.injected_ns = self.now_ms, self.world.now_ns()
        self._move(running, Phase.INJECTING)
        if running.injection is None:
            self._give_up(running, running.error)
            return
        try:
            running.injection.inject()
        except self.world.trouble as error:
            running.error = str(error)
            self._give_up(running, running.error)
            return
        self._look_for_evidence(running)

    def _look_for_evidence(self, running: RunningFault[Evidence]) -> None:
        assert running.injection is not None
        running.next_look_ms = self.now_ms + self.world.look_ms
        running.evidence = self._looked(running, running.injection.evidence)
        if running.evidence is not None:
            self._move(running, Phase.ACTIVE, running.evidence)
        elif self._is_ended(running):
            self.heal(running)
        elif self._has_no_effect(running):
            unseen = f"nothing was seen of it in {EVIDENCE_MS} ms"
            self._give_up(running, "; ".join(filter(None, (unseen, running.trouble))))

    def _has_no_effect(self, running: RunningFault[Evidence]) -> bool:
        lasted_ms = self.now_ms - (running.injected_ms or 0)
        own_ms = running.action.fault.active_ms or 0
        return lasted_ms >= own_ms + self.world.margin_ms(running.action)

    def _ends_ms(self, running: RunningFault[Evidence]) -> int | None:
        """When an active fault is healed by itself; None: it is not."""
        fault, until = running.action.fault, running.action.until
        begun_ms = running.since_ms if self.world.is_seen_at_once else running.injected_ms or 0
        if until is not None:
            return begun_ms + running.action.deadline_ms
        if running.is_held or fault.active_ms is None:
            return None
        if fault.is_over_when_seen and not self.world.is_seen_at_once:
            return begun_ms
        return begun_ms + fault.active_ms

    def _is_ended(self, running: RunningFault[Evidence]) -> bool:
        """True when what it lasts until has come."""
        until = running.action.until
        return (
            until is not None
            and running.phase in (Phase.INJECTING, Phase.ACTIVE)
            and self._watch.has_come(until, self._story_ms)
        )

    def _give_up(self, running: RunningFault[Evidence], why: str) -> None:
        """End a fault that nothing was seen of."""
        if running.injection is None:
            self._move(running, Phase.INEFFECTIVE, why=why)
        elif not self.world.is_undone_at_once:
            self._start_healing(running, why)
        else:
            if not running.error:
                self._undo(running)
            self._move(running, Phase.INEFFECTIVE, why=why)

    def _start_healing(self, running: RunningFault[Evidence], why: str = "") -> None:
        self._move(running, Phase.HEALING, why=why)
        self._look_for_health(running)

    def _undo(self, running: RunningFault[Evidence]) -> None:
        """Tried again at every look until it succeeds: a paused broker takes no command."""
        assert running.injection is not None
        try:
            running.injection.heal()
        except self.world.trouble as error:
            running.error = str(error)
            return
        running.is_undone = True

    def _look_for_health(self, running: RunningFault[Evidence]) -> None:
        assert running.injection is not None
        running.next_look_ms = self.now_ms + self.world.look_ms
        if not running.is_undone:
            self._undo(running)
        proof = self._looked(running, running.injection.healed) if running.is_undone else None
        if proof is not None:
            self._end(running, proof)
        elif self.now_ms - running.since_ms > HEAL_MS:
            unwell = running.error or f"not well after {HEAL_MS} ms"
            why = "; ".join(filter(None, (unwell, running.trouble)))
            self._move(running, Phase.FAILED, why=why)

    def _end(self, running: RunningFault[Evidence], proof: Evidence | None, why: str = "") -> None:
        running.healed_ns = self.world.now_ns()
        self.world.close(running)
        is_credited = self.world.is_credited(running, proof)
        self._move(running, Phase.HEALED if is_credited else Phase.INEFFECTIVE, proof, why)

    def _looked(
        self, running: RunningFault[Evidence], look: Callable[[], Evidence | None]
    ) -> Evidence | None:
        """What there is to see; nothing, and why, when the target cannot be asked now."""
        running.trouble = ""
        try:
            return look()
        except self.world.trouble as trouble:
            running.trouble = str(trouble)
            return None

    @property
    def _story_ms(self) -> int:
        """The time of the story that is followed."""
        return self.now_ms - self.start_ms

    def _resolved(self, target: Target) -> int | None:
        return target.resolve(self.world.view())

    def _move(
        self,
        running: RunningFault[Evidence],
        phase: Phase,
        proof: Evidence | None = None,
        why: str = "",
    ) -> None:
        running.phase, running.since_ms = phase, self.now_ms
        if phase is Phase.HEALING:
            running.healing_ms = self.now_ms
        if running.is_over:
            self.armed = [one for one in self.armed if one is not running]
        self._news.append((running.action.action_id, phase))
        self.world.record(running, proof, why)
