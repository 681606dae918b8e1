"""The fixture `faults`: the test says what goes wrong, and nothing counts that was not proved."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from conformance.adapter import UsageError
from conformance.scenario import Stage
from fault_injection.fault import Fault
from fault_injection.progress import RunningFault
from fault_injection.rpc_rules import InjectionError
from fault_injection.schedule import Schedule, TimedFault


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What proves that a fault took effect."""

    fault_id: str
    broker_id: int | None
    """Whom it hit; a role was resolved when it was injected."""
    says: str


@dataclass(slots=True, kw_only=True)
class Faults:
    """Injects, proves and heals; targets are brokers or roles."""

    stage: Stage
    drawn: Schedule | None = None
    """What the profile of the marker drew from the seed."""
    recorded: Mapping[str, TimedFault] = field(default_factory=dict)
    """Of the run that is run again: by id, when each fault was injected and whom it hit.

    Schedules follow it. A fault that the test itself injects resolves its role anew: the test
    speaks of the brokers of this run.
    """
    has_run_drawn: bool = False
    _count: int = 0

    @contextmanager
    def active(self, fault: Fault) -> Iterator[Evidence]:
        """The fault has taken effect, and lasts as long as the block; then it is healed.

        The block decides how long: a time of the fault's own (`for_ms`) is not waited for.
        Raises `InjectionError` when it took no effect or could not be healed.
        """
        running = self._inject(fault)
        try:
            self.stage.engine.await_active(running)
            assert running.evidence is not None
            yield Evidence(
                fault_id=running.timed.fault_id,
                broker_id=running.broker_id,
                says=running.evidence,
            )
        finally:
            self.stage.engine.heal(running)

    def run(self, schedule: Schedule | None = None) -> None:
        """Every fault of `schedule` was injected and healed; without one, of what was drawn.

        Whether they took effect is judged when the test is over. Raises `UsageError` when nothing
        was drawn.
        """
        if schedule is None:
            schedule = self._drawn()
            self.has_run_drawn = True
        named = [replace(timed, fault_id=self._next_id()) for timed in schedule.faults]
        self.stage.engine.run(replace(schedule, faults=self._again(named)))

    def _inject(self, fault: Fault) -> RunningFault:
        fault_id = self._next_id()
        self._recorded_as(fault_id, fault)
        return self.stage.engine.inject(fault_id, fault, is_held=True)

    def _drawn(self) -> Schedule:
        if self.drawn is None:
            raise UsageError(
                "nothing was drawn: give faults.run a schedule, or the test chaos(profile=...)"
            )
        if not self.drawn.faults:
            raise InjectionError(f"seed {self.drawn.seed} drew no fault; give a larger budget")
        return self.drawn

    def _again(self, planned: list[TimedFault]) -> tuple[TimedFault, ...]:
        """As the recorded run executed them, or as planned when there is none.

        Its times count from the start of that run, so they are moved: the first is as planned.
        """
        recorded = [self._recorded_as(timed.fault_id, timed.fault) for timed in planned]
        done = [timed for timed in recorded if timed is not None]
        if not done:
            return tuple(planned)
        begun_ms = min(timed.at_ms for timed in done) - planned[0].at_ms
        moved = [replace(timed, at_ms=max(0, timed.at_ms - begun_ms)) for timed in done]
        return tuple(sorted(moved, key=lambda timed: timed.at_ms))

    def _recorded_as(self, fault_id: str, fault: Fault) -> TimedFault | None:
        """What the recorded run did under this id; raises `UsageError` when that was another."""
        recorded = self.recorded.get(fault_id)
        if recorded is not None and recorded.fault.kind != fault.kind:
            raise UsageError(
                f"the recorded run injected {recorded.fault.kind} as {fault_id}, and the test now "
                f"injects {fault.kind}; it is not the same test any more"
            )
        return recorded

    def _next_id(self) -> str:
        self._count += 1
        return f"fault-{self._count}"
