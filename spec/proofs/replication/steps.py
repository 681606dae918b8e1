"""What is claimed of steps of `Replication`, and what the invariant says at an action."""

from fencepost.spec.proofs.clauses import clause
from fencepost.spec.proofs.logic import Sort, Term, both, implies, no
from fencepost.spec.proofs.metadata.decisions import in_state_isr
from fencepost.spec.proofs.metadata.invariant import is_acting_leader
from fencepost.spec.proofs.metadata.leader_and_isr import in_maximal_isr, is_leading
from fencepost.spec.proofs.replication.actions import epoch_at
from fencepost.spec.proofs.replication.invariant import below
from fencepost.spec.proofs.replication.tables import ReplicationState

B, N, R = Sort.BROKER, Sort.OFFSET, Sort.RECORD
S = ReplicationState


@clause("CutKeepsWhatIsShared", N)
def cut_keeps_what_is_shared(s: S, b: Term, theirs: Term, mine: Term, i: Term) -> Term:
    """A follower cuts no record of an epoch that its leader has at the same offset."""
    leader = s.replicas.leader(b)
    is_shared = both(
        below(i, s.logs.end(b)),
        i < s.logs.end(leader),
        epoch_at(s, b, i) == epoch_at(s, leader, i),
    )
    return implies(is_shared, both(i < theirs, i < mine))


@clause("QuorumHoldsWhatIsCommitted", B, N)
def quorum_holds_what_is_committed(s: S, b: Term, offset: Term, f: Term, i: Term) -> Term:
    """Those that a leader waits for have what it commits, at that moment."""
    return implies(
        in_maximal_isr(s, b, f),
        both(
            offset <= s.logs.end(f),
            implies(below(i, offset), s.logs.record(f, i) == s.logs.record(b, i)),
        ),
    )


LEMMAS = {
    "truncate_once": cut_keeps_what_is_shared,
    "advance_high_watermark": quorum_holds_what_is_committed,
}
"""By the way to take the action."""


@clause("HighWatermarkMonotonic", B, is_property=True, is_of_step=True)
def high_watermark_monotonic(before: S, after: S, b: Term) -> Term:
    """While a broker leads under one epoch, its high watermark does not fall."""
    is_same_leader = both(
        is_leading(before, b),
        is_leading(after, b),
        before.replicas.leader_epoch(b) == after.replicas.leader_epoch(b),
    )
    return implies(is_same_leader, after.logs.high_watermark(b) >= before.logs.high_watermark(b))


@clause("MinInsyncReplicasHonoured", N, R, is_property=True, is_of_step=True)
def min_insync_replicas_honoured(before: S, after: S, i: Term, record: Term) -> Term:
    """A record that is acknowledged is in as many logs as min.insync.replicas asks for."""

    def has_record(b: Term) -> Term:
        return both(i < after.logs.end(b), after.logs.record(b, i) == record)

    return implies(
        both(
            after.acknowledgements.was_told(i, record),
            no(before.acknowledgements.was_told(i, record)),
        ),
        after.universe.is_enough(has_record),
    )


@clause("NoAppendUnderSmallIsr", B, is_property=True, is_of_step=True)
def no_append_under_small_isr(before: S, after: S, b: Term) -> Term:
    """A leader with the newest state takes no record while its ISR is smaller than that."""
    return implies(
        both(
            is_acting_leader(before, b),
            before.replicas.znode_version(b) == before.znodes.version,
            after.logs.end(b) > before.logs.end(b),
        ),
        before.universe.is_enough(lambda x: in_state_isr(before, x)),
    )


STEPS = (high_watermark_monotonic, min_insync_replicas_honoured, no_append_under_small_isr)
"""What holds of every step."""
