"""What the gate makes of each room's results: verdict, figures and the lists for the report."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from fencepost.ci.results.simulated_checks import check_rows
from fencepost.conformance.verdict import Verdict, worst
from fencepost.reports.page.words import count

if TYPE_CHECKING:  # much to import for annotations; and reports start threads, which chaos must not
    from fencepost.conformance.whitebox.simulate import MutantResult, SeedResult, SimulationResult
    from fencepost.reports.analysis.aggregates import Analysis
    from fencepost.reports.analysis.folder_report import CheckOutcome
    from fencepost.spec.replay.coverage import Coverage
    from fencepost.spec.replay.replay import ReplayReport, ReplayResult
    from fencepost.spec.tlc.compare import ModelResult
    from fencepost.spec.tlc.coverage import ModelCoverage
    from fencepost.spec.tlc.models import Model
    from fencepost.spec.tlc.repairs import Undone

VIOLATIONS_LISTED = 50
"""Of a simulation; the count is in the figures."""

DOUBTS_LISTED = 3
"""Reasons that one line names; the report has them all."""
CUT_SHORT = "interrupted before its end"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOutcome:
    """What one stage found."""

    verdict: Verdict
    summary: str = ""
    """One line for people."""
    figures: dict[str, Any] = field(default_factory=dict)
    """Flat numbers and words."""
    detail: dict[str, Any] = field(default_factory=dict)
    """Lists of what was tried; their keys are told in `ci/README.md`."""

    def joined(self, other: "StageOutcome") -> "StageOutcome":
        """Both in one: the worse verdict, all figures and details."""
        return StageOutcome(
            verdict=worst((self.verdict, other.verdict)),
            summary="; ".join(part for part in (self.summary, other.summary) if part),
            figures=self.figures | other.figures,
            detail=self.detail | other.detail,
        )


class StageInterrupted(KeyboardInterrupt):
    """An interruption in the middle of a stage, with what the stage had found before."""

    def __init__(self, outcome: StageOutcome) -> None:
        super().__init__()
        self.outcome = outcome


def cut_short(outcome: StageOutcome) -> StageOutcome:
    """The same where an interruption left the rest undone: it is no pass, and a violation stays."""
    return replace(
        outcome,
        verdict=worst((outcome.verdict, Verdict.NOT_RUN)),
        summary=f"{CUT_SHORT}; {outcome.summary}",
    )


def of_models(models: Sequence["Model"], results: Sequence["ModelResult"]) -> StageOutcome:
    """Every model must have ended exactly as `spec/models.toml` expects."""
    rows = [_model_row(model, result) for model, result in zip(models, results, strict=True)]
    agreeing = sum(1 for row in rows if row["agrees"])
    cached = sum(1 for row in rows if row["cached"])
    distinct = sum(row["distinct"] or 0 for row in rows)
    simulated = sum(row["generated"] for row in rows if "simulation" in row)
    return StageOutcome(
        verdict=worst(_model_verdict(result) for result in results),
        summary=(
            f"{agreeing} of {count(len(rows), 'model')} as expected, "
            f"{count(distinct, 'distinct state')}"
            + (f", {count(simulated, 'state')} simulated" if simulated else "")
            + (f", {cached} from the cache" if cached else "")
        ),
        figures={
            "models": len(rows),
            "models_as_expected": agreeing,
            "models_cached": cached,
            "distinct_states": distinct,
            "states_simulated": simulated,
        },
        detail={"models": rows},
    )


def attributes_of(source: object, *names: str) -> dict[str, Any]:
    """The named attributes, by their names; tuples as lists, as JSON has them."""
    values = {name: getattr(source, name) for name in names}
    return {name: list(one) if isinstance(one, tuple) else one for name, one in values.items()}


MODEL = ("name", "module", "shows")
MODEL_FOUND = (
    *("verdict", "violated", "states_in_counterexample", "distinct", "generated"),
    *("cached", "agrees", "why"),
)
MUTANT = ("mutant", "family", "rule", "requirement", "caught_by", "seed", "message")
REPLAY = ("run", "partition", "verdict", "events", "violated", "why")


def _model_row(model: "Model", result: "ModelResult") -> dict[str, Any]:
    told = attributes_of(model, *MODEL) | attributes_of(result, *MODEL_FOUND)
    taken = [
        {"module": module, "action": action, "behaviours": number}
        for (module, action), number in sorted(result.taken.items())
    ]
    simulation = {} if model.simulation is None else {"simulation": str(model.simulation)}
    return (
        told
        | {"expected": _expectation(model), "seconds": round(result.seconds, 1)}
        | ({**simulation, "taken": taken} if simulation else {})
    )


def _expectation(model: "Model") -> str:
    return f"{model.expected} {model.invariant}" if model.invariant else str(model.expected)


def _model_verdict(result: "ModelResult") -> Verdict:
    """A run that was cut short decides nothing; what TLC could not do is the harness's fault."""
    if result.agrees:
        return Verdict.PASS
    undecided = {"not_exhausted": Verdict.INCONCLUSIVE, "error": Verdict.ERROR}
    return undecided.get(result.verdict, Verdict.FAIL)


