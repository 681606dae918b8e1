"""Wrong rules for logs: each lacks what makes the right one right."""

from dataclasses import replace

from fencepost.spec.proofs.actions import ActionStep, action
from fencepost.spec.proofs.logic import Sort, Term, both, choose, either, maximum, no
from fencepost.spec.proofs.metadata import leader_and_isr as metadata
from fencepost.spec.proofs.metadata.leader_and_isr import is_leading
from fencepost.spec.proofs.module import WrongRule
from fencepost.spec.proofs.replication.actions import (
    become_follower,
    become_leader,
    crash_broker,
    follower_append,
    is_fetching,
    truncated,
    with_committed,
)
from fencepost.spec.proofs.replication.tables import ReplicationState
from fencepost.spec.proofs.state import UNKNOWN, ReplicaRole

B, M, A, N = Sort.BROKER, Sort.MESSAGE, Sort.ANSWER, Sort.OFFSET


@action("TruncateLog", B)
def truncate_to_high_watermark(s: ReplicationState, b: Term) -> ActionStep:
    """A follower cuts at its own high watermark and asks no broker."""
    guard = both(
        s.replicas.role(b) == ReplicaRole.FOLLOWER,
        no(s.logs.is_truncated(b)),
        s.replicas.leader(b) != s.no_broker,
    )
    offset = s.logs.high_watermark(b)
    return ActionStep(guard, replace(s, logs=truncated(s, b, offset, is_truncated=True)))


@action("BecomeFollower", B, M)
def keep_log_of_same_leader(s: ReplicationState, b: Term, m: Term) -> ActionStep:
    """A follower of the same leader does not truncate again."""
    right = become_follower.step(s, b, m)
    is_same = both(
        s.replicas.role(b) == ReplicaRole.FOLLOWER,
        s.replicas.leader(b) == s.messages.leader(m),
        s.logs.is_truncated(b),
    )
    return ActionStep(
        both(right.guard, is_same),
        replace(right.next, logs=right.next.logs.at(b, is_truncated=True)),
    )


@action("BecomeLeader", B, M)
def remember_end_offsets(s: ReplicationState, b: Term, m: Term) -> ActionStep:
    """A new leader takes what followers held long ago for what they hold."""
    right = become_leader.step(s, b, m)
    logs = right.next.logs.at(b, end_offsets=lambda f: s.logs.end_offsets(b, f))
    return ActionStep(right.guard, replace(right.next, logs=logs))


@action("ExpandIsr", B, B)
def expand_below_epoch_start(s: ReplicationState, b: Term, f: Term) -> ActionStep:
    """A replica joins at the leader's high watermark, which may lag."""
    told = metadata.expand_isr.step(s, b, f)
    reached = s.logs.end_offsets(b, f)
    is_there = both(reached != UNKNOWN, reached >= s.logs.high_watermark(b))
    return ActionStep(both(told.guard, is_there), told.next)


@action("ExpandIsr", B, B)
def expand_laggards(s: ReplicationState, b: Term, f: Term) -> ActionStep:
    """A replica joins that has asked for anything in this epoch."""
    told = metadata.expand_isr.step(s, b, f)
    return ActionStep(both(told.guard, s.logs.end_offsets(b, f) != UNKNOWN), told.next)


@action("ServeFetch", B, B)
def serve_any_epoch(s: ReplicationState, b: Term, f: Term) -> ActionStep:
    """A fetch says nothing of its epoch, and counts for the leader's."""
    epoch, end, known = s.replicas.leader_epoch(b), s.logs.end(f), s.logs.end_offsets
    fetched = s.epoch_logs.fetched
    history = s.epoch_logs.at(
        epoch,
        fetched=lambda x: choose(x == f, maximum(fetched(epoch, f), end), fetched(epoch, x)),
    )
    return ActionStep(
        both(
            b != f,
            is_leading(s, b),
            is_fetching(s, f),
            s.replicas.leader(f) == b,
            end <= s.logs.end(b),
        ),
        replace(
            s,
            logs=s.logs.at(b, end_offsets=lambda x: choose(x == f, end, known(b, x))),
            epoch_logs=history,
        ),
    )


