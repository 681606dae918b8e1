"""The actions of `Replication`: those of `LeaderAndIsr` with logs, and those of logs alone."""

from dataclasses import replace

from fencepost.spec.proofs.actions import ActionStep, action
from fencepost.spec.proofs.logic import Sort, Term, both, choose, either, maximum, minimum, no
from fencepost.spec.proofs.metadata import leader_and_isr as metadata
from fencepost.spec.proofs.metadata.decisions import DECISIONS
from fencepost.spec.proofs.metadata.leader_and_isr import (
    LEADER_AND_ISR,
    in_maximal_isr,
    is_leading,
)
from fencepost.spec.proofs.replication.tables import AnswerTable, LogTable, ReplicationState
from fencepost.spec.proofs.state import UNKNOWN, ReplicaRole

B, M, A, N = Sort.BROKER, Sort.MESSAGE, Sort.ANSWER, Sort.OFFSET


def answers_not_to(s: ReplicationState, b: Term) -> AnswerTable:
    """AnswersNotTo(b) are left."""
    answers = s.answers
    return answers.but(in_flight=lambda a: both(answers.in_flight(a), answers.to(a) != b))


def emptied(s: ReplicationState, b: Term, *, is_truncated: bool, epoch_start: Term) -> LogTable:
    """What a broker knew of offsets is forgotten; its records stay."""
    return s.logs.at(
        b,
        is_truncated=is_truncated,
        epoch_start=epoch_start,
        end_offsets=lambda _f: UNKNOWN,
    )


@action("BecomeLeader", B, M)
def become_leader(s: ReplicationState, b: Term, m: Term) -> ActionStep:
    """The log end is the start of the epoch; the epoch's log begins as this one."""
    told = metadata.become_leader.step(s, b, m)
    epoch, end = s.messages.leader_epoch(m), s.logs.end(b)
    again, history = s.epochs.is_started(epoch), s.epoch_logs
    begun = history.at(
        epoch,
        end=choose(again, history.end(epoch), end),
        start=choose(again, history.start(epoch), end),
        record=lambda i: choose(again, history.record(epoch, i), s.logs.record(b, i)),
        fetched=lambda x: choose(both(no(again), x == b), end, history.fetched(epoch, x)),
    )
    logs = emptied(s, b, is_truncated=True, epoch_start=end)
    return ActionStep(
        told.guard,
        replace(told.next, logs=logs, answers=answers_not_to(s, b), epoch_logs=begun),
    )


@action("BecomeFollower", B, M)
def become_follower(s: ReplicationState, b: Term, m: Term) -> ActionStep:
    """The fetcher stops, and the log must be truncated before it fetches again."""
    told = metadata.become_follower.step(s, b, m)
    logs = emptied(s, b, is_truncated=False, epoch_start=0)
    return ActionStep(told.guard, replace(told.next, logs=logs, answers=answers_not_to(s, b)))


@action("CrashBroker", B)
def crash_broker(s: ReplicationState, b: Term) -> ActionStep:
    """What a broker knew in memory is gone; its records are on disk."""
    told = metadata.crash_broker.step(s, b)
    logs = emptied(s, b, is_truncated=False, epoch_start=0)
    return ActionStep(told.guard, replace(told.next, logs=logs, answers=answers_not_to(s, b)))


@action("RestartBroker", B, N)
def restart_broker(s: ReplicationState, b: Term, checkpoint: Term) -> ActionStep:
    """The high watermark comes from a checkpoint, which may be any earlier one."""
    told = metadata.restart_broker.step(s, b)
    is_earlier = both(checkpoint >= 0, checkpoint <= s.logs.high_watermark(b))
    logs = s.logs.at(b, high_watermark=checkpoint)
    return ActionStep(both(told.guard, is_earlier), replace(told.next, logs=logs))


@action("RestartBroker", B, B, N, is_generalised=True)
def restart_as_another(s: ReplicationState, old: Term, new: Term, end: Term) -> ActionStep:
    """What was not synced is lost: any number of records is left, under a new broker epoch.

    No fetch was of that epoch.
    """
    told = metadata.restart_as_another.step(s, old, new)
    is_new = s.every(Sort.EPOCH, lambda e: s.epoch_logs.fetched(e, new) == 0)
    kept = both(end >= 0, end <= s.logs.end(old))
    logs = emptied(s, new, is_truncated=False, epoch_start=0).at(
        new,
        end=end,
        record=lambda i: s.logs.record(old, i),
        high_watermark=minimum(s.logs.high_watermark(old), end),
    )
    return ActionStep(both(told.guard, is_new, kept), replace(told.next, logs=logs))


