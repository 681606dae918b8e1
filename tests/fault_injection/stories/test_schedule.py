from itertools import pairwise

import pytest

from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.request_faults import RpcFault
from fencepost.fault_injection.faults.targets import FaultError, broker
from fencepost.fault_injection.stories.schedule import (
    Schedule,
    TimedFault,
    generate,
    schedule_from_json,
)

DURATION_MS = 20_000
SESSION_TIMEOUT_MS = 1500


def drawn(seed: int) -> Schedule:
    return generate(
        seed, brokers=[1, 2, 3], duration_ms=DURATION_MS, session_timeout_ms=SESSION_TIMEOUT_MS
    )


@pytest.mark.parametrize("seed", range(20))
def test_generated_schedule_survives_json_and_repeats(seed: int) -> None:
    schedule = drawn(seed)

    assert schedule_from_json(schedule.to_json()) == schedule
    assert drawn(seed).to_json() == schedule.to_json()


def test_seeds_differ() -> None:
    assert len({drawn(seed).to_json() for seed in range(50)}) == 50


@pytest.mark.parametrize("seed", range(50))
def test_process_faults_never_overlap_and_the_tail_is_quiet(seed: int) -> None:
    schedule = drawn(seed)
    process = [t for t in schedule.faults if not isinstance(t.fault, RpcFault)]

    assert process
    assert all((one.end_ms or 0) < two.at_ms for one, two in pairwise(process))
    assert schedule.end_ms <= DURATION_MS * 0.7
    assert min(t.at_ms for t in schedule.faults) >= DURATION_MS * 0.1


def test_every_kind_is_drawn_sooner_or_later() -> None:
    kinds = {timed.fault.kind for seed in range(50) for timed in drawn(seed).faults}

    assert kinds == set(DRAWN_FOR_REAL)


def test_only_chosen_kinds_are_drawn() -> None:
    schedule = generate(
        7, brokers=[1], duration_ms=DURATION_MS, session_timeout_ms=100, kinds=["zk.expire"]
    )

    assert {timed.fault.kind for timed in schedule.faults} == {"zk.expire"}


def test_generate_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(FaultError, match=r"unknown fault 'nap'; choose among proc\.kill"):
        generate(1, brokers=[1], duration_ms=10, session_timeout_ms=1, kinds=["nap"])
    with pytest.raises(FaultError, match=r"unknown fault 'net\.oneway'"):
        generate(1, brokers=[1], duration_ms=10, session_timeout_ms=1, kinds=["net.oneway"])
    with pytest.raises(FaultError, match="at least one broker"):
        generate(1, brokers=[], duration_ms=10, session_timeout_ms=1)
    with pytest.raises(FaultError, match="duration_ms is 0"):
        generate(1, brokers=[1], duration_ms=0, session_timeout_ms=1)


def timed(fault_id: str, at_ms: int) -> TimedFault:
    return TimedFault(
        fault_id=fault_id, at_ms=at_ms, fault=PauseBroker(target=broker(1), for_ms=10)
    )


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ((timed("a", 0), timed("a", 5)), "'a' is used twice"),
        ((timed("a", 5), timed("b", 0)), "not in order of at_ms"),
        ((timed("a", -5),), "a has a negative at_ms"),
    ],
)
def test_inconsistent_schedule_is_refused(faults: tuple[TimedFault, ...], message: str) -> None:
    with pytest.raises(FaultError, match=message):
        Schedule(seed=0, faults=faults)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no valid JSON"),
        ("[]", 'expected an object with "schema": 1'),
        ('{"schema": 1, "seed": "x", "faults": []}', '"seed" must be a whole number'),
        ('{"schema": 1, "seed": 1, "faults": [3]}', r"faults\[0\]: expected a JSON object"),
        ('{"schema": 1, "seed": 1, "faults": [{}]}', r"faults\[0\]: fault_id is None"),
        (
            '{"schema": 1, "seed": 1, "faults": [{"fault_id": "a", "at_ms": 1, "fault": "x"}]}',
            r"faults\[0\]: unknown fault 'x'",
        ),
    ],
)
def test_malformed_schedule_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(FaultError, match=message):
        schedule_from_json(text)
