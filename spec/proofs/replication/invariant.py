"""The inductive invariant of `Replication`: its properties, and what their proof needs.

A record count `n` of an epoch d is *choosable* when the leader of d may have committed n records,
or still may: every member of the last ISR of d has asked for as much in d, or has obeyed no later
epoch. What is choosable in d is in the log of every later leader, from its start, and on every
member of every later ISR that has obeyed a later epoch than d.
"""

from fencepost.spec.proofs.clauses import clause
from fencepost.spec.proofs.logic import Sort, Term, both, choose, either, implies, no
from fencepost.spec.proofs.metadata.decisions import exists, in_state_isr
from fencepost.spec.proofs.metadata.invariant import is_acting_leader
from fencepost.spec.proofs.metadata.leader_and_isr import is_leading
from fencepost.spec.proofs.replication.actions import is_fetching, is_led_by
from fencepost.spec.proofs.replication.tables import ReplicationState

B, E, N, A, K, R = (
    Sort.BROKER,
    Sort.EPOCH,
    Sort.OFFSET,
    Sort.ANSWER,
    Sort.COUNT,
    Sort.RECORD,
)
S = ReplicationState


def below(i: Term, n: Term) -> Term:
    """0 <= i < n."""
    return both(i >= 0, i < n)


def was_written(s: S, e: Term) -> Term:
    """The znode has had epoch e."""
    return both(e >= 0, e <= s.history.newest_epoch)


def ever_obeyed(s: S, b: Term) -> Term:
    """The largest leader epoch that a broker obeyed."""
    return s.obedience.leader_epoch(b)


def is_lost(s: S, d: Term, n: Term, b: Term) -> Term:
    """A member of the last ISR of d will never hold n records of it for its leader."""
    return both(s.epochs.isr(d, b), s.epoch_logs.fetched(d, b) < n, ever_obeyed(s, b) > d)


def is_choosable(s: S, d: Term, n: Term) -> Term:
    """The leader of d may have committed n records, or still may."""
    if s.is_choosable is not None:
        return s.is_choosable(d, n)
    return s.every(B, lambda b: no(is_lost(s, d, n, b)))


@clause("EpochLogs", E, B)
def epoch_logs(s: S, e: Term, b: Term) -> Term:
    """The log of an epoch begins when the epoch starts."""
    history = s.epoch_logs
    return both(
        history.start(e) >= 0,
        history.start(e) <= history.end(e),
        history.committed(e) >= 0,
        history.committed(e) <= history.end(e),
        history.fetched(e, b) >= 0,
        history.fetched(e, b) <= history.end(e),
        implies(
            no(s.epochs.is_started(e)),
            both(history.end(e) == 0, history.fetched(e, b) == 0, history.committed(e) == 0),
        ),
    )


@clause("LogsAreOfLeaders", B, N, N)
def logs_are_of_leaders(s: S, b: Term, i: Term, j: Term) -> Term:
    """A record is in the log of the leader of its epoch, with all before it."""
    record = s.logs.record(b, i)
    epoch = s.records.leader_epoch(record)
    return both(
        s.logs.end(b) >= 0,
        implies(
            both(j >= 0, below(i, s.logs.end(b)), j <= i),
            both(
                s.epochs.is_started(epoch),
                epoch <= ever_obeyed(s, b),
                s.epoch_logs.start(epoch) <= i,
                i < s.epoch_logs.end(epoch),
                s.logs.record(b, j) == s.epoch_logs.record(epoch, j),
            ),
        ),
    )


@clause("LogsOfLeadersMatch", E, N, N)
def logs_of_leaders_match(s: S, e: Term, i: Term, j: Term) -> Term:
    """So it is in the log of an epoch; its own records are those from its start on."""
    epoch, history = s.records.leader_epoch(s.epoch_logs.record(e, i)), s.epoch_logs
    return implies(
        both(s.epochs.is_started(e), j >= 0, below(i, history.end(e)), j <= i),
        both(
            s.epochs.is_started(epoch),
            epoch <= e,
            history.start(epoch) <= i,
            i < history.end(epoch),
            history.record(e, j) == history.record(epoch, j),
            (epoch == e) == (i >= history.start(e)),
        ),
    )


