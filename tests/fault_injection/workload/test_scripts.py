"""Scripts of clients, followed one step at a time by what each test answers."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random

import pytest

from fencepost.fault_injection.workload.operations import Answer, Fetch, Operation, Produce
from fencepost.fault_injection.workload.scripts import (
    ClientHabits,
    Pause,
    Script,
    consume,
    produce,
    read_to_end,
)
from fencepost.spec.vocabulary import ErrorCode, Outcome
from fencepost.spec.znodes import TopicPartition

T0 = TopicPartition("t", 0)
HABITS = ClientHabits(think_ms=(1, 1), back_off_ms=(9, 9))
ACKNOWLEDGED = Answer(outcome=Outcome.OK, offset=0)


def refused(error: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> Answer:
    return Answer(outcome=Outcome.DEFINITE_ERROR, error_code=error)


def read(*values: str, incarnation: int = 1, high_watermark: int = 9) -> Answer:
    return Answer(
        outcome=Outcome.OK,
        values=values,
        high_watermark=high_watermark,
        partition_incarnation=incarnation,
    )


def steps(script: Script[object], *answers: Answer) -> list[Operation | Pause]:
    """The steps of a script whose operations get these answers, up to the next operation."""
    found, given = [next(script)], iter(answers)
    with suppress(StopIteration):
        while True:
            is_pause = isinstance(found[-1], Pause)
            found.append(next(script) if is_pause else script.send(next(given)))
    return found


def values(found: list[Operation | Pause]) -> list[tuple[str, ...]]:
    return [step.values for step in found if isinstance(step, Produce)]


def asked(found: list[Operation | Pause]) -> list[int | str]:
    """Where each fetch begins, and the names of other operations."""
    operations = [step for step in found if not isinstance(step, Pause)]
    return [one.offset if isinstance(one, Fetch) else one.action for one in operations]


class Certain(Random):
    """Draws shares of 0, so that what may happen now and then always happens."""

    def random(self) -> float:
        return 0.0


def test_a_new_attempt_has_a_new_payload_and_comes_after_a_longer_pause() -> None:
    habits = replace(HABITS, attempts=3)

    found = steps(produce("c", [T0], Random(1), habits), refused(), refused(), ACKNOWLEDGED)

    assert values(found) == [("c/1/1",), ("c/1/2",), ("c/1/3",), ("c/2/1",)]
    assert [step.ms for step in found if isinstance(step, Pause)] == [9, 9, 1]


def test_after_the_last_attempt_something_else_is_appended() -> None:
    found = steps(produce("c", [T0], Random(1), HABITS), refused(), ACKNOWLEDGED)

    assert values(found) == [("c/1/1",), ("c/2/1",), ("c/3/1",)]


def test_no_value_of_a_batch_is_in_another() -> None:
    habits = replace(HABITS, batch_records_max=3)
    batches = values(steps(produce("c", [T0], Random(1), habits), *[ACKNOWLEDGED] * 20))

    flat = [value for batch in batches for value in batch]
    assert flat == [f"c/{number}/1" for number in range(1, len(flat) + 1)]
    assert {len(batch) for batch in batches} == {1, 2, 3}


def test_a_script_ends_after_its_operations() -> None:
    habits = replace(HABITS, operations=2)

    assert len(values(steps(produce("c", [T0], Random(1), habits), *[ACKNOWLEDGED] * 5))) == 2


def test_a_consumer_reads_on_and_begins_again_in_a_partition_that_was_created_again() -> None:
    answers = (
        read("a", "b"),
        refused(),
        read("c"),
        read("x", incarnation=2),
        read("y", incarnation=2),
    )

    assert asked(steps(consume([T0], Random(1), HABITS), *answers)) == [0, 2, 2, 3, 0, 1]


@pytest.mark.parametrize(("high_watermark", "then"), [(1, 1), (9, 2)])
def test_a_position_beyond_the_log_is_corrected_by_what_the_leader_has(
    high_watermark: int, then: int
) -> None:
    habits = replace(HABITS, asks_offsets=0.000_1)
    offsets = read(high_watermark=high_watermark)
    answers = read("a", "b"), refused(ErrorCode.OFFSET_OUT_OF_RANGE), offsets

    found = steps(consume([T0], Random(1), habits), *answers)

    assert asked(found) == [0, 2, "ListOffsets", then]


def test_a_consumer_goes_back_now_and_then() -> None:
    habits = replace(HABITS, rewinds=0.1, rewind_records=2)
    answers = read("a", "b", "c"), read("b")

    assert asked(steps(consume([T0], Certain(1), habits), *answers)) == [0, 1, 0]


def test_a_consumer_asks_for_offsets_now_and_then_and_keeps_its_position() -> None:
    habits = replace(HABITS, asks_offsets=0.1)

    assert asked(steps(consume([T0], Certain(1), habits), read())) == ["ListOffsets"] * 2


def test_a_final_read_goes_on_where_it_was_and_pauses_when_nothing_came() -> None:
    script = read_to_end(T0, lambda offset, answer: offset == answer.high_watermark, 7)
    answers = read("a", "b", high_watermark=3), refused(), read("c", high_watermark=3)

    found = steps(script, *answers)

    assert asked(found) == [0, 2, 2]
    assert [step.ms for step in found if isinstance(step, Pause)] == [7]


@pytest.mark.parametrize("script", [partial(produce, "c"), consume], ids=["produce", "consume"])
def test_a_client_waits_while_there_is_no_partition(script: Callable[..., Script[None]]) -> None:
    partitions: list[TopicPartition] = []
    working = script(partitions, Random(0), HABITS)

    assert [next(working), next(working)] == [Pause(9), Pause(9)]
    partitions.append(T0)
    assert not isinstance(next(working), Pause)
