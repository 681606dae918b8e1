"""The checks on replicas of a partition: logs, high watermarks, leaders and committers."""

from collections.abc import Callable

import pytest

from fencepost.conformance.checks import (
    high_watermark_monotonic,
    leader_complete,
    log_matching,
    one_committer_per_epoch,
    one_leader_per_epoch,
)
from fencepost.conformance.checks.registry import CheckFunction
from fencepost.conformance.verdict import Verdict
from tests.conformance.checks.trace_builder import ZNODE, Trace, document

Write = Callable[[Trace], None]


def append(
    trace: Trace, broker_id: int, offset: int, values: str, high_watermark: int, epoch: int = 1
) -> None:
    """A leader's append on broker 1, a follower's elsewhere."""
    trace.broker(
        broker_id,
        "LeaderAppend" if broker_id == 1 else "FollowerAppend",
        leader_epoch=epoch,
        offset=offset,
        values=list(values),
        record_epochs=[epoch] * len(values),
        high_watermark=high_watermark,
        log_end_offset=offset + len(values),
    )


def replica(
    trace: Trace, action: str, broker_id: int, epoch: int, high_watermark: int, log_end_offset: int
) -> None:
    trace.broker(
        broker_id,
        action,
        leader_epoch=epoch,
        high_watermark=high_watermark,
        log_end_offset=log_end_offset,
    )


def quiet_failover(trace: Trace) -> None:
    """Broker 1 commits "ab", broker 2 succeeds it and commits "c"."""
    replica(trace, "BecomeLeader", 1, 1, 0, 0)
    append(trace, 1, 0, "abx", 0)
    append(trace, 2, 0, "ab", 0)
    replica(trace, "AdvanceHighWatermark", 1, 1, 2, 3)
    trace.produce("ab", offset=0)
    replica(trace, "BecomeLeader", 2, 2, 0, 2)
    append(trace, 2, 2, "c", 2, epoch=2)
    trace.broker(1, "TruncateLog", leader_epoch=2, offset=2, high_watermark=2, log_end_offset=2)
    trace.broker(
        1,
        "FollowerAppend",
        leader_epoch=2,
        offset=2,
        values=["c"],
        record_epochs=[2],
        high_watermark=3,
        log_end_offset=3,
    )
    replica(trace, "AdvanceHighWatermark", 2, 2, 3, 3)


ALL: list[CheckFunction] = [
    high_watermark_monotonic.check,
    leader_complete.check,
    log_matching.check,
    one_committer_per_epoch.check,
    one_leader_per_epoch.check,
]


@pytest.mark.parametrize("check", ALL)
def test_a_clean_failover_passes(check: CheckFunction) -> None:
    trace = Trace()
    quiet_failover(trace)
    result = check(trace.events)

    assert result.verdict is Verdict.PASS, result


@pytest.mark.parametrize("check", ALL)
def test_order_of_events_in_the_list_does_not_matter(check: CheckFunction) -> None:
    trace = Trace()
    quiet_failover(trace)

    assert check(trace.events[::-1]) == check(trace.events)


@pytest.mark.parametrize("check", ALL)
def test_an_idle_partition_is_vacuous(check: CheckFunction) -> None:
    trace = Trace()
    replica(trace, "BecomeFollower", 3, 1, 0, 0)

    assert check(trace.events).verdict is Verdict.VACUOUS


def two_values_below_the_high_watermark(trace: Trace) -> None:
    append(trace, 1, 0, "ab", 2)
    append(trace, 2, 0, "ac", 2)


def two_epochs_below_the_high_watermark(trace: Trace) -> None:
    append(trace, 1, 0, "a", 1, epoch=1)
    append(trace, 2, 0, "a", 1, epoch=2)


def truncated_and_rewritten_on_one_broker(trace: Trace) -> None:
    append(trace, 1, 0, "ab", 2)
    append(trace, 1, 1, "c", 2)


