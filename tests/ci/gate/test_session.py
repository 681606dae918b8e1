"""A gate that was killed goes on: what is whole stays, what is half-written runs again."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.ci.cli import run as fencepost
from fencepost.ci.commands.gate import go_on
from fencepost.ci.gate.failures import HarnessError, UsageError
from fencepost.ci.gate.gate import run_gate
from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.gate.session import only_one, program_digest, stored_run, whole_stages
from fencepost.ci.gate.shards import Shard
from fencepost.ci.gate.verdict_files import GateRun, GateStage
from fencepost.ci.results.stored_run import read_stages
from fencepost.conformance.verdict import Verdict
from fencepost.spec.tlc.models import Tier

ROOT = Path(__file__).resolve().parents[3]
PLAYED = "played.txt"
ORDER = ("spec", "simulate", "chaos", "analyse")
DYING = """
import os, signal, sys
from pathlib import Path
from fencepost.ci.gate.gate import run_gate
from tests.ci.gate.test_session import gate_run, stages

def die(folder, name):
    (folder / name).mkdir()
    (folder / name / "trace-half.ndjson").write_text("{")
    os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
run_gate(gate_run(folder), stages(dies_in=sys.argv[2], die=die), lambda _: None)
"""


def gate_run(folder: Path) -> GateRun:
    return GateRun(
        folder=folder, run_id="r", tier=Tier.QUICK, level=2, seed=7, zookeeper="embedded", workers=3
    )


def stage(name: str, verdict: Verdict = Verdict.PASS, reads: tuple[str, ...] = ()) -> GateStage:
    return GateStage(
        name=name,
        run=lambda run: playing(run.folder, name, verdict),
        leaves=(name,),
        reads=frozenset(reads),
    )


def playing(folder: Path, name: str, verdict: Verdict) -> StageOutcome:
    """What a stage leaves that runs to its end."""
    with (folder / PLAYED).open("a") as played:
        played.write(f"{name}\n")
    (folder / name).mkdir()
    (folder / name / "trace.ndjson").write_text(name)
    return StageOutcome(verdict=verdict, summary=f"{name} ran")


def stages(
    dies_in: str = "", die: Callable[[Path, str], None] | None = None
) -> tuple[GateStage, ...]:
    """Those of a gate; in one of them it dies."""
    reads = {"analyse": ("simulate", "chaos")}
    whole = {name: stage(name, reads=reads.get(name, ())) for name in ORDER}
    if die is not None:

        def dying(run: GateRun) -> StageOutcome:
            die(run.folder, dies_in)
            raise AssertionError("it lived on")

        whole[dies_in] = GateStage(name=dies_in, run=dying, leaves=(dies_in,))
    return tuple(whole.values())


def killed_in(name: str, folder: Path) -> Path:
    """The folder of a gate that was killed in the middle of that stage."""
    folder.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", DYING, str(folder), name]
    ended = subprocess.run(command, env=environment, cwd=ROOT, check=False, timeout=60)
    assert ended.returncode == -signal.SIGKILL
    assert (folder / name / "trace-half.ndjson").exists()
    return folder


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The folder of a gate that was killed in its stage `chaos`."""
    return killed_in("chaos", tmp_path / "run")


def played(folder: Path) -> list[str]:
    names = folder / PLAYED
    return names.read_text().split() if names.exists() else []


def resumed(folder: Path) -> list[str]:
    """The stages that a resumed gate plays."""
    before = len(played(folder))
    given = stored_run(folder)
    whole = whole_stages(given, read_stages(folder), stages())
    records = run_gate(given, stages(), lambda _: None, whole)
    assert [record.stage for record in records] == list(ORDER)
    return played(folder)[before:]


def test_what_was_whole_is_not_played_again_and_the_half_is_gone(killed: Path) -> None:
    assert not (killed / "verdict.json").exists()

    assert resumed(killed) == ["chaos", "analyse"]

    assert [path.name for path in (killed / "chaos").iterdir()] == ["trace.ndjson"]
    verdict = json.loads((killed / "verdict.json").read_text())
    assert (verdict["verdict"], verdict["exit_code"], verdict["run_id"]) == ("PASS", 0, "r")
    assert [one["stage"] for one in verdict["stages"]] == ["spec", "simulate", "chaos", "analyse"]


@pytest.mark.parametrize("name", ORDER)
def test_whichever_stage_was_killed_it_and_those_after_it_are_played(
    name: str, tmp_path: Path
) -> None:
    folder = killed_in(name, tmp_path / "run")
    before = list(ORDER[: ORDER.index(name)])
    assert played(folder) == before

    assert resumed(folder) == list(ORDER[len(before) :])

    assert [path.name for path in (folder / name).iterdir()] == ["trace.ndjson"]
    verdict = json.loads((folder / "verdict.json").read_text())
    assert (verdict["verdict"], verdict["exit_code"]) == ("PASS", 0)
    assert [one["stage"] for one in verdict["stages"]] == list(ORDER)


