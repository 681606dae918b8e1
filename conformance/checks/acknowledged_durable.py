"""`AcknowledgedDurable`: what acks=all acknowledged stays at its offset (REPL-004, CLI-004).

Every such record is in the complete final read at its offset, and no fetch invoked after the
acknowledgement shows another value there. Without a complete final read of the partition the
check is inconclusive, as it is for records between the final high watermark and the log end of
the leader that answered: the leader holds something there, and does not yet show it.
Records that an election outside the ISR may have lost, and said so, bind no later generation; those
of an incarnation of the partition that was deleted are gone with it.
"""

from collections.abc import Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.generations import Generations, generations
from fencepost.conformance.checks.incarnations import is_over, split_history
from fencepost.conformance.checks.log_history import (
    FinalRead,
    LogRecord,
    LogStanding,
    final_read,
    invoked_ns,
    known,
    read_history,
)
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant


def check(events: Sequence[TraceEvent]) -> CheckResult:
    """Judge the events of one partition; the premise counts acknowledged records."""
    evidence = Evidence(invariant=Invariant.ACKNOWLEDGED_DURABLE)
    for incarnation, life in split_history(read_history(events)):
        acknowledged = [r for r in life.records if r.standing is LogStanding.ACKNOWLEDGED]
        logs = generations(events, incarnation)
        if not is_over(incarnation, events):
            lasting = [r for r in acknowledged if logs.of(r.event.leader_epoch) == logs.last]
            _check_lasting(lasting, final_read(life.answers), evidence)
        _check_later_reads(acknowledged, life.answers, logs, evidence)
    return evidence.result()


def _check_lasting(
    lasting: Sequence[LogRecord], final: FinalRead | None, evidence: Evidence
) -> None:
    evidence.premise_count += len(lasting)
    for record in lasting:
        if final is not None:
            _check_final(record, final, evidence)
    if lasting and final is None:
        event = lasting[0].event
        evidence.doubt(f"There is no complete final read of {event.topic}/{event.partition}.")


def _check_final(record: LogRecord, final: FinalRead, evidence: Evidence) -> None:
    found = final.values[record.offset] if record.offset < len(final.values) else None
    if found == record.value or record.ret >= invoked_ns(final.last):
        return
    where = f"record {record.value} at offset {record.offset}"
    if found is not None:
        message = f"Acknowledged {where} is lost: the final read finds {found} there."
        evidence.violated(message, record.event, final.last)
    elif record.offset >= final.log_end_offset:
        message = f"Acknowledged {where} is lost: the final log ends at {final.log_end_offset}."
        evidence.violated(message, record.event, final.last)
    else:
        evidence.doubt(f"The final read ended below the log end, before acknowledged {where}.")


def _check_later_reads(
    acknowledged: Sequence[LogRecord],
    answers: Sequence[TraceEvent],
    logs: Generations,
    evidence: Evidence,
) -> None:
    at = {(logs.of(r.event.leader_epoch), r.offset): r for r in acknowledged}
    for answer in answers:
        if answer.action != "Fetch":
            continue
        generation = logs.of(answer.leader_epoch)
        for offset, value in enumerate(answer.values or (), start=known(answer.offset, 0)):
            record = at.get((generation, offset))
            if record is not None and record.value != value and record.ret < invoked_ns(answer):
                message = (
                    f"Offset {offset} was acknowledged as {record.value}, then read as {value}."
                )
                evidence.violated(message, record.event, answer)
                break
