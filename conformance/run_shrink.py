"""Makes the schedule of a run that violated something small.

In the simulator where that violates the same, and then seen on real processes once more; where it
is not, or cannot be, on real processes alone.
"""

import shutil
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from conformance.adapter import ClusterSettings, UsageError
from conformance.checks.registry import run_checks
from conformance.directed import executed_folder, scenario_of
from conformance.plan_shrink import PlanShrinker, ShrunkPlan
from conformance.scenario_run import ScenarioRun, read_folder
from conformance.shrink import failures
from conformance.simulate import REFERENCE_TARGET, load
from fault_injection.catalogue import kind_of
from fault_injection.document_reader import PlanError
from fault_injection.fault_kind import Backend
from fault_injection.plan import Load, Plan
from fault_injection.plan_file import as_document
from fault_injection.plan_record import read_executed

SHRUNK = "shrunk"
"""The kind of `origin` of a schedule that was made small."""
SIMULATED_RUNS_MAX = 150
AGAIN_MAX = 3
"""How often a run on real processes may fail to violate it again before that is given up."""
REAL_RUNS_MAX = 12
"""Schedules that are tried there, each as often as it took to see it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShrunkRun:
    """The smallest schedule that still violates one of the properties, on real processes too."""

    plan: Plan
    violated: tuple[str, ...]
    """What the run violated."""
    actions_before: int
    runs: int
    """Of smaller schedules, where it was made small."""
    backend: Backend
    """Where it was made small."""
    evidence: Path
    """The folder of a run of the small schedule on real processes that violates it."""


def shrink_run(run: Path, *, out: Path) -> ShrunkRun:
    """Shrink what a run executed; real runs go below `out`.

    Raises `UsageError` when the run violates nothing, does not do so again, or has clients that no
    schedule has.
    """
    folder = executed_folder(run)
    try:
        plan = read_executed(folder)
    except PlanError as error:
        raise UsageError(str(error)) from error
    violated = violations_of(folder)
    if not violated:
        raise UsageError(f"{folder} violates nothing: nothing to shrink")
    if plan.profile is Load.NONE:
        raise UsageError(
            f"{folder} had clients of its own, which are in no schedule: without them it violates "
            "nothing; it cannot be made smaller"
        )
    return shrink_plan(plan, violated, out=out)


def shrink_plan(plan: Plan, violated: frozenset[str], *, out: Path) -> ShrunkRun:
    """Shrink a plan to what violates one of these properties on real processes.

    The simulator is asked first, since it is fast; but it may violate them for another reason.
    """
    tries = Tries(plan=plan, violated=violated, out=out)
    if _is_simulated(plan, tries):
        found = PlanShrinker(plan, tries.in_simulator, SIMULATED_RUNS_MAX).shrink()
        if tries.until_violated(found.plan, AGAIN_MAX):
            return _shrunk(plan, found, tries, Backend.SIM)
    needed = tries.until_violated(plan, AGAIN_MAX)
    if not needed:
        raise UsageError(
            f"{plan.plan_id} did not violate it again in {AGAIN_MAX} runs: it depends on chance, "
            "and cannot be made smaller"
        )
    fails = partial(tries.is_violated_within, needed)
    return _shrunk(plan, PlanShrinker(plan, fails, REAL_RUNS_MAX).shrink(), tries, Backend.REAL)


def _shrunk(plan: Plan, found: ShrunkPlan, tries: "Tries", backend: Backend) -> ShrunkRun:
    """As a schedule of its own, which says where it comes from and at which level it fails."""
    level, mutant = tries.level, tries.mutant
    origin = {
        "kind": SHRUNK,
        "level": level,
        "mutant": mutant,
        "violated": sorted(tries.violated),
        "of": dict(plan.origin),
    }
    assert tries.evidence is not None
    return ShrunkRun(
        plan=replace(
            found.plan,
            plan_id=f"{plan.plan_id}_small",
            says=f"What is left of {plan.plan_id} when it is made small.",
            # What it lasts is no longer what the floor was meant for.
            floors=replace(plan.floors, during=0),
            fails_at=plan.fails_at if mutant else tuple(sorted({*plan.fails_at, level})),
            origin=origin,
        ),
        violated=tuple(sorted(tries.violated)),
        actions_before=len(plan.actions),
        runs=found.runs,
        backend=backend,
        evidence=tries.evidence,
    )


def violations_of(folder: Path) -> frozenset[str]:
    """The names of what the traces of a run violate."""
    events, _ = read_folder(folder)
    return frozenset(check.invariant.value for check in run_checks(events) if check.violations)


def _is_simulated(plan: Plan, tries: "Tries") -> bool:
    """True when the simulator can do all of it, and the same is violated there."""
    kinds = [kind_of(action.fault.kind) for action in plan.actions]
    return all(Backend.SIM in kind.backends for kind in kinds) and tries.in_simulator(plan)


@dataclass(slots=True, kw_only=True)
class Tries:
    """Plays candidates at the level, and with the mutant, of the plan that they come from."""

    plan: Plan
    violated: frozenset[str]
    out: Path
    count: int = 0
    evidence: Path | None = None
    """The last run on real processes that violated one of the properties; of the others nothing
    is kept."""

    def in_simulator(self, candidate: Plan) -> bool:
        """True when it violates one of the properties in virtual time."""
        play: Any = getattr(load(REFERENCE_TARGET), "play_plan")  # noqa: B009  reached by name
        document = as_document(candidate)
        found = failures(lambda: play(document, level=self.level, mutant=self.mutant or None))
        return not self.violated.isdisjoint(found)

    def is_violated_within(self, runs_max: int, candidate: Plan) -> bool:
        """True when one of so many runs on real processes violates one of the properties."""
        return self.until_violated(candidate, runs_max) > 0

    def until_violated(self, candidate: Plan, runs_max: int) -> int:
        """The number of the first run on real processes that does; 0 when none of them does."""
        runs = range(1, runs_max + 1)
        return next((number for number in runs if self.on_processes(candidate)), 0)

    def on_processes(self, candidate: Plan) -> bool:
        """True when it violates one of the properties on real processes."""
        self.count += 1
        folder = self.out / f"try-{self.count}"
        ScenarioRun(
            scenario=scenario_of(candidate),
            settings=ClusterSettings(level=self.level, mutant=self.mutant),
            seed=candidate.seed,
            folder=folder,
        ).play()
        is_violated = not self.violated.isdisjoint(violations_of(folder))
        needless = self.evidence if is_violated else folder
        if needless is not None:
            shutil.rmtree(needless)
        if is_violated:
            self.evidence = folder
        return is_violated

    @property
    def level(self) -> int:
        """The protocol level of the run."""
        return int(self.plan.origin.get("level", ClusterSettings().level))

    @property
    def mutant(self) -> str:
        """The rule that its brokers broke; empty for none."""
        return str(self.plan.origin.get("mutant", ""))