def recovered_without_its_tail_and_rewritten(trace: Trace) -> None:
    append(trace, 1, 0, "ab", 2)
    trace.broker(1, "LogRecovered", incarnation=2, log_end_offset=1, high_watermark=1)
    trace.broker(
        1,
        "FollowerAppend",
        incarnation=2,
        leader_epoch=1,
        offset=1,
        values=["c"],
        record_epochs=[1],
        high_watermark=2,
        log_end_offset=2,
    )


def leader_lacks_a_record(trace: Trace) -> None:
    append(trace, 1, 0, "ab", 0)
    replica(trace, "AdvanceHighWatermark", 1, 1, 2, 2)
    append(trace, 2, 0, "a", 1)
    replica(trace, "BecomeLeader", 2, 2, 1, 1)


def leader_has_another_record(trace: Trace) -> None:
    append(trace, 1, 0, "ab", 0)
    replica(trace, "AdvanceHighWatermark", 1, 1, 2, 2)
    append(trace, 2, 0, "ac", 1)
    replica(trace, "BecomeLeader", 2, 2, 1, 2)


def later_of_two_leaders_lacks_a_record(trace: Trace) -> None:
    """Epoch 3 commits "ab" on broker 1; what epoch 1 committed on broker 2 is only "a"."""
    append(trace, 2, 0, "a", 0)
    replica(trace, "AdvanceHighWatermark", 2, 1, 1, 1)
    append(trace, 1, 0, "ab", 0)
    replica(trace, "AdvanceHighWatermark", 1, 3, 2, 2)
    replica(trace, "BecomeLeader", 2, 5, 1, 1)


def leader_begins_below_what_was_committed(trace: Trace) -> None:
    """As unmodified brokers tell it: no record, and no log end but that of a new leader."""
    trace.broker(1, "BecomeLeader", leader_epoch=1, log_end_offset=0)
    trace.broker(1, "AdvanceHighWatermark", leader_epoch=1, high_watermark=2)
    trace.broker(2, "BecomeLeader", leader_epoch=2, log_end_offset=1)


def high_watermark_falls(trace: Trace) -> None:
    append(trace, 1, 0, "ab", 2)
    replica(trace, "AdvanceHighWatermark", 1, 1, 1, 2)


def high_watermark_advances_to_where_it_is(trace: Trace) -> None:
    append(trace, 1, 0, "ab", 2)
    replica(trace, "AdvanceHighWatermark", 1, 1, 2, 2)


def answers_fall(trace: Trace) -> None:
    trace.broker(1, "BecomeLeader", leader_epoch=1)
    trace.fetch(0, "ab", 2, broker_id=1)
    trace.fetch(0, "a", 1, broker_id=1)


def answers_without_an_epoch_fall(trace: Trace) -> None:
    trace.broker(1, "BecomeLeader", leader_epoch=3)
    trace.fetch(0, "ab", 2, broker_id=1, leader_epoch=None)
    trace.fetch(0, "a", 1, broker_id=1, leader_epoch=None)


def high_watermark_above_the_log(trace: Trace) -> None:
    replica(trace, "AdvanceHighWatermark", 1, 1, 3, 2)


def recovered_high_watermark_above_the_log(trace: Trace) -> None:
    trace.broker(1, "LogRecovered", log_end_offset=1, high_watermark=2)


def two_brokers_become_leader(trace: Trace) -> None:
    replica(trace, "BecomeLeader", 1, 1, 0, 0)
    replica(trace, "BecomeLeader", 2, 1, 0, 0)


def two_documents_of_one_epoch(trace: Trace) -> None:
    trace.zookeeper("Create", ZNODE, document(1, 1, [1, 2]), session=9, zxid=1)
    trace.zookeeper("SetData", ZNODE, document(2, 1, [2]), session=9, zxid=2, version=1)


def document_against_broker(trace: Trace) -> None:
    trace.zookeeper("Create", ZNODE, document(1, 1, [1, 2]), session=9, zxid=1)
    replica(trace, "BecomeLeader", 2, 1, 0, 0)


