"""Traces that are not as they were written: told by name, and never a violation."""

import html
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.conformance.verdict import Verdict
from fencepost.reports.page.render import render
from fencepost.spec.trace import encode_all
from tests.reports.aggregated import analysed
from tests.reports.stories import Story, failover_story

LEADER = "trace-broker-2.ndjson"


def _of_another_run(run: Path) -> None:
    other = run.parent / "other"
    failover_story("other").save(other)
    shutil.copy(other / LEADER, run / LEADER)


def _twice(run: Path) -> None:
    text = (run / LEADER).read_bytes()
    (run / LEADER).write_bytes(text + text)


def _of_the_future(run: Path) -> None:
    path = run / "trace-harness.ndjson"
    path.write_bytes(path.read_bytes().replace(b'trace_version\\": 1', b'trace_version\\": 9'))


def _undescribed(run: Path) -> None:
    path = run / "trace-harness.ndjson"
    first, _, rest = path.read_bytes().partition(b"\n")
    event = json.loads(first) | {"detail": "[1,"}
    path.write_bytes(json.dumps(event).encode() + b"\n" + rest)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (_of_another_run, "The run holds the lines of 2 runs, other and r."),
        (_twice, f"The run cannot be judged: lines of {LEADER} occur twice."),
        (
            _of_the_future,
            "The run was written as trace version 9; this Fencepost reads version 1.",
        ),
        (_undescribed, "What RunStarted of the run tells cannot be read."),
    ],
)
def test_what_did_not_happen_in_this_run_is_no_violation(
    tmp_path: Path, damage: Callable[[Path], None], told: str
) -> None:
    run = tmp_path / "run"
    failover_story("r").save(run)
    damage(run)

    analysis = analysed(run, tmp_path / "scratch")

    assert told in analysis.folders[0].trace_doubts
    assert analysis.verdicts["traces"] is Verdict.INCONCLUSIVE
    assert analysis.figures["violations"] == 0
    (run / "aggregates.json").write_bytes(analysis.to_json())
    assert told in html.unescape(render(run).read_text())


def test_lines_that_are_missing_and_lines_that_occur_twice_are_counted_apart(
    tmp_path: Path,
) -> None:
    story: Story = failover_story("r")
    run = tmp_path / "run"
    story.save(run)
    lines = list(encode_all(event for event in story.events if event.node == "harness"))
    (run / "trace-harness.ndjson").write_bytes(b"".join([*lines[:2], lines[1], *lines[3:]]))

    (folder,) = analysed(run, tmp_path / "scratch").folders

    assert folder.damage == (
        "By the numbers of its lines, trace-harness.ndjson lacks 1 event.",
        "By the numbers of its lines, trace-harness.ndjson has 1 event twice.",
    )
