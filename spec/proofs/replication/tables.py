"""The state of `Replication`: that of `LeaderAndIsr`, logs, answers, and their history."""

from dataclasses import dataclass

from fencepost.spec.proofs.logic import Function, Sort, Term
from fencepost.spec.proofs.state import SpecState, Table, of, table


@table
class RecordTable(Table):
    """Records are values: each has its epoch for ever."""

    leader_epoch: Function = of(Sort.RECORD, gives=Sort.EPOCH)


@table
class LogTable(Table):
    """`logs`: per broker its records and what it knows about offsets."""

    end: Function = of(Sort.BROKER, gives=Sort.OFFSET)
    """EndOffset(b)."""
    record: Function = of(Sort.BROKER, Sort.OFFSET, gives=Sort.RECORD)
    high_watermark: Function = of(Sort.BROKER, gives=Sort.OFFSET)
    is_truncated: Function = of(Sort.BROKER, gives=Sort.BOOLEAN)
    epoch_start: Function = of(Sort.BROKER, gives=Sort.OFFSET)
    end_offsets: Function = of(Sort.BROKER, Sort.BROKER, gives=Sort.OFFSET)


@table
class AnswerTable(Table):
    """`fetches`: answers are values; only whether one is in flight changes."""

    in_flight: Function = of(Sort.ANSWER, gives=Sort.BOOLEAN)
    sender: Function = of(Sort.ANSWER, gives=Sort.BROKER)
    to: Function = of(Sort.ANSWER, gives=Sort.BROKER)
    leader_epoch: Function = of(Sort.ANSWER, gives=Sort.EPOCH)
    offset: Function = of(Sort.ANSWER, gives=Sort.OFFSET)
    has_record: Function = of(Sort.ANSWER, gives=Sort.BOOLEAN)
    record: Function = of(Sort.ANSWER, gives=Sort.RECORD)
    high_watermark: Function = of(Sort.ANSWER, gives=Sort.OFFSET)
    copy: Function = of(Sort.ANSWER, gives=Sort.NUMBER)


@table
class EpochLogTable(Table):
    """History: the log of the leader of each epoch, while it led."""

    end: Function = of(Sort.EPOCH, gives=Sort.OFFSET)
    record: Function = of(Sort.EPOCH, Sort.OFFSET, gives=Sort.RECORD)
    start: Function = of(Sort.EPOCH, gives=Sort.OFFSET)
    """Where it ended when the epoch started."""
    committed: Function = of(Sort.EPOCH, gives=Sort.OFFSET)
    """The largest high watermark that its leader reached in it."""
    fetched: Function = of(Sort.EPOCH, Sort.BROKER, gives=Sort.OFFSET)
    """The largest offset from which a broker asked in it; of its leader, the end."""


@table
class CommitTable(Table):
    """History: the committed records as one log, and the epoch in which its end was committed."""

    end: Term = of(gives=Sort.OFFSET)
    record: Function = of(Sort.OFFSET, gives=Sort.RECORD)
    epoch: Term = of(gives=Sort.EPOCH)


@table
class AcknowledgementTable(Table):
    """History: what producers were told that it is kept."""

    was_told: Function = of(Sort.OFFSET, Sort.RECORD, gives=Sort.BOOLEAN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationState(SpecState):
    """A state of `Replication` with its history."""

    records: RecordTable
    logs: LogTable
    answers: AnswerTable
    epoch_logs: EpochLogTable
    commits: CommitTable
    acknowledgements: AcknowledgementTable
    is_choosable: Function | None = None
    """A symbol for `choosable`, where it is defined apart."""
