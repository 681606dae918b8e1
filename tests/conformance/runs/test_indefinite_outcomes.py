"""Operations without an answer, and what settles them."""

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from fencepost.conformance.runs.indefinite_outcomes import IndefiniteOutcomes, classify_outcomes
from fencepost.conformance.runs.scenario import RunRecord
from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome

LOST = Outcome.INDEFINITE
PATH = "/brokers/topics/t/partitions/0/state"


def event(node: str, kind: Kind, action: str, **fields: object) -> TraceEvent:
    return TraceEvent(
        run_id="r",
        node=node,
        seq=0,
        mono_ns=0,
        kind=kind,
        action=action,
        topic="t",
        partition=0,
        **fields,  # type: ignore[arg-type]
    )


def produce(op_id: int, outcome: Outcome | None) -> list[TraceEvent]:
    """Of the record `c/<op_id>/1`; without an outcome, it never came back."""
    invoked = event("c", Kind.INVOKE, "Produce", op_id=op_id, values=[f"c/{op_id}/1"], acks=-1)
    if outcome is None:
        return [invoked]
    return [invoked, changed(invoked, kind=Kind.COMPLETE, outcome=outcome)]


def fetch(node: str, *values: str, end: int | None = None) -> TraceEvent:
    count = len(values)
    return event(
        node,
        Kind.COMPLETE,
        "Fetch",
        offset=0,
        outcome=Outcome.OK,
        values=list(values),
        high_watermark=count,
        log_end_offset=count if end is None else end,
    )


def append(*values: str) -> TraceEvent:
    return event("broker-1", Kind.ACTION, "LeaderAppend", offset=0, values=list(values))


def held(broker_id: int, *values: str) -> list[TraceEvent]:
    """What one of two replicas holds after the run, as its disk tells."""
    node, place = f"broker-{broker_id}", {"broker_id": broker_id, "incarnation": 2}
    end = {"log_end_offset": len(values), "high_watermark": 0}
    appended = event(node, Kind.ACTION, "FollowerAppend", offset=0, values=list(values), **place)
    return [
        event(node, Kind.ACTION, "BecomeFollower", broker_id=broker_id, incarnation=1, isr=[1, 2]),
        *([appended] if values else []),
        changed(event(node, Kind.RUN, "LogRecovered", **end, **place), seq=1),
    ]


def ends_at(offset: int) -> TraceEvent:
    """Where the final reader was told that the log ends, when its fetches did not tell."""
    told = {"log_end_offset": offset, "outcome": Outcome.OK}
    return changed(event("client-final", Kind.COMPLETE, "ListOffsets", **told), seq=1)


def counts(outcomes: IndefiniteOutcomes) -> tuple[int, int, int, int]:
    return (
        outcomes.operations,
        outcomes.took_effect,
        outcomes.had_none,
        outcomes.unsettled,
    )


@pytest.mark.parametrize("outcome", [LOST, None])
@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ([append("c/1/1"), fetch("client-final", "c/1/1")], (1, 1, 0, 0)),
        ([append("c/1/1"), fetch("client-final")], (1, 0, 1, 0)),
        ([], (1, 0, 1, 0)),
        ([append("c/1/1")], (1, 0, 0, 1)),
        ([append("c/1/1"), fetch("client-final", end=1)], (1, 0, 0, 1)),
        ([append("c/1/1"), fetch("client-final"), ends_at(1)], (1, 0, 0, 1)),
        ([append("c/1/1"), fetch("c2", "c/1/1"), fetch("client-final")], (1, 0, 0, 1)),
        ([fetch("c2", "c/1/1"), fetch("client-final")], (1, 0, 0, 1)),
        ([*held(1, "c/1/1"), *held(2, "c/1/1")], (1, 1, 0, 0)),
        ([*held(1, "c/1/1"), *held(2)], (1, 0, 0, 1)),
        (held(1, "c/1/1"), (1, 0, 0, 1)),
        ([*held(1, "c/0/1"), *held(2, "c/0/1")], (1, 0, 1, 0)),
    ],
    ids=[
        "kept",
        "truncated",
        "nowhere",
        "unread",
        "uncommitted",
        "uncommitted-by-list-offsets",
        "seen-and-gone",
        "seen-and-never-written",
        "on-every-disk",
        "on-one-disk",
        "other-disks-unknown",
        "on-no-disk",
    ],
)
def test_produce_without_an_answer_is_settled_by_logs(
    outcome: Outcome | None, evidence: list[TraceEvent], expected: tuple[int, int, int, int]
) -> None:
    assert counts(classify_outcomes([*produce(1, outcome), *evidence])) == expected


@pytest.mark.parametrize(
    ("evidence", "expected"), [([], (1, 0, 0, 1)), ([fetch("client-final")], (1, 0, 1, 0))]
)
def test_without_lines_of_brokers_only_a_whole_final_read_settles_a_produce(
    evidence: list[TraceEvent], expected: tuple[int, int, int, int]
) -> None:
    events = [*produce(1, LOST), *evidence]

    assert counts(classify_outcomes(events, has_appends=False)) == expected


def test_produce_with_an_answer_is_settled_already() -> None:
    events = [*produce(1, Outcome.OK), *produce(2, Outcome.DEFINITE_ERROR)]

    assert counts(classify_outcomes(events)) == (2, 0, 0, 0)


def write(**fields: object) -> list[TraceEvent]:
    written = {"op_id": 1, "session_id": 7, "path": PATH, "data": "{}", "expected_version": 3}
    invoked = event("broker-1", Kind.INVOKE, "WriteLeaderAndIsr", **{**written, **fields})
    return [invoked, changed(invoked, kind=Kind.COMPLETE, outcome=LOST)]


def stored(action: str, version: int, session_id: int = 7) -> TraceEvent:
    return event(
        "zookeeper",
        Kind.ZOOKEEPER,
        action,
        session_id=session_id,
        path=PATH,
        data="{}",
        znode_version=version,
    )


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([*write(), stored("SetData", 4)], (1, 1, 0, 0)),
        ([*write(), stored("SetData", 4, session_id=8)], (1, 0, 1, 0)),
        ([*write(), stored("SetData", 5)], (1, 0, 1, 0)),
        ([*write(expected_version=-1), stored("Create", 0)], (1, 1, 0, 0)),
        (write(), (1, 0, 1, 0)),
    ],
)
def test_write_without_an_answer_is_settled_by_the_transaction_log(
    events: list[TraceEvent], expected: tuple[int, int, int, int]
) -> None:
    assert counts(classify_outcomes(events)) == expected


def test_without_the_transaction_log_a_write_stays_open() -> None:
    assert counts(classify_outcomes(write(), has_transactions=False)) == (1, 0, 0, 1)


@pytest.mark.parametrize(("unsettled", "verdicts"), [(2, []), (3, [Verdict.INCONCLUSIVE])])
def test_more_than_two_percent_left_open_is_inconclusive(
    unsettled: int, verdicts: list[Verdict]
) -> None:
    record = RunRecord()

    record.judge_outcomes(replace(IndefiniteOutcomes(operations=100), unsettled=unsettled))

    assert [problem.verdict for problem in record.problems] == verdicts
