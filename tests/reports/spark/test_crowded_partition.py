"""The parts of a partition that is too long for a task are seen by tasks of their own."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fencepost.ci.bench.reports.made_traces import make_trace
from fencepost.reports.hot import tasks
from fencepost.reports.spark.session import spark_session
from fencepost.reports.tables import pieces
from fencepost.reports.tables.violations import combine, judge, judge_task, judge_tasks
from tests.reports.test_hot_partition import columns_of

pytestmark = pytest.mark.spark
EVENTS, PARTITIONS = 3000, 2


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the parts that tasks were asked to see."""
    found: list[str] = []
    see_all = tasks._seen_all

    def heard(
        spark: SparkSession, parts: list[tasks._Part], scratch: Path
    ) -> dict[tasks._Part, bytes]:
        found.extend(part.name for part in parts)
        return see_all(spark, parts, scratch)

    monkeypatch.setattr(tasks, "_seen_all", heard)
    return found


@pytest.mark.long
def test_the_parts_of_a_crowded_partition_are_seen_by_tasks_of_their_own(
    tmp_path: Path, seen: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_trace(tmp_path / "run", EVENTS, PARTITIONS, is_broken=True)
    target, span = columns_of(tmp_path / "run")
    expected = combine([judge_task(task, target) for task in judge_tasks(target, {0: span})])
    monkeypatch.setattr(pieces, "CROWDED_ROWS", EVENTS // PARTITIONS // 2)

    with spark_session(None) as spark:
        found = judge(spark, target, {0: span}, {})

    assert found == expected
    assert {name for name in seen if seen.count(name) == PARTITIONS} >= {"client-1", "client-final"}
    assert not list(target.glob("_pieces-*"))
