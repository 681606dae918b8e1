"""Partitions that are judged in pieces of what is stored, beside others of their bucket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.ci.bench.reports.made_traces import make_trace
from fencepost.reports.hot import judge, tasks
from fencepost.reports.hot.judge import HotFound
from fencepost.reports.kernels.bucket_rows import BucketRows
from fencepost.reports.kernels.two_stages import PartResults, judge_bucket
from fencepost.reports.tables import buckets, pieces, violations
from fencepost.reports.tables.pieces import Shares, is_large, shares_of
from fencepost.reports.tables.violations import Findings
from fencepost.spec.znodes import TopicPartition
from tests.reports.test_hot_partition import judged_of

EVENTS, PARTITIONS = 4000, 4
FEW, ONE_EACH = EVENTS // PARTITIONS // 2, EVENTS // PARTITIONS * 3 // 2
"""Lines that a task holds, fewer than a partition has, and more but fewer than two have."""
LINES = 97
"""Of a piece; what is read at a time ends anywhere."""


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> list[HotFound | None]:
    """What is found of each partition, all of which are now too long for a task."""
    found: list[HotFound | None] = []

    def judged(*told: object) -> HotFound | None:
        found.append(judge.judge_partition(*told))  # type: ignore[arg-type]
        return found[-1]

    monkeypatch.setattr(pieces, "CROWDED_ROWS", FEW)
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


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Findings]:
    """Columns of a run in which something is broken, and what is found in them."""
    run = tmp_path_factory.mktemp("stored") / "run"
    make_trace(run, EVENTS, PARTITIONS, is_broken=True)
    return run, judged_of(run)


def shares(run: Path, most: int) -> list[Shares]:
    names = {bucket.name.removeprefix("bucket=") for bucket in run.glob("columns/*/bucket=[0-9]*")}
    return [shares_of(run / "columns", 0, name, most) for name in sorted(names)]


@pytest.mark.parametrize("limit", [FEW, ONE_EACH, EVENTS])
def test_each_partition_of_a_bucket_has_one_place(
    stored: tuple[Path, Findings], limit: int
) -> None:
    run, _ = stored

    found = shares(run, limit)

    if limit == EVENTS:
        assert set(found) == {Shares((None,), ())}
        return
    together = [share for one in found for share in one.together if share is not None]
    crowded = [partition for one in found for partition in one.crowded]
    every = {TopicPartition("made", number) for number in range(PARTITIONS)}
    held = [partition for share in together for partition in share]
    assert sorted([*crowded, *held]) == sorted(every)
    assert set(crowded) == (every if limit == FEW else set())
    assert {len(share) for share in together} <= {1}


def test_only_a_bucket_of_many_bytes_is_looked_into(
    stored: tuple[Path, Findings],
) -> None:
    columns = stored[0] / "columns"

    assert is_large(columns, 0, "0", EVENTS)
    assert not is_large(columns, 0, "0", pieces.CROWDED_ROWS)


def test_shares_of_a_bucket_are_judged_as_the_whole(
    stored: tuple[Path, Findings], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, whole = stored
    read: list[int] = []

    def counted(rows: BucketRows, *told: object) -> Iterator[PartResults]:
        read.append(rows.count)
        yield from judge_bucket(rows, *told)  # type: ignore[arg-type]

    monkeypatch.setattr(pieces, "CROWDED_ROWS", ONE_EACH)
    monkeypatch.setattr(violations, "judge_bucket", counted)

    assert judged_of(run) == whole
    assert read == [1] * PARTITIONS
