"""Executes schedules: injects each fault at its time, proves that it took effect, and heals it.

One thread looks at all faults in turn; processes are only ever started from it, because a child
dies with the thread that started it. Undo is in the ledger before do. Whatever ends a run, an
exception or Ctrl-C included, what is active is healed in reverse order.
"""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Protocol, Self

from fencepost.fault_injection.engine.progress import (
    EVIDENCE_MS,
    HEAL_MS,
    FaultReport,
    PhaseChange,
    RunningFault,
)
from fencepost.fault_injection.faults.catalogue import require_backend
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_json import as_json
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.targets import ANY_BROKER, Target
from fencepost.fault_injection.injectors.ahead import IsReady, make_ready, needs_successor
from fencepost.fault_injection.injectors.dispatch import injector_for
from fencepost.fault_injection.injectors.injection import FaultTarget, ResolvedFault
from fencepost.fault_injection.injectors.injector import InjectionError, Injector
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.trace_tail import NoTraces, Traces
from fencepost.fault_injection.stories.story import (
    At,
    Story,
    StoryAction,
)
from fencepost.fault_injection.stories.triggers import Watch
from fencepost.spec.trace import Phase
from fencepost.spec.zookeeper import ZooKeeperError

TROUBLE = (InjectionError, ProcessError, ZooKeeperError)
"""What the world may do to an injection; everything else is a defect and ends the run."""

POLL_S = 0.03
WATCHING_POLL_S = 0.005
"""While an action waits for a line of a trace."""
RESOLVE_MS = 8_000
"""How long a role may stay vacant or its broker away; then the fault counts as without effect."""
SOON_MS = 2_000
"""An action so early leaves no time to make a process ready that starts anew."""
READY_MS = 5_000
"""How long such a story waits for that; a second is usual."""


