"""The node is a deterministic machine: same start, same events, same effects."""

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.node import Node
from fencepost.impl.core.rules.replica import RecoveredLog
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.core.types.effects import Effect
from fencepost.impl.core.types.events import Event, RequestReceived, ResponseReceived
from fencepost.impl.core.types.messages import FetchRequest, FetchResponse, ListOffsetsResponse
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch, Offset
from tests.impl.core.build import ME, T0, T1
from tests.impl.core.driver import Driver
from tests.impl.core.roles import consumer_fetch, follower_fetch, produce

Tape = list[tuple[Event, int, list[Effect]]]


def record(driver: Driver) -> Tape:
    """Every event from now on, its time, and the effects of its step."""
    tape: Tape = []
    step = driver.node.step

    def recording(event: Event, now_ms: int) -> list[Effect]:
        effects = step(event, now_ms)
        tape.append((event, now_ms, list(effects)))
        return effects

    driver.node.step = recording  # type: ignore[method-assign]
    return tape


def live_through(driver: Driver) -> None:
    """A controller's and a leader's life, with faults."""
    for broker_id in (3, 2):
        driver.register(broker_id)
    driver.start()
    driver.create_topic("t", (1, 2, 3), (2, 3, 1))
    for send in list(driver.commands(1)):
        driver.step(RequestReceived(token=900 + send.request_id, request=send.request))
    driver.acknowledge_commands()
    driver.ask(produce("a", "b"))
    for follower in (2, 3):
        driver.ask(follower_fetch(follower, 2, epoch=0))
    driver.ask(consumer_fetch(0, wait_ms=300))
    driver.tick(2500)
    driver.unregister(2)
    driver.register(2)
    driver.tick(500)
    driver.lose_session()
    driver.start()
    driver.tick(500)


def test_the_same_events_give_the_same_effects() -> None:
    driver = Driver(Config(broker_id=ME))
    tape = record(driver)
    live_through(driver)
    assert len(tape) > 40
    assert sum(len(effects) for _, _, effects in tape) > 80

    again = Node(Config(broker_id=ME), {})

    for event, now_ms, effects in tape:
        assert again.step(event, now_ms) == effects


def test_a_node_restores_what_storage_found() -> None:
    log = RecoveredLog(
        log_end_offset=Offset(3),
        high_watermark=Offset(9),
        epoch_starts=((LeaderEpoch(1), Offset(0)),),
    )

    node = Node(Config(broker_id=ME), {T1: log, T0: log})

    assert node.broker.replicas.partitions() == [T0, T1]
    replica = node.broker.replicas[T0]
    assert (replica.role, replica.log_end_offset, replica.high_watermark) == (Role.WAITING, 3, 3)
    assert replica.last_epoch == 1


def test_an_answer_of_the_wrong_kind_is_our_own_mistake() -> None:
    node = Node(Config(broker_id=ME), {})
    event = ResponseReceived(
        request_id=1,
        sender=BrokerId(2),
        request=FetchRequest(topic="t", partition=0, fetch_offset=Offset(0)),
        response=ListOffsetsResponse(broker_id=BrokerId(2)),
    )

    with pytest.raises(AssertionError, match="does not answer"):
        node.step(event, 0)


def test_an_answer_that_nobody_waits_for_has_no_effect() -> None:
    node = Node(Config(broker_id=ME), {})
    event = ResponseReceived(
        request_id=1,
        sender=BrokerId(2),
        request=FetchRequest(topic="t", partition=0, fetch_offset=Offset(0)),
        response=FetchResponse(broker_id=BrokerId(2), fetch_offset=Offset(0)),
    )

    assert node.step(event, 0) == []