def of_coverage(coverage: "ModelCoverage") -> StageOutcome:
    """Every action of a module must be taken in some row that holds."""
    dead, undecided = coverage.dead(), coverage.undecided
    found = Verdict.PASS if coverage.rows else Verdict.VACUOUS
    rows = [
        {"module": module, "action": action, "rows": sorted(names)}
        for (module, action), names in sorted(coverage.rows.items())
    ]
    return StageOutcome(
        verdict=Verdict.FAIL if dead else Verdict.INCONCLUSIVE if undecided else found,
        summary=f"{count(len(rows), 'action')}, {len(dead)} never taken",
        figures={"actions": len(rows), "actions_never_taken": len(dead)},
        detail={"actions": rows, "undecided": dict(undecided)},
    )


def of_trials(outcomes: Sequence["Undone"]) -> StageOutcome:
    """With a hazard's switch on exactly its rows must fail; without hazards nothing was tried."""
    wrong = [outcome for outcome in outcomes if not outcome.is_as_expected]
    verdict = Verdict.FAIL if wrong else Verdict.PASS if outcomes else Verdict.VACUOUS
    if wrong and all(outcome.is_undecided for outcome in wrong):
        verdict = Verdict.INCONCLUSIVE
    hazards = len({outcome.hazard for outcome in outcomes})
    return StageOutcome(
        verdict=verdict,
        summary=(
            f"{count(hazards, 'hazard')} let in, {count(len(outcomes), 'row')} tried, "
            f"{len(wrong)} not as expected"
        ),
        figures={"hazards": hazards, "trials": len(outcomes), "trials_wrong": len(wrong)},
        detail={"trials": [outcome.as_data() for outcome in outcomes]},
    )


def of_replay(
    replay: "ReplayReport", *, below: Path = Path(), seeds: Mapping[str, str] | None = None
) -> StageOutcome:
    """Every recorded run must be a behaviour of the specs; one that cannot be read proves none.

    What an implementation does not show decides nothing beside what it does show. A run is named by
    its folder `below` one, or is one of `seeds`, each with the command that replays it.
    """
    again = seeds or {}
    shown = [result for result in replay.results if result.verdict != "not observable"]
    rows = [
        _replay_row(result) | {"reproduce": again.get(result.run) or _replayed(below / result.run)}
        for result in replay.results
    ]
    accepted = sum(1 for result in replay.results if result.verdict == "accepted")
    rate = round(replay.events / replay.seconds) if replay.seconds else 0
    return StageOutcome(
        verdict=worst(map(_replay_verdict, shown or replay.results)),
        summary=(
            f"{accepted} of {count(len(shown), 'replay')} accepted by the specs, "
            f"{count(replay.events, 'event')}{_covered(replay.coverage)}"
        ),
        figures={
            "replays": len(rows),
            "replays_accepted": accepted,
            "replayed_events": replay.events,
            "replayed_events_per_second": rate,
            "action_lines": replay.coverage.lines,
            "action_lines_replayed": replay.coverage.replayed,
        },
        detail={"replays": rows},
    )


def _replayed(run: Path) -> str:
    return f"fencepost check --trace {quote(str(run))}"


def _covered(coverage: "Coverage") -> str:
    """The share of the action lines that some replay has, where it is known."""
    return f", {coverage.share:.1%} of the action lines" if coverage.lines else ""


def _replay_row(result: "ReplayResult") -> dict[str, Any]:
    row = attributes_of(result, *REPLAY) | {
        "file": None,
        "line": None,
        "state": None,
        "enabled": [],
    }
    if stopped := result.explanation:
        line = stopped.event.line
        enabled = [list(pair) for pair in stopped.enabled]
        row |= {"file": line.file, "line": line.number, "state": stopped.state, "enabled": enabled}
    return row


def _replay_verdict(result: "ReplayResult") -> Verdict:
    """No order of a trace, or no trace, is the harness's fault and decides nothing."""
    verdicts = {
        "accepted": Verdict.PASS,
        "unreadable": Verdict.ERROR,
        "not observable": Verdict.NOT_OBSERVABLE,
    }
    return verdicts.get(str(result.verdict), Verdict.FAIL)