@clause("LeaderHasLogOfEpoch", E, N)
def leader_has_log_of_epoch(s: S, e: Term, i: Term) -> Term:
    """While the leader of an epoch obeys no later one, its log is that of the epoch."""
    leader, history = s.epochs.leader(e), s.epoch_logs
    return implies(
        both(s.epochs.is_started(e), ever_obeyed(s, leader) == e),
        both(
            s.logs.end(leader) == history.end(e),
            history.fetched(e, leader) == history.end(e),
            implies(below(i, history.end(e)), s.logs.record(leader, i) == history.record(e, i)),
        ),
    )


@clause("FollowerHasLogOfEpoch", B, N)
def follower_has_log_of_epoch(s: S, b: Term, i: Term) -> Term:
    """What a truncated follower has, its leader's log begins with."""
    epoch = ever_obeyed(s, b)
    is_follower = both(s.logs.is_truncated(b), epoch >= 0, s.epochs.leader(epoch) != b)
    return implies(
        is_follower,
        both(
            s.epochs.is_started(epoch),
            s.logs.end(b) <= s.epoch_logs.end(epoch),
            implies(
                below(i, s.logs.end(b)),
                s.logs.record(b, i) == s.epoch_logs.record(epoch, i),
            ),
        ),
    )


@clause("FetchedIsHeld", E, B, N)
def fetched_is_held(s: S, e: Term, b: Term, i: Term) -> Term:
    """What a broker has asked for in an epoch it holds, as long as it obeys that epoch."""
    fetched = s.epoch_logs.fetched(e, b)
    obeys = ever_obeyed(s, b) == e
    return both(
        implies(fetched > 0, ever_obeyed(s, b) >= e),
        implies(obeys, fetched <= s.logs.end(b)),
        implies(
            both(obeys, below(i, fetched)),
            s.logs.record(b, i) == s.epoch_logs.record(e, i),
        ),
    )


@clause("CommittedByQuorum", E, B)
def committed_by_quorum(s: S, e: Term, b: Term) -> Term:
    """What the leader of an epoch committed, its whole quorum has asked for."""
    return implies(
        both(was_written(s, e), s.epochs.maximal_isr(e, b)),
        s.epoch_logs.committed(e) <= s.epoch_logs.fetched(e, b),
    )


@clause("LeaderKnowsOffsets", B, B)
def leader_knows_offsets(s: S, b: Term, f: Term) -> Term:
    """A leader knows no more than was asked; an ISR grows beyond what is committed only."""
    epoch, logs = s.replicas.leader_epoch(b), s.logs
    committed = s.epoch_logs.committed(epoch)
    return implies(
        is_leading(s, b),
        both(
            logs.end_offsets(b, f) <= s.epoch_logs.fetched(epoch, f),
            s.epoch_logs.start(epoch) <= logs.epoch_start(b),
            either(committed <= logs.high_watermark(b), committed <= logs.epoch_start(b)),
        ),
    )


@clause("LaterLeadersHaveChoosable", E, E, K, N)
def later_leaders_have_choosable(s: S, d: Term, e: Term, n: Term, i: Term) -> Term:
    """A later leader starts with all that an earlier one has committed, or may still commit."""
    history = s.epoch_logs
    return implies(
        both(d >= 0, d < e, s.epochs.is_started(e), n > 0, is_choosable(s, d, n)),
        both(
            n <= history.start(e),
            n <= history.end(d),
            implies(below(i, n), history.record(e, i) == history.record(d, i)),
        ),
    )