def two_brokers_advance(trace: Trace) -> None:
    replica(trace, "AdvanceHighWatermark", 1, 1, 1, 1)
    replica(trace, "AdvanceHighWatermark", 2, 1, 1, 1)


def another_broker_acknowledges(trace: Trace) -> None:
    replica(trace, "AdvanceHighWatermark", 1, 1, 1, 1)
    trace.produce("a", offset=0, broker_id=2, leader_epoch=1)


def two_brokers_acknowledge_records_of_one_epoch(trace: Trace) -> None:
    """As clients of unmodified brokers tell it, and segments after the run."""
    append(trace, 2, 0, "ab", 2, epoch=3)
    trace.produce("a", offset=0, broker_id=1, leader_epoch=None)
    trace.produce("b", offset=1, broker_id=3, leader_epoch=None)


def zombie_acknowledges(trace: Trace) -> None:
    replica(trace, "BecomeLeader", 2, 2, 0, 4)
    trace.produce("ab", offset=3, broker_id=1, leader_epoch=1)


def zombie_advances(trace: Trace) -> None:
    replica(trace, "BecomeLeader", 2, 2, 0, 4)
    replica(trace, "AdvanceHighWatermark", 1, 1, 5, 5)


def committed_is_truncated(trace: Trace) -> None:
    """What the follower knows of an earlier epoch binds it in the next one."""
    append(trace, 2, 0, "abc", 2)
    replica(trace, "BecomeFollower", 2, 3, 2, 3)
    replica(trace, "TruncateLog", 2, 3, 1, 1)


@pytest.mark.parametrize(
    ("check", "write", "message"),
    [
        (log_matching.check, two_values_below_the_high_watermark, "Offset 1 was committed as b"),
        (log_matching.check, two_epochs_below_the_high_watermark, "leader epoch 2"),
        (log_matching.check, truncated_and_rewritten_on_one_broker, "as c of leader epoch 1"),
        (log_matching.check, recovered_without_its_tail_and_rewritten, "as c of leader epoch 1"),
        (leader_complete.check, leader_lacks_a_record, "with nothing at offset 1"),
        (leader_complete.check, leader_has_another_record, "with c of leader epoch 1 at offset 1"),
        (leader_complete.check, later_of_two_leaders_lacks_a_record, "where epoch 3 had committed"),
        (leader_complete.check, committed_is_truncated, "to 1, and knew of the high watermark 2"),
        (leader_complete.check, leader_begins_below_what_was_committed, "committed a record"),
        (one_committer_per_epoch.check, leader_begins_below_what_was_committed, "began at 1"),
        (high_watermark_monotonic.check, high_watermark_falls, "fell from 2 to 1"),
        (
            high_watermark_monotonic.check,
            high_watermark_advances_to_where_it_is,
            "advanced to 2 twice",
        ),
        (high_watermark_monotonic.check, answers_fall, "in leader epoch 1 fell from 2 to 1"),
        (high_watermark_monotonic.check, answers_without_an_epoch_fall, "in leader epoch 3 fell"),
        (high_watermark_monotonic.check, high_watermark_above_the_log, "above log end 2"),
        (high_watermark_monotonic.check, recovered_high_watermark_above_the_log, "above log end 1"),
        (one_leader_per_epoch.check, two_brokers_become_leader, "two leaders, brokers 1 and 2"),
        (one_leader_per_epoch.check, two_documents_of_one_epoch, "two leaders, brokers 1 and 2"),
        (one_leader_per_epoch.check, document_against_broker, "two leaders, brokers 1 and 2"),
        (one_committer_per_epoch.check, two_brokers_advance, "Brokers 1 and 2 both committed"),
        (one_committer_per_epoch.check, another_broker_acknowledges, "Brokers 1 and 2 both"),
        (
            one_committer_per_epoch.check,
            two_brokers_acknowledge_records_of_one_epoch,
            "Brokers 1 and 3 both committed in leader epoch 3",
        ),
        (one_committer_per_epoch.check, zombie_acknowledges, "epoch 2 began at 4 on broker 2"),
        (one_committer_per_epoch.check, zombie_advances, "committed up to offset 5"),
    ],
)
def test_each_condition_is_caught(check: CheckFunction, write: Write, message: str) -> None:
    trace = Trace()
    write(trace)
    result = check(trace.events)

    assert result.verdict is Verdict.FAIL
    assert len(result.violations) == 1
    assert message in result.violations[0].message
    assert result.violations[0].witness