@action("FollowerAppend", B, A)
def take_high_watermark_as_it_comes(s: ReplicationState, f: Term, answer: Term) -> ActionStep:
    """A follower's high watermark is not bounded by its own log end."""
    right = follower_append.step(s, f, answer)
    mark = s.answers.high_watermark(answer)
    return ActionStep(
        right.guard, replace(right.next, logs=right.next.logs.at(f, high_watermark=mark))
    )


def reached_by(s: ReplicationState, b: Term, offset: Term, quorum: Term) -> Term:
    """A quorum, the leader aside, has reached an offset in the leader's log."""
    known = s.logs.end_offsets
    return both(
        is_leading(s, b),
        offset > s.logs.high_watermark(b),
        offset <= s.logs.end(b),
        s.every(B, lambda f: either(f == b, no(quorum(f)), offset <= known(b, f))),
    )


@action("AdvanceHighWatermark", B, N)
def commit_with_old_isr(s: ReplicationState, b: Term, offset: Term) -> ActionStep:
    """A leader commits without the replica that it is adding."""
    guard = reached_by(s, b, offset, lambda f: s.replicas.isr(b, f))
    return ActionStep(guard, with_committed(s, b, offset))


@action("AdvanceHighWatermark", B, N)
def commit_alone(s: ReplicationState, b: Term, offset: Term) -> ActionStep:
    """A leader commits what it has itself."""
    return ActionStep(reached_by(s, b, offset, lambda _f: False), with_committed(s, b, offset))


@action("AdvanceHighWatermark", B, N)
def commit_one_more(s: ReplicationState, b: Term, offset: Term) -> ActionStep:
    """The high watermark is taken for the offset of the last committed record."""
    known = s.logs.end_offsets
    guard = both(
        is_leading(s, b),
        offset > s.logs.high_watermark(b),
        offset <= s.logs.end(b),
        s.every(
            B,
            lambda f: either(
                f == b, no(metadata.in_maximal_isr(s, b, f)), offset <= known(b, f) + 1
            ),
        ),
    )
    return ActionStep(guard, with_committed(s, b, offset))


@action("CrashBroker", B, N)
def lose_tail_in_isr(s: ReplicationState, b: Term, offset: Term) -> ActionStep:
    """A broker loses its last records in a crash, and counts as in sync when it comes back."""
    right = crash_broker.step(s, b)
    cut = truncated(right.next, b, offset, is_truncated=False)
    return ActionStep(
        both(right.guard, offset >= 0, offset < s.logs.end(b)), replace(right.next, logs=cut)
    )


WRONG_REPLICATION = tuple(
    WrongRule(name=name, hazard=hazard, breaks=breaks, actions=actions)
    for name, hazard, breaks, actions in (
        ("inclusive_high_watermark", "H0", "CommittedDurable", (commit_one_more,)),
        ("compare_broker_ids_only", "H2", "CommittedDurable", (lose_tail_in_isr,)),
        ("truncate_on_new_leader_only", "H16", "FollowersMatchLeader", (keep_log_of_same_leader,)),
        ("truncation_to_high_watermark", "H17", "CommittedDurable", (truncate_to_high_watermark,)),
        ("remember_end_offsets", "H18", "LeaderKnowsOffsets", (remember_end_offsets,)),
        ("expand_laggards", "H35", "CommittedByQuorum", (expand_laggards,)),
        ("expand_below_epoch_start", "H36", "CommittedByQuorum", (expand_below_epoch_start,)),
        ("commit_with_old_isr", "H39", "CommittedDurable", (commit_with_old_isr,)),
        ("fetch_without_epoch", "H41", "FetchedIsHeld", (serve_any_epoch,)),
        ("unbounded_high_watermark", "H42", "LogMatching", (take_high_watermark_as_it_comes,)),
        ("high_watermark_from_leader_alone", "REPL-002", "CommittedDurable", (commit_alone,)),
    )
)
