"""Replicas are given up: on StopReplica, and because a newer incarnation begins."""

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.effects import DeleteLog, RefusalTold, StartLog
from fencepost.impl.core.types.messages import (
    FetchResponse,
    LeaderAndIsrResponse,
    PartitionStop,
    ProduceResponse,
    StopReplicaRequest,
    StopReplicaResponse,
)
from fencepost.spec.vocabulary import (
    NO_EPOCH,
    Action,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    LeaderEpoch,
    Offset,
    PartitionIncarnation,
    RefusalKind,
)
from fencepost.spec.znodes import TopicPartition
from tests.impl.core.build import ME, T0, T1, command, order, records
from tests.impl.core.driver import Driver
from tests.impl.core.roles import consumer_fetch, obey, produce, started

OLD, NOW, NEXT = 10, 20, 30
"""Incarnations of t/0."""


def driven() -> Driver:
    return started(Driver(Config(broker_id=ME)))


def stop(
    driver: Driver,
    incarnation: int,
    *,
    leader_epoch: int = NO_EPOCH,
    key: TopicPartition = T0,
    delete: bool = True,
    epoch: int = 1,
) -> ErrorCode:
    """What became of a StopReplica: the error of the partition, or of the whole request."""
    response = driver.deliver(
        StopReplicaRequest(
            controller_id=BrokerId(3),
            controller_epoch=ControllerEpoch(epoch),
            partitions=(
                PartitionStop(
                    topic=key.topic,
                    partition=key.partition,
                    partition_incarnation=PartitionIncarnation(incarnation),
                    leader_epoch=LeaderEpoch(leader_epoch),
                    delete=delete,
                ),
            ),
        ),
        StopReplicaResponse,
    )
    errors = [error.error_code for error in response.partitions]
    return errors[0] if errors else response.error_code


def told_of_refusals(driver: Driver) -> list[ErrorCode | None]:
    """The reasons of the stops that were refused, as the trace has them."""
    told = (effect for effect in driver.effects if isinstance(effect, RefusalTold))
    return [one.error_code for one in told if one.refusal is RefusalKind.REFUSE_STOP]


def leading(epoch: int = 1) -> Driver:
    """Leader of incarnation NOW with one record, which nobody else has."""
    driver = driven()
    assert obey(driver, command(1, epoch, incarnation=NOW)) == [ErrorCode.NONE]
    return driver


def has_replica(driver: Driver) -> bool:
    return driver.node.broker.replicas.get(T0) is not None


def test_a_stopped_replica_is_gone_with_its_log() -> None:
    driver = leading()
    driver.ask(produce("a"))

    assert stop(driver, NOW) is ErrorCode.NONE
    assert not has_replica(driver)
    assert driver.disk.recover() == {}
    (taken,) = driver.took(Action.STOP_REPLICA)
    assert (taken.partition_incarnation, taken.controller_epoch) == (NOW, 1)


def test_who_waits_for_a_stopped_replica_is_answered() -> None:
    driver = leading()
    produced = driver.ask(produce("a"))
    fetched = driver.ask(consumer_fetch(0, wait_ms=500))

    stop(driver, NOW)

    assert driver.reply(produced, ProduceResponse).error_code.is_indefinite
    error = driver.reply(fetched, FetchResponse).error_code
    assert error is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_follower_that_is_stopped_takes_no_more_records() -> None:
    driver = driven()
    obey(driver, command(2, 1, incarnation=NOW))
    (fetch,) = [send for send in driver.sent if send.to == 2]

    stop(driver, NOW)
    driver.respond(
        fetch,
        FetchResponse(
            broker_id=BrokerId(2),
            leader_epoch=LeaderEpoch(1),
            fetch_offset=Offset(0),
            high_watermark=Offset(1),
            records=records(1),
        ),
    )

    assert driver.disk.recover() == {}


@pytest.mark.parametrize("incarnation", [OLD, 0])
def test_a_late_stop_does_not_touch_the_next_incarnation(incarnation: int) -> None:
    driver = leading()

    assert stop(driver, incarnation) is ErrorCode.STALE_LEADER_EPOCH
    assert driver.replica(T0).is_leader
    assert not [effect for effect in driver.effects if isinstance(effect, DeleteLog)]


