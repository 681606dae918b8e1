"""Makes the schedule of a run that violated something small.

In the simulator where that violates the same, else on real processes.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conformance.adapter import ClusterSettings, UsageError
from conformance.checks.registry import run_checks
from conformance.directed import executed_folder, scenario_of
from conformance.plan_shrink import PlanShrinker
from conformance.scenario_run import ScenarioRun, read_folder
from conformance.shrink import failures
from conformance.simulate import REFERENCE_TARGET, load
from fault_injection.catalogue import kind_of
from fault_injection.document_reader import PlanError
from fault_injection.fault_kind import Backend
from fault_injection.plan import Plan
from fault_injection.plan_file import as_document
from fault_injection.plan_record import read_executed

SIMULATED_RUNS_MAX = 150
AGAIN_MAX = 3
"""How often a run on real processes may fail to violate it again before that is given up."""
REAL_RUNS_MAX = 12
"""Each takes as long as the run itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkRun:
    """The smallest schedule that still violates one of the properties."""

    plan: Plan
    violated: tuple[str, ...]
    """What the run violated."""
    actions_before: int
    runs: int
    backend: Backend
    """Where it was made small."""


def shrink_run(run: Path, *, out: Path) -> ShrunkRun:
    """Shrink what a run executed; real runs go below `out`.

    Raises `UsageError` when the run violates nothing, or does not do so again.
    """
    folder = executed_folder(run)
    try:
        plan = read_executed(folder)
    except PlanError as error:
        raise UsageError(str(error)) from error
    violated = violations_of(folder)
    if not violated:
        raise UsageError(f"{folder} violates nothing: nothing to shrink")
    return shrink_plan(plan, violated, out=out)


def shrink_plan(plan: Plan, violated: frozenset[str], *, out: Path) -> ShrunkRun:
    """Shrink a plan to what still violates one of these properties."""
    backend = Backend.SIM if _is_simulated(plan, violated) else Backend.REAL
    tries = _Tries(plan=plan, violated=violated, out=out)
    if backend is Backend.REAL and not any(tries.on_processes(plan) for _ in range(AGAIN_MAX)):
        raise UsageError(
            f"{plan.plan_id} did not violate it again in {AGAIN_MAX} runs: it depends on chance, "
            "and cannot be made smaller"
        )
    fails = tries.in_simulator if backend is Backend.SIM else tries.on_processes
    runs_max = SIMULATED_RUNS_MAX if backend is Backend.SIM else REAL_RUNS_MAX
    shrunk = PlanShrinker(plan, fails, runs_max).shrink()
    origin = {"kind": "shrunk", "from": dict(plan.origin), "violated": sorted(violated)}
    return ShrunkRun(
        plan=replace(shrunk.plan, origin=origin),
        violated=tuple(sorted(violated)),
        actions_before=len(plan.actions),
        runs=shrunk.runs,
        backend=backend,
    )


def violations_of(folder: Path) -> frozenset[str]:
    """The names of what the traces of a run violate."""
    events, _ = read_folder(folder)
    return frozenset(check.invariant.value for check in run_checks(events) if check.violations)


def _is_simulated(plan: Plan, violated: frozenset[str]) -> bool:
    """True when the simulator can do all of it, and the same is violated there."""
    kinds = [kind_of(action.fault.kind) for action in plan.actions]
    if not all(Backend.SIM in kind.backends for kind in kinds):
        return False
    return _Tries(plan=plan, violated=violated, out=Path()).in_simulator(plan)


@dataclass(slots=True, kw_only=True)
class _Tries:
    """Plays candidates at the level, and with the mutant, of the plan that they come from."""

    plan: Plan
    violated: frozenset[str]
    out: Path
    count: int = 0

    def in_simulator(self, candidate: Plan) -> bool:
        """True when it violates one of the properties in virtual time."""
        play: Any = getattr(load(REFERENCE_TARGET), "play_plan")  # noqa: B009  reached by name
        document = as_document(candidate)
        found = failures(lambda: play(document, level=self._level, mutant=self._mutant or None))
        return not self.violated.isdisjoint(found)

    def on_processes(self, candidate: Plan) -> bool:
        """True when it violates one of the properties on real processes."""
        self.count += 1
        folder = self.out / f"try-{self.count}"
        ScenarioRun(
            scenario=scenario_of(candidate),
            settings=ClusterSettings(level=self._level, mutant=self._mutant),
            seed=candidate.seed,
            folder=folder,
        ).play()
        return not self.violated.isdisjoint(violations_of(folder))

    @property
    def _level(self) -> int:
        return int(self.plan.origin.get("level", ClusterSettings().level))

    @property
    def _mutant(self) -> str:
        return str(self.plan.origin.get("mutant", ""))
