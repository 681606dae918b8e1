"""Runs stories on real processes: injects each fault, proves that it took effect, and heals it.

One thread looks at all faults in turn; processes are only ever started from it, because a child
dies with the thread that started it. Undo is in the ledger before do. Whatever ends a run, an
exception or Ctrl-C included, what is active is healed in reverse order.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Self

from fencepost.fault_injection.engine.engine import FaultEngine
from fencepost.fault_injection.engine.process_world import TROUBLE, ProcessWorld
from fencepost.fault_injection.engine.progress import FaultReport, RunningFault, report_of
from fencepost.fault_injection.faults.catalogue import require_backend
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.injectors.ahead import IsReady, make_ready, needs_successor
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.stories.story import At, Story, StoryAction
from fencepost.spec.trace import Phase

POLL_S = 0.03
WATCHING_POLL_S = 0.005
"""While an action waits for a line of a trace."""
SOON_MS = 2_000
"""An action so early leaves no time to make a process ready that starts anew."""
READY_MS = 5_000
"""How long such a story waits for that; a second is usual."""


@dataclass(slots=True)
class FaultDriver:
    """Use as a context manager: at its end nothing is left unhealed."""

    world: ProcessWorld
    wait: Callable[[float], None] = time.sleep
    """For so many seconds; tests bring their own."""
    _engine: FaultEngine[str] = field(init=False)
    _first_ms: int | None = field(init=False, default=None)
    _foreseen: tuple[str, int] | None = field(init=False, default=None)
    """The fault with a successor ready, and how many faults had begun to heal before."""

    def __post_init__(self) -> None:
        self._engine = FaultEngine(world=self.world)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._engine.undo_all()

    def run(self, story: Story) -> None:
        """Every fault has been injected and healed, or reported as without effect.

        A kill without a restart stays until `heal_all`. Raises `FaultError`, before anything is
        done, for a fault that only the simulator can do.
        """
        engine = self._engine
        for action in story.actions:
            require_backend(action.action_id, action.fault.kind, self.world.backend)
        self._await_successors(story)
        engine.follow(story)
        self._first_ms = engine.start_ms if self._first_ms is None else self._first_ms
        while not engine.is_done:
            engine.tick()
            self._look_ahead()
            self.wait(WATCHING_POLL_S if engine.needs_events else POLL_S)

    def inject(self, fault_id: str, fault: Fault, *, is_held: bool = False) -> RunningFault[str]:
        """The fault is injected now; held, it lasts until `heal`, whatever its own time.

        Raises `InjectionError` when it could not be injected.
        """
        when = At(at_ms=self._engine.now_ms - self._engine.start_ms)
        action = StoryAction(action_id=fault_id, fault=fault, when=when)
        running = self._engine.plan(action, is_held=is_held)
        self._engine.begin(running)
        self._await(lambda: running.phase is not Phase.PLANNED)
        if running.is_over and running.evidence is None:
            raise InjectionError(f"{fault_id} ({fault.kind}) could not be injected")
        return running

    def await_active(self, running: RunningFault[str]) -> None:
        """The fault is proved to have taken effect; raises `InjectionError` when it has none."""
        self._await(lambda: running.phase is not Phase.INJECTING)
        if running.evidence is None:
            raise InjectionError(f"{running.action.action_id} had no effect")

    def heal(self, running: RunningFault[str]) -> None:
        """The fault is undone and the target well again; raises `InjectionError` otherwise."""
        self._engine.heal(running)
        self._await(lambda: running.is_over)
        if running.phase is Phase.FAILED:
            raise InjectionError(f"{running.action.action_id} could not be healed")

    def heal_all(self) -> None:
        """Everything still active is healed, the last one first."""
        self._engine.heal_all()
        self._await(lambda: not self._engine.armed)

    def step(self) -> None:
        """Take all steps that are due: a fault is proved, ends and heals while others wait."""
        self._engine.step_all()

    def reports(self) -> list[FaultReport]:
        """How each fault went, in order of injection."""
        return [report_of(running) for running in self._engine.begun]

    @property
    def offset_ms(self) -> int:
        """When the first story began, from the start of the engine."""
        return self._first_ms or 0

    def executed(self, seed: int) -> Story:
        """The schedule as it was executed: real times, and the brokers that targets resolved to."""
        done = [
            replace(running.pinned(), when=At(at_ms=running.injected_ms), until=None)
            for running in self._engine.begun
            if running.injected_ms is not None
        ]
        return Story(seed=seed, actions=tuple(sorted(done, key=lambda action: action.at_ms)))

    def running(self) -> list[RunningFault[str]]:
        """All faults so far, in the order in which they were planned."""
        return list(self._engine.planned)

    def _look_ahead(self) -> None:
        """Prepare the next process of the broker that will start anew next.

        Again when a fault has begun to heal: another broker may have the role by then.
        """
        waiting = [one.action for one in self._engine.waiting if needs_successor(one.action.fault)]
        if not waiting:
            return
        ended = sum(running.healing_ms is not None for running in self._engine.begun)
        foreseen = (waiting[0].action_id, ended)
        if foreseen != self._foreseen:
            with suppress(*TROUBLE):
                if make_ready(waiting[0].fault, self.world.target) is not None:
                    self._foreseen = foreseen

    def _await_successors(self, story: Story) -> None:
        """Prepare the next processes of brokers that start anew soon, before time counts."""
        ready: list[IsReady] = []
        for action in story.actions:
            is_soon = isinstance(action.when, At) and action.when.at_ms < SOON_MS
            if is_soon and needs_successor(action.fault):
                with suppress(*TROUBLE):
                    ready += filter(None, [make_ready(action.fault, self.world.target)])
        deadline_ms = self._engine.now_ms + READY_MS
        self._await(
            lambda: all(is_ready() for is_ready in ready) or self._engine.now_ms > deadline_ms
        )

    def _await(self, condition: Callable[[], bool]) -> None:
        """Ends: every phase has its deadline."""
        self._engine.step_all()
        while not condition():
            self.wait(POLL_S)
            self._engine.step_all()
