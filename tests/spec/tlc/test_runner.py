"""TLC as a child process: verdicts, comparison, and what is left behind."""

import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.tlc.java.machines import Machines
from fencepost.spec.tlc.models import Model, ModelVerdict, load_models, select
from fencepost.spec.tlc.runner import check_model, check_models
from fencepost.spec.vocabulary import Action, EnvironmentAction
from tests.spec.tlc.counter_model import write_counter


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model of three states, on a machine with an empty temporary directory."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    return write_counter(tmp_path / "modules")


def violating(model: Model, *, states: int, distinct: int) -> Model:
    return replace(
        model,
        expected=ModelVerdict.VIOLATES,
        invariant="Low",
        counterexample_states=states,
        distinct_states=distinct,
    )


@pytest.mark.tlc
def test_a_model_that_holds_agrees_and_leaves_nothing(counter: Model) -> None:
    result = check_model(counter)

    assert (result.verdict, result.agrees, result.distinct) == (ModelVerdict.HOLDS, True, 3)
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    assert sorted(path.name for path in counter.directory.iterdir()) == [
        "Counter.cfg",
        "Counter.tla",
        "Step.tla",
        "Stranger.tla",
    ]


@pytest.mark.tlc
def test_models_run_side_by_side_and_every_difference_is_told(counter: Model) -> None:
    models = (
        replace(counter, name="moved", distinct_states=4),
        replace(violating(counter, states=3, distinct=3), name="agrees"),
        replace(violating(counter, states=2, distinct=3), name="longer"),
        replace(violating(counter, states=3, distinct=3), name="healed", constants={"N": 2}),
    )

    results = {result.model: result for result in check_models(models, workers=2)}

    assert results["moved"].why == "has 3 distinct states, but models.toml says 4"
    assert results["agrees"].agrees
    assert results["longer"].why == "violates Low in 3 states, but the shortest way took 2"
    assert results["healed"].why == "held, but should have violated Low"
    assert [name for name, result in results.items() if result.agrees] == ["agrees"]


@pytest.mark.tlc
def test_an_endless_search_is_not_exhausted(counter: Model) -> None:
    (counter.directory / "Counter.cfg").write_text("CONSTANT N = 3\nINIT Init\nNEXT Endless\n")

    result = check_model(replace(counter, budget_s=2))

    assert (result.verdict, result.agrees) == (ModelVerdict.NOT_EXHAUSTED, False)
    assert result.why.startswith("not exhausted after 2 s: ")
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_a_java_that_is_not_there_is_an_error_of_one_sentence(
    counter: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))

    result = check_model(counter)

    assert result.verdict is ModelVerdict.ERROR
    assert "JAVA_HOME" in result.why


@pytest.mark.tlc
def test_a_requested_stop_ends_the_child(counter: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    children: list[subprocess.Popen[str]] = []

    kill = subprocess.Popen.kill

    def remember(child: subprocess.Popen[str]) -> None:
        children.append(child)
        kill(child)

    monkeypatch.setattr(subprocess.Popen, "kill", remember)
    with Machines() as machines:
        machines.stop.request()
        result = check_model(counter, machines=machines)

    assert result.verdict is ModelVerdict.NOT_EXHAUSTED
    assert children
    assert all(child.returncode is not None for child in children)


@pytest.mark.long
@pytest.mark.tlc
def test_truncation_to_the_high_watermark_loses_and_by_leader_epoch_keeps() -> None:
    names = ["truncation_to_high_watermark", "truncation_by_leader_epoch"]
    smaller = (
        replace(model, constants={**model.constants, "MaxExpiries": 1})
        for model in select(load_models(), names)
    )

    lost, kept = check_models(smaller)

    assert (kept.verdict, kept.counterexample) == (ModelVerdict.HOLDS, None)
    assert (lost.verdict, lost.violated) == (ModelVerdict.VIOLATES, "CommittedDurable")
    assert lost.states_in_counterexample == 15
    assert lost.counterexample is not None
    actions = [state.action for state in lost.counterexample.states]
    assert actions[-1] == "TruncateLog"
    assert set(actions[1:]) <= {*Action, *EnvironmentAction}
