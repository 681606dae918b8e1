"""States of TLC with logs as states of the proofs: what `abstraction` reads, and records."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from fencepost.spec.proofs.logic import Listed, Sort
from fencepost.spec.proofs.replication.tables import (
    AcknowledgementTable,
    AnswerTable,
    CommitTable,
    EpochLogTable,
    LogTable,
    RecordTable,
    ReplicationState,
)
from fencepost.spec.proofs.state import NO_EPOCH
from fencepost.spec.tlc.values import Value
from tests.spec.proofs import abstraction
from tests.spec.proofs.abstraction import (
    NONE,
    UNSEEN,
    Reading,
    by_key,
    field_of,
    initial_history,
    items,
    looked_up,
    record,
)


class LogRecord(NamedTuple):
    """A record as TLC has it."""

    leader_epoch: int
    value: int


class Answer(NamedTuple):
    """An answer to a fetch as TLC has it, with at most one record."""

    sender: int
    to: int
    copy: int
    leader_epoch: int
    offset: int
    has_record: bool
    record: LogRecord | None
    high_watermark: int


def records_of(value: Value) -> list[LogRecord]:
    """A log, or a part of one."""
    return [LogRecord(**record(one)) for one in items(value)]


def answer_of(value: Value) -> Answer:
    """One answer in flight."""
    told = record(value)
    held = records_of(told["records"])
    same = ("to", "copy", "leader_epoch", "offset", "high_watermark")
    return Answer(
        sender=told["from"],
        has_record=bool(held),
        record=held[0] if held else None,
        **{name: told[name] for name in same},
    )


def to_be_answered(values: Mapping[str, Value]) -> set[Answer]:
    """What leaders may answer next: any broker to any other."""
    logs, replicas = by_key(values["logs"]), by_key(values["replicas"])
    found: set[Answer] = set()
    for leader in logs:
        held = records_of(logs[leader]["records"])
        for f in logs:
            offset = len(logs[f]["records"])
            found.add(
                Answer(
                    sender=leader,
                    to=f,
                    copy=1,
                    leader_epoch=replicas[f]["leader_epoch"],
                    offset=offset,
                    has_record=offset < len(held),
                    record=held[offset] if offset < len(held) else None,
                    high_watermark=logs[leader]["high_watermark"],
                )
            )
    return found


def logs_of(value: Value) -> LogTable:
    """What brokers have, and know about offsets."""
    told = by_key(value)
    records = {
        (b, offset): one
        for b, log in told.items()
        for offset, one in enumerate(records_of(log["records"]))
    }
    known = {
        (b, f): end for b, log in told.items() for f, end in by_key(log["end_offsets"]).items()
    }

    def each(name: str) -> Any:  # noqa: ANN401  a function
        return looked_up({b: one[name] for b, one in told.items()}, NONE)

    return LogTable(
        end=looked_up({b: len(one["records"]) for b, one in told.items()}, 0),
        record=looked_up(records, None),
        high_watermark=each("high_watermark"),
        is_truncated=each("is_truncated"),
        epoch_start=each("epoch_start"),
        end_offsets=looked_up(known, NONE),
    )


def answers_of(value: Value) -> AnswerTable:
    """Answers are values: their fields are themselves."""
    known = {answer_of(one) for one in items(value)}
    return AnswerTable(
        in_flight=lambda a: a in known, **{name: field_of(name) for name in Answer._fields}
    )


def commits_of(value: Value) -> CommitTable:
    """The committed records as one log."""
    told = [record(one) for one in items(value)]
    known = {one["offset"]: LogRecord(**one["record"]) for one in told}
    assert len(known) == len(told), "two records were committed at one offset"
    return CommitTable(end=len(known), record=looked_up(known, None), epoch=NO_EPOCH)


def acknowledgements_of(value: Value) -> AcknowledgementTable:
    """What producers were told."""
    told = [record(one) for one in items(value)]
    known = {(one["offset"], LogRecord(**one["record"])) for one in told}
    return AcknowledgementTable(was_told=lambda i, one: (i, one) in known)


def _as_set(value: Value) -> set[str]:
    return set(map(repr, items(value)))


def _epoch_of(value: object) -> int:
    return value.leader_epoch if isinstance(value, LogRecord) else NO_EPOCH


def reading_of(records_max: int, *, min_insync_replicas: int, is_clean: bool) -> Reading:
    """For a model in which clients send so many records; their values count from 1.

    After an election outside the ISR two records may have been committed at one offset, which the
    history of the proofs has no place for: it is not compared then.
    """

    def universe_of(values: Mapping[str, Value]) -> Listed:
        metadata = abstraction.universe_of(values)
        flying = {answer_of(one) for one in items(values["fetches"])}
        answers = flying | {one._replace(copy=2) for one in flying} | to_be_answered(values)
        longest = max(len(one["records"]) for one in by_key(values["logs"]).values())
        value = records_max - record(values["budget"])["records"] + 1
        more: dict[Sort, Any] = {
            Sort.ANSWER: sorted(answers, key=repr),
            Sort.RECORD: [LogRecord(e, value) for e in metadata.values[Sort.EPOCH] if e >= 0],
            Sort.OFFSET: range(longest + 2),
        }
        return replace(
            metadata,
            values={**metadata.values, **more},
            min_insync_replicas=min_insync_replicas,
        )

    def observed_state(
        values: Mapping[str, Value], before: ReplicationState | None = None
    ) -> dict[str, Any]:
        assert _as_set(values["acknowledged"]) <= _as_set(values["committed"])
        return abstraction.observed_state(values, before) | {
            "universe": universe_of(values),
            "records": RecordTable(leader_epoch=_epoch_of),
            "logs": logs_of(values["logs"]),
            "answers": answers_of(values["fetches"]),
            "commits": commits_of(values["committed"] if is_clean else []),
            "acknowledgements": acknowledgements_of(values["acknowledged"]),
        }

    def initial_state(values: Mapping[str, Value]) -> ReplicationState:
        tables = observed_state(values)
        history = EpochLogTable(
            end=lambda _e: 0,
            record=lambda _e, _i: None,
            start=lambda _e: 0,
            committed=lambda _e: 0,
            fetched=lambda _e, _b: 0,
        )
        return ReplicationState(
            **tables,
            **initial_history(tables),
            epoch_logs=history,
        )

    return Reading(
        universe_of=universe_of,
        observed_state=observed_state,
        initial_state=initial_state,
        unseen=UNSEEN if is_clean else UNSEEN | {"commits", "acknowledgements"},
    )
