"""Of a partition in doubt the definitions are given few lines, and find what they find of all."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from fencepost.ci.bench.reports.agreement import by_definition, in_pieces
from fencepost.ci.bench.reports.made_traces import make_trace
from fencepost.conformance.checks.log_history import LeftOut
from fencepost.conformance.checks.replica_log import Agreed
from fencepost.reports.hot import contents, judge
from fencepost.reports.hot.stage_two import client_lines, doubts, log_lines, needed_lines
from fencepost.reports.kernels import displayed_rows
from fencepost.reports.kernels.bucket_rows import BucketRows, Mask, Numbers
from fencepost.reports.tables import buckets, pieces
from fencepost.reports.tables.pieces import StoredPieces
from fencepost.spec.trace import Kind, TraceEvent, read_trace
from fencepost.spec.vocabulary import Outcome
from tests.reports.kernels.histories import (
    Change,
    Edit,
    History,
    both,
    change,
    changed,
    changes_of,
)
from tests.reports.test_hot_partition import judged_of

EVENTS = 500
LINES = 80
"""Of a piece."""


@pytest.fixture(autouse=True, scope="module")
def _little_together() -> Iterator[None]:
    """What is dealt out is judged by few lengths, and by few records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "BOUNDS_TOGETHER", 30)
        patch.setattr(contents, "ITEMS_TOGETHER", 120)
        yield


@cache
def made(*, is_broken: bool) -> list[TraceEvent]:
    """The events of one partition with a failover, and those about none."""
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        make_trace(run, EVENTS, 1, is_broken=is_broken)
        return [one for path in sorted(run.iterdir()) for one in read_trace(path).events]


def _nowhere(history: History) -> History:
    """The tenth record is refused, and no answer has it."""
    produced = [one for one in history if one.action == "Produce" and one.kind is Kind.COMPLETE]
    [value] = sorted(produced, key=attrgetter("mono_ns"))[9].values or [""]
    return [_without(one, value) for one in history]


def _cut(offset: int) -> Edit:
    """The ninth append of a follower is a truncation in place of it."""
    return change(
        9,
        "FollowerAppend",
        action="TruncateLog",
        values=None,
        record_epochs=None,
        offset=offset,
        log_end_offset=offset,
        high_watermark=offset,
    )


def _restarted(history: History) -> History:
    """A follower starts again, learns less than it knew, and gives up even that."""
    own = [one for one in history if one.node == "broker-3" and one.seq >= _first_late(history)]
    started = {id(one): replace(one, incarnation=9) for one in own}
    first, then = (one for one in own if one.action == "FollowerAppend" and (one.offset or 0) < 7)
    started[id(first)] = replace(first, incarnation=9, high_watermark=1)
    started[id(then)] = replace(
        then,
        incarnation=9,
        action="TruncateLog",
        values=None,
        record_epochs=None,
        log_end_offset=0,
        high_watermark=0,
    )
    return [
        started.get(id(one), one)
        for one in history
        if one.node != "broker-3" or one.seq <= then.seq
    ]


def _first_late(history: History) -> int:
    """The number of the follower's line that appends at offset 5."""
    appends = [one for one in history if (one.node, one.action) == ("broker-3", "FollowerAppend")]
    return next(one.seq for one in appends if one.offset == 5)


def _without(event: TraceEvent, value: str) -> TraceEvent:
    values = event.values or []
    if value not in values or event.kind is not Kind.COMPLETE:
        return event
    if event.action == "Produce":
        return replace(event, outcome=Outcome.DEFINITE_ERROR)
    return replace(event, values=values[: values.index(value)])


PLANTED: Mapping[str, Edit] = {
    "a record that is nowhere": _nowhere,
    "a record that was refused is read": change(
        9, "Produce", Kind.COMPLETE, outcome=Outcome.DEFINITE_ERROR
    ),
    "a record of unknown effect is read": change(
        9, "Produce", Kind.COMPLETE, outcome=Outcome.INDEFINITE
    ),
    "an answer is lost": change(9, "Produce", Kind.COMPLETE, kind=Kind.INVOKE, op_id=99999),
    "two records at one offset": both(
        change(7, "Produce", Kind.COMPLETE, offset=3),
        change(19, "Produce", Kind.COMPLETE, offset=3),
    ),
    "a length that nothing fills": change(
        11, "Fetch", Kind.COMPLETE, high_watermark=300, log_end_offset=300
    ),
    "a record far away": change(11, "Produce", Kind.COMPLETE, offset=1 << 40),
    "a stale answer": change(20, "Fetch", Kind.COMPLETE, high_watermark=2, values=[]),
    "an answer from the future": change(20, "Fetch", Kind.COMPLETE, mono_ns=1, inv_ns=0),
    "a high watermark that falls": change(9, "AdvanceHighWatermark", high_watermark=3),
    "a commit of another broker": change(9, "AdvanceHighWatermark", broker_id=8),
    "a commit far ahead": change(9, "AdvanceHighWatermark", high_watermark=90, log_end_offset=90),
    "an append without a role": change(9, "LeaderAppend", leader_epoch=4),
    "a record that one log has otherwise": change(9, "FollowerAppend", values=["client-0/0/0"]),
    "a record of another epoch": change(9, "FollowerAppend", record_epochs=[7]),
    "a log with a hole": change(
        9, "FollowerAppend", offset=30, log_end_offset=31, high_watermark=31
    ),
    "a process that forgets what it learnt": _restarted,
    "a log that is cut": _cut(4),
    "a log that is cut below what is known": _cut(1),
    "a leader that lacks records": change(1, "BecomeLeader", log_end_offset=5, high_watermark=5),
    "advances without the leader": both(
        change(9, "AdvanceHighWatermark", isr=[2, 3]),
        change(10, "AdvanceHighWatermark", isr=[2, 3]),
    ),
}
"""What breaks something in one line or two of many."""
WELL = {"a record of unknown effect is read"}
"""But for these."""


