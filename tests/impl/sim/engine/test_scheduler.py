"""Virtual time."""

from functools import partial

import pytest

from fencepost.impl.sim.engine.scheduler import Scheduler


def test_callbacks_run_by_time_and_then_by_order_of_scheduling() -> None:
    scheduler, ran = Scheduler(), list[tuple[str, int]]()

    def run(name: str) -> None:
        ran.append((name, scheduler.now_us))

    for name, time_us in [("c", 2_000), ("a", 1_000), ("d", 2_000), ("b", 1_000)]:
        scheduler.at_us(time_us, partial(run, name))

    assert not scheduler.run_until(2)

    assert ran == [("a", 1_000), ("b", 1_000), ("c", 2_000), ("d", 2_000)]


def test_what_lies_beyond_the_limit_waits() -> None:
    scheduler, ran = Scheduler(), list[int]()
    scheduler.after_ms(5, lambda: ran.append(scheduler.now_ms))

    scheduler.run_until(4)
    assert (ran, scheduler.now_ms) == ([], 4)
    scheduler.run_until(5)

    assert ran == [5]


def test_what_lies_in_the_past_runs_now() -> None:
    scheduler, ran = Scheduler(), list[int]()
    scheduler.run_until(10)

    scheduler.at_us(3, lambda: ran.append(scheduler.now_us))
    scheduler.run_until(10)

    assert ran == [10_000]


def test_a_callback_may_schedule_for_the_same_time() -> None:
    scheduler, ran = Scheduler(), list[str]()

    def first() -> None:
        ran.append("first")
        scheduler.after_us(0, lambda: ran.append("third"))

    scheduler.after_ms(1, first)
    scheduler.after_ms(1, lambda: ran.append("second"))
    scheduler.run_until(1)

    assert ran == ["first", "second", "third"]


@pytest.mark.parametrize(("wanted", "is_done"), [(2, True), (9, False)])
def test_running_stops_when_done(wanted: int, is_done: bool) -> None:
    scheduler, ran = Scheduler(), list[int]()
    for _ in range(3):
        scheduler.after_ms(1, lambda: ran.append(1))

    assert scheduler.run_until(50, lambda: len(ran) == wanted) is is_done

    assert len(ran) == min(wanted, 3)
    assert scheduler.now_ms == (1 if is_done else 50)