def test_nothing_is_played_again_of_a_gate_that_ended(killed: Path) -> None:
    resumed(killed)

    assert resumed(killed) == []


def test_a_stage_with_changed_files_is_not_whole_nor_is_what_reads_it(
    killed: Path,
) -> None:
    resumed(killed)
    (killed / "simulate" / "trace.ndjson").write_text("cut of")

    assert resumed(killed) == ["simulate", "analyse"]


def test_a_stage_with_files_that_are_gone_is_not_whole(killed: Path) -> None:
    resumed(killed)
    (killed / "chaos" / "trace.ndjson").unlink()

    assert resumed(killed) == ["chaos", "analyse"]


def test_a_record_without_a_note_of_its_files_is_not_whole(killed: Path) -> None:
    resumed(killed)
    session = json.loads((killed / "session.json").read_text())
    del session["stages"]["spec"]
    (killed / "session.json").write_text(json.dumps(session))

    assert resumed(killed) == ["spec"]


def test_a_stage_that_crashed_is_played_again(tmp_path: Path) -> None:
    broken = (stage("spec"), stage("simulate", Verdict.ERROR), *stages()[2:])
    run_gate(gate_run(tmp_path), broken, lambda _: None)

    assert resumed(tmp_path) == ["simulate", "analyse"]


def test_a_violation_is_never_played_away(tmp_path: Path) -> None:
    violated = (stage("spec"), stage("simulate", Verdict.FAIL), *stages()[2:])
    run_gate(gate_run(tmp_path), violated, lambda _: None)

    assert resumed(tmp_path) == []
    assert json.loads((tmp_path / "verdict.json").read_text())["exit_code"] == 1


def test_the_session_keeps_what_was_asked_for(tmp_path: Path) -> None:
    asked = GateRun(
        folder=tmp_path,
        run_id="r",
        tier=Tier.NIGHTLY,
        level=0,
        seed=9,
        zookeeper="ensemble",
        spark_master="local[4]",
        baseline=tmp_path,
        workers=7,
        shard=Shard(2, 4),
        target="cmd:./mine",
    )

    run_gate(asked, [stage("spec")], lambda _: None)

    assert stored_run(tmp_path) == asked


def test_another_program_goes_on_with_nothing(
    killed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    session = json.loads((killed / "session.json").read_text())
    (killed / "session.json").write_text(json.dumps({**session, "program": "older"}))

    assert fencepost(["gate", "--resume", str(killed)]) == 4

    assert "the program has changed since" in capsys.readouterr().err


def test_the_digest_of_a_program_is_that_of_its_text(tmp_path: Path) -> None:
    for name, text in (("one", "a = 1\n"), ("two", "a = 1\n"), ("three", "a = 2\n")):
        (tmp_path / name / "ci").mkdir(parents=True)
        (tmp_path / name / "ci" / "a.py").write_text(text)
        (tmp_path / name / "ci" / "notes.log").write_text(name)

    one, two, three = (program_digest(tmp_path / name) for name in ("one", "two", "three"))

    assert one == two != three


def test_two_gates_do_not_share_a_folder(killed: Path) -> None:
    with only_one(killed), pytest.raises(UsageError, match="a gate still runs in"):
        go_on(killed, as_json=True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--resume", "{run}", "--tier", "nightly"], "give it alone"),
        (["--resume", "{run}", "--seed", "3"], "give it alone"),
        (["--resume", "{run}", "--shard", "1/2"], "give it alone"),
        (["--resume", "{none}"], "holds no session.json: no gate was begun there"),
        (["--shard", "5/4"], "there is no share 5/4; write 1/4 to 4/4 for four"),
        (["--shard", "0/4"], "there is no share 0/4"),
        (["--shard", "two"], "'two' is no share; write for example 2/4"),
        (["--shard", "1/99"], "at most 16"),
        (["--budgets", "{none}/budgets.toml"], "budgets.toml cannot be read"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_what_cannot_be_is_told_before_anything_starts(
    words: list[str],
    told: str,
    killed: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "none").mkdir()
    given = [word.format(run=killed, none=tmp_path / "none") for word in words]

    assert fencepost(["gate", *given]) == 4

    assert told in capsys.readouterr().err


def test_a_session_that_cannot_be_read_is_told(killed: Path) -> None:
    (killed / "session.json").write_text("{")

    with pytest.raises(HarnessError, match=r"session\.json is not what a gate leaves"):
        stored_run(killed)
