"""Idempotent produces at a broker: retries at the same leader, at the next one, after a restart."""

import pytest

from fencepost.impl.core.admin.producer_ids import BLOCK_SIZE
from fencepost.impl.core.rules.producers import batch_records
from fencepost.impl.core.types.messages import (
    InitProducerIdRequest,
    InitProducerIdResponse,
    ProduceRequest,
    ProduceResponse,
)
from fencepost.impl.core.types.zookeeper import Create, SetData
from fencepost.spec.vocabulary import ErrorCode, LeaderEpoch, ProducerId, ZnodeVersion
from fencepost.spec.znodes import PRODUCER_IDS, parse_producer_id_block
from tests.impl.core.build import ME, T0, command, state
from tests.impl.core.driver import Driver, Fate
from tests.impl.core.roles import fetched, following, leading, obey, replicate


def produce(base: int, count: int = 1, *, epoch: int = 0, acks: int = -1) -> ProduceRequest:
    return ProduceRequest(
        topic="t",
        partition=0,
        acks=acks,
        values=tuple(f"v{base + i}" for i in range(count)),
        timeout_ms=1000,
        producer_id=ProducerId(7),
        producer_epoch=epoch,
        base_sequence=base,
    )


def test_a_retry_gets_the_offset_of_the_first_try_and_adds_nothing(driver: Driver) -> None:
    leading(driver, isr=(1,))
    driver.deliver(produce(0, 2), ProduceResponse)

    again = driver.deliver(produce(0, 2), ProduceResponse)

    assert (again.error_code, again.base_offset) == (ErrorCode.NONE, 0)
    assert driver.replica(T0).log_end_offset == 2


def test_a_duplicate_of_what_is_not_committed_waits_for_the_commit(driver: Driver) -> None:
    leading(driver)
    first, again = driver.ask(produce(0)), driver.ask(produce(0))
    assert not driver.is_answered(again)

    replicate(driver, 2, 3)

    for token in (first, again):
        response = driver.reply(token, ProduceResponse)
        assert (response.error_code, response.base_offset) == (ErrorCode.NONE, 0)


def test_a_duplicate_that_waits_too_long_times_out(driver: Driver) -> None:
    leading(driver)
    driver.ask(produce(0))
    again = driver.ask(produce(0))

    driver.tick(1000)

    assert driver.reply(again, ProduceResponse).error_code is ErrorCode.REQUEST_TIMED_OUT


def duplicates_after_a_leader_change(driver: Driver) -> int:
    """The new leader has the record from the old one; how many it has after the retry."""
    following(driver)
    fetched(driver, batch_records(produce(0, 2), LeaderEpoch(1)))
    fetched(driver, batch_records(produce(2), LeaderEpoch(1)))
    driver.put_state(T0, state(1, 2, (1, 3)))
    obey(driver, command(1, 2, isr=(1, 3), version=1))
    driver.ask(produce(2))
    return driver.replica(T0).log_end_offset


def test_a_retry_at_the_next_leader_adds_nothing(driver: Driver) -> None:
    assert duplicates_after_a_leader_change(driver) == 3


def test_a_retry_after_a_restart_adds_nothing(driver: Driver) -> None:
    leading(driver)
    driver.ask(produce(0, 3))
    driver.lose_session()
    driver.start(recovered=True)
    driver.put_state(T0, state(1, 2, (1,)))
    obey(driver, command(1, 2, isr=(1,), version=1))

    again = driver.deliver(produce(0, 3), ProduceResponse)

    assert (again.error_code, again.base_offset) == (ErrorCode.NONE, 0)
    assert driver.replica(T0).log_end_offset == 3


def test_what_was_truncated_may_be_produced_again(driver: Driver) -> None:
    """A record that only the old leader had is gone; its retry at the next leader is no retry."""
    leading(driver, isr=(1, 2))
    driver.ask(produce(0))
    replicate(driver, 2)
    driver.ask(produce(1))
    driver.put_state(T0, state(2, 2, (1, 2)))
    obey(driver, command(2, 2, isr=(1, 2), version=1))

    driver.node.broker.fetcher.truncate(T0, driver.replica(T0).high_watermark)
    driver.put_state(T0, state(1, 3, (1,)))
    obey(driver, command(1, 3, isr=(1,), version=2))

    assert driver.deliver(produce(1), ProduceResponse).base_offset == 1


