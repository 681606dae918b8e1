"""One partition with all events of a run, and something broken in it: the work grows in step."""

import sys
from pathlib import Path
from types import FrameType

import pytest

from fencepost.ci.bench.reports.made_traces import make_trace
from fencepost.reports.analysis.analyse import span_of
from fencepost.reports.tables.folders import trace_folders
from fencepost.reports.tables.ingest import convert_file
from fencepost.reports.tables.parts import FileTask
from fencepost.reports.tables.violations import Findings, combine, judge_task, judge_tasks
from fencepost.spec.vocabulary import Invariant

EVENTS = 3000


def judged(run: Path, events: int) -> tuple[int, Findings]:
    """How many calls it took to judge a run of so many events, and what was found."""
    make_trace(run, events, 1, is_broken=True)
    (folder,) = trace_folders(run)
    tasks = [FileTask(folder=0, source=run / name, buckets=2) for name in folder.files]
    health = [convert_file(task, run / "columns") for task in tasks]
    span = span_of(0, health)
    calls = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        found = [
            judge_task(task, run / "columns") for task in judge_tasks(run / "columns", {0: span})
        ]
    finally:
        sys.setprofile(before)
    return calls, combine(found)


@pytest.fixture(scope="module")
def of_two_sizes(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[int, Findings]]:
    folder = tmp_path_factory.mktemp("hot")
    judged(folder / "first", EVENTS)  # what is made once is made
    return [judged(folder / str(times), times * EVENTS) for times in (1, 2)]


def test_twice_the_events_cost_twice_the_calls(
    of_two_sizes: list[tuple[int, Findings]],
) -> None:
    (once, _), (twice, _) = of_two_sizes

    assert once > EVENTS
    assert twice <= 2.1 * once


def test_what_is_broken_is_found_at_each_size(of_two_sizes: list[tuple[int, Findings]]) -> None:
    for _, findings in of_two_sizes:
        violated = {one.result.invariant for one in findings.judged if one.result.violations}
        assert violated == {Invariant.LINEARIZABLE_LOG, Invariant.ACKNOWLEDGED_DURABLE}
        assert all(one.evidence for one in findings.judged if one.result.violations)
