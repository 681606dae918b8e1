"""A program that speaks JSON lines is judged as the same implementation in process is."""

import shlex
from collections.abc import Callable
from pathlib import Path

from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant
from tests.conformance.adapters.remote.plays import play, story, toy


def test_a_toy_behind_json_lines_passes_as_it_does_in_process(tmp_path: Path) -> None:
    result = play(toy(), story("brief_kill"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 30
    assert [one.verdict for one in result.problems] == [Verdict.NOT_OBSERVABLE]


def test_its_twin_that_acknowledges_before_replication_loses_a_record(tmp_path: Path) -> None:
    result = play(toy("acknowledges_early"), story("brief_kill"), tmp_path)

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert Invariant.ACKNOWLEDGED_DURABLE in violated
    assert f"--target {shlex.quote(toy('acknowledges_early'))}" in result.reproduce


def test_processes_that_an_adapter_names_get_signals(
    tmp_path: Path, processes_of: Callable[[str, str], set[int]]
) -> None:
    result = play(toy("has_processes"), story("brief_kill"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert not processes_of("FENCEPOST_RUN_ID", result.run_id)
