"""Wrong rules for logs: each lacks what makes the right one right."""

from dataclasses import replace

from fencepost.spec.proofs.actions import ActionStep, action
from fencepost.spec.proofs.logic import Sort, Term, both, choose, either, maximum, no
from fencepost.spec.proofs.metadata import leader_and_isr as metadata
from fencepost.spec.proofs.metadata.decisions import exists, in_state_isr
from fencepost.spec.proofs.metadata.leader_and_isr import is_leading
from fencepost.spec.proofs.module import WrongRule
from fencepost.spec.proofs.replication.actions import (
    advance_high_watermark,
    become_follower,
    become_leader,
    crash_broker,
    follower_append,
    is_caught_up,
    is_fetching,
    leader_append,
    restart_as_another,
    truncate_once,
    truncated,
    with_committed,
)
from fencepost.spec.proofs.replication.tables import ReplicationState
from fencepost.spec.proofs.small import Size
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


@action("TruncateLog", B, N, N)
def trust_first_answer(s: ReplicationState, b: Term, theirs: Term, mine: Term) -> ActionStep:
    """The first answer settles it, whatever epoch it is about."""
    right = truncate_once.step(s, b, theirs, mine)
    return ActionStep(
        right.guard, replace(right.next, logs=right.next.logs.at(b, is_truncated=True))
    )


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
def lead_with_answers(s: ReplicationState, b: Term, m: Term) -> ActionStep:
    """Answers to a fetcher that is stopped stay in flight."""
    right = become_leader.step(s, b, m)
    return ActionStep(right.guard, replace(right.next, answers=s.answers))


@action("BecomeFollower", B, M)
def follow_with_answers(s: ReplicationState, b: Term, m: Term) -> ActionStep:
    """Answers to a fetcher that is stopped stay in flight."""
    right = become_follower.step(s, b, m)
    return ActionStep(right.guard, replace(right.next, answers=s.answers))


@action("FollowerAppend", B, A)
def append_from_any_leader(s: ReplicationState, f: Term, answer: Term) -> ActionStep:
    """An answer is compared with neither the leader that the follower has nor its epoch."""
    answers = s.answers
    guard = both(
        answers.in_flight(answer),
        answers.to(answer) == f,
        is_fetching(s, f),
        answers.offset(answer) == s.logs.end(f),
    )
    return ActionStep(guard, follower_append.step(s, f, answer).next)


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


@action("AdvanceHighWatermark", B, N)
def recompute_high_watermark(s: ReplicationState, b: Term, offset: Term) -> ActionStep:
    """It is what the quorum has told, wherever it was; silence counts as an empty log."""
    known = s.logs.end_offsets

    def has_told(f: Term) -> Term:
        return either(
            f == b, no(metadata.in_maximal_isr(s, b, f)), offset <= maximum(known(b, f), 0)
        )

    guard = both(
        is_leading(s, b),
        offset >= 0,
        offset <= s.logs.end(b),
        offset != s.logs.high_watermark(b),
        s.every(B, has_told),
    )
    return ActionStep(guard, with_committed(s, b, offset))


@action("LeaderAppend", B, Sort.RECORD)
def acknowledge_at_once(s: ReplicationState, b: Term, record: Term) -> ActionStep:
    """A record is acknowledged when its leader has it."""
    right = leader_append.step(s, b, record)
    told, end = s.acknowledgements.was_told, s.logs.end(b)
    acknowledgements = s.acknowledgements.but(
        was_told=lambda i, one: either(told(i, one), both(i == end, one == record))
    )
    return ActionStep(right.guard, replace(right.next, acknowledgements=acknowledgements))


@action("LeaderAppend", B, Sort.RECORD)
def append_under_any_isr(s: ReplicationState, b: Term, record: Term) -> ActionStep:
    """A record is appended under any ISR."""
    guard = both(is_leading(s, b), s.records.leader_epoch(record) == s.replicas.leader_epoch(b))
    return ActionStep(guard, leader_append.step(s, b, record).next)


@action("AdvanceHighWatermark", B, N)
def acknowledge_under_any_isr(s: ReplicationState, b: Term, offset: Term) -> ActionStep:
    """What was taken is acknowledged, however small the ISR has become."""
    right = advance_high_watermark.step(s, b, offset)
    return ActionStep(right.guard, with_committed(s, b, offset, may_acknowledge=True))