@pytest.mark.parametrize("is_broken", [False, True])
@pytest.mark.parametrize("name", PLANTED)
def test_what_is_planted_is_found_as_by_the_definition(name: str, *, is_broken: bool) -> None:
    history = PLANTED[name](made(is_broken=is_broken))
    defined = by_definition(history)

    assert any(one.violations or one.doubts for one in defined.values()) or name in WELL
    assert in_pieces(history, LINES) == defined


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(
    changes_of(made(is_broken=True), most=6),
    st.sets(st.integers(0, EVENTS - 1), max_size=3),
    st.booleans(),
)
def test_any_numbers_are_judged_as_by_the_definition(
    changes: list[Change],
    lost: set[int],
    is_broken: bool,
) -> None:
    history = changed(made(is_broken=is_broken), changes)
    kept = [event for at, event in enumerate(history) if at not in lost]

    assert in_pieces(kept, LINES) == by_definition(kept)


def test_few_lines_are_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    whole = StoredPieces.whole

    def counted(own: StoredPieces, numbers: Numbers) -> Iterator[tuple[Numbers, pa.Table]]:
        read.append(len(numbers))
        return whole(own, numbers)

    monkeypatch.setattr(pieces, "CROWDED_ROWS", 3000)
    monkeypatch.setattr(buckets, "PIECE_ROWS", 997)
    monkeypatch.setattr(displayed_rows, "LINES_OF_REPLICA", 16)
    monkeypatch.setattr(StoredPieces, "whole", counted)
    run = tmp_path / "run"
    made = make_trace(run, 6000, 1, is_broken=True)

    findings = judged_of(run)

    (log,) = (one.result for one in findings.judged if one.result.invariant == "LinearizableLog")
    assert f"Offset {made.lost_at} holds" in " ".join(one.message for one in log.violations)
    assert 0 < read[0] < 60
    assert max(read) < 900


def _nothing(*_told: object) -> Numbers:
    return np.zeros(0, np.int64)


def _no_rows(_lines: object, rows: BucketRows) -> Mask:
    return np.zeros(len(rows.partition), np.bool_)


def _without_offsets(lines: client_lines.ClientLines) -> LeftOut:
    return LeftOut(doubted=lines._doubts.values, filled=())


def _agreeing(*_told: object) -> Agreed:
    return Agreed(doubted=())


def _first_only(kept: Callable[..., Mask]) -> Callable[..., Mask]:
    def keep(lines: needed_lines.IsrLines, rows: BucketRows) -> Mask:
        found = kept(lines, rows)
        found[np.flatnonzero(found)[1:]] = False
        return found

    return keep


WRONG: Mapping[str, tuple[str, Any, str, Any]] = {
    "records in doubt": (
        "two records at one offset",
        contents.ToldRecords,
        "doubted",
        lambda _records: set(),
    ),
    "offsets of what is left out": (
        "two records at one offset",
        client_lines.ClientLines,
        "left_out",
        property(_without_offsets),
    ),
    "what was first to prove a length": (
        "a record that is nowhere",
        doubts._Lengths,
        "first_proofs",
        _nothing,
    ),
    "the worst two claims": (
        "an answer from the future",
        doubts._Lengths,
        "worst",
        lambda _lengths: (),
    ),
    "answers that are part of a contradiction": (
        "a stale answer",
        doubts,
        "EPOCH",
        -1,
    ),
    "what replicas do": (
        "an append without a role",
        needed_lines.RoleLines,
        "_keep",
        _no_rows,
    ),
    "more than one ISR that is wrong": (
        "advances without the leader",
        needed_lines.IsrLines,
        "_keep",
        _first_only(needed_lines.IsrLines._keep),
    ),
    "commits": (
        "a commit of another broker",
        needed_lines.CommitLines,
        "numbers",
        property(_nothing),
    ),
    "entries that differ": (
        "a record that one log has otherwise",
        log_lines.LogLines,
        "_appends",
        lambda _lines, _rows, replicas: np.zeros(len(replicas.row), np.bool_),
    ),
    "what was committed when a log was cut": (
        "a log that is cut",
        log_lines.LogLines,
        "_see_furthest",
        lambda *_told: None,
    ),
    "holes": ("a log with a hole", judge, "doubted_offsets", _agreeing),
    "leaders' ends": ("a leader that lacks records", judge, "doubted_offsets", _agreeing),
    "what a process knew": (
        "a process that forgets what it learnt",
        log_lines.LogLines,
        "_learn",
        lambda *_told: None,
    ),
    "high watermarks": (
        "a high watermark that falls",
        needed_lines.LevelLines,
        "numbers",
        property(_nothing),
    ),
}
"""What is not told to the definitions, and what they then do not find as they should."""


@pytest.mark.parametrize("name", WRONG)
def test_a_line_that_is_not_given_is_missed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted, *wrong = WRONG[name]
    history = PLANTED[planted](made(is_broken=False))
    monkeypatch.setattr(*wrong)

    assert in_pieces(history, LINES) != by_definition(history)


def test_all_is_decided_where_a_record_is_sent_again_and_again() -> None:
    history = made(is_broken=True)
    (first, *_) = (one.values for one in history if one.action == "Produce")
    again = [
        replace(one, values=first) if one.action == "Produce" and at % 3 == 0 else one
        for at, one in enumerate(history)
    ]

    assert in_pieces(again, LINES) == by_definition(again)
