"""Which batches an idempotent producer sends again, and when it goes on under another epoch."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from fencepost.conformance.clients import numbered_producers
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.numbered_producers import RETRIES, NumberedProducer
from fencepost.conformance.clients.workload import Workload
from fencepost.fault_injection.workload.operations import Answer, Operation, Produce
from fencepost.fault_injection.workload.producer_window import ProducerWindow
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import ErrorCode, Outcome, ProducerId
from tests.conformance.clients.test_client import PARTITION, cluster
from tests.conformance.clients.test_workload import session_at, trace

OK = Answer(outcome=Outcome.OK, offset=0)
EARLY = Answer(outcome=Outcome.DEFINITE_ERROR, error_code=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
BUSY = Answer(outcome=Outcome.DEFINITE_ERROR, error_code=ErrorCode.NOT_ENOUGH_REPLICAS)
ONE = Produce(partition=PARTITION, values=("a",))


@dataclass
class Scripted:
    """A client that hears these answers in turn, and does something between them."""

    answers: list[Answer]
    meanwhile: Callable[[], object] = lambda: None
    sent: list[Operation] = field(default_factory=list)

    def perform(self, operation: Operation, again: Callable[[Answer], bool]) -> Answer:
        while True:
            self.sent.append(operation)
            answer = self.answers.pop(0)
            self.meanwhile()
            if not again(answer):
                return answer


def producer() -> NumberedProducer:
    window = ProducerWindow(2, ProducerId(7))
    return NumberedProducer(window=window, over=threading.Event())


def send(one: NumberedProducer, client: Scripted) -> Answer:
    return one.perform(cast(RoutedClient, client), ONE)


def test_a_batch_that_overtook_another_comes_again_until_that_is_in() -> None:
    one = producer()
    first = one.window.number(ONE)
    client = Scripted([EARLY, EARLY, OK])

    def meanwhile() -> None:
        if len(client.sent) == 2:
            one.window.acknowledged(first)

    client.meanwhile = meanwhile

    assert send(one, client) == OK
    assert {
        operation.base_sequence for operation in client.sent if isinstance(operation, Produce)
    } == {1}
    assert len(client.sent) == 3


def test_a_number_that_is_refused_without_a_reason_ends_the_epoch() -> None:
    one = producer()
    client = Scripted([EARLY, OK])

    assert send(one, client) == EARLY
    assert one.window.number(ONE).producer_epoch == 1


def test_other_refusals_are_tried_again_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbered_producers, "AGAIN_S", 0.0)
    one = producer()
    client = Scripted([BUSY] * (RETRIES + 2))

    assert send(one, client) == BUSY
    assert len(client.sent) == RETRIES + 1


def test_behind_a_batch_that_was_given_up_none_is_tried_again() -> None:
    one = producer()
    first = one.window.number(ONE)
    client = Scripted([EARLY, OK], meanwhile=lambda: one.window.give_up(first))

    assert send(one, client) == EARLY
    assert len(client.sent) == 1


def test_without_room_nothing_is_begun_when_the_time_is_over() -> None:
    one = producer()
    for _ in range(2):
        one.window.number(ONE)
    one.over.set()
    client = Scripted([])

    assert send(one, client).outcome is Outcome.DEFINITE_ERROR
    assert client.sent == []


def test_a_pipelined_producer_has_one_id_and_several_batches_unanswered(tmp_path: Path) -> None:
    with cluster() as fake:
        session = session_at(tmp_path, fake.address)
        workload = Workload(session, [PARTITION], seed=3, producers=1, consumers=0)
        workload.in_flight = 3
        workload.start()
        reached = workload.await_acknowledged(20, deadline_s=20)
        workload.stop()
        session.transport.close()
        session.close()

    senders = [trace(tmp_path, f"client-1-{number}") for number in (1, 2, 3)]
    invoked = [event for events in senders for event in events if event.kind is Kind.INVOKE]
    assert reached
    assert all(senders)
    assert len({event.producer_id for event in invoked}) == 1
    assert len({event.base_sequence for event in invoked}) == len(invoked)
