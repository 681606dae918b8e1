"""What clients do while faults hit the cluster, and the read that ends a run.

A script is a generator: it yields an operation and is sent the answer, or yields a pause. The
simulator follows scripts by callbacks in virtual time, `conformance` by threads. Every payload is
unique, `<client>/<sequence>/<attempt>`: whatever is later found in a log names its one request.
"""

import sys
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from fencepost.fault_injection.workload.operations import (
    ACKS_ALL,
    ACKS_LEADER,
    Answer,
    Fetch,
    ListOffsets,
    Operation,
    Produce,
)
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.znodes import TopicPartition

UNBOUNDED = sys.maxsize

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is asked for a while; a client that was stopped meanwhile ends here."""

    ms: int


Script = Generator[Operation | Pause, Answer, Result]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientHabits:
    """How the clients of one run work."""

    think_ms: tuple[int, int]
    """Between two operations: at least, and at most."""
    back_off_ms: tuple[int, int]
    """The same after an error."""
    operations: int = UNBOUNDED
    """The script ends after so many turns."""
    attempts: int = 1
    """How often a producer tries to append something, each time with another payload."""
    batch_records_max: int = 1
    unacknowledged: float = 0.0
    """Share of the records that are produced with acks=1."""
    rewinds: float = 0.0
    """How often a consumer goes back."""
    rewind_records: int = UNBOUNDED
    """By so many records, at most to the start."""
    asks_offsets: float = 0.0
    """How often a consumer asks for offsets; if ever, also when its position is out of range."""
    max_wait_ms: int = 0
    """Of a fetch."""

    @property
    def idle(self) -> Pause:
        """While there is nothing to work on."""
        return Pause(max(self.back_off_ms))

    def pause(self, answer: Answer, random: Random) -> Pause:
        """Between the operation with this answer and the next one."""
        return Pause(random.randint(*(self.think_ms if answer.is_ok else self.back_off_ms)))


def produce(
    name: str, partitions: Sequence[TopicPartition], random: Random, habits: ClientHabits
) -> Script[None]:
    """Append to partitions in random order; `partitions` may grow meanwhile, from none on."""
    sequence = 1
    for _ in range(habits.operations):
        if not partitions:
            yield habits.idle
            continue
        partition = random.choice(partitions)
        share = habits.unacknowledged
        acks = ACKS_LEADER if share and random.random() < share else ACKS_ALL
        size = habits.batch_records_max
        batch = range(sequence, sequence + (random.randint(1, size) if size > 1 else 1))
        sequence = batch.stop
        for attempt in range(1, habits.attempts + 1):
            values = tuple(f"{name}/{number}/{attempt}" for number in batch)
            answer = yield Produce(partition=partition, values=values, acks=acks)
            yield habits.pause(answer, random)
            if answer.is_ok:
                break


def consume(
    partitions: Sequence[TopicPartition], random: Random, habits: ClientHabits
) -> Script[None]:
    """Read partitions in random order, each from its start; from there again if it is new."""
    positions: dict[TopicPartition, int] = {}
    incarnations: dict[TopicPartition, int] = {}
    for _ in range(habits.operations):
        if not partitions:
            yield habits.idle
            continue
        partition = random.choice(partitions)
        position, draw = positions.get(partition, 0), random.random()
        if draw < habits.rewinds:
            position = max(0, position - habits.rewind_records)
        asks_offsets = habits.rewinds <= draw < habits.rewinds + habits.asks_offsets
        answer = yield (
            ListOffsets(partition=partition)
            if asks_offsets
            else Fetch(partition=partition, offset=position, max_wait_ms=habits.max_wait_ms)
        )
        position += len(answer.values)
        if habits.asks_offsets and answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            found = yield ListOffsets(partition=partition)
            position = _inside(position, found)
        seen = answer.partition_incarnation
        if seen and incarnations.setdefault(partition, seen) != seen:
            incarnations[partition], position = seen, 0
        positions[partition] = position
        yield habits.pause(answer, random)


def _inside(position: int, answer: Answer) -> int:
    """Where to go on in a log that may end below what was read from it."""
    return position if answer.high_watermark is None else min(position, answer.high_watermark)


def read_to_end(
    partition: TopicPartition, is_read: Callable[[int, Answer], bool], poll_ms: int
) -> Script[tuple[str, ...]]:
    """Read a partition from its start until `is_read`, given the offset reached and the answer."""
    values: list[str] = []
    while True:
        answer = yield Fetch(partition=partition, offset=len(values))
        values += answer.values
        if is_read(len(values), answer):
            return tuple(values)
        if not answer.values:
            yield Pause(poll_ms)
