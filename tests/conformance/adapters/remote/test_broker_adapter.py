"""The reference is judged behind JSON lines as it is on its own, by the same checks."""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.remote.remote import greet
from fencepost.conformance.adapters.remote.skeleton import Language, new_adapter
from fencepost.conformance.checks.trace_dialect import SPEC, UNTOLD_WRITES
from fencepost.conformance.verdict import Verdict
from fencepost.reports.tables.folders import trace_folders
from fencepost.spec.replay.recorded_run import find_runs
from fencepost.spec.trace import TRACES
from tests.conformance.adapters.remote.plays import adapter, play, story

pytestmark = pytest.mark.zookeeper


def test_brokers_that_do_not_tell_of_their_writes_are_judged_by_what_they_obey(
    tmp_path: Path,
) -> None:
    made = new_adapter(Language.PYTHON, tmp_path / "adapter")
    path = made.files[0]
    named = '"name": "my-log"'
    path.write_text(path.read_text().replace(named, f'{named}, "capabilities": ["zookeeper"]'))

    assert greet(adapter("broker_adapter")).trace_dialect is SPEC
    assert greet(made.target).trace_dialect is UNTOLD_WRITES


@pytest.mark.long
def test_the_reference_passes_and_what_its_adapter_keeps_is_no_run(tmp_path: Path) -> None:
    result = play(adapter("broker_adapter"), story("moved_and_paused"), tmp_path)

    assert (result.verdict, result.why) == (Verdict.PASS, "")
    assert not result.problems
    assert list((tmp_path / "run" / "told").glob(TRACES))
    assert [folder.name for folder in trace_folders(tmp_path)] == ["run"]
    assert find_runs(tmp_path) == [tmp_path / "run"]
