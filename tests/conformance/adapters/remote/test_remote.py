"""A stranger's program behind JSON lines is judged by what it shows."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.checks.observations import NEEDS, Observable
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.zoo.animals import HERE
from fencepost.spec.vocabulary import Invariant
from tests.conformance.adapters.remote.plays import play, story, stranger

ENDED = """
schema: 1
id: ended
profile: none
steps:
  - {create_topic: ledger, replicas: [1, 2, 3]}
  - {kind: proc.kill, target: 2, for_ms: 200}
  - {kind: proc.term, target: 3, for_ms: 200}
"""
OF_ZNODES = {invariant for invariant, kinds in NEEDS.items() if Observable.STATE_WRITES in kinds}
SOURCE = HERE / "stranger.py"
LINES_MAX = 400
UNCLEAN = """
schema: 1
id: unclean
profile: none
cluster: {unclean_leader_election: true}
steps:
  - {create_topic: ledger, replicas: [1]}
"""


def test_a_stranger_needs_few_lines_and_no_library() -> None:
    text = SOURCE.read_text()

    assert len(text.splitlines()) <= LINES_MAX
    assert "fencepost." not in text


def test_what_tells_its_trace_is_judged_by_all_checks_but_those_of_znodes(tmp_path: Path) -> None:
    result = play(stranger(), story("brief_kill"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert result.acknowledged > 30
    decided = {one.invariant for one in result.checks if one.premise_count}
    # The stranger declares neither the setting nor the numbers of idempotent producers, its
    # controller does not tell what it sends, and at its level nothing is forwarded.
    not_asked = {
        Invariant.MIN_INSYNC_REPLICAS,
        Invariant.SEQUENCES_IN_ORDER,
        Invariant.OBEYED_AS_SENT,
        Invariant.FORWARDED_ONCE,
        Invariant.PRINCIPAL_KEPT,
    }
    assert decided == NEEDS.keys() - OF_ZNODES - not_asked
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


def test_a_setting_that_an_adapter_does_not_declare_is_unsupported(tmp_path: Path) -> None:
    path = tmp_path / "unclean.yaml"
    path.write_text(UNCLEAN)

    result = play(stranger(), str(path), tmp_path)

    assert result.verdict is Verdict.UNSUPPORTED
    assert result.why == "stranger does not declare what the run needs: unclean_leader_election"


def test_flags_of_a_command_line_are_refused_by_what_has_none() -> None:
    told = "stranger is started by no command line, so it takes no flags --more 1; leave out extra"

    with pytest.raises(ChoiceError, match=f"^{told}$"):
        ClusterSettings(implementation=implementation_of(stranger()), extra=("--more", "1"))


def test_a_broker_without_a_process_ends_in_order_and_is_named_by_its_id(tmp_path: Path) -> None:
    path = tmp_path / "ended.yaml"
    path.write_text(ENDED)

    result = play(stranger(), str(path), tmp_path)

    told = {report.action.fault.kind: report.evidence for report in result.faults}
    assert told == {
        "proc.kill": "broker 2 killed",
        "proc.term": "broker 3 ended with exit code 0",
    }


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