class UndoLedger(Protocol):
    """As `fencepost.fault_injection.processes.ledger.Ledger`."""

    def open(self, kind: str, **fields: str | int | bool) -> int:
        """Announce what is about to be done; its entry number."""

    def close(self, entry: int) -> None:
        """Record that it is undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineClock:
    """Time as the engine sees it; tests bring their own."""

    now_ns: Callable[[], int] = time.monotonic_ns
    wait: Callable[[float], None] = time.sleep


MakeInjector = Callable[[ResolvedFault[Any]], Injector[str]]


@dataclass(slots=True, kw_only=True)
class FaultEngine:
    """Use as a context manager: at its end nothing is left unhealed."""

    target: FaultTarget
    ledger: UndoLedger
    record: Callable[[PhaseChange], None]
    clock: EngineClock = field(default_factory=EngineClock)
    make_injection: MakeInjector = injector_for
    traces: Traces = field(default_factory=NoTraces)
    _started_ns: int = field(init=False)
    _faults: list[RunningFault] = field(init=False, default_factory=list)
    _planned: list[RunningFault] = field(init=False, default_factory=list)
    _offset_ms: int = field(init=False, default=0)
    """When the story that is executed began."""
    _first_ms: int | None = field(init=False, default=None)
    _watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        self._started_ns = self.clock.now_ns()
        self._watch = Watch(resolve=self._resolved)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._heal_now()

    def run(self, story: Story) -> None:
        """Every fault has been injected and healed, or reported as without effect.

        A kill without a restart stays until `heal_all`. Raises `FaultError`, before anything is
        done, for a fault that only the simulator can do.
        """
        for action in story.actions:
            require_backend(action.action_id, action.fault.kind, Backend.REAL)
        self._await_successors(story)
        self._start(story)
        pending = [self._register(action) for action in story.actions]
        while pending or self._is_busy():
            self._look_at_events()
            pending = [running for running in pending if not self._begins(running, story)]
            self._look_ahead(pending)
            self.tick()
            self.clock.wait(WATCHING_POLL_S if self._watch.needs_events else POLL_S)

    def inject(self, fault_id: str, fault: Fault, *, is_held: bool = False) -> RunningFault:
        """The fault is injected now; held, it lasts until `heal`, whatever its own time.

        Raises `InjectionError` when it could not be injected.
        """
        require_backend(fault_id, fault.kind, Backend.REAL)
        when = At(at_ms=self._now_ms() - self._offset_ms)
        running = self._register(StoryAction(action_id=fault_id, fault=fault, when=when))
        running.is_held = is_held
        self._arm(running)
        self._tick_until(lambda: running.phase is not Phase.PLANNED)
        if running.is_over:
            raise InjectionError(f"{fault_id} ({fault.kind}) could not be injected")
        return running

    def await_active(self, running: RunningFault) -> None:
        """The fault is proved to have taken effect; raises `InjectionError` when it has none."""
        self._tick_until(lambda: running.phase is not Phase.INJECTING)
        if running.evidence is None:
            raise InjectionError(f"{running.action.action_id} had no effect")

    def heal(self, running: RunningFault) -> None:
        """The fault is undone and the target well again; raises `InjectionError` otherwise."""
        if not running.is_over and running.phase is not Phase.HEALING:
            self._start_healing(running)
        self._tick_until(lambda: running.is_over)
        if running.phase is Phase.FAILED:
            raise InjectionError(f"{running.action.action_id} could not be healed")

    def heal_all(self) -> None:
        """Everything still active is healed, the last one first."""
        for running in reversed(self._armed()):
            self._start_healing(running)
        while self._armed():
            self.tick()
            self.clock.wait(POLL_S)

    def reports(self) -> list[FaultReport]:
        """How each fault went, in order of injection."""
        return [running.report() for running in self._faults]

    @property
    def offset_ms(self) -> int:
        """When the first story began, from the start of the engine."""
        return self._first_ms or 0

    def executed(self, seed: int) -> Story:
        """The schedule as it was executed: real times, and the brokers that targets resolved to."""
        done = [running for running in self._faults if running.injected_ms is not None]
        pinned = sorted((running.pinned() for running in done), key=lambda timed: timed.at_ms)
        return Story(seed=seed, actions=tuple(pinned))

    def running(self) -> list[RunningFault]:
        """All faults so far, in the order in which they were planned."""
        return list(self._planned)

    def tick(self) -> None:
        """Each fault has taken the step that is due."""
        for running in self._armed():
            self._step(running)

    def _start(self, story: Story) -> None:
        """Times count from now on, and so do events."""
        self._offset_ms = self._now_ms()
        self._first_ms = self._offset_ms if self._first_ms is None else self._first_ms
        self.traces.skip()
        self._watch.follow(story.actions)

    def _register(self, action: StoryAction) -> RunningFault:
        running = RunningFault(action=action, since_ms=self._now_ms())
        self._planned.append(running)
        self._note(running, "")
        return running

    def _look_at_events(self) -> None:
        if self._watch.needs_events:
            for event in self.traces.events():
                self._watch.observe(event, self._story_ms())

    def _look_ahead(self, pending: Sequence[RunningFault]) -> None:
        """Prepare the next process of the broker that will start anew next."""
        ending = (running for running in pending if needs_successor(running.action.fault))
        running = next(ending, None)
        if running is not None and not running.is_foreseen:
            with suppress(*TROUBLE):
                running.is_foreseen = make_ready(running.action.fault, self.target) is not None

    def _await_successors(self, story: Story) -> None:
        """Prepare the next processes of brokers that start anew soon, before time counts."""
        ready: list[IsReady] = []
        for action in story.actions:
            is_soon = isinstance(action.when, At) and action.when.at_ms < SOON_MS
            if is_soon and needs_successor(action.fault):
                with suppress(*TROUBLE):
                    ready += filter(None, [make_ready(action.fault, self.target)])
        deadline_ms = self._now_ms() + READY_MS
        self._tick_until(
            lambda: all(is_ready() for is_ready in ready) or self._now_ms() > deadline_ms
        )

    def _begins(self, running: RunningFault, story: Story) -> bool:
        """Its time has come, or never will: either way it waits no more."""
        if self._watch.has_come(running.action.when, self._story_ms()):
            if story.is_quiet(self._story_ms()):
                return False
            self._arm(running)
            return True
        if why := self._watch.why_never(running.action, self._story_ms()):
            self._give_up(running, why)
        return running.is_over

    def _give_up(self, running: RunningFault, why: str) -> None:
        self._faults.append(running)
        self._move(running, Phase.INEFFECTIVE, why)

    def _arm(self, running: RunningFault) -> None:
        running.since_ms = self._now_ms()
        self._faults.append(running)

    def _armed(self) -> list[RunningFault]:
        return [running for running in self._faults if not running.is_over]

    def _is_busy(self) -> bool:
        """True while a fault is on its way; one that stays for good is not."""
        return any(
            running.phase is not Phase.ACTIVE
            or running.lasts_ms is not None
            or running.action.until is not None
            for running in self._armed()
        )

    def _step(self, running: RunningFault) -> None:
        match running.phase:
            case Phase.PLANNED:
                self._resolve(running)
            case Phase.INJECTING:
                self._look_for_evidence(running)
            case Phase.ACTIVE:
                if self._is_due(running):
                    self._start_healing(running)
            case _:
                self._look_for_health(running)

    def _resolve(self, running: RunningFault) -> None:
        """Inject as soon as a registered broker has the role: the dead cannot be hurt."""
        view, fault = self.target.view(), running.action.fault
        victim = fault.victim
        if victim == ANY_BROKER:
            self._inject(running)
            return
        broker_id = victim.resolve(view)
        if broker_id is not None and self.target.registration(broker_id) is not None:
            running.broker_id = broker_id
            running.receiver_id = fault.towards.resolve(view)
            self._inject(running)
        elif self._now_ms() - running.since_ms > RESOLVE_MS:
            self._move(running, Phase.INEFFECTIVE, f"{victim} is no registered broker")

    def _inject(self, running: RunningFault) -> None:
        timed = running.action
        victim_id = {} if running.broker_id is None else {"broker_id": running.broker_id}
        running.entry = self.ledger.open(
            "fault", fault_id=timed.action_id, fault=timed.fault.kind, **victim_id
        )
        running.injection = self.make_injection(running.resolved(self.target))
        running.injected_ms, running.injected_ns = self._now_ms(), self.clock.now_ns()
        self._move(running, Phase.INJECTING)
        try:
            running.injection.inject()
        except TROUBLE as error:
            running.error = str(error)
            self._start_healing(running)
            return
        self._look_for_evidence(running)

    def _look_for_evidence(self, running: RunningFault) -> None:
        assert running.injection is not None
        running.evidence = _looked(running.injection.evidence)
        if running.evidence is not None:
            self._move(running, Phase.ACTIVE, running.evidence)
        elif self._has_no_effect(running) or self._is_ended(running):
            self._start_healing(running)

    def _has_no_effect(self, running: RunningFault) -> bool:
        lasted_ms = self._now_ms() - (running.injected_ms or 0)
        own_ms = running.action.fault.active_ms or 0
        margin_ms = EVIDENCE_MS if running.action.must_take_effect else 0
        return lasted_ms >= own_ms + margin_ms

    def _is_due(self, running: RunningFault) -> bool:
        if self._is_ended(running):
            return True
        lasted_ms = self._now_ms() - (running.injected_ms or 0)
        if running.action.until is not None:
            running.is_overdue = lasted_ms >= running.action.deadline_ms
            return running.is_overdue
        lasts_ms = running.lasts_ms
        return lasts_ms is not None and lasted_ms >= lasts_ms

    def _is_ended(self, running: RunningFault) -> bool:
        """True when what it lasts until has come."""
        until = running.action.until
        return until is not None and self._watch.has_come(until, self._story_ms())

    def _start_healing(self, running: RunningFault) -> None:
        if running.injection is None:
            self._move(running, Phase.INEFFECTIVE, "the run ended before its time")
        elif running.phase is not Phase.HEALING:
            running.healing_ms = self._now_ms()
            for one in self._planned:
                one.is_foreseen = False  # another broker may have its role by now
            self._move(running, Phase.HEALING, running.error)
            self._undo(running)

    def _undo(self, running: RunningFault) -> None:
        """Tried again at every tick until it succeeds: a paused broker takes no command."""
        assert running.injection is not None
        try:
            running.injection.heal()
        except TROUBLE as error:
            running.error = str(error)
            return
        running.is_undone = True

    def _look_for_health(self, running: RunningFault) -> None:
        assert running.injection is not None
        if not running.is_undone:
            self._undo(running)
        proof = _looked(running.injection.healed) if running.is_undone else None
        if proof is not None:
            self._end(running, proof)
        elif self._now_ms() - running.since_ms > HEAL_MS:
            self._move(running, Phase.FAILED, running.error or f"not well after {HEAL_MS} ms")

    def _end(self, running: RunningFault, proof: str) -> None:
        running.healed_ns = self.clock.now_ns()
        if running.entry is not None:
            self.ledger.close(running.entry)
        is_credited = running.evidence is not None and not running.is_overdue
        if running.is_overdue:
            waited_ms = running.action.deadline_ms
            proof = f"what it lasts until did not come in {waited_ms} ms; {proof}"
        self._move(running, Phase.HEALED if is_credited else Phase.INEFFECTIVE, proof)

    def _heal_now(self) -> None:
        """What is left unhealed is undone, without waiting for the target to be well."""
        for running in reversed(self._armed()):
            self._start_healing(running)
            if not running.is_over and not running.is_undone:
                self._undo(running)
            if running.is_undone:
                self._end(running, "undone at the end of the run")

    def _tick_until(self, condition: Callable[[], bool]) -> None:
        """Ends: every phase has its deadline."""
        self.tick()
        while not condition():
            self.clock.wait(POLL_S)
            self.tick()

    def _now_ms(self) -> int:
        return (self.clock.now_ns() - self._started_ns) // 1_000_000

    def _story_ms(self) -> int:
        """The time of the story that is executed."""
        return self._now_ms() - self._offset_ms

    def _resolved(self, target: Target) -> int | None:
        return target.resolve(self.target.view())

    def _move(self, running: RunningFault, phase: Phase, detail: str = "") -> None:
        running.phase, running.since_ms = phase, self._now_ms()
        self._watch.note(running.action.action_id, phase, self._story_ms())
        self._note(running, detail)

    def _note(self, running: RunningFault, detail: str) -> None:
        fault = running.action.fault
        explained = {"parameters": as_json(fault), "says": detail} if detail else as_json(fault)
        self.record(
            PhaseChange(
                fault_id=running.action.action_id,
                fault=fault.kind,
                phase=running.phase,
                target=str(fault.victim),
                broker_id=running.broker_id,
                detail=json.dumps(explained),
            )
        )


def _looked(look: Callable[[], str | None]) -> str | None:
    """What there is to see; nothing when the target cannot be asked now."""
    try:
        return look()
    except TROUBLE:
        return None
