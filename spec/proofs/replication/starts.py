"""The initial states of `Replication`: no records, in either start of the metadata."""

from fencepost.spec.proofs.logic import Sort, Term, both, no
from fencepost.spec.proofs.metadata import starts
from fencepost.spec.proofs.replication.tables import ReplicationState
from fencepost.spec.proofs.state import NO_EPOCH, UNKNOWN

B, E = Sort.BROKER, Sort.EPOCH


def starts_empty(s: ReplicationState) -> Term:
    """Nothing exists."""
    return both(starts.starts_empty(s), _has_no_records(s, is_truncated=False))


def starts_serving(s: ReplicationState) -> Term:
    """The first leader serves."""
    return both(starts.starts_serving(s), _has_no_records(s, is_truncated=True))


def _has_no_records(s: ReplicationState, *, is_truncated: bool) -> Term:
    logs, history = s.logs, s.epoch_logs
    return both(
        s.commits.end == 0,
        s.commits.epoch == NO_EPOCH,
        s.every(
            Sort.OFFSET, Sort.RECORD, lambda i, record: no(s.acknowledgements.was_told(i, record))
        ),
        s.every(Sort.ANSWER, lambda a: no(s.answers.in_flight(a))),
        s.every(
            B,
            lambda b: both(
                logs.end(b) == 0,
                logs.high_watermark(b) == 0,
                logs.epoch_start(b) == 0,
                logs.is_truncated(b) == is_truncated,
            ),
        ),
        s.every(B, B, lambda b, f: logs.end_offsets(b, f) == UNKNOWN),
        s.every(
            E,
            lambda e: both(history.end(e) == 0, history.start(e) == 0, history.committed(e) == 0),
        ),
        s.every(E, B, lambda e, b: history.fetched(e, b) == 0),
    )
