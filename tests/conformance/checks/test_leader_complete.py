"""What counts as committed before a leader, and what a replica may give up; and replicas' logs."""

from collections.abc import Callable

import pytest

from fencepost.conformance.checks import log_matching
from fencepost.conformance.checks.leader_complete import check
from fencepost.conformance.checks.replica_log import Agreed, is_replica_event, replay
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action
from tests.conformance.checks.test_replica_checks import append, quiet_failover, replica
from tests.conformance.checks.trace_builder import Trace


def lead(trace: Trace, broker_id: int, epoch: int, end: int = 0) -> None:
    replica(trace, Action.BECOME_LEADER, broker_id, epoch, 0, end)


def commit(trace: Trace, broker_id: int, epoch: int, value: str = "a") -> None:
    append(trace, broker_id, 0, value, 0, epoch)
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, broker_id, epoch, 1, 1)


def learnt_by_a_follower(trace: Trace) -> None:
    append(trace, 3, 0, "a", 1)
    lead(trace, 2, 2)


def committed_beyond_its_log(trace: Trace) -> None:
    append(trace, 1, 0, "a", 0)
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 2, 1)
    append(trace, 2, 0, "a", 0)
    lead(trace, 2, 2, end=1)


def committed_what_is_not_told(trace: Trace) -> None:
    trace.broker(1, Action.ADVANCE_HIGH_WATERMARK, leader_epoch=1, high_watermark=1)
    append(trace, 2, 0, "a", 0)
    lead(trace, 2, 2, end=1)


def lost_in_a_crash(trace: Trace) -> None:
    commit(trace, 1, 1)
    replica(trace, "LogRecovered", 1, 1, 0, 0)


def truncated_to_no_end_that_is_told(trace: Trace) -> None:
    commit(trace, 1, 1)
    trace.broker(1, Action.TRUNCATE_LOG, leader_epoch=2, offset=0)


@pytest.mark.parametrize(
    "story",
    [
        learnt_by_a_follower,
        committed_beyond_its_log,
        committed_what_is_not_told,
        lost_in_a_crash,
        truncated_to_no_end_that_is_told,
    ],
)
def test_what_no_leader_is_seen_to_commit_binds_none(story: Callable[[Trace], None]) -> None:
    trace = Trace()
    story(trace)

    assert check(trace.events).violations == ()


def committed_again_by_itself(trace: Trace) -> None:
    commit(trace, 1, 1)
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 3, 1, 1)


def committed_later_by_another(trace: Trace) -> None:
    commit(trace, 3, 1)
    append(trace, 1, 0, "a", 0)
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 3, 1, 1)


def committed_twice_in_one_epoch(trace: Trace) -> None:
    commit(trace, 1, 1)
    append(trace, 1, 1, "b", 1)
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 2, 2)


@pytest.mark.parametrize(
    "story", [committed_again_by_itself, committed_later_by_another, committed_twice_in_one_epoch]
)
def test_a_record_is_committed_in_the_first_epoch_that_did(story: Callable[[Trace], None]) -> None:
    trace = Trace()
    story(trace)
    lead(trace, 2, 2)
    (violation,) = check(trace.events).violations
    commit_of_it = violation.witness[0]

    assert "2 with nothing at offset 0, where epoch 1 had committed a of" in violation.message
    assert (commit_of_it.leader_epoch, commit_of_it.high_watermark) == (1, 1)


def test_a_committed_record_is_missed_though_it_is_not_told() -> None:
    trace = Trace()
    trace.broker(1, Action.ADVANCE_HIGH_WATERMARK, leader_epoch=None, high_watermark=1)
    lead(trace, 2, 0)
    (violation,) = check(trace.events).violations

    assert violation.message.endswith(
        "with nothing at offset 0, where epoch None had committed a record."
    )


@pytest.mark.parametrize(("doubted", "wrong"), [((2, 3), 1), ((1, 4), 1), ((3, 4), 0)])
def test_where_lines_are_left_out_each_offset_in_doubt_is_judged(
    doubted: tuple[int, int], wrong: int
) -> None:
    """Brokers differ at offset 2."""
    trace = Trace()
    append(trace, 1, 2, "b", 0)
    replica(trace, Action.ADVANCE_HIGH_WATERMARK, 1, 1, 3, 3)
    append(trace, 2, 2, "x", 0)
    lead(trace, 2, 2, end=3)

    assert len(check(trace.events, Agreed(doubted=(doubted,))).violations) == wrong


def test_entries_that_two_replicas_committed_are_counted() -> None:
    trace = Trace()
    quiet_failover(trace)
    append(trace, 3, 0, "ab", 2)
    counted = log_matching.check(trace.events).premise_count
    of_one_in_doubt = log_matching.check(trace.events, Agreed(doubted=((1, 2),))).premise_count

    assert counted == of_one_in_doubt == 5


@pytest.mark.parametrize(
    ("action", "is_told"),
    [("BecomeLeader", True), ("LogRecovered", True), ("ShrinkIsr", False)],
)
def test_lines_of_brokers_about_a_log_tell_of_a_replica(action: str, *, is_told: bool) -> None:
    trace = Trace()

    assert is_replica_event(trace.broker(1, action)) is is_told
    assert not is_replica_event(trace.add("broker-1", Kind.ACTION, action, {}))


def test_records_without_an_offset_come_at_the_end_and_none_change_nothing() -> None:
    trace = Trace()
    for values, offset in (("ab", 0), ("c", None), ("", 0)):
        trace.broker(1, Action.FOLLOWER_APPEND, values=list(values), offset=offset)
    *_, (_, log) = replay(trace.events)

    assert [entry.value for entry in log.entries if entry] == ["a", "b", "c"]
