"""One partition with all events of a run, and something broken in it: the work grows in step."""

import os
import subprocess
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


def columns_of(run: Path) -> tuple[Path, tuple[int, int]]:
    """The columns of a run, which are now beside it, and the span of its stamps."""
    (folder,) = trace_folders(run)
    target = run / "columns"
    tasks = [FileTask(folder=0, source=run / name, buckets=2) for name in folder.files]
    return target, span_of(0, [convert_file(task, target) for task in tasks])


def judged_of(run: Path) -> Findings:
    """What is found of a run, with its columns beside it."""
    target, span = columns_of(run)
    return combine([judge_task(task, target) for task in judge_tasks(target, {0: span})])


def violated(findings: Findings) -> set[Invariant]:
    return {one.result.invariant for one in findings.judged if one.result.violations}


def judged(run: Path, events: int) -> tuple[int, Findings]:
    """How many calls it took to judge a run of so many events, and what was found."""
    make_trace(run, events, 1, is_broken=True)
    calls = 0

    def count(_frame: FrameType, _event: str, _argument: object) -> None:
        nonlocal calls
        calls += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        found = judged_of(run)
    finally:
        sys.setprofile(before)
    return calls, found


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
        assert violated(findings) == {
            Invariant.LINEARIZABLE_LOG,
            Invariant.ACKNOWLEDGED_DURABLE,
        }
        assert all(one.evidence for one in findings.judged if one.result.violations)


MILLION = 1_000_000
MEMORY_BYTES = 1_000_000_000
"""What may be taken; a whole partition of that many events would take 1.3 GB where all is well."""
BROKEN = ["AcknowledgedDurable", "LinearizableLog"]
BOUNDED = """
import resource, sys
from pathlib import Path
from tests.reports.test_hot_partition import judged_of, violated
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
print(*sorted(violated(judged_of(Path(sys.argv[1])))))
"""


@pytest.mark.long
@pytest.mark.parametrize("is_broken", [False, True])
def test_a_million_events_in_one_partition_are_judged_in_bounded_memory(
    tmp_path: Path, *, is_broken: bool
) -> None:
    run = tmp_path / "run"
    made = make_trace(run, MILLION, 1, is_broken=is_broken)
    # What libraries reserve, and never touch, is no memory; a limit of address space counts it.
    own = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}

    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(run), str(MEMORY_BYTES)],
        env={**os.environ, **own},
        capture_output=True,
        text=True,
        check=False,
    )

    assert made.events >= MILLION
    assert done.stdout.split() == (BROKEN if is_broken else []), done.stderr[-2000:]
    assert done.returncode == 0, done.stderr[-2000:]
