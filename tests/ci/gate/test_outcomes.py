from dataclasses import replace

import msgspec
import pytest

from fencepost.ci.gate.outcomes import (
    StageOutcome,
    of_coverage,
    of_hunt,
    of_models,
    of_seeds,
    of_trials,
)
from fencepost.conformance.runs.run_end import BadEnding
from fencepost.conformance.verdict import Verdict, Violation
from fencepost.conformance.whitebox.simulate import MutantResult, SeedResult, SimulationResult
from fencepost.reports.analysis.stages import Detail
from fencepost.spec.tlc.compare import ModelResult
from fencepost.spec.tlc.coverage import ModelCoverage
from fencepost.spec.tlc.models import Model, ModelVerdict as Found, Tier
from fencepost.spec.tlc.repairs import Undone
from fencepost.spec.vocabulary import Ending, Invariant

MODEL = Model(
    name="small",
    module="MCSmall",
    config="MCSmall.cfg",
    constants={},
    tier=Tier.QUICK,
    expected=Found.HOLDS,
    invariant=None,
    counterexample_states=None,
    distinct_states=5,
    budget_s=1.0,
    hazard="H1",
    shows="Nothing is lost.",
)
RESULT = ModelResult(
    model="small",
    verdict=Found.HOLDS,
    violated=None,
    states_in_counterexample=None,
    distinct=5,
    generated=9,
    seconds=0.24,
    agrees=True,
    why="holds in all 5 states, as expected",
)
CAUGHT = MutantResult(
    mutant="no_step_down",
    rule="A deposed leader leads on.",
    requirement="ISR-004",
    expected=("LogMatching",),
    seeds=3,
    seed=2,
    caught_by=("LogMatching",),
)
SEEDS = SimulationResult(
    level=2,
    mutant=None,
    seeds=60,
    verdicts={Verdict.PASS: 60},
    premises=dict.fromkeys(Invariant, 1),
    failing=(),
    events=6000,
    seconds=2.0,
)


def assert_readable(outcome: StageOutcome) -> None:
    """The report reads the detail by the names that it knows."""
    detail = msgspec.convert(msgspec.to_builtins(outcome.detail), Detail)
    assert detail != Detail()


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (Found.NOT_EXHAUSTED, Verdict.INCONCLUSIVE),
        (Found.ERROR, Verdict.ERROR),
        (Found.VIOLATES, Verdict.FAIL),
        (Found.HOLDS, Verdict.FAIL),
    ],
)
def test_a_model_that_does_not_agree_is_never_a_pass(found: Found, verdict: Verdict) -> None:
    result = replace(RESULT, verdict=found, agrees=False, why="differs")

    assert of_models([MODEL], [result]).verdict is verdict


def test_a_model_as_expected_passes_and_is_told_in_full() -> None:
    outcome = of_models([MODEL], [RESULT])

    assert outcome.verdict is Verdict.PASS
    assert outcome.figures["models_as_expected"] == 1
    assert_readable(outcome)


def test_no_model_at_all_is_no_pass() -> None:
    assert of_models([], []).verdict is Verdict.NOT_RUN


def test_a_mutant_that_lives_fails_the_stage_by_name() -> None:
    alive = replace(CAUGHT, mutant="immortal", caught_by=("LeaderInIsr",), seeds=2000, seed=None)

    outcome = of_hunt([CAUGHT, alive], level=2)

    assert outcome.verdict is Verdict.FAIL
    assert outcome.summary == "1 of 2 mutants caught at level 2, not immortal"
    assert [row["seed"] for row in outcome.detail["mutants"]] == [2, None]
    assert_readable(outcome)


def test_a_mutant_that_many_seeds_do_not_show_is_named_with_the_one_that_does() -> None:
    sought = replace(CAUGHT, mutant="shy", seeds=400, seed=399)

    outcome = of_hunt([CAUGHT, sought], level=2)

    assert outcome.verdict is Verdict.PASS
    assert outcome.summary.endswith("; no record names the seed of shy at seed 399")


def test_a_mutant_that_a_counterexample_shows_has_no_seed() -> None:
    shown = replace(CAUGHT, seeds=0, seed=None)

    (row,) = of_hunt([shown], level=2).detail["mutants"]

    assert row["caught"]
    assert (row["seed"], row["seeds_tried"]) == (None, 0)


def test_quiet_seeds_pass() -> None:
    outcome = of_seeds(SEEDS)

    assert outcome.verdict is Verdict.PASS
    assert outcome.figures["events_per_second"] == 3000
    assert_readable(outcome)


def test_a_check_without_a_premise_is_named() -> None:
    idle = {**SEEDS.premises, Invariant.LOG_MATCHING: 0}

    outcome = of_seeds(replace(SEEDS, premises=idle))

    assert outcome.verdict is Verdict.VACUOUS
    assert "never tried: LogMatching" in outcome.summary


