"""Schedules that are drawn for tests: every kind, in bounds, and again the same."""

import pytest

from fencepost.conformance.adapters.choices import NAMESPACES, PROXY
from fencepost.conformance.testing.run import possible
from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL, KINDS
from fencepost.fault_injection.faults.fault_kind import Backend
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.stories.drawn_story import generate
from fencepost.fault_injection.stories.profiles import PROFILE_KINDS, draw
from fencepost.fault_injection.stories.story import Story
from fencepost.fault_injection.stories.story_file import as_document, story_from_document

DURATION_MS = 12_000
SESSION_MS = 1_500


def drawn(seed: int, kinds: tuple[str, ...], brokers: tuple[int, ...] = (1, 2, 3)) -> Story:
    return draw(
        seed, brokers=brokers, duration_ms=DURATION_MS, session_timeout_ms=SESSION_MS, kinds=kinds
    )


@pytest.mark.parametrize("kind", PROFILE_KINDS)
def test_every_kind_is_drawn_alone(kind: str) -> None:
    schedule = drawn(7, (kind,))

    assert {timed.fault.kind for timed in schedule.actions} == {kind}
    assert schedule.end_ms <= DURATION_MS
    assert Backend.REAL in KINDS[kind].backends
    assert story_from_document(as_document(schedule)) == schedule
    assert drawn(7, (kind,)) == schedule


def test_one_fault_is_active_at_a_time_beside_those_on_requests() -> None:
    for seed in range(20):
        alone = [
            timed
            for timed in drawn(seed, PROFILE_KINDS).actions
            if timed.fault.kind not in DRAWN_FOR_REAL or not timed.fault.kind.startswith("rpc.")
        ]
        ends = [timed.at_ms + (timed.fault.active_ms or 0) for timed in alone]

        assert all(end < after.at_ms for end, after in zip(ends, alone[1:], strict=False))


def test_what_generate_can_draw_it_draws() -> None:
    wanted = generate(
        5,
        brokers=(1, 2, 3),
        duration_ms=DURATION_MS,
        session_timeout_ms=SESSION_MS,
        kinds=DRAWN_FOR_REAL,
    )

    assert drawn(5, DRAWN_FOR_REAL) == wanted


def test_nothing_suspends_a_promise_as_it_is_drawn() -> None:
    relaxing = {kind for kind in PROFILE_KINDS if KINDS[kind].relaxes}

    assert relaxing == {"proc.kill"}  # with wipe, which no drawing has
    faults = [timed.fault for seed in range(50) for timed in drawn(seed, ("proc.kill",)).actions]
    assert {getattr(fault, "wipe", "") for fault in faults} == {"none"}


def test_who_can_draw_nothing_is_told_so() -> None:
    with pytest.raises(FaultError, match=r"unknown fault 'proc\.rolling'; choose among admin"):
        drawn(1, ("proc.rolling",))
    with pytest.raises(FaultError, match="give at least two"):
        drawn(1, ("net.isolate",), brokers=(1,))


def test_namespaces_draw_what_they_can() -> None:
    assert possible(PROFILE_KINDS, PROXY) == list(PROFILE_KINDS)
    assert {"zk.conn_drop", "zk.lose_reply"}.isdisjoint(possible(PROFILE_KINDS, NAMESPACES))
    assert {"zk.link", "net.isolate"} <= set(possible(PROFILE_KINDS, NAMESPACES))
