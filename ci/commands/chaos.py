"""`fencepost chaos`: stories of faults on real processes and a real ZooKeeper."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from fencepost.ci.commands.chaos_soak import asked_again, begin_soak, resume_soak, soak_plan
from fencepost.ci.commands.chaos_stepped import follow_counterexamples, make_moves
from fencepost.ci.completion import completing
from fencepost.ci.exit_codes import INTERRUPTED
from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.gate.places import enter_network
from fencepost.ci.gate.runs import make_run_folder, new_run_id
from fencepost.ci.gate.scenario_outcomes import of_scenarios
from fencepost.ci.gate.verdict_files import OWN_EXPECTATIONS, RunHead, StageRecord
from fencepost.ci.options import (
    ZOOKEEPER_HELP,
    ZOOKEEPER_METAVAR,
    ExpectOption,
    JsonOption,
    OptionalLevel,
    OutFolder,
    SummaryOption,
    TargetOption,
    keep_given,
    require_expectations,
)
from fencepost.ci.results.run_files import write_run
from fencepost.ci.results.step_summary import leave_summary, require_summary
from fencepost.ci.screens.console import note, progress, say, show_json, show_table
from fencepost.conformance.adapters import errors
from fencepost.conformance.adapters.choices import PROXY
from fencepost.conformance.adapters.networks import require_network
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import require_zookeeper
from fencepost.conformance.runs import fault_table
from fencepost.conformance.runs.chaos import ChaosInterrupted, run_all, selected
from fencepost.conformance.runs.run_folder import begun_in
from fencepost.conformance.runs.run_settings import settings_of
from fencepost.conformance.runs.scenario import Scenario, ScenarioResult
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.scenarios.find_story import executed_folder, find_executed
from fencepost.conformance.suite.known_scenarios import expectations_of
from fencepost.conformance.verdict import Verdict, exit_code
from fencepost.conformance.whitebox.mutants import require_rule
from fencepost.conformance.whitebox.run_shrink import shrink_run
from fencepost.fault_injection.stories.story_file import as_document, to_yaml

Stories = Annotated[
    list[str] | None,
    typer.Option(
        "--story",
        metavar="NAME|FILE",
        help="A story of the library, or a story file; may be given again.  [default: the library]",
        autocompletion=completing("story"),
    ),
]
ListThem = Annotated[bool, typer.Option("--list", help="List the stories; play nothing.")]
Counterexamples = Annotated[
    list[str] | None,
    typer.Option(
        "--from-counterexample",
        metavar="MODEL|all",
        help="Step processes along the counterexample of a model of fencepost check --list, with "
        "its hazard and without.",
        autocompletion=completing("model"),
    ),
]
MovesFile = Annotated[
    Path | None,
    typer.Option("--moves", metavar="FILE", help="Repeat the moves that a stepped run recorded."),
]
Mutant = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Break one rule in all brokers; fencepost mutants list names them.",
        autocompletion=completing("mutant"),
    ),
]
ReplayedRun = Annotated[
    Path | None,
    typer.Option(metavar="RUN", help="Execute again what a run executed, on the same brokers."),
]
ShrunkRunFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="RUN", help="Print the smallest story with which a failed run still fails."
    ),
]
OptionalSeed = Annotated[
    int | None,
    typer.Option(min=0, help="Seed of every random choice.  [default: the file's, or 0]"),
]
OptionalZookeeper = Annotated[
    str | None,
    typer.Option(
        metavar=ZOOKEEPER_METAVAR, help=f"{ZOOKEEPER_HELP}  [default: embedded, or the run's]"
    ),
]
SoakTime = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Run rounds of random faults, or of --story, for a time: 90s, 10m or 1h.",
    ),
]
SoakFolder = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Continue an interrupted soak.")
]
NetworkOption = Annotated[
    str | None,
    typer.Option(
        metavar="proxy|namespaces",
        help="How connections are cut: by a proxy, or by the kernel between namespaces (root).  "
        "[default: proxy, or the run's]",
    ),
]
COLUMNS = ("name", "verdict", "faults", "floors", "acknowledged", "unsettled", "message", "noise")
FAULT_COLUMNS = ("fault", "kind", "broker", "phase", "seconds", "evidence")


def chaos(
    story: Stories = None,
    replay: ReplayedRun = None,
    shrink: ShrunkRunFolder = None,
    seed: OptionalSeed = None,
    level: OptionalLevel = None,
    zookeeper: OptionalZookeeper = None,
    network: NetworkOption = None,
    out: OutFolder = None,
    from_counterexample: Counterexamples = None,
    moves: MovesFile = None,
    target: TargetOption = "",
    mutant: Mutant = "",
    expect: ExpectOption = None,
    soak: SoakTime = None,
    resume: SoakFolder = None,
    summary: SummaryOption = None,
    list_them: ListThem = False,
    as_json: JsonOption = False,
) -> int:
    """Run stories of faults on real processes.

    Brokers run under a real ZooKeeper, and every check judges what they did.
    """
    if list_them:
        return list_stories(as_json=as_json)
    given = [story or soak, replay, shrink, from_counterexample, moves]
    require_summary(summary, is_left=not any(given[2:]))
    require_judged(expect, [*given[2:], soak, resume])
    require_one(given)
    require_no_place(from_counterexample or moves, zookeeper or network or target)
    if moves:
        return make_moves(moves, out, as_json=as_json)
    if from_counterexample:
        return follow_counterexamples(from_counterexample, out, as_json=as_json)
    if shrink is not None:
        require_own_settings(seed, level, zookeeper, target, mutant)
        return make_small(shrink, out, network, as_json=as_json)
    if resume:
        chosen = [*given[1:], story, out, target, mutant, network, zookeeper]
        is_alone = not any(chosen) and seed is None and level is None
        return resume_soak(resume, soak, summary, is_alone=is_alone, as_json=as_json)
    with as_usage(errors.ChoiceError):
        scenarios = [find_executed(replay)] if replay else selected(story or (), network or PROXY)
        before = recorded(scenarios, replay) if story or replay else []
        subject = {"command": target, "mutant": mutant}
        asked = {"level": level, "network": network, "zookeeper": zookeeper, **subject}
        settings = settings_of(asked, *before)
        require_rule(settings)
    make_ready(settings, scenarios)
    if soak:
        plan = soak_plan(soak, settings, story, seed=seed or 0)
        return begin_soak(plan, out, summary, as_json=as_json)
    head = new_head(settings, seed, out, asked_again(settings, story or (), seed))
    keep_given(expect, head.folder / OWN_EXPECTATIONS)
    results = play_all(scenarios, settings, seed, head, summary)
    if not settings.implementation.broken_rule:
        tell_known(results)
    page = leave_files(head, results, summary)
    return tell(results, head.folder, page, as_json=as_json, is_whole=not any(given))


def play_all(
    scenarios: Sequence[Scenario],
    settings: ClusterSettings,
    seed: int | None,
    head: RunHead,
    summary: Path | None = None,
) -> Sequence[ScenarioResult]:
    """How each ended; when it is interrupted, the folder has all files and tells of what was."""
    with progress(head.command) as advance, as_usage(errors.ChoiceError):
        try:
            return run_all(
                scenarios,
                settings=settings,
                seed=seed,
                out=head.folder,
                on_progress=advance,
                seen_as=expectations_of(head.folder / OWN_EXPECTATIONS, head.target),
            )
        except ChaosInterrupted as cut:
            leave_files(head, cut.judged, summary, left=cut.left)
            raise


def list_stories(*, as_json: bool) -> int:
    """The stories of the library, with the faults that each does."""
    rows = [
        {"name": name, "faults": scenario.kinds, "says": scenario.sentence}
        for name, scenario in SCENARIOS.items()
    ]
    if as_json:
        show_json({"stories": rows})
        return 0
    cells = [[row["name"], ", ".join(row["faults"]), row["says"]] for row in rows]
    show_table("", ("name", "faults", "what it shows"), cells)
    return 0


def new_head(
    settings: ClusterSettings, seed: int | None, out: Path | None, reproduce: str
) -> RunHead:
    """A new folder, and what the files in it say of the run."""
    run_id = new_run_id()
    return RunHead(
        folder=make_run_folder(run_id, out),
        run_id=run_id,
        command="chaos",
        level=settings.level,
        seed=seed or 0,
        reproduce=reproduce,
        target=settings.implementation.target,
    )


def leave_files(
    head: RunHead,
    results: Sequence[ScenarioResult],
    summary: Path | None = None,
    *,
    left: Sequence[str] = (),
) -> Path:
    """The same files as a gate of one stage leaves; the path of the report.

    A single story says itself how it is run again. `left` names the stories that an interruption
    kept from being judged.
    """
    seconds = sum(result.seconds for result in results)
    again = results[0].reproduce if len(results) == 1 and not left else head.reproduce
    record = StageRecord.of("chaos", seconds, of_scenarios(results, left))
    head = replace(head, reproduce=again)
    code = INTERRUPTED if left else None
    page = write_run(head, record, code)
    leave_summary(summary, head, [record], code)
    if left:
        note(f"chaos: {record.summary}; files in {head.folder}")
    return page


def make_small(run: Path, out: Path | None, network: str | None, *, as_json: bool) -> int:
    """Print the smallest story that still violates what the run violated; keep it in a file."""
    with as_usage(errors.ChoiceError):
        executed = find_executed(run)
        settings = settings_of({"network": network}, *recorded([executed], run))
        require_network(settings, [executed])
    enter_network(settings.network)
    folder = make_run_folder(new_run_id(), out)
    note(f"chaos: shrinking {run}; on real processes that takes as long as a dozen runs")
    with as_usage(errors.ChoiceError):
        found = shrink_run(run, out=folder, network=settings.network)
    path = folder / "story.yaml"
    text = to_yaml(found.story, f"Violates {', '.join(found.violated)}; shrunk from {run}.")
    path.write_text(text, encoding="utf-8")
    if as_json:
        document = as_document(found.story)
        places = {"path": str(path), "evidence": str(found.evidence)}
        show_json({"story": document, **places, "runs": found.runs, "backend": found.backend})
        return 0
    say(text.rstrip())
    note(
        f"{len(found.story.actions)} of {found.actions_before} actions are left after "
        f"{found.runs} runs ({found.backend}); on real processes: {found.evidence}"
    )
    note(f"again: fencepost chaos --story {path}")
    return 0


def require_own_settings(*given: object) -> None:
    """Raise `UsageError` when an option says what the run that is made small says itself."""
    if any(one not in (None, "") for one in given):
        raise UsageError(
            "a run is made small on the brokers, level, seed and ZooKeeper that it ran with; "
            "leave out --target, --mutant, --level, --seed and --zookeeper"
        )


def require_one(given: Sequence[object]) -> None:
    """Raise `UsageError` when two of the options are given that each say what is run."""
    if sum(map(bool, given)) > 1:
        raise UsageError(
            "--story, --replay, --shrink, --from-counterexample and --moves exclude each other; "
            "give one"
        )


def require_judged(expect: Path | None, others: Sequence[object]) -> None:
    """Raise `UsageError` for a bad file of expectations, or one beside what is not judged by it."""
    if expect is not None and any(others):
        raise UsageError("--expect is about the stories of one run; give it with --story or alone")
    require_expectations(expect)


def require_no_place(led: object, given: object) -> None:
    """Raise `UsageError` when recorded moves are to be led on something else than they were."""
    if led and given:
        raise UsageError(
            "recorded moves are those of the reference, and name their ZooKeeper and network; "
            "leave out --target, --zookeeper and --network"
        )


def make_ready(settings: ClusterSettings, scenarios: Sequence[Scenario]) -> None:
    """The network and the ZooKeeper will do for all that is to be run; raises `UsageError`."""
    with as_usage(errors.ChoiceError):
        require_network(settings, scenarios)
        enter_network(settings.network)
        require_zookeeper(settings.zookeeper)


def recorded(scenarios: Sequence[Scenario], replay: Path | None) -> list[Mapping[str, Any]]:
    """What is known of the cluster of a run that is replayed, or was made small.

    Raises `ChoiceError` when there are other stories beside it.
    """
    ran = [one for one in scenarios if one.story.origin.get("kind") in ("executed", "shrunk")]
    if ran and len(scenarios) > 1:
        raise errors.ChoiceError(
            f"{ran[0].name} comes from a run, and has its level and mutant; play it alone"
        )
    begun = [begun_in(executed_folder(replay))] if replay else []
    return [*begun, *(one.story.origin for one in ran)]


def tell(
    results: Sequence[ScenarioResult], folder: Path, page: Path, *, as_json: bool, is_whole: bool
) -> int:
    """Show what came of it, fault by fault, or kind by kind when all was run; the exit code."""
    outcome = of_scenarios(results)
    rows = outcome.detail["scenarios"]
    kinds = fault_table.kind_rows(results)
    if as_json:
        told = {"scenarios": rows, "kinds": [asdict(row) for row in kinds]}
        places = {"run": str(folder), "report": str(page)}
        show_json({"verdict": outcome.verdict, **places, **told})
        return exit_code([outcome.verdict])
    if is_whole:
        show_table("faults", fault_table.COLUMNS, [row.cells for row in kinds])
    else:
        show_table("faults", FAULT_COLUMNS, [row for result in results for row in faults(result)])
    show_table("", COLUMNS, [[row[column] for column in COLUMNS] for row in rows])
    for row in rows:
        if row["verdict"] != "PASS":
            say(f"again: {row['reproduce']}")
    say(f"{outcome.verdict}: {outcome.summary}; traces in {folder}")
    say(f"report {page}")
    return exit_code([outcome.verdict])


def tell_known(results: Sequence[ScenarioResult]) -> None:
    """Say which scenarios fail at a level as the documents tell."""
    for result in results:
        if result.verdict is Verdict.FAIL and result.is_expected:
            note(f"{result.name} is known to fail at level {result.level}: docs/attacks.md")


def faults(result: ScenarioResult) -> list[list[str]]:
    """How each fault of a run went."""
    return [
        [
            report.action.action_id,
            report.action.fault.kind,
            "-" if report.broker_id is None else str(report.broker_id),
            str(report.phase),
            "-" if report.seconds is None else f"{report.seconds:.2f}",
            report.evidence or "-",
        ]
        for report in result.faults
    ]