def is_caught_up(s: ReplicationState, b: Term, f: Term) -> Term:
    """IsCaughtUp(b, f): fetched in this epoch up to the high watermark and the epoch's start."""
    reached = s.logs.end_offsets(b, f)
    return both(
        reached != UNKNOWN,
        reached >= s.logs.high_watermark(b),
        reached >= s.logs.epoch_start(b),
    )


@action("ExpandIsr", B, B)
def expand_isr(s: ReplicationState, b: Term, f: Term) -> ActionStep:
    """A replica may join when it has caught up."""
    told = metadata.expand_isr.step(s, b, f)
    return ActionStep(both(told.guard, is_caught_up(s, b, f)), told.next)


def is_led_by(s: ReplicationState, f: Term, b: Term) -> Term:
    """IsLedBy(f, b)."""
    return both(
        is_leading(s, b),
        s.replicas.leader(f) == b,
        s.replicas.leader_epoch(b) == s.replicas.leader_epoch(f),
    )


def is_fetching(s: ReplicationState, f: Term) -> Term:
    """IsFetching(f)."""
    return both(s.replicas.role(f) == ReplicaRole.FOLLOWER, s.logs.is_truncated(f))


def epoch_at(s: ReplicationState, b: Term, i: Term) -> Term:
    """The epoch of the record at an offset."""
    return s.records.leader_epoch(s.logs.record(b, i))


def ends(s: ReplicationState, b: Term, epoch: Term, offset: Term) -> Term:
    """The records of epochs up to one end at an offset in the log of b (EndOffsetForEpoch)."""
    end = s.logs.end(b)
    return both(
        offset >= 0,
        offset <= end,
        s.every(N, lambda i: either(i < 0, i >= offset, epoch_at(s, b, i) <= epoch)),
        s.every(N, lambda i: either(i < offset, i >= end, epoch_at(s, b, i) > epoch)),
    )


@action("TruncateLog", B)
def truncate_nothing(s: ReplicationState, b: Term) -> ActionStep:
    """An empty log has nothing to ask about."""
    leader = s.replicas.leader(b)
    return ActionStep(
        both(may_truncate(s, b, leader), s.logs.end(b) == 0),
        replace(s, logs=truncated(s, b, 0, is_truncated=True)),
    )


@action("TruncateLog", B, N, N)
def truncate_once(s: ReplicationState, b: Term, theirs: Term, mine: Term) -> ActionStep:
    """One question to the leader, and a cut; the specs' step is as many as it takes.

    The follower asks for its latest epoch, and is told the largest epoch of the leader that is not
    above it and where that ends. It is settled when that is the epoch that it asked for.
    """
    leader = s.replicas.leader(b)
    asked = epoch_at(s, b, s.logs.end(b) - 1)
    found = choose(theirs > 0, epoch_at(s, leader, theirs - 1), UNKNOWN)
    offset = minimum(theirs, mine)
    is_settled = either(found == asked, offset == 0)
    return ActionStep(
        both(
            may_truncate(s, b, leader),
            s.logs.end(b) > 0,
            ends(s, leader, asked, theirs),
            ends(s, b, found, mine),
        ),
        replace(s, logs=truncated(s, b, offset, is_truncated=is_settled)),
    )


def may_truncate(s: ReplicationState, b: Term, leader: Term) -> Term:
    """A follower that has not truncated, and the leader of exactly its epoch."""
    return both(
        s.replicas.role(b) == ReplicaRole.FOLLOWER,
        no(s.logs.is_truncated(b)),
        leader != s.no_broker,
        is_led_by(s, b, leader),
    )


def truncated(s: ReplicationState, b: Term, offset: Term, *, is_truncated: Term) -> LogTable:
    """Records [0, offset) stay."""
    return s.logs.at(
        b,
        end=offset,
        high_watermark=minimum(s.logs.high_watermark(b), offset),
        is_truncated=is_truncated,
    )