@clause("LaterIsrHasChoosable", B, E, E, K, N)
def later_isr_has_choosable(s: S, b: Term, d: Term, e: Term, n: Term, i: Term) -> Term:
    """So has a member of a later ISR, unless it obeys no later epoch and may still ask.

    Of the newest epoch, so has what its leader is adding: only there may that be published.
    """
    is_member = choose(e == s.history.newest_epoch, s.epochs.maximal_isr(e, b), s.epochs.isr(e, b))
    may_ask = both(s.epochs.isr(d, b), ever_obeyed(s, b) <= d)
    return implies(
        both(
            d >= 0,
            d < e,
            e <= s.history.newest_epoch,
            n > 0,
            is_choosable(s, d, n),
            is_member,
            no(may_ask),
        ),
        both(
            ever_obeyed(s, b) > d,
            n <= s.logs.end(b),
            n <= s.epoch_logs.end(d),
            implies(below(i, n), s.logs.record(b, i) == s.epoch_logs.record(d, i)),
        ),
    )


@clause("FetchedIsKept", E, B, K, N)
def fetched_is_kept(s: S, d: Term, b: Term, n: Term, i: Term) -> Term:
    """Whoever has asked for what is choosable keeps it, whatever it obeys later."""
    return implies(
        both(
            d >= 0,
            n > 0,
            is_choosable(s, d, n),
            n <= s.epoch_logs.fetched(d, b),
            below(i, n),
        ),
        both(i < s.logs.end(b), s.logs.record(b, i) == s.epoch_logs.record(d, i)),
    )


@clause("CommitUnique", E, N, is_property=True)
def commit_unique(s: S, d: Term, i: Term) -> Term:
    """All leaders committed one log; its end was committed in an epoch that is known."""
    history, commits = s.epoch_logs, s.commits
    return both(
        commits.end >= 0,
        implies(commits.end > 0, commits.end == history.committed(commits.epoch)),
        implies(commits.end > 0, s.epochs.is_started(commits.epoch)),
        implies(
            below(i, history.committed(d)),
            both(i < commits.end, history.record(d, i) == commits.record(i)),
        ),
    )


@clause("HighWatermarkInLog", B, is_property=True)
def high_watermark_in_log(s: S, b: Term) -> Term:
    """No replica claims to have committed more than it has."""
    return both(s.logs.high_watermark(b) >= 0, s.logs.high_watermark(b) <= s.logs.end(b))


@clause("BelowHighWatermarkIsCommitted", B, N)
def below_high_watermark_is_committed(s: S, b: Term, i: Term) -> Term:
    """What a replica takes for committed is."""
    return implies(
        below(i, s.logs.high_watermark(b)),
        both(i < s.commits.end, s.logs.record(b, i) == s.commits.record(i)),
    )


@clause("AnswersAreOfEpoch", A, N)
def answers_are_of_epoch(s: S, a: Term, i: Term) -> Term:
    """An answer tells what is in the log of its epoch, and what is committed there."""
    answers, history = s.answers, s.epoch_logs
    epoch, offset = answers.leader_epoch(a), answers.offset(a)
    return implies(
        answers.in_flight(a),
        both(
            s.epochs.is_started(epoch),
            offset >= 0,
            answers.high_watermark(a) >= 0,
            implies(
                answers.has_record(a),
                both(
                    offset < history.end(epoch),
                    history.record(epoch, offset) == answers.record(a),
                ),
            ),
            implies(
                below(i, answers.high_watermark(a)),
                both(
                    i < s.commits.end,
                    i < history.end(epoch),
                    history.record(epoch, i) == s.commits.record(i),
                ),
            ),
        ),
    )


@clause("AcknowledgedIsCommitted", N, R)
def acknowledged_is_committed(s: S, i: Term, record: Term) -> Term:
    """What a producer was told is committed."""
    return implies(
        s.acknowledgements.was_told(i, record),
        both(below(i, s.commits.end), s.commits.record(i) == record),
    )


