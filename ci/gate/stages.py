"""The stages of the gate as data: what each runs, and what it makes of the result.

Stages import the rooms they need when they run, so that a broken one takes only itself down.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from fencepost.ci.gate.outcomes import (
    StageInterrupted,
    StageOutcome,
    of_analysis,
    of_coverage,
    of_edits,
    of_hunt,
    of_levels,
    of_models,
    of_replay,
    of_trials,
)
from fencepost.ci.gate.scenario_outcomes import of_canary, of_falsehoods, of_scenarios
from fencepost.ci.gate.seeds import earlier_seeds, edit_scores, gate_seeds, undecided_rules
from fencepost.ci.gate.shards import WHOLE, Shard
from fencepost.ci.gate.tiers import Effort, effort_of
from fencepost.ci.gate.verdict_files import OWN_EXPECTATIONS, GateRun, GateStage
from fencepost.ci.screens.console import progress
from fencepost.ci.screens.model_progress import model_progress
from fencepost.conformance.verdict import Verdict
from fencepost.spec.tlc.models import Tier
from fencepost.spec.vocabulary import NEWEST_LEVEL, ProtocolLevel

if TYPE_CHECKING:  # each stage imports its room when it runs
    from fencepost.conformance.adapters.settings import ClusterSettings
    from fencepost.spec.replay.recorded_run import RecordedRun

Run = Callable[[GateRun], StageOutcome]


def check_specs(run: GateRun) -> StageOutcome:
    """TLC on the models of the tier; at night also every action and every repair undone."""
    from fencepost.spec.tlc.models import load_models, select
    from fencepost.spec.tlc.runner import check_models

    workers = _effort(run).workers
    models = run.shard.take(select(load_models(), tier=run.tier))
    with model_progress(models) as advance:
        results = check_models(models, workers=workers, on_progress=advance)
    outcome = of_models(models, results)
    if run.tier is not Tier.NIGHTLY:
        return outcome
    if run.shard.is_first:  # an action may be taken in any of the models
        outcome = outcome.joined(cover_actions(workers))
    return outcome.joined(undo_repairs(workers, run.shard))


def prove_specs(run: GateRun) -> StageOutcome:
    """The invariants that are proved for any size, in every tier: no bound, no schedule."""
    from fencepost.ci.gate.proof_outcome import of_proofs
    from fencepost.spec.proofs.findings import find_all
    from fencepost.spec.proofs.modules import MODULES

    with progress("proofs") as advance:
        return of_proofs(find_all(MODULES, advance, jobs=_effort(run).workers))


def cover_actions(workers: int) -> StageOutcome:
    """TLC again on the models that hold: no action is modelled in vain."""
    from fencepost.spec.tlc.coverage import measure
    from fencepost.spec.tlc.models import load_models
    from fencepost.spec.tlc.runner import TlcOptions

    models = [model for model in load_models() if model.is_clean]
    with model_progress(models) as advance:
        return of_coverage(
            measure(models, options=TlcOptions(), workers=workers, on_progress=advance)
        )


def undo_repairs(workers: int, shard: Shard = WHOLE) -> StageOutcome:
    """TLC again, with each hazard let in; of several machines each has its share of them."""
    from fencepost.spec.hazards import load_hazards
    from fencepost.spec.tlc.models import load_models
    from fencepost.spec.tlc.repairs import trials, undo
    from fencepost.spec.tlc.runner import TlcOptions

    tried = shard.take(trials(load_hazards(), load_models()))
    with model_progress([trial.model for trial in tried]) as advance:
        return of_trials(undo(tried, options=TlcOptions(), workers=workers, on_progress=advance))


def simulate(run: GateRun) -> StageOutcome:
    """Seeded schedules at the level of the run, then every mutant until it is caught.

    At the newest level some are played at those below it instead, which have rules of their own,
    and beside them upgrades that lead from level 2 to it.
    A mutant breaks one rule of the newest level, so that is where it is hunted at any level.
    """
    from fencepost.conformance.whitebox.simulate import SimulationOptions, hunt_mutants, run_seeds

    effort = _effort(run)
    newest = NEWEST_LEVEL
    earlier = earlier_seeds(run.seed) if run.level == newest else {}
    first = gate_seeds(effort.seeds - sum(map(len, earlier.values())), run.seed)
    upgrades = effort.upgrade_seeds if run.level == newest else 0
    upgraded = range(run.seed * upgrades, (run.seed + 1) * upgrades)
    asked = [(level, None, seeds) for level, seeds in {run.level: first, **earlier}.items()]
    options = SimulationOptions(out=run.folder / "simulate", is_share=not run.shard.is_whole)
    with progress("simulate") as advance:
        results = [
            run_seeds(
                seeds,
                level=level,
                jobs=effort.workers,
                on_progress=advance,
                options=replace(options, upgrade_from=begun),
            )
            for level, begun, all_seeds in (*asked, (newest, ProtocolLevel.LEADER_EPOCH, upgraded))
            if (seeds := run.shard.take(all_seeds))
        ]
    with progress("mutants") as advance:
        caught = hunt_mutants(
            effort.mutant_seeds_max,
            level=newest,
            jobs=effort.workers,
            on_progress=advance,
            choose=run.shard.take,
        )
    outcome = of_levels(results).joined(of_hunt(caught, level=newest))
    if run.shard.is_first:  # of the chosen seeds as a whole
        outcome = outcome.joined(of_edits(undecided_rules(), edit_scores()))
    return outcome


def inject_faults(run: GateRun) -> StageOutcome:
    """Directed scenarios on real processes and a real ZooKeeper."""
    from fencepost.conformance.runs.chaos import ChaosInterrupted, run_all, selected
    from fencepost.conformance.suite.known_scenarios import expectations_of

    with progress("chaos") as advance:
        try:
            results = run_all(
                run.shard.take(selected(_effort(run).scenarios)),
                settings=settings_of_gate(run),
                seed=run.seed,
                out=run.folder / "chaos",
                on_progress=advance,
                seen_as=expectations_of(run.folder / OWN_EXPECTATIONS, run.target),
            )
        except ChaosInterrupted as cut:
            raise StageInterrupted(of_scenarios(cut.judged, cut.left)) from cut
    return of_scenarios(results)


def settings_of_gate(run: GateRun) -> "ClusterSettings":
    """The clusters of its scenarios: of the target, at its level, on its ZooKeeper."""
    from fencepost.conformance.runs.run_settings import settings_of

    asked = {"command": run.target, "level": run.level, "zookeeper": run.zookeeper}
    return settings_of(asked)


def sing(run: GateRun) -> StageOutcome:
    """A mutant on real processes, at the newest level, which the checks must find.

    Of a target no rule can be broken: the trace of one of its runs is falsified instead.
    """
    if run.target:
        return sing_of_target(run)
    from fencepost.conformance.whitebox.canary import play_canary

    canary = play_canary(
        level=NEWEST_LEVEL.value,
        seed=run.seed,
        out=run.folder / "canary",
        zookeeper=run.zookeeper,
    )
    return of_canary(canary)


def sing_of_target(run: GateRun) -> StageOutcome:
    """Falsehoods in the trace of its first good run, which the checks must find."""
    from fencepost.conformance.falsified import falsified

    dialect = settings_of_gate(run).implementation.trace_dialect
    if not (found := falsified(run.folder / "chaos", dialect)):
        return skipped("no run of the target is whole and good, so none could be falsified")
    return of_falsehoods(found)


def replay_runs(run: GateRun) -> StageOutcome:
    """A sample of what was recorded is replayed against the specs: seeds, and each chaos run.

    Of a run with several partitions the first is taken. A target has no simulator, and so no seeds.
    """
    from fencepost.spec.replay.replay import replay

    effort, level = _effort(run), run.level
    first = run.seed * effort.seeds
    drawn = run.shard.take(range(first, first + effort.replayed_seeds))
    seeds = {} if run.target else {seed: recorded_seed(seed, level) for seed in drawn}
    # Named as in the report: the same in each folder, so that runs can be compared.
    found = replay(seeds.values(), run.folder / "chaos", partitions_max=1, named_below=run.folder)
    if not found.results:
        return skipped("no run of the target was recorded that could be replayed")
    commands = {
        recorded.name: f"fencepost check --seed {seed} --level {level}"
        for seed, recorded in seeds.items()
    }
    return of_replay(found, below=run.folder, seeds=commands)


def recorded_seed(seed: int, level: int) -> "RecordedRun":
    """The recorded run of a seed, without the requests at its end that the specs do not have."""
    from fencepost.conformance.whitebox.simulate import load
    from fencepost.spec.replay.recorded_run import as_lines, recorded_run

    events = load().simulate_modelled(seed, level=level, mutant=None)
    return recorded_run(f"seed {seed}", as_lines(events))


def analyse(run: GateRun) -> StageOutcome:
    """Spark over every trace of the run: the checks again, and the budgets."""
    from fencepost.reports.analysis.analyse import analyse as analyse_run

    with progress("analyse") as advance:
        analysis = analyse_run(run.folder, spark_master=run.spark_master, on_progress=advance)
    return of_analysis(analysis)


def write_report(run: GateRun) -> StageOutcome:
    """One HTML file that tells the story, beside the baseline if there is one."""
    from fencepost.ci.results.baseline import leave_comparison
    from fencepost.reports.page.render import render

    leave_comparison(run)
    path = render(run.folder)
    return StageOutcome(
        verdict=Verdict.PASS,
        summary=str(path),
        figures={"bytes": path.stat().st_size},
    )


def skipped(why: str) -> StageOutcome:
    """Nothing was tried, and nothing is owed."""
    return StageOutcome(verdict=Verdict.UNSUPPORTED, summary=f"SKIPPED: {why}")


def of_reference(run: Run, why: str) -> Run:
    """The stage, which is skipped for any other target."""

    def run_or_skip(given: GateRun) -> StageOutcome:
        return skipped(why) if given.target else run(given)

    return run_or_skip


def _effort(run: GateRun) -> Effort:
    return effort_of(run.tier, run.workers)


THE_SPECS = "the specs are the same for every target; a gate without --target checks them"
NO_CORE = "only the reference has a core that a simulator can run"

STAGES: tuple[GateStage, ...] = (
    GateStage(name="spec", run=of_reference(check_specs, THE_SPECS)),
    GateStage(name="proofs", run=of_reference(prove_specs, THE_SPECS), has_shares=False),
    GateStage(name="simulate", run=of_reference(simulate, NO_CORE), leaves=("simulate",)),
    GateStage(name="chaos", run=inject_faults, leaves=("chaos",)),
    GateStage(
        name="canary",
        run=sing,
        reads=frozenset({"chaos"}),
        leaves=("canary",),
        has_shares=False,
    ),
    GateStage(name="replay", run=replay_runs, reads=frozenset({"chaos"})),
    GateStage(
        name="analyse",
        run=analyse,
        reads=frozenset({"simulate", "chaos", "canary"}),
        leaves=("aggregates.json", "failovers", "parquet"),
        waits_for_all=True,
    ),
    GateStage(name="report", run=write_report, in_report=False),
)


def stages_of(shard: Shard) -> tuple[GateStage, ...]:
    """The stages of a share: those that all have shares of, and the others in the first."""
    if shard.is_whole:
        return STAGES
    return tuple(
        stage
        for stage in STAGES
        if not stage.waits_for_all and (stage.has_shares or shard.is_first)
    )