def has_enough_replicas(s: ReplicationState, b: Term) -> Term:
    """HasEnoughReplicas(b): the ISR is as large as `min.insync.replicas`."""
    return s.universe.is_enough(lambda f: s.replicas.isr(b, f))


@action("LeaderAppend", B, Sort.RECORD)
def leader_append(s: ReplicationState, b: Term, record: Term) -> ActionStep:
    """A client's record, of any content, reaches a broker that believes that it leads."""
    epoch, end, history = s.replicas.leader_epoch(b), s.logs.end(b), s.epoch_logs
    logs = s.logs.at(b, end=end + 1, record=lambda i: choose(i == end, record, s.logs.record(b, i)))
    grown = history.at(
        epoch,
        end=history.end(epoch) + 1,
        record=lambda i: choose(i == history.end(epoch), record, history.record(epoch, i)),
        fetched=lambda x: choose(x == b, history.end(epoch) + 1, history.fetched(epoch, x)),
    )
    return ActionStep(
        both(
            is_leading(s, b),
            has_enough_replicas(s, b),
            s.records.leader_epoch(record) == epoch,
        ),
        replace(s, logs=logs, epoch_logs=grown),
    )


@action("ServeFetch", B, B, A)
def serve_fetch(s: ReplicationState, b: Term, f: Term, answer: Term) -> ActionStep:
    """The leader learns the follower's end and answers with at most one record."""
    answers, end = s.answers, s.logs.end(f)
    epoch = s.replicas.leader_epoch(f)
    has_record = end < s.logs.end(b)
    is_answer = both(
        answers.sender(answer) == b,
        answers.to(answer) == f,
        answers.copy(answer) == 1,
        answers.leader_epoch(answer) == epoch,
        answers.offset(answer) == end,
        answers.high_watermark(answer) == s.logs.high_watermark(b),
        answers.has_record(answer) == has_record,
        either(no(has_record), answers.record(answer) == s.logs.record(b, end)),
    )

    def in_flight(a: Term) -> Term:
        is_superseded = both(answers.to(a) == f, answers.copy(a) == 1)
        return either(a == answer, both(answers.in_flight(a), no(is_superseded)))

    fetched = s.epoch_logs.fetched
    return ActionStep(
        both(b != f, is_fetching(s, f), is_led_by(s, f, b), end <= s.logs.end(b), is_answer),
        replace(
            s,
            logs=_learned(s, b, f, end),
            answers=answers.but(in_flight=in_flight),
            epoch_logs=s.epoch_logs.at(
                epoch,
                fetched=lambda x: choose(
                    x == f, maximum(fetched(epoch, f), end), fetched(epoch, x)
                ),
            ),
        ),
    )


def _learned(s: ReplicationState, b: Term, f: Term, offset: Term) -> LogTable:
    known = s.logs.end_offsets
    return s.logs.at(b, end_offsets=lambda x: choose(x == f, offset, known(b, x)))


@action("ServeFetch", B, B, N, is_generalised=True)
def serve_late_fetch(s: ReplicationState, b: Term, f: Term, offset: Term) -> ActionStep:
    """A fetch of this epoch that was sent long ago, or comes once more; its answer is lost."""
    epoch = s.replicas.leader_epoch(b)
    was_sent = both(offset >= 0, offset <= s.epoch_logs.fetched(epoch, f))
    return ActionStep(
        both(b != f, is_leading(s, b), was_sent), replace(s, logs=_learned(s, b, f, offset))
    )


@action("FollowerAppend", B, A)
def follower_append(s: ReplicationState, f: Term, answer: Term) -> ActionStep:
    """The answer that the follower waits for; the high watermark is bounded by its own log end."""
    answers, end = s.answers, s.logs.end(f)
    grown = choose(answers.has_record(answer), end + 1, end)
    record = choose(answers.has_record(answer), answers.record(answer), s.logs.record(f, end))
    logs = s.logs.at(
        f,
        end=grown,
        record=lambda i: choose(i == end, record, s.logs.record(f, i)),
        high_watermark=minimum(answers.high_watermark(answer), grown),
    )
    return ActionStep(
        both(
            answers.in_flight(answer),
            answers.to(answer) == f,
            is_fetching(s, f),
            answers.sender(answer) == s.replicas.leader(f),
            answers.leader_epoch(answer) == s.replicas.leader_epoch(f),
            answers.offset(answer) == end,
        ),
        replace(s, logs=logs, answers=answers.at(answer, in_flight=False)),
    )


