"""`fencepost check`: what it prints, and what it refuses."""

import json
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.ci.screens.model_progress import ModelProgress, model_progress
from fencepost.spec.tlc.models import Model, ModelVerdict, load_models
from fencepost.spec.tlc.runner import Progress
from tests.spec.tlc.counter_model import CONFIG, write_counter


@pytest.fixture
def low(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """The only model that there is: violates Low in three states."""
    model = write_counter(tmp_path / "modules")
    (model.directory / "Counter.cfg").write_text(CONFIG + "INVARIANT Low\n")
    fields = {name: getattr(model, name) for name in model.__slots__}
    fields |= {"expected": ModelVerdict.VIOLATES, "invariant": "Low", "counterexample_states": 3}
    model = Model(**fields)
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("fencepost.ci.commands.check.load_models", lambda: (model,))
    return model


@pytest.mark.tlc
@pytest.mark.usefixtures("low")
def test_a_named_model_tells_its_counterexample_and_saves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", "counter", "--out", str(tmp_path / "out")]) == 0
    first, err = capsys.readouterr()
    assert run(["check", "counter"]) == 0
    second = capsys.readouterr().out

    assert "        x: 1 -> 2" in first.splitlines()
    assert "\x1b" not in first + err
    assert "cached" in second
    assert "cached" not in first
    saved = json.loads((tmp_path / "out" / "counter.json").read_text())
    assert set(saved) == {"model", "module", "constants", "violated", "back_to", "states"}
    assert saved["constants"] == {"N": 3, "mutants": []}
    assert [state["values"]["x"] for state in saved["states"]] == [0, 1, 2]


@pytest.mark.tlc
@pytest.mark.usefixtures("low")
def test_json_says_which_rows_are_cached(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for arguments in ([], [], ["--no-cache"]):
        assert run(["check", "--json", *arguments]) == 0
        told.append(json.loads(capsys.readouterr().out))

    assert [document["models"][0]["cached"] for document in told] == [False, True, False]
    assert told[1]["counterexamples"]["counter"] == told[2]["counterexamples"]["counter"]


@pytest.mark.tlc
def test_a_row_that_disagrees_is_told_as_a_sentence(
    low: Model, capsys: pytest.CaptureFixture[str]
) -> None:
    (low.directory / "Step.tla").write_text("---- MODULE Step ----\nFollowing(n) == 0\n====\n")

    assert run(["check"]) == 1
    out = capsys.readouterr().out

    assert "model counter: held, but should have violated Low" in out.splitlines()


@pytest.mark.tlc
def test_a_simulated_run_is_replayed_as_the_gate_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--seed", "1", "--level", "2", "--json"]) == 0

    rows = json.loads(capsys.readouterr().out)["replays"]
    assert [(row["run"], row["partition"], row["verdict"]) for row in rows] == [
        ("seed 1", "ZooKeeper", "accepted"),
        ("seed 1", "t/0", "accepted"),
    ]
    assert {row["reproduce"] for row in rows} == {"fencepost check --seed 1 --level 2"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["zookeeper", "--tier", "quick"], "a named model is checked in any tier; leave out"),
        (["--hazard", "H1"], "--hazard goes with --without-repairs"),
        (["--coverage", "--without-repairs"], "--coverage does nothing with --without-repairs"),
        (["--coverage", "--out", "x"], "--coverage does nothing with --out"),
        (["--graph", "x.svg", "--json"], "--graph does nothing with --json; leave out one"),
        (["--trace", "x", "--graph", "x.svg"], "--trace does nothing with --graph"),
        (["--trace", "x", "--heap", "99"], "--trace does nothing with --heap"),
        (["--seed", "1", "--trace", "x"], "--trace does nothing with --seed"),
        (["--level", "2"], "--level goes with --seed; add that, or leave it out"),
        (["--list", "--no-cache"], "--list does nothing with --no-cache"),
        (["isr_change"], "unknown model isr_change; did you mean isr_changes or "),
        (["--trace", __file__], f"{__file__} is no folder of traces: it is a file; name the"),
        (["--out", __file__], f"{__file__} takes no files: File exists; name another with --out"),
        (["one_controller", "--graph", "/proc"], "/proc is a folder; name a file with --graph"),
        (["one_controller", "--graph", "/proc/no/x"], "/proc/no/x cannot be written: No such"),
        (["--graph", "x.svg"], "--graph draws one model; name it"),
        (["zookeeper", "--graph", "x.svg"], "model zookeeper has 16,879 states"),
        (
            ["--without-repairs", "--hazard", "H999"],
            "unknown hazard H999; fencepost check --list names all",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["check", *arguments]) == 4

    assert capsys.readouterr().err.startswith(f"fencepost: {sentence}")


@pytest.mark.parametrize("arguments", [[], ["--coverage"], ["--without-repairs"], ["--json"]])
def test_without_java_one_sentence_is_told_and_no_row(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")

    assert run(["check", *arguments]) == 3

    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("fencepost: JAVA_HOME is /nowhere, but ")
    assert len(err.splitlines()) == 1


@pytest.mark.tlc
@pytest.mark.usefixtures("low")
def test_coverage_of_no_row_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "counter", "--coverage"]) == 2

    assert "VACUOUS: 0 actions" in capsys.readouterr().out


@pytest.mark.tlc
@pytest.mark.usefixtures("low")
def test_a_chosen_cache_that_keeps_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FENCEPOST_CACHE", "/proc/nowhere")

    assert run(["check", "counter"]) == 0

    assert "FENCEPOST_CACHE is /proc/nowhere, where nothing" in capsys.readouterr().err


def test_the_list_names_models_and_hazards(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--list"]) == 0
    table = capsys.readouterr().out
    assert run(["check", "--list", "--json", "isr_changes"]) == 0
    told = json.loads(capsys.readouterr().out)

    assert all(f"{model.name} " in table for model in load_models())
    assert [model["name"] for model in told["models"]] == ["isr_changes"]
    assert {"H8", "H21"} <= {hazard["id"] for hazard in told["hazards"]}


def test_progress_tells_speed_and_the_longest_run() -> None:
    now = iter([0.0, 0.0, 2.0, 4.0, 4.0, 4.0])
    board = ModelProgress(3, lambda: next(now))

    board.hear(news("first", 0))
    board.hear(news("second", 0))
    board.hear(Progress(model="first", generated=800, distinct=1, queued=0))

    assert (board.done, board.total) == (0, 3)
    assert board.text() == "200 states/s, first 4 s"


def test_a_cached_model_says_nothing_of_the_speed() -> None:
    now = iter([0.0, 0.0, 0.0, 5.0])
    board = ModelProgress(1, lambda: next(now))

    board.hear(news("first", 0))
    board.hear(
        Progress(model="first", generated=9, distinct=9, queued=0, is_done=True, is_cached=True)
    )

    assert board.done == 1
    assert board.text() == "0 states/s"


def test_progress_without_a_terminal_has_no_escape_codes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with model_progress(load_models()[:1]) as advance:
        advance(news("first", 0))
        advance(Progress(model="first", generated=9, distinct=9, queued=0, is_done=True))

    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert err.splitlines()[-1].startswith("spec: 1/1 ")


def news(model: str, generated: int) -> Progress:
    return Progress(model=model, generated=generated, distinct=0, queued=0)