def of_seeds(result: "SimulationResult") -> StageOutcome:
    """What the simulated schedules showed; a check that never had anything to decide is vacuous."""
    rows = _violations(result)
    violating = {row["seed"] for row in rows}
    errors = [
        attributes_of(failing, "seed", "reproduce") | {"message": failing.error}
        for failing in result.failing
        if failing.error
    ]
    idle = ", ".join(result.idle)
    parts = (
        f"{count(result.seeds, 'seed')} {_levels(result)}",
        count(result.events, "event"),
        count(len(violating), "violating seed") if rows else "no violation",
        f"never tried: {idle}" if idle and result.verdict is Verdict.VACUOUS else "",
        *(row["message"] for row in errors[:DOUBTS_LISTED]),
        *result.doubts,
    )
    return StageOutcome(
        verdict=result.verdict,
        summary=", ".join(part for part in parts if part),
        figures={
            "seeds": result.seeds,
            "simulated_events": result.events,
            "events_per_second": round(result.events / result.seconds) if result.seconds else 0,
            "violations": len(rows),
            "violating_seeds": len(violating),
        },
        detail={
            "seeds": result.seeds,
            "level": result.level,
            "violations": rows[:VIOLATIONS_LISTED],
            "errors": errors[:VIOLATIONS_LISTED],
            "checks": check_rows(result),
        },
    )


def _levels(result: "SimulationResult") -> str:
    if result.upgrade_from is None:
        return f"at level {result.level}"
    return f"of upgrades from level {result.upgrade_from} to {result.level}"


def of_levels(results: Sequence["SimulationResult"]) -> StageOutcome:
    """The seeds of several levels: numbers are sums, and those of the first level come first.

    Upgrades count to the level that they lead to.
    """
    outcomes = [of_seeds(result) for result in results]
    figures = Counter[str]()
    for outcome in outcomes:
        figures.update(outcome.figures)
    seconds = sum(result.seconds for result in results)
    figures["events_per_second"] = round(figures["simulated_events"] / seconds) if seconds else 0
    detail = outcomes[0].detail | {"seeds": figures["seeds"]}
    for name in ("violations", "errors"):
        detail[name] = [row for one in outcomes for row in one.detail[name]][:VIOLATIONS_LISTED]
    detail["checks"] = _one_per_level([row for one in outcomes for row in one.detail["checks"]])
    return StageOutcome(
        verdict=worst(outcome.verdict for outcome in outcomes),
        summary="; ".join(outcome.summary for outcome in outcomes),
        figures=dict(figures),
        detail=detail,
    )


