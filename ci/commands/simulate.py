"""`fencepost simulate`: seeded schedules of the whole protocol in virtual time."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fencepost.ci.completion import SOURCES, completing
from fencepost.ci.exit_codes import INTERRUPTED
from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.gate.outcomes import cut_short, of_seeds
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.gate.tiers import effort_of
from fencepost.ci.gate.verdict_files import RunHead, StageRecord
from fencepost.ci.options import (
    NEWEST_LEVEL,
    JsonOption,
    LevelOption,
    WorkersOption,
    require_spark_master,
)
from fencepost.ci.results.run_files import write_run
from fencepost.ci.screens.console import note, progress, say, show_json, show_table, tell as confirm
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.checks.registry import judge
from fencepost.conformance.scenarios.find_story import find_file
from fencepost.conformance.verdict import Verdict, exit_code
from fencepost.conformance.whitebox.coverage import CALM
from fencepost.conformance.whitebox.shrink import ShrunkSeed, shrink_seed
from fencepost.conformance.whitebox.simulate import (
    SeedsInterrupted,
    SimulationOptions,
    SimulationResult,
    Subject,
    load,
    run_seeds,
)
from fencepost.conformance.whitebox.story_play import play_file
from fencepost.fault_injection.faults.catalogue import DRAWN_KINDS
from fencepost.reports.page.words import count
from fencepost.spec.tlc.models import Tier

SeedCount = Annotated[
    int | None, typer.Option(min=1, help="How many seeds.  [default: 200, or 1 with --seed]")
]
FirstSeed = Annotated[
    int | None,
    typer.Option(min=0, help="The first seed; without --seeds, the only one.  [default: 0]"),
]
MutantName = Annotated[
    str | None,
    typer.Option(
        help="Break one rule; fencepost mutants list names them.",
        autocompletion=completing("mutant"),
    ),
]
StepsFile = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|MUTANT",
        help="Replay steps of the specs: a file, or a mutant's own.",
        autocompletion=completing("schedule"),
    ),
]
StoryFile = Annotated[
    str | None,
    typer.Option(
        "--story",
        metavar="NAME|FILE",
        help="Play the steps of a story; compare the output with its file.",
        autocompletion=completing("played story"),
    ),
]
Rewrite = Annotated[
    bool, typer.Option("--rewrite", help="Write the output of --story into its file.")
]
TraceFolder = Annotated[
    Path | None,
    typer.Option(
        help="A new folder for the traces of the first violating seeds, verdict, JUnit and report."
    ),
]
UpgradeFrom = Annotated[
    int | None,
    typer.Option(
        metavar="LEVEL",
        help="Begin at this level, and upgrade all brokers to --level: code first, then protocol.",
    ),
]
ShowCoverage = Annotated[
    bool, typer.Option("--coverage", help="Print which actions and faults the seeds reached.")
]
Shrink = Annotated[
    bool, typer.Option("--shrink", help="Print the first violating seed as a small story.")
]
SparkMaster = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Run the seeds on a Spark cluster.  [default: local processes]",
        callback=require_spark_master,
    ),
]
ListThem = Annotated[
    bool, typer.Option("--list", help="List mutants, steps and stories; run nothing.")
]
LISTED = {"mutant": "mutant", "steps": "schedule", "story": "played story"}
"""Option -> the kind of its names."""
COLUMNS = ("seed", "invariant", "message", "reproduce")
ROWS_MAX = 10
SEEDS = 200
"""How many are run without --seeds and --seed."""


def simulate(
    seeds: SeedCount = None,
    seed: FirstSeed = None,
    level: LevelOption = NEWEST_LEVEL,
    upgrade_from: UpgradeFrom = None,
    mutant: MutantName = None,
    out: TraceFolder = None,
    coverage: ShowCoverage = False,
    shrink: Shrink = False,
    spark_master: SparkMaster = None,
    workers: WorkersOption = None,
    steps: StepsFile = None,
    story: StoryFile = None,
    rewrite: Rewrite = False,
    list_them: ListThem = False,
    as_json: JsonOption = False,
) -> int:
    """Run the protocol in virtual time.

    Each seed is one schedule of messages and faults, and every check judges its trace.
    """
    chosen = {
        "--seeds": seeds,
        "--seed": seed,
        "--level": level if level != NEWEST_LEVEL else None,
        "--upgrade-from": upgrade_from,
        "--mutant": mutant,
        "--out": out,
        "--coverage": coverage or None,
        "--shrink": shrink or None,
        "--spark-master": spark_master,
        "--workers": workers,
    }
    if list_them:
        refuse_beside("--list runs nothing", {**chosen, "--steps": steps, "--story": story})
        return list_names(as_json=as_json)
    if story is not None:
        refuse_beside("--story plays one file", {**chosen, "--steps": steps})
        return play_story(story, rewrite=rewrite, as_json=as_json)
    if rewrite:
        refuse_beside("there is no --story", {"--rewrite": rewrite})
    if steps is not None:
        refuse_beside("--steps replays one schedule without chance", chosen)
        return replay_steps(steps, as_json=as_json)
    wish = SimulationRequest(
        upgrade_from=upgrade_from,
        out=out,
        coverage=coverage,
        shrink=shrink,
        as_json=as_json,
        spark=spark_master,
        workers=workers,
    )
    if upgrade_from is not None:
        refuse_beside(
            "--shrink makes no run smaller that upgrades brokers", {"--shrink": shrink or None}
        )
    return run(wanted(seeds, seed), level=level, mutant=mutant, wish=wish)


def list_names(*, as_json: bool) -> int:
    """The names that the options take, each after its option."""
    found = {option: list(SOURCES[kind]()) for option, kind in LISTED.items()}
    lines = (f"--{option}\t{name}" for option, names in found.items() for name in names)
    confirm(found, *lines, as_json=as_json)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationRequest:
    """What is asked for beside the seeds."""

    upgrade_from: int | None
    out: Path | None
    coverage: bool
    shrink: bool
    as_json: bool
    spark: str | None
    workers: int | None


def run(seeds: range, *, level: int, mutant: str | None, wish: SimulationRequest) -> int:
    """Run the seeds and tell what they showed; a folder for traces gets the files of a run, too."""
    run_id = new_run_id()
    traces = make_run_folder(run_id, wish.out) if wish.out else None
    options = SimulationOptions(out=traces, upgrade_from=wish.upgrade_from)
    if wish.spark is not None:
        from fencepost.reports.spark.seeds import on_spark  # Spark takes half a second to import

        options = replace(options, spread=on_spark(wish.spark))
    try:
        with progress("simulate") as advance, as_usage(ChoiceError):
            result = run_seeds(
                seeds,
                level=level,
                mutant=mutant,
                jobs=effort_of(Tier.QUICK, wish.workers).workers,
                on_progress=advance,
                options=options,
            )
    except SeedsInterrupted as cut:
        record = record_of(cut.result, is_whole=False)
        note(f"simulate: {record.summary}, {count(cut.left, 'seed')} not judged")
        if traces:
            write_run(head_of(cut.result, seeds, wish, traces, run_id), record, INTERRUPTED)
        raise
    shrunk = small_story(result) if wish.shrink else None
    if traces:
        write_run(head_of(result, seeds, wish, traces, run_id), record_of(result))
    if wish.as_json:
        show_json(document(result, wish, shrunk))
    else:
        tell(result, wish, shrunk, traces)
    return exit_code([of_seeds(result).verdict])


def head_of(
    result: SimulationResult, seeds: range, wish: SimulationRequest, folder: Path, run_id: str
) -> RunHead:
    """What the files of a run say of it."""
    asked = f"fencepost simulate --seeds {len(seeds)} --seed {seeds.start} --level {result.level}"
    if wish.upgrade_from is not None:
        asked += f" --upgrade-from {wish.upgrade_from}"
    return RunHead(
        folder=folder,
        run_id=run_id,
        command="simulate",
        level=result.level,
        seed=seeds.start,
        reproduce=asked + (f" --mutant {result.mutant}" if result.mutant else ""),
    )


def record_of(result: SimulationResult, *, is_whole: bool = True) -> StageRecord:
    """The run as the stage `simulate` of a gate; not whole when it was interrupted."""
    outcome = of_seeds(result)
    return StageRecord.of("simulate", result.seconds, outcome if is_whole else cut_short(outcome))


def tell(
    result: SimulationResult,
    wish: SimulationRequest,
    shrunk: ShrunkSeed | None,
    traces: Path | None,
) -> None:
    """The first violation of each seed, what else was asked for, and the verdict."""
    outcome = of_seeds(result)
    seen = first_of_each_seed(outcome.detail["violations"])
    if rows := seen[:ROWS_MAX]:
        show_table("", COLUMNS, [[row[column] for column in COLUMNS] for row in rows])
    if more := outcome.figures["violating_seeds"] - len(rows):
        say(f"and {count(more, 'more violating seed')}")
    for line in (*mutant_lines(result), *trace_lines(result, traces)):
        say(line)
    if wish.coverage:
        show_coverage(result)
    if shrunk is not None:
        say(shrunk.text)
        say(
            f"seed {shrunk.seed} shrunk from {count(shrunk.faults_before, 'fault')} to "
            f"{shrunk.faults} in {count(shrunk.runs, 'run')}"
        )
    elif wish.shrink:
        say("no seed violates anything: there is nothing to shrink")
    say(f"{outcome.verdict}: {outcome.summary}")


def document(
    result: SimulationResult, wish: SimulationRequest, shrunk: ShrunkSeed | None
) -> dict[str, object]:
    """The same as JSON."""
    outcome = of_seeds(result)
    told: dict[str, object] = {"verdict": outcome.verdict, "figures": outcome.figures}
    told |= outcome.detail
    if result.mutant is not None:
        told |= {"mutant": result.mutant, "caught": result.catch is not None}
    if wish.coverage:
        told["coverage"] = result.coverage.as_json()
    if shrunk is not None:
        told["story"] = shrunk.text
    return told


def show_coverage(result: SimulationResult) -> None:
    """Each action of the core: in how many seeds, and beside how many kinds of fault."""
    found = result.coverage
    rows = [
        [action, str(seeds), str(sum((kind, action) in found.pairs for kind in DRAWN_KINDS))]
        for action, seeds in found.actions.items()
    ]
    show_table("coverage", ("action", "seeds", f"of {len(DRAWN_KINDS)} kinds of fault"), rows)
    kinds = {kind for kind, _ in found.pairs if kind != CALM}
    pairs = sum(kind != CALM for kind, _ in found.pairs)
    say(f"{count(pairs, 'pair')} of action and fault, {len(found.missing)} more possible")
    if unused := sorted(DRAWN_KINDS - kinds):
        say(f"faults that were active in no seed: {', '.join(unused)}")
    if found.unreached:
        say(f"actions that no seed reached: {', '.join(found.unreached)}")


def small_story(result: SimulationResult) -> ShrunkSeed | None:
    """The first failing seed, shrunk; None when there is none."""
    if not result.failing:
        return None
    subject = Subject(level=result.level, mutant=result.mutant)
    return shrink_seed(subject, result.failing[0].seed)


def refuse_beside(reason: str, given: Mapping[str, object]) -> None:
    """Raise `UsageError` for options that would be forgotten."""
    if lost := [name for name, value in given.items() if value is not None]:
        raise UsageError(f"{reason}; leave out {lost[0]}")


def play_story(story: str, *, rewrite: bool, as_json: bool) -> int:
    """Say whether a story prints what its file says; with `rewrite` the file says it now."""
    with as_usage(ChoiceError):
        path = find_file(story)
        played = play_file(path)
    if rewrite and not played.holds:
        path.write_text(played.after, encoding="utf-8")
    verdict = Verdict.PASS if played.holds or rewrite else Verdict.FAIL
    if as_json:
        difference = list(played.difference)
        show_json({"verdict": verdict, "steps": played.steps, "difference": difference})
        return exit_code([verdict])
    for line in played.difference:
        say(line)
    changed = "rewritten" if rewrite else "as the file says" if played.holds else "otherwise"
    if rewrite and played.holds:
        changed = "unchanged"
    say(f"{verdict}: {count(played.steps, 'step')} of {path}, {changed}")
    return exit_code([verdict])


def replay_steps(steps: str, *, as_json: bool) -> int:
    """Say how far the core followed the specs, and what its states violate."""
    try:
        done = load().replay(steps, judge)
    except ValueError as error:
        told = f"{error}; name a file, or a mutant of fencepost mutants list"
        raise UsageError(told) from error
    del done["events"]
    verdict = Verdict.FAIL if done["mismatch"] or done["violated"] else Verdict.PASS
    if as_json:
        show_json({"verdict": verdict, **done})
        return exit_code([verdict])
    mutant = f" with {done['mutant']}" if done["mutant"] else ""
    say(f"{done['steps']} of {done['of']} steps of {done['name']}{mutant}, each as written")
    if done["mismatch"]:
        say(done["mismatch"])
    say(f"{verdict}: violated {', '.join(done['violated']) or 'nothing'}")
    return exit_code([verdict])


def first_of_each_seed(violations: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first violation of every seed, by seed."""
    first: dict[int, dict[str, Any]] = {}
    for row in violations:
        first.setdefault(row["seed"], row)
    return [first[seed] for seed in sorted(first)]


def mutant_lines(result: SimulationResult) -> list[str]:
    """Whether the mutant was caught, by which checks and at which seed; nothing without one."""
    if result.mutant is None:
        return []
    if result.catch is None:
        right = " or ".join(result.expected)
        tried = count(result.seeds, "seed")
        return [f"mutant {result.mutant} NOT caught in {tried}; {right} should see it"]
    checks = ", ".join(sorted(result.catch.violated))
    return [f"mutant {result.mutant} caught at seed {result.catch.seed} by {checks}"]


def trace_lines(result: SimulationResult, folder: Path | None) -> list[str]:
    """Where the traces are, when --out asks for them."""
    if folder is None:
        return []
    if not result.traces:
        return [f"no seed violates anything: no trace is in {folder}"]
    return [f"traces of {', '.join(result.traces)} in {folder}"]


def wanted(seeds: int | None, seed: int | None) -> range:
    """The seeds that the options ask for: so many from the first on; one when only that is told."""
    first = 0 if seed is None else seed
    count = seeds or (SEEDS if seed is None else 1)
    return range(first, first + count)
