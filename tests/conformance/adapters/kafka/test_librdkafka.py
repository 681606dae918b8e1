"""What librdkafka reports is told as certain as it is, and no more.

Skipped without the package `confluent-kafka`, which comes with `fencepost[kafka]`.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from fencepost.conformance.clients.transport import Caller, Transport
from fencepost.fault_injection.workload.operations import Fetch, ListOffsets, Produce
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.znodes import TopicPartition

librdkafka = pytest.importorskip(
    "fencepost.conformance.adapters.kafka.librdkafka",
    reason="the package confluent-kafka is not installed",
    exc_type=ImportError,
)

KEY = TopicPartition("orders", 0)
NOWHERE = "127.0.0.1:1"
PRODUCE = Produce(partition=KEY, values=("a", "b"))
TIMED_OUT, TOO_LARGE, NOT_LEADER = -192, 10, 6


def error(code: int) -> object:
    from confluent_kafka import KafkaError

    return KafkaError(code)


class Case(NamedTuple):
    reports: list[tuple[int | None, int | None]]
    outcome: Outcome
    error_code: str | None = None


CASES = {
    "all are at offsets that follow each other": Case([(None, 7), (None, 8)], Outcome.OK),
    "an offset is not known": Case([(None, 7), (None, -1001)], Outcome.INDEFINITE, "NO_OFFSET"),
    "a record came between": Case([(None, 7), (None, 9)], Outcome.INDEFINITE, "NO_OFFSET"),
    "one was given up": Case([(None, 7), (TIMED_OUT, None)], Outcome.INDEFINITE, "_MSG_TIMED_OUT"),
    "a former leader may have it": Case(
        [(NOT_LEADER, None), (NOT_LEADER, None)], Outcome.INDEFINITE, "NOT_LEADER_FOR_PARTITION"
    ),
    "nothing is reported": Case([(None, 7)], Outcome.INDEFINITE, "NO_ANSWER"),
    "no attempt was taken": Case(
        [(TOO_LARGE, None), (TOO_LARGE, None)], Outcome.DEFINITE_ERROR, "MSG_SIZE_TOO_LARGE"
    ),
    "one is too large": Case(
        [(TOO_LARGE, None), (None, 3)], Outcome.INDEFINITE, "MSG_SIZE_TOO_LARGE"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_produce_is_as_certain_as_its_reports(case: Case) -> None:
    reports = [(None if code is None else error(code), at) for code, at in case.reports]

    answer = librdkafka.produced(PRODUCE, reports)

    assert (answer.outcome, answer.error_code) == (case.outcome, case.error_code)
    assert answer.offset == (7 if answer.is_ok else None)


@pytest.fixture
def transport() -> Iterator[Transport]:
    made = librdkafka.LibrdkafkaTransport(can_produce=True)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("operation", "outcome"),
    [
        (Fetch(partition=KEY, offset=0), Outcome.DEFINITE_ERROR),
        (ListOffsets(partition=KEY), Outcome.DEFINITE_ERROR),
        (PRODUCE, Outcome.INDEFINITE),
    ],
    ids=["fetch", "list_offsets", "produce"],
)
def test_without_a_broker_a_read_fails_and_a_produce_may_not_have(
    operation: Fetch | ListOffsets | Produce,
    outcome: Outcome,
    transport: Transport,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    short = {**librdkafka.PRODUCER, "delivery.timeout.ms": 1300}
    monkeypatch.setattr(librdkafka, "PRODUCER", short)
    monkeypatch.setattr(librdkafka, "READ_S", 0.2)
    connection = transport.connect(NOWHERE, Caller(node="client-1", clock=LamportClock()), 1)

    assert connection.perform(operation).outcome is outcome
