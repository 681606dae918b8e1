"""Each bad adapter has its own verdict and sentence, and leaves nothing running."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant
from tests.conformance.adapters.remote.plays import play, toy

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
    result = play(toy(habit, AT), "leader_kill", tmp_path)

    assert result.verdict is Verdict.ERROR
    assert ZOO[habit] in result.why
    assert not processes_of("FENCEPOST_RUN_ID", result.run_id)


def test_an_adapter_that_hangs_is_an_error_with_the_call_and_its_deadline(tmp_path: Path) -> None:
    result = play(toy("hangs", "10"), "leader_kill", tmp_path)

    assert result.verdict is Verdict.ERROR
    assert result.why == "the adapter did not answer observe within 5000 ms"


def test_a_crash_is_told_with_what_the_adapter_wrote_last(tmp_path: Path) -> None:
    result = play(toy("crashes", AT), "quiet", tmp_path)

    assert "standard error ended with:\nthe disk of the adapter is on fire" in result.why
    assert '"status": "ok"' in result.why
    log = tmp_path / "run" / "processes" / "adapter.log"
    assert log.read_text() == "the disk of the adapter is on fire\n"


def test_an_adapter_that_stores_nothing_loses_records(tmp_path: Path) -> None:
    result = play(toy("stores_nothing"), "quiet", tmp_path)

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert violated & {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LINEARIZABLE_LOG}


def test_an_adapter_that_supports_nothing_has_no_cluster(tmp_path: Path) -> None:
    result = play(toy("supports_nothing"), "quiet", tmp_path)

    assert result.verdict is Verdict.ERROR
    assert result.why == "the adapter does not support cluster_create, which every adapter must"


def test_a_promise_of_traces_must_be_kept(tmp_path: Path) -> None:
    result = play(toy("promises_traces"), "quiet", tmp_path)

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
        implementation_of(toy(*words))


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