def test_a_stopped_replica_takes_its_producers_along(driver: Driver) -> None:
    leading(driver, isr=(1,))
    driver.deliver(produce(0), ProduceResponse)
    driver.node.broker.replicas.remove(T0)

    obey(driver, command(1, 2, isr=(1,), version=1))

    assert driver.deliver(produce(1), ProduceResponse).error_code is (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )


def test_a_follower_takes_batches_whole(driver: Driver) -> None:
    following(driver)
    first = batch_records(produce(0, 2), LeaderEpoch(1))
    begun = batch_records(produce(2, 3), LeaderEpoch(1))

    fetched(driver, (*first, *begun[:2]))

    assert driver.replica(T0).log_end_offset == 2
    fetched(driver, begun)
    assert driver.replica(T0).log_end_offset == 5


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (produce(1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (produce(-1), ErrorCode.INVALID_REQUEST),
        (produce(2**31 - 1), ErrorCode.INVALID_REQUEST),
        (produce(0, epoch=2**15), ErrorCode.INVALID_REQUEST),
        (produce(0, epoch=-1), ErrorCode.INVALID_REQUEST),
        (produce(0, 201), ErrorCode.RECORD_LIST_TOO_LARGE),
    ],
)
def test_what_cannot_come_next_is_refused(
    driver: Driver, request_: ProduceRequest, error: ErrorCode
) -> None:
    leading(driver, isr=(1,))

    assert driver.deliver(request_, ProduceResponse).error_code is error
    assert driver.replica(T0).log_end_offset == 0


# Producer ids


def given(driver: Driver) -> ProducerId:
    return driver.deliver(InitProducerIdRequest(), InitProducerIdResponse).producer_id


def test_ids_come_from_a_block_that_is_taken_in_zookeeper(driver: Driver) -> None:
    driver.start()

    assert [given(driver), given(driver)] == [1, 2]
    block = parse_producer_id_block(driver.zookeeper.peek(PRODUCER_IDS).data)
    assert (block.broker, block.block_start, block.block_end) == (ME, 1, BLOCK_SIZE)


def test_a_broker_that_starts_again_takes_the_next_block(driver: Driver) -> None:
    driver.start()
    given(driver)
    driver.lose_session()
    driver.start(recovered=True)

    assert given(driver) == BLOCK_SIZE + 1


def test_two_brokers_that_take_a_block_at_once_take_two(driver: Driver) -> None:
    driver.start()
    taken = b'{"version":1,"broker":2,"block_start":1,"block_end":500}'
    driver.plan_write(PRODUCER_IDS, None, lambda: write(driver, taken))

    assert given(driver) == 501


def write(driver: Driver, data: bytes) -> None:
    op = Create(path=PRODUCER_IDS, data=data)
    if driver.zookeeper.peek(PRODUCER_IDS).stat is not None:
        driver.write(SetData(path=PRODUCER_IDS, data=data, expected_version=ZnodeVersion(-1)))
    else:
        driver.write(op)


@pytest.mark.parametrize("fate", [Fate.LOSE_REPLY, Fate.LOSE_REQUEST])
def test_a_block_whose_reply_was_lost_is_never_used(driver: Driver, fate: Fate) -> None:
    driver.start()
    driver.plan_write(PRODUCER_IDS, fate)

    assert given(driver) == (BLOCK_SIZE + 1 if fate is Fate.LOSE_REPLY else 1)


def test_a_block_that_cannot_be_read_is_told_and_nothing_is_given(driver: Driver) -> None:
    driver.start()
    write(driver, b"?")

    refused = driver.deliver(InitProducerIdRequest(), InitProducerIdResponse)

    assert refused.error_code is ErrorCode.BROKER_NOT_AVAILABLE
    assert driver.malformed == [PRODUCER_IDS]