def test_uncommitted_tails_may_differ() -> None:
    trace = Trace()
    append(trace, 1, 0, "ab", 1)
    append(trace, 2, 0, "ac", 1)

    assert log_matching.check(trace.events).verdict is Verdict.PASS


def test_what_the_trace_does_not_tell_contradicts_nothing() -> None:
    trace = Trace()
    append(trace, 1, 0, "ab", 2)
    trace.broker(2, "LogRecovered", log_end_offset=2, high_watermark=2)
    replica(trace, "AdvanceHighWatermark", 1, 1, 2, 2)
    replica(trace, "BecomeLeader", 2, 2, 2, 2)

    assert not log_matching.check(trace.events).violations
    assert leader_complete.check(trace.events).verdict is Verdict.PASS


def test_a_leader_that_tells_no_log_end_is_not_judged() -> None:
    trace = Trace()
    trace.broker(1, "AdvanceHighWatermark", leader_epoch=1, high_watermark=2)
    trace.broker(2, "BecomeLeader", leader_epoch=2)

    assert leader_complete.check(trace.events).verdict is Verdict.VACUOUS


def test_a_zombie_may_commit_late_what_its_successor_has() -> None:
    trace = Trace()
    append(trace, 1, 0, "ab", 0)
    append(trace, 2, 0, "ab", 0)
    replica(trace, "BecomeLeader", 2, 2, 0, 2)
    replica(trace, "AdvanceHighWatermark", 1, 1, 2, 2)

    assert leader_complete.check(trace.events).verdict is Verdict.PASS
    assert one_committer_per_epoch.check(trace.events).verdict is Verdict.PASS


def test_one_leader_may_acknowledge_in_a_later_epoch_what_it_appended_before() -> None:
    trace = Trace()
    append(trace, 1, 0, "ab", 2)
    trace.broker(2, "BecomeLeader", leader_epoch=2, log_end_offset=1)
    trace.produce("b", offset=1, broker_id=1, leader_epoch=None)

    assert one_committer_per_epoch.check(trace.events).verdict is Verdict.PASS


def test_lines_of_other_kinds_are_not_taken_for_replicas() -> None:
    trace = Trace()
    trace.zookeeper("Create", ZNODE, "not JSON", session=9, zxid=1)

    assert all(check(trace.events).verdict is Verdict.VACUOUS for check in ALL)


def test_what_is_not_committed_or_lost_to_an_unclean_election_may_be_truncated() -> None:
    trace = Trace()
    append(trace, 2, 0, "abc", 2)
    replica(trace, "TruncateLog", 2, 2, 2, 2)
    trace.broker(9, "ElectLeader", leader_epoch=3, is_unclean=True)
    replica(trace, "BecomeFollower", 2, 3, 2, 2)
    replica(trace, "TruncateLog", 2, 3, 0, 0)
    replica(trace, "TruncateLog", 2, 4, 0, 0)
    result = leader_complete.check(trace.events)

    assert (result.verdict, result.premise_count) == (Verdict.PASS, 1)


def test_a_document_without_a_leader_names_none() -> None:
    trace = Trace()
    trace.zookeeper("Create", ZNODE, document(-1, 1, [1]), session=9, zxid=1)
    trace.zookeeper("SetData", ZNODE, document(1, 1, [1]), session=9, zxid=2, version=1)

    assert one_leader_per_epoch.check(trace.events).violations == ()
