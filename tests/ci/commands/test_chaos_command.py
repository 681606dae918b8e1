"""`fencepost chaos`: what is wrong with a story is told before anything starts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.spec.trace import Kind, LamportClock

SIMULATED = """
schema: 1
id: a
actions:
  - {id: first, kind: zk.expire, target: 1}
"""


FROM_A_RUN = f"{SIMULATED}origin: {{kind: shrunk, level: 1}}\n"


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["chaos", *words]) == 4
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("stories", "message"),
    [
        (["leader_pauze"], "unknown story 'leader_pauze'; did you mean leader_pause"),
        (["earthquake"], "unknown story 'earthquake'; choose one of quiet, leader_pause, "),
        (["quiet"], "'quiet' is a story of the library and a file here; write ./quiet for the"),
        (["./quiet", "a.yaml"], "two stories have the id 'a'; give one, or rename one"),
        (["links_cut", "./quiet"], "a comes from a run, and has its level and mutant; play it al"),
    ],
)
def test_a_story_is_a_name_or_a_file(
    stories: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("quiet", "a.yaml"):
        Path(name).write_text(FROM_A_RUN)

    assert message in refused(capsys, *(word for one in stories for word in ("--story", one)))


def test_a_story_that_cannot_be_read_is_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "none.yaml: No such file" in refused(capsys, "--story", str(tmp_path / "none.yaml"))


def test_expectations_that_judge_nothing_are_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "known.toml"
    assert "known.toml: No such file" in refused(capsys, "--expect", str(path))
    path.write_text('[[expect]]\npattern = "chaos/none"\nverdict = "FAIL"\nreason = "so"\n')
    assert "chaos/none names 0 scenarios" in refused(capsys, "--expect", str(path))
    soak = ("--expect", str(path), "--soak", "10s")
    assert "--expect is about the stories of one run" in refused(capsys, *soak)


def test_a_fault_that_can_only_be_simulated_is_bad_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    only_simulated = replace(KINDS["zk.expire"], injector="", missing={Backend.REAL: "of a test"})
    monkeypatch.setitem(KINDS, "zk.expire", only_simulated)
    path = tmp_path / "a.yaml"
    path.write_text(SIMULATED)

    told = refused(capsys, "--story", str(path))

    assert "first: zk.expire can only be simulated, since of a test; on real" in told


@pytest.mark.parametrize(
    ("head", "action", "message"),
    [
        ("", "target: 7", "a.yaml: actions[0] (first): target is 7: there is no broker 7; choose"),
        ("cluster: {brokers: 2}", "target: 3", "there is no broker 3; choose among 1, 2"),
        ("profile: none", "target: leader(orders/0)", "there is no topic 'orders'; clients of"),
        (
            "cluster: {first_controller: 4}",
            "target: 1",
            "a.yaml: first_controller is 4; choose one of 1 to 3",
        ),
        (
            "",
            "target: 1, covers: [CTL-600]",
            "covers holds 'CTL-600', which is no requirement; did you mean CTL-0",
        ),
    ],
)
def test_a_story_that_names_what_is_not_there_is_bad_usage(
    head: str, action: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(SIMULATED.replace("target: 1", action) + f"{head}\n")

    assert message in refused(capsys, "--story", str(path))


def test_a_run_without_a_record_cannot_be_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(capsys, "--replay", str(tmp_path))

    assert "holds no story.executed.json; name the folder of a run" in told


def test_several_scenarios_cannot_be_replayed_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "story.executed.json").write_text("{}")

    assert "name the folder of one of one, two" in refused(capsys, "--replay", str(tmp_path))
    told = refused(capsys, "--replay", str(tmp_path / "one"))
    assert "the field schema is missing" in told


def ran(folder: Path, **told: object) -> str:
    """The folder of a run, of which `RunStarted` tells that."""
    with TraceWriter(folder, run_id="r", node="harness", clock=LamportClock()) as harness:
        harness.write(Kind.RUN, "RunStarted", detail=json.dumps(told))
    (folder / "story.executed.json").write_text('{"schema": 1, "id": "a", "actions": []}')
    return str(folder)


def test_a_run_is_replayed_on_the_implementation_that_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[ClusterSettings] = []

    def run_all(*_: object, settings: ClusterSettings, **__: object) -> tuple[()]:
        asked.append(settings)
        return ()

    monkeypatch.setattr("fencepost.ci.commands.chaos.run_all", run_all)
    replayed = ran(tmp_path / "run", command="other broker", level=1, zookeeper="ensemble")
    words = ["chaos", "--replay", replayed, "--out"]

    run([*words, str(tmp_path / "as_it_was")])
    run([*words, str(tmp_path / "changed"), "--level", "0", "--zookeeper", "embedded"])

    assert [one.implementation.target for one in asked] == ["other broker"] * 2
    assert [(one.level, one.zookeeper) for one in asked] == [(1, "ensemble"), (0, "embedded")]


def test_a_run_of_what_cannot_be_started_is_not_replayed_on_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toy = ran(tmp_path / "toy", implementation="toy")
    other = ran(tmp_path / "other", implementation="command", command="other broker")

    told = refused(capsys, "--replay", toy)
    assert "the run is one of toy, which no command starts; play it in a test whose fixtu" in told
    told = refused(capsys, "--replay", other, "--mutant", "no_step_down")
    assert "the run is one of other broker, which has no mutants; give none" in told


def test_a_run_that_violates_nothing_is_not_made_small(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_folder = tmp_path / "run"
    run_folder.mkdir()
    (run_folder / "story.executed.json").write_text('{"schema": 1, "id": "a", "actions": []}')

    told = refused(capsys, "--shrink", str(run_folder), "--out", str(tmp_path / "out"))

    assert "violates nothing: nothing to shrink" in told


@pytest.mark.parametrize(
    "option",
    [("--seed", "7"), ("--level", "1"), ("--target", "broker"), ("--mutant", "no_step_down")],
)
def test_what_a_run_says_itself_is_refused_when_it_is_made_small(
    option: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = refused(capsys, "--shrink", str(tmp_path), *option)

    assert "leave out --target, --mutant, --level, --seed and --zookeeper" in told


def test_what_to_run_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = refused(capsys, "--story", "quiet", "--replay", str(tmp_path))

    assert "exclude each other; give one" in told