CLAUSES = (
    commit_unique,
    high_watermark_in_log,
    epoch_logs,
    logs_are_of_leaders,
    logs_of_leaders_match,
    leader_has_log_of_epoch,
    follower_has_log_of_epoch,
    fetched_is_held,
    committed_by_quorum,
    leader_knows_offsets,
    later_leaders_have_choosable,
    later_isr_has_choosable,
    fetched_is_kept,
    below_high_watermark_is_committed,
    answers_are_of_epoch,
    acknowledged_is_committed,
)


def has_committed(s: S, b: Term, i: Term) -> Term:
    """A broker holds the committed record at an offset."""
    return both(i < s.logs.end(b), s.logs.record(b, i) == s.commits.record(i))


@clause("CommittedDurable", B, N, is_property=True)
def committed_durable(s: S, b: Term, i: Term) -> Term:
    """Every committed record is on every broker that a clean election may pick."""
    is_electable = both(exists(s), in_state_isr(s, b))
    return implies(both(below(i, s.commits.end), is_electable), has_committed(s, b, i))


@clause("AcknowledgedDurable", B, N, R, is_property=True)
def acknowledged_durable(s: S, b: Term, i: Term, record: Term) -> Term:
    """Every acknowledged record is on every broker that a clean election may pick."""
    is_electable = both(exists(s), in_state_isr(s, b))
    return implies(
        both(s.acknowledgements.was_told(i, record), is_electable),
        both(i < s.logs.end(b), s.logs.record(b, i) == record),
    )


@clause("LeaderComplete", B, N, is_property=True)
def leader_complete(s: S, b: Term, i: Term) -> Term:
    """The acting leader has every committed record."""
    return implies(both(below(i, s.commits.end), is_acting_leader(s, b)), has_committed(s, b, i))


@clause("LogMatching", B, B, N, is_property=True)
def log_matching(s: S, b: Term, other: Term, i: Term) -> Term:
    """Two logs agree below the smaller high watermark."""
    marks = s.logs.high_watermark
    return implies(
        both(below(i, marks(b)), below(i, marks(other))),
        s.logs.record(b, i) == s.logs.record(other, i),
    )


@clause("SameEpochSamePrefix", B, B, N, N, is_property=True)
def same_epoch_same_prefix(s: S, b: Term, other: Term, i: Term, j: Term) -> Term:
    """Two logs with a record of one epoch at one offset are the same up to it."""
    logs, epoch = s.logs, s.records.leader_epoch
    return implies(
        both(
            j >= 0,
            j <= i,
            below(i, logs.end(b)),
            below(i, logs.end(other)),
            epoch(logs.record(b, i)) == epoch(logs.record(other, i)),
        ),
        logs.record(b, j) == logs.record(other, j),
    )


@clause("EpochsNonDecreasingInLog", B, N, N, is_property=True)
def epochs_non_decreasing_in_log(s: S, b: Term, i: Term, j: Term) -> Term:
    """No log has a record of an earlier epoch behind one of a later epoch."""
    epoch = s.records.leader_epoch
    return implies(
        both(j >= 0, j <= i, below(i, s.logs.end(b))),
        epoch(s.logs.record(b, j)) <= epoch(s.logs.record(b, i)),
    )


@clause("FollowersMatchLeader", B, B, N, is_property=True)
def followers_match_leader(s: S, b: Term, f: Term, i: Term) -> Term:
    """A follower that fetches has nothing that its leader has not."""
    return implies(
        both(is_fetching(s, f), is_led_by(s, f, b)),
        both(
            s.logs.end(f) <= s.logs.end(b),
            implies(below(i, s.logs.end(f)), s.logs.record(f, i) == s.logs.record(b, i)),
        ),
    )


IMPLIED = (
    committed_durable,
    acknowledged_durable,
    leader_complete,
    log_matching,
    same_epoch_same_prefix,
    epochs_non_decreasing_in_log,
    followers_match_leader,
)
"""What follows from the clauses in every state."""
