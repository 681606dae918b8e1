"""A mutant replaces an operator, in the root module or in one that is instanced."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.tlc.models import Model, ModelError, ModelVerdict
from fencepost.spec.tlc.mutants import mutants_of
from fencepost.spec.tlc.runner import TlcOptions, check_model
from fencepost.spec.tlc.saved import as_document
from tests.spec.tlc.counter_model import write_counter

RUN_AWAY = """---- MODULE run_away ----
EXTENDS Counter
WrongFollowing(n) == n + 7
====
"""
BIG_STEPS = """---- MODULE big_steps ----
EXTENDS Step, TLC
WrongSize == First + 2
====
"""


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    model = write_counter(tmp_path / "modules")
    step = (model.directory / "Step.tla").read_text()
    step = step.replace("CONSTANT N", "CONSTANT N\nFirst == 0\nSize == 1").replace(
        "n + 1", "n + Size"
    )
    (model.directory / "Step.tla").write_text(step)
    return replace(model, expected=ModelVerdict.VIOLATES, invariant="Low")


def add(model: Model, text: str) -> None:
    """Put a mutant beside the modules."""
    found = re.search(r"MODULE (\w+) -+\nEXTENDS (\w+)", text)
    assert found
    folder = model.directory / "mutants" / found[2]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{found[1]}.tla").write_text(text)


def breaking(model: Model, *names: str) -> Model:
    return replace(model, constants={**model.constants, "mutants": list(names)})


@pytest.mark.tlc
def test_an_operator_of_an_instanced_module_is_replaced(counter: Model) -> None:
    add(counter, RUN_AWAY)

    result = check_model(breaking(counter, "run_away"))

    assert (result.violated, result.states_in_counterexample) == ("Low", 2)
    assert result.counterexample is not None
    assert result.counterexample.states[-1].values == {"x": 7}


@pytest.mark.tlc
def test_a_mutant_of_an_instanced_module_speaks_its_language(counter: Model) -> None:
    add(counter, BIG_STEPS)

    result = check_model(breaking(replace(counter, constants={"N": 9}), "big_steps"))

    assert result.violated == "Low"
    assert breaking(counter, "big_steps").mutated.texts["big_steps.tla"] == BIG_STEPS.replace(
        "EXTENDS Step", "EXTENDS Counter"
    ).replace("= First", "= Other!First")


@pytest.mark.tlc
def test_several_mutants_stand_on_top_of_each_other(counter: Model) -> None:
    add(counter, "---- MODULE low ----\nEXTENDS Counter\nWrongLow == x < 9\n====\n")
    add(counter, RUN_AWAY)

    result = check_model(breaking(counter, "run_away", "low"))

    assert result.counterexample is not None
    assert [state.values["x"] for state in result.counterexample.states] == [0, 7, 14]


@pytest.mark.tlc
def test_a_changed_mutant_is_searched_anew(counter: Model) -> None:
    add(counter, RUN_AWAY)
    broken = breaking(counter, "run_away")

    assert not check_model(broken).cached
    assert check_model(broken).cached
    add(counter, RUN_AWAY.replace("n + 7", "n + 8"))
    assert not check_model(broken).cached


@pytest.mark.tlc
def test_a_saved_counterexample_names_the_mutants(counter: Model) -> None:
    add(counter, RUN_AWAY)
    broken = breaking(counter, "run_away")

    document = as_document(broken, check_model(broken, options=TlcOptions(use_cache=False)))

    assert document["constants"] == {"N": 3, "mutants": ["run_away"]}


@pytest.mark.parametrize(
    ("mutants", "names", "sentence"),
    [
        ((), ["no_such"], "model counter: module Counter has no mutant no_such"),
        (
            [RUN_AWAY.replace("WrongFollowing", "Following2")],
            ["run_away"],
            "model counter: run_away.tla replaces nothing: it defines no Wrong…",
        ),
        (
            [RUN_AWAY.replace("WrongFollowing", "WrongLeading")],
            ["run_away"],
            "model counter: run_away.tla: WrongLeading replaces Leading, which no module defines",
        ),
        (
            [RUN_AWAY, RUN_AWAY.replace("run_away", "run_again")],
            ["run_away", "run_again"],
            "model counter: run_again.tla: another mutant replaces Following too",
        ),
    ],
)
def test_a_mutant_that_cannot_be_is_one_sentence(
    counter: Model, mutants: list[str], names: list[str], sentence: str
) -> None:
    for text in mutants:
        add(counter, text)

    with pytest.raises(ModelError) as told:
        breaking(counter, *names).tlc_config()

    assert str(told.value) == sentence


def test_a_mutant_that_extends_another_module_is_one_sentence(counter: Model) -> None:
    add(counter, RUN_AWAY)
    path = mutants_of(counter.module_path)["run_away"]
    path.write_text(RUN_AWAY.replace("EXTENDS Counter", "EXTENDS Step"))

    with pytest.raises(ModelError, match=r"run_away\.tla does not extend Counter"):
        breaking(counter, "run_away").tlc_config()
