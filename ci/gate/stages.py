"""The stages of the gate as data: what each runs, and what it makes of the result.

Stages import the rooms they need when they run, so that a broken one takes only itself down.
"""

from fencepost.ci.gate.gate import GateStage
from fencepost.ci.gate.outcomes import (
    StageOutcome,
    of_analysis,
    of_canary,
    of_coverage,
    of_hunt,
    of_levels,
    of_models,
    of_replay,
    of_scenarios,
    of_trials,
    of_undecided,
)
from fencepost.ci.gate.seeds import gate_seeds, later_seeds, undecided_rules
from fencepost.ci.gate.tiers import EFFORT
from fencepost.ci.gate.verdict_files import GateRun
from fencepost.ci.screens.console import progress
from fencepost.ci.screens.model_progress import model_progress
from fencepost.conformance.verdict import Verdict
from fencepost.spec.tlc.models import Tier
from fencepost.spec.vocabulary import NEWEST_LEVEL


def check_specs(run: GateRun) -> StageOutcome:
    """TLC on the models of the tier; at night also every action and every repair undone."""
    from fencepost.spec.tlc.models import load_models, select
    from fencepost.spec.tlc.runner import check_models

    workers = EFFORT[run.tier].workers
    models = select(load_models(), tier=run.tier)
    with model_progress(models) as advance:
        results = check_models(models, workers=workers, on_progress=advance)
    outcome = of_models(models, results)
    if run.tier is not Tier.NIGHTLY:
        return outcome
    return outcome.joined(cover_actions(workers)).joined(undo_repairs(workers))


def prove_specs(run: GateRun) -> StageOutcome:
    """The invariants that are proved for any size, in every tier: no bound, no schedule."""
    from fencepost.ci.gate.proof_outcome import of_proofs
    from fencepost.spec.proofs.findings import find_all
    from fencepost.spec.proofs.modules import MODULES

    with progress("proofs") as advance:
        return of_proofs(find_all(MODULES, advance, jobs=EFFORT[run.tier].workers))


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


def undo_repairs(workers: int) -> StageOutcome:
    """TLC again, with each hazard let in."""
    from fencepost.spec.hazards import load_hazards
    from fencepost.spec.tlc.models import load_models
    from fencepost.spec.tlc.repairs import trials, undo
    from fencepost.spec.tlc.runner import TlcOptions

    tried = trials(load_hazards(), load_models())
    with model_progress([trial.model for trial in tried]) as advance:
        return of_trials(undo(tried, options=TlcOptions(), workers=workers, on_progress=advance))


def simulate(run: GateRun) -> StageOutcome:
    """Seeded schedules at the level of the run, then every mutant until it is caught.

    At the newest level some are played at the later ones instead, which have rules of their own.
    A mutant breaks one rule of the newest level, so that is where it is hunted at any level.
    """
    from fencepost.conformance.whitebox.simulate import SimulationOptions, hunt_mutants, run_seeds

    effort = EFFORT[run.tier]
    newest = NEWEST_LEVEL
    later = later_seeds(run.seed) if run.level == newest else {}
    first = gate_seeds(effort.seeds - sum(map(len, later.values())), run.seed)
    with progress("simulate") as advance:
        results = [
            run_seeds(
                seeds,
                level=level,
                jobs=effort.workers,
                on_progress=advance,
                options=SimulationOptions(out=run.folder / "simulate"),
            )
            for level, seeds in {run.level: first, **later}.items()
            if seeds
        ]
    with progress("mutants") as advance:
        caught = hunt_mutants(
            effort.mutant_seeds_max, level=newest, jobs=effort.workers, on_progress=advance
        )
    hunted = of_hunt(caught, level=newest).joined(of_undecided(undecided_rules()))
    return of_levels(results).joined(hunted)


def inject_faults(run: GateRun) -> StageOutcome:
    """Directed scenarios on real processes and a real ZooKeeper."""
    from fencepost.conformance.adapters.settings import ClusterSettings
    from fencepost.conformance.runs.chaos import run_all, selected

    with progress("chaos") as advance:
        results = run_all(
            selected(EFFORT[run.tier].scenarios),
            settings=ClusterSettings(level=run.level, zookeeper=run.zookeeper),
            seed=run.seed,
            out=run.folder / "chaos",
            on_progress=advance,
        )
    return of_scenarios(results)


def sing(run: GateRun) -> StageOutcome:
    """A mutant on real processes, at the newest level, which the checks must find."""
    from fencepost.conformance.whitebox.canary import play_canary

    canary = play_canary(
        level=NEWEST_LEVEL.value,
        seed=run.seed,
        out=run.folder / "canary",
        zookeeper=run.zookeeper,
    )
    return of_canary(canary)


def replay_runs(run: GateRun) -> StageOutcome:
    """A sample of what was recorded is replayed against the specs: seeds, and each chaos run.

    Of a run with several partitions the first is taken.
    """
    from fencepost.conformance.whitebox.simulate import load
    from fencepost.spec.replay.recorded_run import as_lines, recorded_run
    from fencepost.spec.replay.replay import replay

    effort = EFFORT[run.tier]
    simulator = load()
    first = run.seed * effort.seeds
    seeds = [
        recorded_run(
            f"seed {seed}",
            as_lines(simulator.simulate_modelled(seed, level=run.level, mutant=None)),
        )
        for seed in range(first, first + effort.replayed_seeds)
    ]
    return of_replay(replay(seeds, run.folder / "chaos", partitions_max=1))


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


STAGES: tuple[GateStage, ...] = (
    GateStage(name="spec", run=check_specs),
    GateStage(name="proofs", run=prove_specs),
    GateStage(name="simulate", run=simulate),
    GateStage(name="chaos", run=inject_faults),
    GateStage(name="canary", run=sing),
    GateStage(name="replay", run=replay_runs),
    GateStage(name="analyse", run=analyse),
    GateStage(name="report", run=write_report, in_report=False),
)
