"""What a client asks of a partition, what it is answered, and how its trace tells of both.

Every operation has one of three outcomes: `ok`, `definite_error` (surely without effect) or
`indefinite` (perhaps with effect, CLI-005).
"""

from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from fencepost.spec.vocabulary import (
    NO_EPOCH,
    NO_PRODUCER,
    ErrorCode,
    LeaderEpoch,
    Outcome,
    ProducerId,
)
from fencepost.spec.znodes import TopicPartition

ACKS_LEADER = 1
ACKS_ALL = -1
PRODUCE_TIMEOUT_MS = 1_200
FETCH_RECORDS = 500

Fields = dict[str, Any]
"""Fields of `fencepost.spec.trace.TraceEvent` by name."""


class Produce(Struct, frozen=True, kw_only=True):
    """Append values to a partition."""

    action: ClassVar[str] = "Produce"
    partition: TopicPartition
    values: tuple[str, ...]
    acks: int = ACKS_ALL
    timeout_ms: int = PRODUCE_TIMEOUT_MS
    producer_id: ProducerId = NO_PRODUCER
    """Of an idempotent producer, with the two fields that follow (KIP-98)."""
    producer_epoch: int = 0
    base_sequence: int = 0


class Fetch(Struct, frozen=True, kw_only=True):
    """Read committed records from an offset on (CLI-001)."""

    action: ClassVar[str] = "Fetch"
    partition: TopicPartition
    offset: int
    max_records: int = FETCH_RECORDS
    max_wait_ms: int = 0
    leader_epoch: LeaderEpoch = NO_EPOCH
    """In which the broker is to lead; in another one it refuses (REPL-006). None is named."""


class ListOffsets(Struct, frozen=True, kw_only=True):
    """Ask the leader for its high watermark and log end offset."""

    action: ClassVar[str] = "ListOffsets"
    partition: TopicPartition


Operation = Produce | Fetch | ListOffsets


def asked_fields(operation: Operation) -> Fields:
    """What both lines of an operation tell in the trace."""
    topic, partition = operation.partition
    fields: Fields = {"topic": topic, "partition": partition}
    match operation:
        case Fetch(offset=offset):
            fields["offset"] = offset
        case Produce(acks=acks, values=values):
            if operation.producer_id != NO_PRODUCER:
                names = ("producer_id", "producer_epoch", "base_sequence")
                fields |= {name: getattr(operation, name) for name in names}
            fields |= {"acks": acks, "values": list(values)}
        case ListOffsets():
            pass
    return fields


class Answer(Struct, frozen=True, kw_only=True):
    """What the caller of an operation may know."""

    outcome: Outcome
    error_code: str | None = None
    """A name of `ErrorCode`, or the transport's name of what went wrong without an answer."""
    broker_id: int | None = None
    leader_epoch: int | None = None
    partition_incarnation: int | None = None
    offset: int | None = None
    """Of a produce: of its first record."""
    high_watermark: int | None = None
    log_end_offset: int | None = None
    values: tuple[str, ...] = ()
    record_epochs: tuple[int, ...] = ()

    @property
    def is_ok(self) -> bool:
        """True when the operation surely took effect."""
        return self.outcome is Outcome.OK


def outcome_of(error: str | None) -> Outcome:
    """What an error code says of the effect; an unknown code may mean anything: indefinite."""
    if error is None:
        return Outcome.OK
    if error not in ErrorCode.__members__ or ErrorCode[error].is_indefinite:
        return Outcome.INDEFINITE
    return Outcome.DEFINITE_ERROR


def no_answer(action: str, error: str, broker_id: int | None = None) -> Answer:
    """Of a request that was sent and may have had its effect; a read has none."""
    outcome = Outcome.INDEFINITE if action == Produce.action else Outcome.DEFINITE_ERROR
    return Answer(outcome=outcome, error_code=error, broker_id=broker_id)


def answer_of(action: str, response: Any) -> Answer:  # noqa: ANN401 - of the wire or of the core
    """What a broker's response to an operation says; its fields have the names of the wire."""
    code, is_produce = response.error_code, action == Produce.action
    error = None if code in ("", ErrorCode.NONE) else str(code)
    answer = Answer(
        outcome=outcome_of(error) if is_produce or error is None else Outcome.DEFINITE_ERROR,
        error_code=error,
        broker_id=response.broker_id,
        leader_epoch=_known(response.leader_epoch),
        partition_incarnation=response.partition_incarnation or None,
    )
    if is_produce and error is not None:
        return answer
    records = response.records if action == Fetch.action and error is None else ()
    return replace(
        answer,
        offset=_known(response.base_offset) if is_produce else None,
        high_watermark=_known(response.high_watermark),
        log_end_offset=None if is_produce else _known(response.log_end_offset),
        values=tuple(record.value for record in records),
        record_epochs=tuple(record.leader_epoch for record in records),
    )


def _known(number: int) -> int | None:
    """-1 stands for "no answer" on the wire; in a trace the field is then absent."""
    return None if number < 0 else number


def answered_fields(action: str, answer: Answer) -> Fields:
    """What the completion of an operation tells in the trace besides what was asked."""
    told: Fields = {
        "outcome": answer.outcome,
        "error_code": answer.error_code,
        "broker_id": answer.broker_id,
        "leader_epoch": answer.leader_epoch,
        "partition_incarnation": answer.partition_incarnation,
        "high_watermark": answer.high_watermark,
    }
    if action == Produce.action:
        told["offset"] = answer.offset
    else:
        told["log_end_offset"] = answer.log_end_offset
    if action == Fetch.action and answer.is_ok:
        told["values"] = list(answer.values)
        told["record_epochs"] = list(answer.record_epochs)
    return told
