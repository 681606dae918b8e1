"""A stranger's program behind JSON lines is judged by what it shows."""

import shlex
from collections.abc import Callable
from pathlib import Path

from fencepost.conformance.checks.observations import NEEDS, Observable
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Invariant
from tests.conformance.adapters.remote.plays import play, story, stranger

OF_ZNODES = {invariant for invariant, kinds in NEEDS.items() if Observable.STATE_WRITES in kinds}
SOURCE = Path(__file__).with_name("stranger.py")
LINES_MAX = 400


def test_a_stranger_needs_few_lines_and_no_library() -> None:
    text = SOURCE.read_text()

    assert len(text.splitlines()) <= LINES_MAX
    assert "fencepost." not in text


def test_what_tells_its_trace_is_judged_by_all_checks_but_those_of_znodes(tmp_path: Path) -> None:
    result = play(stranger(), story("brief_kill"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 30
    decided = {one.invariant for one in result.checks if one.premise_count}
    assert decided == NEEDS.keys() - OF_ZNODES
    (problem,) = result.problems
    assert problem.verdict is Verdict.NOT_OBSERVABLE
    assert problem.unseen == OF_ZNODES


def test_commands_with_stale_epochs_reach_brokers_and_are_refused(tmp_path: Path) -> None:
    result = play(stranger(), story("stale_commands"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")


def test_a_stranger_that_refuses_nothing_is_told(tmp_path: Path) -> None:
    result = play(stranger("obeys_all"), story("stale_commands"), tmp_path)

    assert result.verdict is not Verdict.PASS
    assert "STALE_CONTROLLER_EPOCH" in result.why


def test_its_twin_that_acknowledges_before_replication_loses_a_record(tmp_path: Path) -> None:
    result = play(stranger("acknowledges_early"), story("brief_kill"), tmp_path)

    violated = {check.invariant for check in result.checks if check.violations}
    assert result.verdict is Verdict.FAIL
    assert violated >= {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE}
    assert f"--target {shlex.quote(stranger('acknowledges_early'))}" in result.reproduce


def test_processes_that_an_adapter_names_get_signals(
    tmp_path: Path, processes_of: Callable[[str, str], set[int]]
) -> None:
    result = play(stranger("has_processes"), story("brief_kill"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert not processes_of("FENCEPOST_RUN_ID", result.run_id)
