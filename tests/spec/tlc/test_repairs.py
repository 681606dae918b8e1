"""A repair that is undone turns exactly its rows red."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from fencepost.spec.hazards import Hazard, HazardFinding, load_hazards, select_hazards
from fencepost.spec.tlc.models import Model, ModelVerdict, Tier, load_models, select
from fencepost.spec.tlc.repairs import trials, undo, without_repair
from fencepost.spec.tlc.runner import TlcOptions
from tests.spec.tlc.counter_model import CONFIG, write_counter

SAMPLE = ("H5b", "H10", "H22", "KIP-279.1")
"""Of different modules; one of them spares two of its three rows."""
HAZARD = Hazard(
    id="H99",
    title="A counter that runs away",
    source="a test",
    module="Counter",
    switch={"mutants": "run_away"},
    finding=HazardFinding.SHOWN,
    text="",
    repair="",
    story=["", "", ""],
    rows=["runs_away"],
    turns_red=["low"],
)

MUTANT = """---- MODULE {name} ----
EXTENDS Counter
Wrong{rule}
====
"""


@pytest.fixture
def low(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """Holds with two states; has two mutants, of which one changes nothing."""
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    model = write_counter(tmp_path / "modules")
    folder = model.directory / "mutants" / "Counter"
    folder.mkdir(parents=True)
    (folder / "run_away.tla").write_text(MUTANT.format(name="run_away", rule="Following(n) == 5"))
    harmless = MUTANT.format(name="no_such_rule", rule="Endless == x' = 1 + x")
    (folder / "no_such_rule.tla").write_text(harmless)
    config = CONFIG.replace("N = 3", "N = 2") + "INVARIANT Low\n"
    (model.directory / "Counter.cfg").write_text(config)
    return replace(model, name="low")


def with_rows(low: Model) -> tuple[Model, ...]:
    shows = replace(low, name="runs_away", expected=ModelVerdict.VIOLATES, invariant="Low")
    return low, replace(low, name="high"), replace(low, name="late", tier=Tier.NIGHTLY), shows


def test_only_rows_that_hold_are_tried(low: Model) -> None:
    tried = trials([HAZARD], with_rows(low))

    assert [(trial.row, trial.should_fail) for trial in tried] == [("low", True), ("high", False)]
    assert {trial.model.constants["mutants"][0] for trial in tried} == {"run_away"}  # type: ignore[index]
    assert (
        trials([msgspec.structs.replace(HAZARD, finding=HazardFinding.REFUTED)], with_rows(low))
        == ()
    )


def test_a_nightly_row_is_tried_with_the_hazards_that_are_to_turn_it_red(low: Model) -> None:
    named = msgspec.structs.replace(HAZARD, turns_red=["low", "late"])

    tried = trials([named], with_rows(low))

    assert [(one.row, one.should_fail) for one in tried if one.row == "late"] == [("late", True)]


def test_a_switch_that_is_no_constant_or_is_on_is_not_tried(low: Model) -> None:
    other = msgspec.structs.replace(HAZARD, switch={"no_such": True})
    on = replace(low, constants={"mutants": ["run_away"]})

    assert without_repair(other, low) is None
    assert without_repair(HAZARD, on) is None


def test_a_row_that_breaks_half_of_the_rule_is_not_tried() -> None:
    (half,) = select(load_models(), ["fetcher_goes_on"])
    (hazard,) = select_hazards(load_hazards(), ["H16b"])

    assert half.has_mutant(str(hazard.switch["mutants"]))
    assert without_repair(hazard, half) is None


@pytest.mark.tlc
def test_a_row_that_fails_unexpectedly_or_does_not_fail_is_told(low: Model) -> None:
    harmless = msgspec.structs.replace(HAZARD, id="H98", switch={"mutants": "no_such_rule"})

    outcomes = undo(trials([HAZARD, harmless], with_rows(low)), options=TlcOptions())

    told = {(one.hazard, one.row): one.why for one in outcomes if not one.is_as_expected}
    assert told == {
        ("H99", "high"): "violates Low, but is not in turns_red",
        ("H98", "low"): "holds, but is in turns_red",
    }


@pytest.mark.long
@pytest.mark.tlc
def test_a_sample_of_repairs_undone_turns_exactly_its_rows_red() -> None:
    models = select(load_models(), tier="quick")
    hazards = select_hazards(load_hazards(), SAMPLE)

    outcomes = undo(trials(hazards, models), options=TlcOptions())

    assert {one.hazard for one in outcomes} == set(SAMPLE)
    assert {one.should_fail for one in outcomes} == {True, False}
    assert [f"{one.hazard} {one.row} {one.why}" for one in outcomes if not one.is_as_expected] == []
