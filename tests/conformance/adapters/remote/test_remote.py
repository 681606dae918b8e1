"""A program that speaks JSON lines is judged as the same implementation in process is."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant
from tests.conformance.adapters.remote.plays import play, toy


@pytest.mark.parametrize("name", ["quiet", "leader_kill", "controller_kill"])
def test_a_toy_behind_json_lines_passes_as_it_does_in_process(name: str, tmp_path: Path) -> None:
    result = play(toy(), name, tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 100
    assert [one.verdict for one in result.problems] == [Verdict.NOT_OBSERVABLE] * 2


def test_its_twin_that_acknowledges_before_replication_loses_a_record(tmp_path: Path) -> None:
    result = play(toy("acknowledges_early"), "leader_kill", tmp_path)

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert Invariant.ACKNOWLEDGED_DURABLE in violated
    assert f"--target {shlex.quote(toy('acknowledges_early'))}" in result.reproduce


def test_processes_that_an_adapter_names_get_signals(
    tmp_path: Path, processes_of: Callable[[str, str], set[int]]
) -> None:
    result = play(toy("has_processes"), "leader_kill", tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert not processes_of("FENCEPOST_RUN_ID", result.run_id)


def test_a_pid_of_another_program_gets_no_signal(tmp_path: Path) -> None:
    result = play(toy("strange_pid"), "leader_kill", tmp_path)

    assert result.verdict is Verdict.ERROR
    assert result.why == "pid 1 is not broker-1: no process of this run has that pid"
