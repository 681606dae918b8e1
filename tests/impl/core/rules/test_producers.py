"""Idempotence: no try of a produce is in a log twice, whoever leads and whatever is cut off."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from fencepost.fault_injection.workload.producer_window import IN_FLIGHT_MAX
from fencepost.impl.core.rules.producers import (
    BATCHES_KEPT,
    UNKNOWN_PRODUCER,
    ProducerTable,
    batch_records,
    batches_of,
    find_duplicate,
    sequence_error,
    whole_batches,
)
from fencepost.impl.core.types.messages import ProduceRequest, Record
from fencepost.spec.vocabulary import NO_PRODUCER, ErrorCode, LeaderEpoch, Offset, ProducerId

P7 = ProducerId(7)
EPOCH = LeaderEpoch(1)


def request(base: int, count: int = 1, *, epoch: int = 0, producer: int = P7) -> ProduceRequest:
    return ProduceRequest(
        topic="t",
        partition=0,
        values=tuple(f"{producer}/{epoch}/{base + i}" for i in range(count)),
        producer_id=ProducerId(producer),
        producer_epoch=epoch,
        base_sequence=base,
    )


@dataclass
class Log:
    """The records and the table that goes with them; `offer` is what a leader does."""

    records: list[Record] = field(default_factory=list)
    table: ProducerTable = field(default_factory=ProducerTable)

    def append(self, records: tuple[Record, ...]) -> None:
        self.table.append(Offset(len(self.records)), records)
        self.records += records

    def truncate(self, offset: int) -> None:
        self.table.truncate(Offset(offset))
        del self.records[offset:]

    def offer(self, produce: ProduceRequest, leader_epoch: int = EPOCH) -> ErrorCode:
        known = self.table[produce.producer_id]
        if find_duplicate(known, produce):
            return ErrorCode.NONE
        error = sequence_error(known, produce)
        if error is ErrorCode.NONE:
            self.append(batch_records(produce, LeaderEpoch(leader_epoch)))
        return error

    @property
    def values(self) -> list[str]:
        return [record.value for record in self.records]


def test_a_retry_finds_the_offsets_of_the_first_try() -> None:
    log = Log()
    log.offer(request(0, 2))
    log.offer(request(0, 3, producer=8))
    log.offer(request(2, 2))

    found = find_duplicate(log.table[P7], request(2, 2))

    assert found is not None
    assert (found.base_offset, found.end_offset) == (5, 7)
    assert len(log.records) == 7


@pytest.mark.parametrize(
    ("produce", "error"),
    [
        (request(4, epoch=1), ErrorCode.NONE),
        (request(5, epoch=1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (request(3, epoch=1), ErrorCode.DUPLICATE_SEQUENCE_NUMBER),
        (request(0, 4, epoch=1), ErrorCode.DUPLICATE_SEQUENCE_NUMBER),
        (request(3, 2, epoch=1), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (request(0, epoch=2), ErrorCode.NONE),
        (request(1, epoch=2), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
        (request(4, epoch=0), ErrorCode.INVALID_PRODUCER_EPOCH),
        (request(0, producer=9), ErrorCode.NONE),
        (request(1, producer=9), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    ],
)
def test_only_what_comes_next_is_appended(produce: ProduceRequest, error: ErrorCode) -> None:
    """Producer 7 has sequences 0 to 3 under its epoch 1."""
    log = Log()
    log.offer(request(0, 2, epoch=1))
    log.offer(request(2, 2, epoch=1))

    assert sequence_error(log.table[produce.producer_id], produce) is error


def test_truncation_rolls_the_state_back() -> None:
    log = Log()
    log.offer(request(0))
    log.offer(request(1))
    log.offer(request(0, epoch=1))

    log.truncate(1)

    assert log.offer(request(1)) is ErrorCode.NONE
    log.truncate(0)
    assert log.table[P7] == UNKNOWN_PRODUCER
    assert log.table.states == {}


def test_what_was_forgotten_is_refused_until_the_next_producer_epoch() -> None:
    """More batches than are kept are cut off: older ones are in the log, nobody knows which."""
    log = Log()
    for sequence in range(BATCHES_KEPT + 3):
        log.offer(request(sequence))
    log.truncate(2)

    for sequence in range(4):
        assert log.offer(request(sequence)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert log.offer(request(0, epoch=1)) is ErrorCode.NONE


def test_all_that_a_producer_has_in_flight_may_be_cut_off() -> None:
    """What comes next is known by the last batch that is left, which was acknowledged."""
    log = Log()
    for sequence in range(2 + IN_FLIGHT_MAX):
        assert log.offer(request(sequence)) is ErrorCode.NONE

    log.truncate(2)

    assert log.offer(request(2)) is ErrorCode.NONE


def test_a_begun_batch_is_left_out() -> None:
    first, second = (batch_records(request(base, 3), EPOCH) for base in (0, 3))

    assert whole_batches((*first, *second[:2])) == first
    assert whole_batches(second[:2]) == ()
    assert whole_batches(second[1:]) == second[1:]
    plain = (Record(EPOCH, "a"), Record(EPOCH, "b"))
    assert whole_batches(plain) == plain


def test_records_of_no_producer_are_no_batches() -> None:
    plain = Record(EPOCH, "a")
    mixed = (plain, *batch_records(request(0, 2), EPOCH), plain)

    ((producer, batch),) = batches_of(Offset(10), mixed)

    assert (producer, batch.base_offset, batch.count) == (P7, 11, 2)
    assert plain.producer_id == NO_PRODUCER


# Replicas, leader changes, retries

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("new"), st.sampled_from((1, 2)), st.integers(1, 3)),
        st.tuples(st.just("retry"), st.sampled_from((1, 2)), st.integers(0, 7)),
        st.tuples(st.just("give_up"), st.sampled_from((1, 2)), st.just(0)),
        st.tuples(st.just("fetch"), st.sampled_from((0, 1, 2)), st.integers(1, 4)),
        st.tuples(st.just("lead"), st.sampled_from((0, 1, 2)), st.just(0)),
    ),
    max_size=60,
)


class Partition:
    """Three logs, one of them led; a new leader may lack records, which others then cut off."""

    def __init__(self) -> None:
        self.logs = [Log(), Log(), Log()]
        self.leader = 0
        self.leader_epoch = 1
        self.tries: dict[int, list[ProduceRequest]] = {1: [], 2: []}
        self.next: dict[int, tuple[int, int]] = {1: (0, 0), 2: (0, 0)}
        """Producer -> epoch and sequence."""

    def new(self, producer: int, count: int) -> None:
        epoch, base = self.next[producer]
        produce = request(base, count, epoch=epoch, producer=producer)
        self.tries[producer].append(produce)
        if self.offer(produce) is ErrorCode.NONE:
            self.next[producer] = (epoch, base + count)
        else:
            self.give_up(producer, 0)

    def retry(self, producer: int, back: int) -> None:
        """Also of what was given up long ago: the network may deliver late."""
        if back < len(self.tries[producer]):
            self.offer(self.tries[producer][-1 - back])

    def offer(self, produce: ProduceRequest) -> ErrorCode:
        return self.logs[self.leader].offer(produce, self.leader_epoch)

    def give_up(self, producer: int, _: int) -> None:
        self.next[producer] = (self.next[producer][0] + 1, 0)

    def fetch(self, broker: int, count: int) -> None:
        log, leader = self.logs[broker], self.logs[self.leader]
        if broker == self.leader:
            return
        shared = 0
        for mine, theirs in zip(log.records, leader.records, strict=False):
            if mine != theirs:
                break
            shared += 1
        if shared < len(log.records):
            log.truncate(shared)
        log.append(whole_batches(tuple(leader.records[shared : shared + count])))

    def lead(self, broker: int, _: int) -> None:
        self.leader = broker
        self.leader_epoch += 1


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_no_sequence_is_twice_in_a_log_whoever_leads(steps: list[tuple[str, int, int]]) -> None:
    partition = Partition()
    for name, who, number in steps:
        getattr(partition, name)(who, number)

        for log in partition.logs:
            assert len(set(log.values)) == len(log.values)


@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_the_table_says_what_the_log_says(steps: list[tuple[str, int, int]]) -> None:
    """It may have forgotten batches, but it knows none that the log has not, and the last ones."""
    partition = Partition()
    for name, who, number in steps:
        getattr(partition, name)(who, number)

    for log in partition.logs:
        rebuilt = ProducerTable()
        rebuilt.append(Offset(0), log.records)
        for producer in (ProducerId(1), ProducerId(2)):
            batches = log.table[producer].batches
            everything = rebuilt[producer].batches
            assert everything[len(everything) - len(batches) :] == batches
            if not batches and everything:
                assert log.table[producer].forgotten_epoch >= everything[-1].producer_epoch