def reached_by_quorum(s: ReplicationState, b: Term, offset: Term) -> Term:
    """The smallest log end offset of the maximal ISR, the leader's own included."""
    known = s.logs.end_offsets

    def is_other(f: Term) -> Term:
        return both(f != b, in_maximal_isr(s, b, f))

    return both(
        offset <= s.logs.end(b),
        s.every(B, lambda f: either(no(is_other(f)), offset <= known(b, f))),
        either(
            offset == s.logs.end(b),
            s.some(B, lambda f: both(is_other(f), offset == known(b, f))),
        ),
    )


def with_committed(
    s: ReplicationState, b: Term, offset: Term, *, may_acknowledge: Term = None
) -> ReplicationState:
    """The high watermark of b is at an offset: what is below is committed.

    It is acknowledged if the ISR is large enough, or if that is told otherwise.
    """
    if may_acknowledge is None:
        may_acknowledge = has_enough_replicas(s, b)
    epoch, commits = s.replicas.leader_epoch(b), s.commits
    committed = maximum(s.epoch_logs.committed(epoch), offset)
    is_further, told = offset > commits.end, s.acknowledgements.was_told

    def was_told(i: Term, record: Term) -> Term:
        is_below = both(i >= 0, i < offset, record == s.logs.record(b, i))
        return either(told(i, record), both(is_below, may_acknowledge))

    return replace(
        s,
        logs=s.logs.at(b, high_watermark=offset),
        epoch_logs=s.epoch_logs.at(epoch, committed=committed),
        commits=commits.but(
            end=choose(is_further, offset, commits.end),
            epoch=choose(is_further, epoch, commits.epoch),
            record=lambda i: choose(i < commits.end, commits.record(i), s.logs.record(b, i)),
        ),
        acknowledgements=s.acknowledgements.but(was_told=was_told),
    )


@action("AdvanceHighWatermark", B, N)
def advance_high_watermark(s: ReplicationState, b: Term, offset: Term) -> ActionStep:
    """It may move at any time, not only on a fetch."""
    return ActionStep(
        both(
            is_leading(s, b),
            offset > s.logs.high_watermark(b),
            reached_by_quorum(s, b, offset),
        ),
        with_committed(s, b, offset),
    )


@action("LoseMessage", A)
def lose_answer(s: ReplicationState, a: Term) -> ActionStep:
    """An answer never arrives."""
    return ActionStep(s.answers.in_flight(a), replace(s, answers=s.answers.at(a, in_flight=False)))


@action("DuplicateMessage", A, A)
def duplicate_answer(s: ReplicationState, a: Term, second: Term) -> ActionStep:
    """A second copy, which arrives at any time."""
    answers = s.answers
    fields = ("sender", "to", "leader_epoch", "offset", "has_record", "record", "high_watermark")
    is_copy = both(
        answers.copy(a) == 1,
        answers.copy(second) == 2,
        *(getattr(answers, name)(a) == getattr(answers, name)(second) for name in fields),
    )
    return ActionStep(
        both(answers.in_flight(a), is_copy),
        replace(s, answers=answers.at(second, in_flight=True)),
    )


WITH_LOGS = (
    become_leader,
    become_follower,
    crash_broker,
    restart_broker,
    restart_as_another,
    expand_isr,
)
OF_LOGS = (
    truncate_nothing,
    truncate_once,
    leader_append,
    serve_fetch,
    serve_late_fetch,
    follower_append,
    advance_high_watermark,
    lose_answer,
    duplicate_answer,
)
_REPLACED = {one.way for one in WITH_LOGS}
REPLICATION = (
    *(one for one in (*DECISIONS, *LEADER_AND_ISR) if one.way not in _REPLACED),
    *WITH_LOGS,
    *OF_LOGS,
)
"""Actions of `LeaderAndIsr` that leave the logs as they are are the same."""
