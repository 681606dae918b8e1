"""The list of models: what it says about itself, and how a bad one is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.tlc.config import read_config
from fencepost.spec.tlc.models import MODULES, ModelError, Tier, load_models, select
from fencepost.spec.tlc.modules import declared_constants

ROW = """
[[model]]
name = "one"
module = "Counter"
config = "Counter.cfg"
tier = "quick"
expected = "holds"
distinct_states = 3
budget_s = 10
hazard = "H0"
shows = "That it counts."
"""

TYPES = {"TypeOK", "ShutdownTypeOK", "ReadingTypeOK", "UpgradeTypeOK", "BoundedStepsHaveEffect"}
"""A slip in a module violates it, a broken rule of the protocol does not."""


def test_every_model_gives_the_constants_of_its_module_and_operators_for_others() -> None:
    for model in load_models():
        declared = declared_constants(model.module_path)
        given = model.tlc_config().constants
        others = {name: value for name, value in given.items() if name not in declared}

        assert declared <= given.keys()
        assert set(others.values()) == {f"<- {name}Mixed" for name in others}


def test_every_invariant_that_holds_is_violated_by_some_row() -> None:
    models = load_models()
    violated = {(model.module, model.invariant) for model in models if model.invariant}
    held = {
        (model.module, name)
        for model in models
        if model.is_clean
        for name in (*model.tlc_config().invariants, *model.tlc_config().properties)
    }

    anywhere = {name for _, name in violated}
    assert {name for _, name in held} - anywhere == TYPES


def test_every_model_that_violates_has_a_twin_that_holds() -> None:
    models = load_models()
    holding = {model.config for model in models if model.is_clean}

    assert {model.config for model in models} == holding


def test_every_bound_has_its_reason() -> None:
    for path in sorted(MODULES.glob("MC*.cfg")):
        first, *lines = path.read_text().splitlines()
        assert first.startswith("\\* "), path.name
        brokers = [line for line in lines if line.startswith("    Max") and "= 0" not in line]
        assert [line for line in brokers if "\\*" not in line] == [], path.name


def test_names_and_tiers_select() -> None:
    models = load_models()

    chosen = select(models, ["truncation_to_high_watermark"])
    assert [model.name for model in chosen] == ["truncation_to_high_watermark"]
    quick, nightly = select(models, tier="quick"), select(models, tier="nightly")
    assert set(quick) < set(nightly) == set(models)
    assert {model.tier for model in quick} == {Tier.QUICK}


@pytest.mark.parametrize(
    ("names", "tier", "sentence"),
    [
        (["no_such"], None, "unknown model no_such; fencepost check --list names all"),
        ([], "weekly", "unknown tier weekly; known are quick, pull_request, nightly"),
        (["zookeeper_three_writes"], "quick", "none of the chosen models belongs to tier quick"),
    ],
)
def test_a_wrong_selection_is_one_sentence(
    names: list[str], tier: str | None, sentence: str
) -> None:
    with pytest.raises(ModelError) as caught:
        select(load_models(), names, tier)

    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ROW + ROW, "two models are named one"),
        (ROW.replace('"quick"', '"daily"'), "Invalid enum value 'daily'"),
        (ROW.replace('"holds"', '"error"'), "expected is error, not holds or violates"),
        (ROW.replace('"holds"', '"violates"'), "invariant and counterexample_states go with"),
        (ROW + "colour = 1", "unknown field `colour`"),
        ("[[model", "models.toml"),
    ],
)
def test_a_badly_described_model_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "models.toml"
    path.write_text(text)

    with pytest.raises(ModelError, match=sentence):
        load_models(path)


@pytest.mark.parametrize(
    ("constants", "text", "sentence"),
    [
        ({"M": 1}, "CONSTANT N = 1", "constant M is not in the configuration, which has N"),
        ({}, "CONSTANTS\n N = 1\n M = 2", "module Counter has no constant M; TLC would ignore it"),
        ({}, "CONSTANTS\n N = 1\n IsOwn <- No", "module Counter has no constant IsOwn; TLC would"),
        ({}, "INIT Init", "constant N of module Counter has no value"),
        ({}, "CONSTANTS\n N = 1\n N = 2", "constant N is assigned twice"),
        ({}, "CONSTANTS\n N", "'N' assigns no constant"),
        ({}, "N = 1", "'N = 1' comes before any keyword"),
    ],
)
def test_a_wrong_constant_is_refused_before_tlc_starts(
    tmp_path: Path, constants: dict[str, int], text: str, sentence: str
) -> None:
    (tmp_path / "models.toml").write_text(ROW)
    (tmp_path / "Counter.tla").write_text("---- MODULE Counter ----\nCONSTANTS\n  N \\* M\n====\n")
    (tmp_path / "Counter.cfg").write_text(text)
    (model,) = load_models(tmp_path / "models.toml", directory=tmp_path)

    with pytest.raises(ModelError, match=f"model one: .*{sentence}"):
        replace(model, constants=constants).tlc_config()


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "models.toml").write_text(ROW)
    (model,) = load_models(tmp_path / "models.toml", directory=tmp_path)

    with pytest.raises(ModelError, match=r"model one: there is no file Counter\.cfg"):
        model.tlc_config()


def test_a_configuration_survives_being_written(tmp_path: Path) -> None:
    config = read_config(MODULES / "MCReplication.cfg")
    path = tmp_path / "again.cfg"
    path.write_text(config.render())

    assert read_config(path) == config
