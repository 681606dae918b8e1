"""A row that holds says what it must reach; a rule that forbids too much is found by that alone."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.tlc.models import (
    MODULES,
    Model,
    ModelError,
    ModelVerdict,
    load_models,
)
from fencepost.spec.tlc.runner import TlcOptions, check_model
from tests.spec.tlc.counter_model import COUNTER, write_counter

FRESH = TlcOptions(use_cache=False)
STUCK = (
    "---- MODULE stuck ----\nEXTENDS Step\nWrongFollowing(n) == IF n = 1 THEN 0 ELSE n + 1\n====\n"
)
PREDICATES = "IsTwo == x = 2\nIsOne == x = 1\n===="


@pytest.fixture(name="counter")
def write_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    model = write_counter(tmp_path / "modules")
    (model.directory / "Counter.tla").write_text(COUNTER.replace("====", PREDICATES))
    mutants = model.directory / "mutants" / "Step"
    mutants.mkdir(parents=True)
    (mutants / "stuck.tla").write_text(STUCK)
    return replace(model, reaches=("IsTwo", "IsOne"))


def broken(model: Model) -> Model:
    return replace(model, constants={**model.constants, "mutants": ["stuck"]})


@pytest.mark.tlc
def test_what_is_reached_changes_neither_verdict_nor_states(counter: Model) -> None:
    result = check_model(counter, options=FRESH)

    assert (result.verdict, result.distinct, result.agrees) == (ModelVerdict.HOLDS, 3, True)


@pytest.mark.tlc
def test_a_rule_that_forbids_too_much_is_found_by_what_it_forbids(counter: Model) -> None:
    result = check_model(broken(counter))
    again = check_model(broken(counter))

    assert result.verdict is ModelVerdict.NOT_REACHED
    assert result.why == "never reaches IsTwo, but should have held"
    assert (again.cached, again.why) == (True, result.why)


@pytest.mark.tlc
def test_the_same_rule_holds_where_nothing_is_asked_for(counter: Model) -> None:
    result = check_model(replace(broken(counter), reaches=()), options=FRESH)

    assert result.verdict is ModelVerdict.HOLDS


@pytest.mark.tlc
def test_a_violation_counts_more_than_what_is_not_reached(counter: Model) -> None:
    path = counter.directory / "Counter.cfg"
    path.write_text(path.read_text() + "INVARIANT IsOne\n")

    assert check_model(counter, options=FRESH).violated == "IsOne"


def test_a_predicate_that_is_not_there_is_refused(counter: Model) -> None:
    with pytest.raises(ModelError, match="module Counter defines no IsThree to be reached"):
        replace(counter, reaches=("IsThree",)).tlc_config()


def test_only_a_search_of_all_states_can_say_that_one_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "models.toml"
    path.write_text(
        '[[model]]\nname = "m"\nmodule = "M"\nconfig = "M.cfg"\ntier = "quick"\n'
        'expected = "violates"\ninvariant = "I"\ncounterexample_states = 3\n'
        'distinct_states = 9\nbudget_s = 1\nhazard = "H1"\nshows = "s"\nreaches = ["IsOne"]\n'
    )

    with pytest.raises(ModelError, match="reaches goes with expected = holds"):
        load_models(path)


def sections() -> Iterator[str]:
    """What modules say that must be possible."""
    for path in sorted(MODULES.glob("*.tla")):
        _, _, section = path.read_text().partition("What must be possible")
        yield section.partition("\n----")[0]


def test_whatever_must_be_possible_is_asked_of_a_row() -> None:
    asked = {name for model in load_models() for name in model.reaches}
    named = {
        name
        for section in sections()
        for name in re.findall(r"^(\w+) ==", section, re.MULTILINE)
        if len(re.findall(rf"\b{name}\b", section)) == 1
    }

    assert named
    assert named - asked == set()