def _one_per_level(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Of each check and level the first row, or a later one that says more of it."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for row in rows:
        known = found.setdefault((row["name"], row["level"]), row)
        is_idle = known["verdict"] != Verdict.FAIL and not known["premises"]
        if is_idle or (row["verdict"] == Verdict.FAIL and known["verdict"] != Verdict.FAIL):
            found[row["name"], row["level"]] = row
    return list(found.values())


def _violations(result: "SimulationResult") -> list[dict[str, Any]]:
    """The first of every seed before the second of any, so that a cut hides no seed too early."""
    ranked = [
        (rank, row) for failing in result.failing for rank, row in enumerate(_distinct(failing))
    ]
    return [row for _, row in sorted(ranked, key=lambda pair: pair[0])]


def _distinct(failing: "SeedResult") -> list[dict[str, Any]]:
    """What the seed violates; what reads the same is told once."""
    return list(
        {(row["invariant"], row["message"]): row for row in _violation_rows(failing)}.values()
    )


def _violation_rows(failing: "SeedResult") -> list[dict[str, Any]]:
    rows = [attributes_of(failure, "invariant", "message") for failure in failing.failures]
    return [row | attributes_of(failing, "seed", "reproduce") for row in rows]


def of_hunt(results: Sequence["MutantResult"], *, level: int) -> StageOutcome:
    """Every mutant must be caught at `level`; one that lives shows a hole in the checks."""
    caught = sum(1 for result in results if result.is_caught)
    alive = ", ".join(result.mutant for result in results if not result.is_caught)
    sought = ", ".join(
        f"{result.mutant} at seed {result.seed}" for result in results if result.was_sought
    )
    return StageOutcome(
        verdict=Verdict.PASS if caught == len(results) else Verdict.FAIL,
        summary=f"{caught} of {count(len(results), 'mutant')} caught at level {level:d}"
        + (f", not {alive}" if alive else "")
        + (f"; no record names the seed of {sought}" if sought else ""),
        figures={"mutants": len(results), "mutants_caught": caught},
        detail={"mutants": [_mutant_row(result, level) for result in results]},
    )


def of_edits(undecided: Sequence[dict[str, Any]], scores: Sequence[dict[str, Any]]) -> StageOutcome:
    """What is known of edits at random, and where the chosen seeds see none: no failure."""
    nowhere = sum(row["nowhere"] for row in undecided)
    return StageOutcome(
        verdict=Verdict.PASS,
        figures={"rules_decisive_nowhere": nowhere},
        detail={"undecided": list(undecided), "edit_scores": list(scores)},
    )


def _mutant_row(result: "MutantResult", level: int) -> dict[str, Any]:
    """No seed at all was tried of a mutant that a replayed counterexample shows."""
    tried = f"fencepost simulate --seeds {result.seeds} --level {level:d} --mutant {result.mutant}"
    seen = {"caught": result.is_caught, "seeds_tried": result.seeds}
    return attributes_of(result, *MUTANT) | seen | {"reproduce": result.reproduce or tried}


def of_analysis(analysis: "Analysis") -> StageOutcome:
    """The verdict of Spark over all traces of a run."""
    figures = analysis.figures
    doubts = [doubt for folder in analysis.folders for doubt in folder.trace_doubts]
    parts = (
        f"{count(round(figures['events']), 'event')} of {count(round(figures['runs']), 'run')}",
        count(round(figures["violations"]), "violation"),
        count(analysis.failover.complete, "failover"),
        *missed_budgets(analysis),
        *analysis.failover.unfinished[:DOUBTS_LISTED],
        *(doubt.rstrip(".") for doubt in doubts[:DOUBTS_LISTED]),
    )
    return StageOutcome(
        verdict=analysis.verdict,
        summary=", ".join(parts),
        figures=dict(figures) | {name: str(part) for name, part in analysis.verdicts.items()},
        detail={
            "checks": [_check_row(check, analysis) for check in analysis.checks],
            "parts": _parts(analysis),
            "broken": _broken(analysis),
        },
    )


def _broken(analysis: "Analysis") -> list[dict[str, str]]:
    """What does not hold, the first violation of every check of a run before all else."""
    rows = [
        {
            "what": f"{folder.title}: {check.invariant}: {check.violations[0].message}",
            "reproduce": folder.reproduce,
        }
        for folder in analysis.folders
        if not folder.is_canary
        for check in folder.failed
        if check.violations
    ]
    doubts = [doubt for folder in analysis.folders for doubt in folder.trace_doubts]
    others = [*missed_budgets(analysis), *analysis.failover.unfinished, *doubts]
    return [*rows, *_blind(analysis), *({"what": other, "reproduce": ""} for other in others)]


def _blind(analysis: "Analysis") -> list[dict[str, str]]:
    """The stored runs of mutants that violate nothing."""
    return [
        {
            "what": f"{folder.title}: no check catches mutant {folder.mutant}",
            "reproduce": folder.reproduce,
        }
        for folder in analysis.folders
        if folder.is_canary and folder.mutant_verdict is not Verdict.PASS
    ]


def missed_budgets(analysis: "Analysis") -> list[str]:
    """Which failovers took longer than `ci/budgets.toml` allows, one phrase each."""
    return [
        f"{row.phase} took {row.max_ms:.0f} ms of {row.limit_ms:.0f} allowed after {row.kind}"
        + (f", but {row.noise}" if row.noise else "")
        for row in analysis.failover.latencies
        if not row.is_within
    ]


def _check_row(check: "CheckOutcome", analysis: "Analysis") -> dict[str, Any]:
    """What a check found over all runs: its first violation, and the command that shows it."""
    found = len(check.violations) + check.omitted_violations
    first, reproduce = _first_violation(check, analysis)
    idle = "its premise did not occur in any run" if check.verdict is Verdict.VACUOUS else ""
    parts = (first, count(found, "violation") if found else "", idle, *check.doubts)
    return {
        "name": str(check.invariant),
        "verdict": str(check.verdict),
        "message": "; ".join(part for part in parts if part),
        "reproduce": reproduce,
    }


def _first_violation(check: "CheckOutcome", analysis: "Analysis") -> tuple[str, str]:
    """Sentence and command; both empty for a check that holds."""
    for folder in analysis.folders:
        for one in folder.failed if folder.is_judged else ():
            if one.invariant == check.invariant and one.violations:
                return f"{folder.title}: {one.violations[0].message}", folder.reproduce
    return "", ""


def _parts(analysis: "Analysis") -> list[dict[str, Any]]:
    """The verdicts beside those of checks: budgets of failovers, whole traces, mutants' runs."""
    doubts = [doubt for folder in analysis.folders for doubt in folder.trace_doubts]
    told = {
        "failover": [*missed_budgets(analysis), *analysis.failover.unfinished],
        "traces": doubts,
        "mutants": [row["what"] for row in _blind(analysis)],
    }
    return [
        {"name": name, "verdict": str(analysis.verdicts[name]), "message": "".join(sentences[:1])}
        for name, sentences in told.items()
        if name in analysis.verdicts
    ]