def test_a_stop_also_deletes_an_older_incarnation() -> None:
    driver = leading()

    assert stop(driver, NEXT) is ErrorCode.NONE
    assert not has_replica(driver)


@pytest.mark.parametrize(
    ("leader_epoch", "expected"),
    [(4, ErrorCode.STALE_LEADER_EPOCH), (5, ErrorCode.NONE), (6, ErrorCode.NONE)],
)
def test_a_stop_within_the_incarnation_is_fenced_by_leader_epoch(
    leader_epoch: int, expected: ErrorCode
) -> None:
    driver = leading(epoch=5)

    assert stop(driver, NOW, leader_epoch=leader_epoch) is expected
    assert has_replica(driver) is (expected is not ErrorCode.NONE)
    assert told_of_refusals(driver) == [expected] * has_replica(driver)


def test_a_stop_of_an_older_controller_deletes_nothing() -> None:
    driver = leading()
    obey(driver, command(1, 2, incarnation=NOW), epoch=2)

    assert stop(driver, NOW, epoch=1) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert has_replica(driver)
    assert told_of_refusals(driver) == [ErrorCode.STALE_CONTROLLER_EPOCH]


def test_a_stop_that_comes_again_is_done_already() -> None:
    driver = leading()
    stop(driver, NOW)
    count = len(driver.effects)

    assert stop(driver, NOW) is ErrorCode.NONE
    assert not [e for e in driver.effects[count:] if isinstance(e, DeleteLog)]


def test_without_delete_the_log_stays_and_waits_for_a_larger_epoch() -> None:
    driver = leading(epoch=5)
    driver.ask(produce("a"))

    assert stop(driver, NOW, leader_epoch=5, delete=False) is ErrorCode.NONE
    assert driver.replica(T0).role is Role.WAITING
    assert driver.disk.recover()[T0].log_end_offset == 1
    assert obey(driver, command(2, 5, incarnation=NOW)) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert obey(driver, command(2, 6, incarnation=NOW)) == [ErrorCode.NONE]
    assert driver.replica(T0).log_end_offset == 1


def test_a_command_that_its_stop_has_overtaken_starts_nothing() -> None:
    driver = driven()

    assert stop(driver, NOW) is ErrorCode.NONE
    assert obey(driver, command(1, 1, incarnation=NOW)) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert obey(driver, command(1, 0, incarnation=OLD)) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert not has_replica(driver)
    assert obey(driver, command(1, 0, incarnation=NEXT)) == [ErrorCode.NONE]


def test_a_weaker_stop_does_not_replace_what_is_remembered() -> None:
    driver = driven()
    stop(driver, NOW)
    stop(driver, NOW, leader_epoch=3)
    stop(driver, OLD)

    assert obey(driver, command(1, 9, incarnation=NOW)) == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_a_newer_controller_speaks_only_of_what_exists() -> None:
    driver = driven()
    stop(driver, NOW)

    assert obey(driver, command(1, 1, incarnation=NOW), epoch=2) == [ErrorCode.NONE]


def test_the_next_incarnation_begins_with_an_empty_log() -> None:
    driver = leading(epoch=5)
    produced = driver.ask(produce("a"))

    assert obey(driver, command(1, 0, incarnation=NEXT)) == [ErrorCode.NONE]
    assert driver.reply(produced, ProduceResponse).error_code.is_indefinite
    assert (driver.replica(T0).log_end_offset, driver.replica(T0).leader_epoch) == (0, 0)
    assert driver.disk.recover()[T0].partition_incarnation == NEXT
    deleted, begun = [e for e in driver.effects if isinstance(e, DeleteLog | StartLog)][-2:]
    assert isinstance(deleted, DeleteLog)
    assert isinstance(begun, StartLog)


def test_a_command_of_an_older_incarnation_is_refused() -> None:
    driver = leading()

    assert obey(driver, command(1, 9, incarnation=OLD)) == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert driver.replica(T0).leader_epoch == 1


def test_one_partition_of_a_request_is_refused_alone() -> None:
    driver = leading()
    stop(driver, NOW, key=T1)
    response = driver.deliver(
        order(command(1, 3, incarnation=NOW, key=T1), command(1, 3, incarnation=NOW)),
        LeaderAndIsrResponse,
    )

    assert [error.error_code for error in response.partitions] == [
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NONE,
    ]
