"""A follower's side: compare, truncate, fetch, append, and ignore what nobody waits for."""

from collections.abc import Callable

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.types.effects import TruncateRecords
from fencepost.impl.core.types.messages import (
    FetchResponse,
    OffsetForLeaderEpochResponse,
    ProduceResponse,
)
from fencepost.spec.vocabulary import (
    NO_BROKER,
    Action,
    BrokerId,
    ErrorCode,
    LeaderEpoch,
    Offset,
    ProtocolLevel,
)
from tests.impl.core.build import ME, T0, command, records
from tests.impl.core.driver import Driver
from tests.impl.core.roles import (
    fetched,
    follower_fetch,
    following,
    last_epoch_request,
    last_fetch,
    leading,
    obey,
    produce,
    started,
)

Drive = Callable[[Config], Driver]
BELOW_2 = [ProtocolLevel.DRAFT_V3, ProtocolLevel.CONTROLLER_EPOCH]


def epoch_ends(driver: Driver, epoch: int, end: int, *, current: int | None = None) -> None:
    """The leader has answered where an epoch ends."""
    asked = last_epoch_request(driver)
    response = OffsetForLeaderEpochResponse(
        broker_id=driver.sent[-1].to,
        leader_epoch=LeaderEpoch(epoch),
        end_offset=Offset(end),
        current_leader_epoch=LeaderEpoch(
            asked.current_leader_epoch if current is None else current
        ),
    )
    driver.respond(driver.sent[-1], response)


def deposed(driver: Driver) -> Driver:
    """Led epoch 1 with three records, one of them committed; now broker 2 leads epoch 2."""
    leading(driver, isr=(1, 2))
    driver.ask(produce("a", "b", "c"))
    driver.deliver(follower_fetch(2, 1), FetchResponse)
    obey(driver, command(2, 2, version=2))
    return driver


def test_an_empty_follower_fetches_at_once(driver: Driver) -> None:
    following(driver)

    fetch = last_fetch(driver)

    assert driver.sent[-1].to == 2
    assert (fetch.fetch_offset, fetch.leader_epoch, fetch.replica_id) == (0, 1, 1)


def test_records_are_appended_and_the_next_fetch_is_under_way(driver: Driver) -> None:
    following(driver)

    fetched(driver, records(0, 1), high_watermark=1)

    replica = driver.replica(T0)
    assert (replica.log_end_offset, replica.high_watermark) == (2, 1)
    assert driver.disk.read(T0, Offset(0), Offset(2)) == records(0, 1)
    assert last_fetch(driver).fetch_offset == 2


def test_a_high_watermark_alone_is_taken_too(driver: Driver) -> None:
    following(driver)
    fetched(driver, records(1))

    fetched(driver, high_watermark=1)

    (first, second) = driver.took(Action.FOLLOWER_APPEND)
    assert (first.records, second.records) == (records(1), None)
    assert driver.replica(T0).high_watermark == 1


def test_an_answer_without_news_changes_nothing(driver: Driver) -> None:
    following(driver)

    fetched(driver)

    assert driver.took(Action.FOLLOWER_APPEND) == []
    assert len(driver.sent) == 2


def test_only_the_answer_that_is_waited_for_counts(driver: Driver) -> None:
    following(driver)
    first = driver.sent[-1]
    fetched(driver, records(1))
    asked = len(driver.sent)

    response = FetchResponse(
        broker_id=BrokerId(2),
        leader_epoch=LeaderEpoch(1),
        fetch_offset=Offset(0),
        high_watermark=Offset(0),
        records=records(1),
    )
    driver.respond(first, response)

    assert driver.replica(T0).log_end_offset == 1
    assert len(driver.sent) == asked


def test_after_a_change_of_leader_the_old_ones_answer_is_void(driver: Driver) -> None:
    following(driver)
    old = driver.sent[-1]
    obey(driver, command(3, 2))

    response = FetchResponse(
        broker_id=BrokerId(2),
        leader_epoch=LeaderEpoch(1),
        fetch_offset=Offset(0),
        high_watermark=Offset(0),
        records=records(1),
    )
    driver.respond(old, response)

    assert driver.replica(T0).log_end_offset == 0
    assert driver.sent[-1].to == 3


def test_an_answer_of_another_epoch_is_not_taken(driver: Driver) -> None:
    following(driver)

    fetched(driver, records(1), epoch=2)

    assert driver.replica(T0).log_end_offset == 0


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_LEADER_EPOCH]
)
def test_after_an_error_the_follower_asks_again_after_a_pause(
    driver: Driver, error: ErrorCode
) -> None:
    following(driver)
    fetched(driver, error=error)
    asked = len(driver.sent)

    driver.tick(99)
    assert len(driver.sent) == asked
    driver.tick(1)

    assert len(driver.sent) == asked + 1
    assert last_fetch(driver).fetch_offset == 0


def test_a_fetch_without_answer_is_sent_again(driver: Driver) -> None:
    following(driver)
    asked = len(driver.sent)

    driver.fail(driver.sent[-1])
    driver.tick(100)

    assert len(driver.sent) == asked + 1