@action("CrashBroker", B, N)
def lose_tail_in_isr(s: ReplicationState, b: Term, offset: Term) -> ActionStep:
    """A broker loses its last records in a crash, and counts as in sync when it comes back."""
    right = crash_broker.step(s, b)
    cut = truncated(right.next, b, offset, is_truncated=False)
    return ActionStep(
        both(right.guard, offset >= 0, offset < s.logs.end(b)), replace(right.next, logs=cut)
    )


@action("RestartBroker", B, B, N)
def return_as_member(s: ReplicationState, old: Term, new: Term, end: Term) -> ActionStep:
    """The ISR in ZooKeeper holds ids: a new incarnation is the member of before."""
    right = restart_as_another.step(s, old, new, end)
    znodes, version = right.next.znodes, s.znodes.version

    def by_id(b: Term) -> Term:
        return choose(b == new, in_state_isr(s, old), both(b != old, in_state_isr(s, b)))

    return ActionStep(
        both(right.guard, exists(s)), replace(right.next, znodes=znodes.at(version, isr=by_id))
    )


@action("ExpandIsr", B, B, B)
def expand_with_offset_of_former(s: ReplicationState, b: Term, old: Term, new: Term) -> ActionStep:
    """A leader knows offsets by id: what the process before held, the one after has."""
    told = metadata.expand_isr.step(s, b, new)
    is_former = both(s.replicas.role(old) == ReplicaRole.DOWN, old != new, is_caught_up(s, b, old))
    return ActionStep(both(told.guard, is_former), told.next)


FOUR_EPOCHS = Size(brokers=2, controllers=1, messages=1, answers=1, records=3, newest=3, log_end=2)
"""Two brokers that led by turns, each with records of its own."""

WRONG_REPLICATION = (
    *(
        WrongRule(name=name, hazard=hazard, breaks=breaks, actions=actions)
        for name, hazard, breaks, actions in (
            ("inclusive_high_watermark", "H0", "CommittedDurable", (commit_one_more,)),
            ("compare_broker_ids_only", "H2", "CommittedDurable", (lose_tail_in_isr,)),
            ("broker_epochs_in_memory", "H2b", "CommittedDurable", (return_as_member,)),
            (
                "remember_end_offset_over_bounce",
                "H3",
                "CommittedByQuorum",
                (expand_with_offset_of_former,),
            ),
            (
                "acknowledge_before_replication",
                "REPL-008",
                "AcknowledgedDurable",
                (acknowledge_at_once,),
            ),
            (
                "append_under_a_small_isr",
                "REPL-008",
                "NoAppendUnderSmallIsr",
                (append_under_any_isr,),
            ),
            (
                "acknowledge_under_a_small_isr",
                "REPL-008",
                "MinInsyncReplicasHonoured",
                (acknowledge_under_any_isr,),
            ),
            (
                "recompute_high_watermark",
                "REPL-002",
                "HighWatermarkMonotonic",
                (recompute_high_watermark,),
            ),
            (
                "truncate_on_new_leader_only",
                "H16",
                "FollowersMatchLeader",
                (keep_log_of_same_leader,),
            ),
            (
                "append_from_old_leader",
                "H16b",
                "LogMatching",
                (lead_with_answers, follow_with_answers, append_from_any_leader),
            ),
            (
                "truncation_to_high_watermark",
                "H17",
                "CommittedDurable",
                (truncate_to_high_watermark,),
            ),
            ("remember_end_offsets", "H18", "LeaderKnowsOffsets", (remember_end_offsets,)),
            ("expand_laggards", "H35", "CommittedByQuorum", (expand_laggards,)),
            ("expand_below_epoch_start", "H36", "CommittedByQuorum", (expand_below_epoch_start,)),
            ("commit_with_old_isr", "H39", "CommittedDurable", (commit_with_old_isr,)),
            ("fetch_without_epoch", "H41", "FetchedIsHeld", (serve_any_epoch,)),
            ("unbounded_high_watermark", "H42", "LogMatching", (take_high_watermark_as_it_comes,)),
            ("high_watermark_from_leader_alone", "REPL-002", "CommittedDurable", (commit_alone,)),
        )
    ),
    WrongRule(
        name="truncate_once",
        hazard="KIP-279.1",
        breaks="FollowersMatchLeader",
        actions=(trust_first_answer,),
        size=FOUR_EPOCHS,
    ),
)
