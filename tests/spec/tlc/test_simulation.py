"""Random behaviours: the same for a seed, never called `holds`, and each action counted."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.screens.check_output import check_rows
from fencepost.spec.tlc.models import Model, ModelError, ModelVerdict, Tier, load_models
from fencepost.spec.tlc.runner import TlcOptions, check_model
from fencepost.spec.tlc.simulation import Simulation

WALK = """---- MODULE Walk ----
EXTENDS Integers, TLC
VARIABLES x, y
Init == x = 0 /\\ y = 0
Right(n) == x' = (x + n) % 4 /\\ UNCHANGED y
Up == y < 2 /\\ y' = y + 1 /\\ UNCHANGED x
Never == y = 3 /\\ UNCHANGED <<x, y>>
Next ==
    \\/ \\E n \\in {1, 2} : Right(n)
    \\/ Up
    \\/ Never
Low == y < 2
====
"""
FRESH = TlcOptions(use_cache=False)


@pytest.fixture(name="walk")
def write_walk(tmp_path: Path) -> Model:
    (tmp_path / "Walk.tla").write_text(WALK)
    (tmp_path / "Walk.cfg").write_text("INIT Init\nNEXT Next\n")
    return Model(
        name="walk",
        module="Walk",
        config="Walk.cfg",
        constants={},
        tier=Tier.QUICK,
        expected=ModelVerdict.NOT_VIOLATED,
        invariant=None,
        counterexample_states=None,
        distinct_states=0,
        simulation=Simulation(
            behaviours=5, depth=10, seed=3, states=51, never_taken=frozenset({"Never"})
        ),
        budget_s=120,
        hazard="H0",
        shows="That it walks.",
        directory=tmp_path,
    )


def test_a_simulation_that_violates_nothing_does_not_hold(walk: Model) -> None:
    result = check_model(walk, options=FRESH)

    assert result.why == "not violated in 5 behaviours to depth 10, seed 3, as expected"
    assert (result.verdict, result.agrees) == (ModelVerdict.NOT_VIOLATED, True)
    assert (result.distinct, result.generated) == (0, 51)


def test_each_action_of_next_is_counted_once_per_behaviour(walk: Model) -> None:
    taken = check_model(walk, options=FRESH).taken

    assert taken[("Walk", "Right")] == 5
    assert 0 < taken[("Walk", "Up")] <= 5
    assert taken[("Walk", "Never")] == 0


def test_an_action_that_is_never_taken_has_to_be_listed(walk: Model) -> None:
    assert walk.simulation is not None
    silent = Simulation(behaviours=5, depth=10, seed=3, states=51)

    result = check_model(replace(walk, simulation=silent), options=FRESH)

    assert not result.agrees
    assert result.why == "never takes Never, but never_taken in models.toml says otherwise"


def test_a_next_that_is_no_list_of_actions_is_refused(walk: Model) -> None:
    text = WALK.replace("    \\/ Never\n", "    \\/ x = 3 /\\ Never\n")
    (walk.directory / "Walk.tla").write_text(text)

    result = check_model(walk, options=FRESH)

    assert result.verdict is ModelVerdict.ERROR
    assert result.why == "model walk: Next of Walk is no list of actions, one a line, to simulate"


def test_a_violation_names_the_actions_of_the_module(walk: Model) -> None:
    (walk.directory / "Walk.cfg").write_text("INIT Init\nNEXT Next\nINVARIANT Low\n")
    violating = replace(walk, expected=ModelVerdict.VIOLATES, invariant="Low")

    result = check_model(violating, options=FRESH)

    assert (result.verdict, result.violated) == (ModelVerdict.VIOLATES, "Low")
    assert result.counterexample is not None
    steps = {(state.action, state.module) for state in result.counterexample.states}
    assert steps <= {("Init", ""), ("Right", "Walk"), ("Up", "Walk")}
    assert result.counterexample.states[-1].action == "Up"


def test_what_was_simulated_is_kept_with_its_coverage(
    walk: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "kept"))
    assert walk.simulation is not None
    found = check_model(walk)
    other = Simulation(behaviours=6, depth=10, seed=3, states=61, never_taken=frozenset({"Never"}))

    kept, anew = check_model(walk), check_model(replace(walk, simulation=other))

    assert (kept.cached, kept.taken) == (True, found.taken)
    assert not anew.cached


def test_the_table_tells_the_coverage(walk: Model, capsys: pytest.CaptureFixture[str]) -> None:
    check_rows([walk], FRESH, workers=1, as_json=False, out=None, tell=False)

    told = capsys.readouterr().out
    assert "not_violated" in told
    assert "walk simulates; behaviours that take each action: Never 0, Right 5, Up 5" in told
    assert "51 states simulated" in told


@pytest.mark.parametrize(
    ("simulation", "expected", "sentence"),
    [
        ("", "not_violated", "expected is not_violated, not holds or violates"),
        (
            "simulation = { behaviours = 1, depth = 2, seed = 3, states = 4 }",
            "holds",
            "expected is holds, not not_violated or violates",
        ),
        ("", "holds", "a search has distinct_states, a simulation has states of its own"),
    ],
)
def test_a_simulation_is_never_said_to_hold(
    tmp_path: Path, simulation: str, expected: str, sentence: str
) -> None:
    rows = tmp_path / "models.toml"
    rows.write_text(
        f'[[model]]\nname = "walk"\nmodule = "Walk"\nconfig = "Walk.cfg"\ntier = "quick"\n'
        f'expected = "{expected}"\n{simulation}\nbudget_s = 1\nhazard = "H0"\nshows = "Nothing."\n'
    )

    with pytest.raises(ModelError, match=f"^model walk: {sentence}$"):
        load_models(rows, directory=tmp_path)
