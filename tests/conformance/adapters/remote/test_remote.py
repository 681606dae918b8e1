"""A program that speaks JSON lines is judged as the same implementation in process is."""

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.conformance.runs.scenario_run import ScenarioRun
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant

ROOT = Path(__file__).resolve().parents[4]
TOY = "tests.conformance.adapters.remote.toy_adapter"


def target(*habit: str) -> str:
    words = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", TOY, *habit]
    return f"cmd:{shlex.join(words)}"


def play(name: str, folder: Path, *habit: str) -> ScenarioResult:
    settings = ClusterSettings(implementation=implementation_of(target(*habit)))
    run = ScenarioRun(scenario=SCENARIOS[name], settings=settings, seed=1, folder=folder / name)
    return run.play()


@pytest.mark.parametrize("name", ["quiet", "leader_kill", "controller_kill"])
def test_a_toy_behind_json_lines_passes_as_it_does_in_process(name: str, tmp_path: Path) -> None:
    result = play(name, tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 100
    assert [one.verdict for one in result.problems] == [Verdict.NOT_OBSERVABLE] * 2


def test_its_twin_that_acknowledges_before_replication_loses_a_record(tmp_path: Path) -> None:
    result = play("leader_kill", tmp_path, "acknowledges_early")

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert Invariant.ACKNOWLEDGED_DURABLE in violated
    assert f"--target {shlex.quote(target('acknowledges_early'))}" in result.reproduce


def test_processes_that_an_adapter_names_get_signals(
    tmp_path: Path, processes_of: Callable[[str, str], set[int]]
) -> None:
    result = play("leader_kill", tmp_path, "has_processes")

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert not processes_of("FENCEPOST_RUN_ID", result.run_id)


def test_a_pid_of_another_program_gets_no_signal(tmp_path: Path) -> None:
    result = play("leader_kill", tmp_path, "strange_pid")

    assert result.verdict is Verdict.ERROR
    assert result.why == "pid 1 is not broker-1: no process of this run has that pid"


AT = "40"
"""The call of a run that a bad habit spoils: clients are at work by then."""
ZOO = {
    "crashes": "ADAPTER_CRASH: the adapter ended with status 7 in ",
    "leaves_a_child": "ADAPTER_CRASH: the adapter ended with status 7 in ",
    "wrong_id": "call 1040 waits for no answer; those that wait are ",
    "garbage": "the adapter wrote 'starting up, please wait', which is no answer: ",
    "long_line": "the adapter wrote a line of more than 1048576 bytes: ",
    "duplicate": ": call 40 waits for no answer; ",
    "missing_field": '"ofset": 1}\': Object ',
}


@pytest.mark.parametrize("habit", ZOO)
def test_a_bad_adapter_is_an_error_with_its_own_sentence(
    habit: str, tmp_path: Path, processes_of: Callable[[str, str], set[int]]
) -> None:
    result = play("leader_kill", tmp_path, habit, AT)

    assert result.verdict is Verdict.ERROR
    assert ZOO[habit] in result.why
    assert not processes_of("FENCEPOST_RUN_ID", result.run_id)


def test_an_adapter_that_hangs_is_an_error_with_the_call_and_its_deadline(tmp_path: Path) -> None:
    result = play("leader_kill", tmp_path, "hangs", "10")

    assert result.verdict is Verdict.ERROR
    assert result.why == "the adapter did not answer observe within 5000 ms"


def test_a_crash_is_told_with_what_the_adapter_wrote_last(tmp_path: Path) -> None:
    result = play("quiet", tmp_path, "crashes", AT)

    assert "standard error ended with:\nthe disk of the adapter is on fire" in result.why
    assert '"status": "ok"' in result.why
    log = tmp_path / "quiet" / "processes" / "adapter.log"
    assert log.read_text() == "the disk of the adapter is on fire\n"


def test_an_adapter_that_stores_nothing_loses_records(tmp_path: Path) -> None:
    result = play("quiet", tmp_path, "stores_nothing")

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert violated & {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}


def test_an_adapter_that_supports_nothing_has_no_cluster(tmp_path: Path) -> None:
    result = play("quiet", tmp_path, "supports_nothing")

    assert result.verdict is Verdict.ERROR
    assert result.why == "the adapter does not support cluster_create, which every adapter must"


def test_a_promise_of_traces_must_be_kept(tmp_path: Path) -> None:
    result = play("quiet", tmp_path, "promises_traces")

    assert result.verdict is Verdict.ERROR
    assert result.why == "toy 1.0 observes brokers, and none of them wrote a trace"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["agrees_to_all"], "was asked for 'a feature that does not exist' and did not answer"),
        (["crashes", "1"], "ADAPTER_CRASH: the adapter ended with status 7 in hello"),
        (["missing_field", "1"], "expected were status ok and id, protocol, name"),
    ],
)
def test_an_adapter_that_cannot_be_greeted_is_no_choice(words: list[str], sentence: str) -> None:
    with pytest.raises(ChoiceError, match=re.escape(sentence)):
        implementation_of(target(*words))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("cmd:./nothing", "cmd:./nothing names no program that can be run"),
        ("cmd:", "cmd: names no program that can be run"),
        ("cmd:say 'hello", "cmd:say 'hello is no command line: No closing quotation"),
    ],
)
def test_what_is_no_program_is_no_choice(command: str, sentence: str) -> None:
    with pytest.raises(ChoiceError, match=re.escape(sentence)):
        implementation_of(command)