def test_without_a_leader_nobody_is_asked(driver: Driver) -> None:
    started(driver)

    assert obey(driver, command(NO_BROKER, 1)) == [ErrorCode.NONE]
    driver.tick(1000)

    assert driver.sent == []


# Truncation by epoch


def test_a_deposed_leader_asks_where_its_last_epoch_ended(driver: Driver) -> None:
    deposed(driver)

    asked = last_epoch_request(driver)

    assert (asked.current_leader_epoch, asked.leader_epoch, asked.replica_id) == (2, 1, 1)
    assert driver.replica(T0).log_end_offset == 3


def test_the_log_is_cut_where_it_parts_then_fetched(driver: Driver) -> None:
    deposed(driver)

    epoch_ends(driver, 1, 2)

    replica = driver.replica(T0)
    assert (replica.log_end_offset, replica.high_watermark) == (2, 1)
    assert not replica.needs_truncation
    assert last_fetch(driver).fetch_offset == 2
    (cut,) = driver.took(Action.TRUNCATE_LOG)
    assert (cut.offset, cut.high_watermark, cut.log_end_offset) == (2, 1, 2)


def test_a_log_that_agrees_is_not_cut(driver: Driver) -> None:
    deposed(driver)

    epoch_ends(driver, 1, 9)

    assert driver.took(Action.TRUNCATE_LOG) == []
    assert last_fetch(driver).fetch_offset == 3


def test_a_log_that_shares_nothing_is_emptied(driver: Driver) -> None:
    deposed(driver)

    epoch_ends(driver, -1, 0)

    assert driver.replica(T0).log_end_offset == 0
    assert last_fetch(driver).fetch_offset == 0


def test_logs_are_compared_until_they_agree(driver: Driver) -> None:
    following(driver, epoch=6)
    fetched(driver, records(0, 0, 3, 5))
    obey(driver, command(3, 7, version=2))

    epoch_ends(driver, 4, 4)
    assert driver.replica(T0).log_end_offset == 3
    assert last_epoch_request(driver).leader_epoch == 3
    epoch_ends(driver, 0, 1)

    assert driver.replica(T0).log_end_offset == 1
    assert last_fetch(driver).fetch_offset == 1


def test_an_epoch_answer_of_another_epoch_cuts_nothing(driver: Driver) -> None:
    deposed(driver)

    epoch_ends(driver, -1, 0, current=3)

    assert driver.replica(T0).log_end_offset == 3
    driver.tick(100)
    assert last_epoch_request(driver).current_leader_epoch == 2


def test_out_of_range_makes_the_logs_be_compared_anew(driver: Driver) -> None:
    following(driver)
    fetched(driver, records(0, 1))

    fetched(driver, error=ErrorCode.OFFSET_OUT_OF_RANGE, log_end=1)

    assert driver.replica(T0).log_end_offset == 2
    assert last_epoch_request(driver).leader_epoch == 1


# Truncation to the high watermark


@pytest.mark.parametrize("level", BELOW_2)
def test_below_level_2_the_log_is_cut_to_the_high_watermark(
    drive: Drive, level: ProtocolLevel
) -> None:
    driver = deposed(drive(Config(broker_id=ME, rules=LEVELS[level])))

    assert driver.replica(T0).log_end_offset == 1
    assert TruncateRecords(topic_partition=T0, offset=Offset(1)) in driver.effects
    assert (last_fetch(driver).fetch_offset, last_fetch(driver).leader_epoch) == (1, -1)


@pytest.mark.parametrize("level", BELOW_2)
def test_below_level_2_the_leaders_log_end_is_law(drive: Drive, level: ProtocolLevel) -> None:
    driver = following(drive(Config(broker_id=ME, rules=LEVELS[level])))
    fetched(driver, records(0, 0))

    fetched(driver, error=ErrorCode.OFFSET_OUT_OF_RANGE, log_end=1)

    assert driver.replica(T0).log_end_offset == 1
    assert last_fetch(driver).fetch_offset == 1


def test_a_leader_fetches_from_nobody(driver: Driver) -> None:
    following(driver)
    late = driver.sent[-1]
    obey(driver, command(1, 2, isr=(1,)))
    driver.deliver(produce("a"), ProduceResponse)

    driver.fail(late)
    driver.tick(1000)

    assert [send for send in driver.sent if send is not late] == []


def test_a_second_answer_to_one_fetch_starts_no_second_fetch(driver: Driver) -> None:
    following(driver)
    first = driver.sent[-1]
    fetched(driver)
    assert len(driver.sent) == 2

    response = FetchResponse(
        broker_id=BrokerId(2),
        leader_epoch=LeaderEpoch(1),
        fetch_offset=Offset(0),
        high_watermark=Offset(0),
        records=records(1),
    )
    driver.respond(first, response)

    assert len(driver.sent) == 2
    assert driver.replica(T0).log_end_offset == 0
