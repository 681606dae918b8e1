"""Partitions that are judged in pieces of what is stored, beside others of their bucket."""

from pathlib import Path

import pytest

from fencepost.ci.bench.reports.made_traces import make_trace
from fencepost.reports.hot import judge, tasks
from fencepost.reports.hot.judge import HotFound
from fencepost.reports.tables import buckets, pieces
from fencepost.reports.tables.pieces import crowded_partitions
from fencepost.spec.znodes import TopicPartition
from tests.reports.test_hot_partition import judged_of

EVENTS, PARTITIONS = 4000, 4
LINES = 97
"""Of a piece; what is read at a time ends anywhere."""


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> list[HotFound | None]:
    """What is found of each partition, all of which are now too long for a task."""
    found: list[HotFound | None] = []

    def judged(*told: object) -> HotFound | None:
        found.append(judge.judge_partition(*told))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(pieces, "CROWDED_ROWS", EVENTS // PARTITIONS // 2)
    monkeypatch.setattr(buckets, "PIECE_ROWS", LINES)
    monkeypatch.setattr(tasks, "judge_partition", judged)
    return found


@pytest.mark.long
@pytest.mark.parametrize("is_broken", [False, True])
def test_what_is_stored_is_judged_in_pieces_as_in_one(
    tmp_path: Path, *, is_broken: bool, request: pytest.FixtureRequest
) -> None:
    run = tmp_path / "run"
    made = make_trace(run, EVENTS, PARTITIONS, is_broken=is_broken)
    whole = judged_of(run)

    in_pieces = request.getfixturevalue("in_pieces")
    found = judged_of(run)

    assert found == whole
    assert len(in_pieces) == PARTITIONS
    broken = [one for one in in_pieces if one and one.suspicious]
    assert len(broken) == len(made.lost | made.twice)


def test_a_partition_is_crowded_by_its_own_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    make_trace(run, EVENTS, PARTITIONS, is_broken=False)
    judged_of(run)
    names = {bucket.name.removeprefix("bucket=") for bucket in run.glob("columns/*/bucket=[0-9]*")}

    def crowded() -> set[TopicPartition]:
        return {one for name in names for one in crowded_partitions(run / "columns", 0, name)}

    none = crowded()
    monkeypatch.setattr(pieces, "CROWDED_ROWS", EVENTS // PARTITIONS // 2)

    assert none == set()
    assert crowded() == {TopicPartition("made", number) for number in range(PARTITIONS)}