def test_a_violating_seed_says_how_to_see_it_again() -> None:
    violation = Violation(invariant=Invariant.LOG_MATCHING, message="Offset 3 differs.")
    failing = SeedResult(
        seed=7, verdict=Verdict.FAIL, violations=(violation,), reproduce="fencepost simulate"
    )

    outcome = of_seeds(replace(SEEDS, failing=(failing,), verdicts={Verdict.FAIL: 1}))

    assert outcome.verdict is Verdict.FAIL
    assert outcome.detail["violations"] == [
        {
            "seed": 7,
            "invariant": "LogMatching",
            "message": "Offset 3 differs.",
            "reproduce": "fencepost simulate",
        }
    ]
    assert_readable(outcome)


def test_a_seed_that_does_not_heal_is_told_as_a_violation() -> None:
    bad = BadEnding(invariant=Ending.CONVERGED, message="It had not healed.")
    failing = SeedResult(seed=7, verdict=Verdict.FAIL, bad_endings=(bad,), reproduce="again")

    outcome = of_seeds(replace(SEEDS, failing=(failing,), verdicts={Verdict.FAIL: 1}))

    assert outcome.figures["violations"] == 1
    assert outcome.detail["violations"] == [
        {
            "seed": 7,
            "invariant": "Converged",
            "message": "It had not healed.",
            "reproduce": "again",
        }
    ]
    assert_readable(outcome)


def test_the_worse_half_of_a_stage_decides() -> None:
    half = StageOutcome(verdict=Verdict.PASS, summary="one", figures={"a": 1}, detail={"b": []})
    other = StageOutcome(verdict=Verdict.FAIL, summary="two", figures={"c": 2})

    assert half.joined(other) == StageOutcome(
        verdict=Verdict.FAIL, summary="one; two", figures={"a": 1, "c": 2}, detail={"b": []}
    )


def test_counts_of_one_are_singular_and_violating_seeds_are_counted_once_each() -> None:
    twice = Violation(invariant=Invariant.LOG_MATCHING, message="Offset 3 differs.")
    other = Violation(invariant=Invariant.LOG_MATCHING, message="Offset 4 differs.")
    seeds = tuple(
        SeedResult(seed=seed, verdict=Verdict.FAIL, violations=(twice, twice, other))
        for seed in (1, 2)
    )

    one = of_seeds(replace(SEEDS, seeds=1, events=1))
    two = of_seeds(replace(SEEDS, failing=seeds, verdicts={Verdict.FAIL: 2}))

    assert one.summary == "1 seed at level 2, 1 event, no violation"
    assert two.summary == "60 seeds at level 2, 6,000 events, 2 violating seeds"
    assert [row["seed"] for row in two.detail["violations"]] == [1, 2, 1, 2]
    assert "1 of 1 model as expected" in of_models([MODEL], [RESULT]).summary


def undone(hazard: str, found: Found, *, should_fail: bool) -> Undone:
    return Undone(
        hazard=hazard, row="a_row", should_fail=should_fail, found=str(found), verdict=found
    )


@pytest.mark.parametrize(
    ("trials", "verdict"),
    [
        ([undone("H1", Found.VIOLATES, should_fail=True)], Verdict.PASS),
        ([undone("H1", Found.HOLDS, should_fail=False)], Verdict.PASS),
        ([undone("H1", Found.HOLDS, should_fail=True)], Verdict.FAIL),
        ([undone("H1", Found.VIOLATES, should_fail=False)], Verdict.FAIL),
        ([undone("H1", Found.NOT_EXHAUSTED, should_fail=True)], Verdict.INCONCLUSIVE),
        ([], Verdict.VACUOUS),
    ],
)
def test_repairs_that_are_undone_turn_exactly_their_rows_red(
    trials: list[Undone], verdict: Verdict
) -> None:
    assert of_trials(trials).verdict is verdict


TAKEN = {("M", "Step"): frozenset({"small"})}


@pytest.mark.parametrize(
    ("coverage", "verdict"),
    [
        (ModelCoverage(rows=TAKEN, undecided={}), Verdict.PASS),
        (ModelCoverage(rows={**TAKEN, ("M", "Dead"): frozenset()}, undecided={}), Verdict.FAIL),
        (ModelCoverage(rows=TAKEN, undecided={"small": "ended as error"}), Verdict.INCONCLUSIVE),
        (ModelCoverage(rows={}, undecided={}), Verdict.VACUOUS),
    ],
    ids=["all taken", "one never", "one undecided", "none asked"],
)
def test_an_action_that_no_row_takes_fails(coverage: ModelCoverage, verdict: Verdict) -> None:
    assert of_coverage(coverage).verdict is verdict
