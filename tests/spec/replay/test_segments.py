"""A run that is replayed in segments ends as it does when it is replayed at once."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import chain

import pytest
from msgspec import structs

from fencepost.impl.sim.adapter import simulate_long
from fencepost.spec.replay import tlc_run
from fencepost.spec.replay.pauses import STRIDE
from fencepost.spec.replay.projection import Projection
from fencepost.spec.replay.recorded_run import as_lines, recorded_run
from fencepost.spec.replay.replay import Replayed, ReplayResult, replay
from fencepost.spec.replay.tlc_run import Marker, RunSegment, replay_in_segments, run_tlc
from fencepost.spec.tlc.java.machines import Machines
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import NEWEST_LEVEL, Action
from tests.spec.replay.test_corruptions import first_of_each, sound
from tests.spec.replay.test_pauses import OFTEN

SECONDS, SEED = 4, 2
PARTITION = "t/0"


@cache
def long_run() -> tuple[TraceEvent, ...]:
    """More than two pauses long."""
    return tuple(simulate_long(SEED, level=NEWEST_LEVEL, seconds=SECONDS))


def with_wrong_epoch() -> list[TraceEvent]:
    """The run, of which the last record that a follower appends has a later epoch."""
    events = list(long_run())
    at = max(at for at, event in enumerate(events) if event.action == Action.FOLLOWER_APPEND)
    events[at] = structs.replace(events[at], leader_epoch=(events[at].leader_epoch or 0) + 1)
    return events


def replayed(events: list[TraceEvent]) -> ReplayResult:
    (result,) = (
        one
        for one in replay([recorded_run("run", as_lines(events))]).results
        if one.partition == PARTITION
    )
    return result


@pytest.mark.tlc
@pytest.mark.parametrize("is_sound", [True, False])
def test_a_run_ends_as_it_does_at_once(monkeypatch: pytest.MonkeyPatch, *, is_sound: bool) -> None:
    events = list(long_run()) if is_sound else with_wrong_epoch()
    at_once = replayed(events)

    monkeypatch.setattr(tlc_run, "SEGMENT_STRIDES", 1)
    in_segments = replayed(events)

    assert at_once.events > 2 * STRIDE
    assert in_segments == at_once
    assert in_segments.verdict is (Replayed.ACCEPTED if is_sound else Replayed.REJECTED)
    if not is_sound:
        assert in_segments.explanation is not None
        assert in_segments.explanation.index > STRIDE


def halves(projection: Projection) -> RunSegment:
    """The first of two segments, with pauses in the middle of everything."""
    often = replace(projection, stride=OFTEN)
    return replace(RunSegment.first(often), strides=-(-len(often.events) // (2 * OFTEN)))


def names(markers: list[Marker]) -> list[str]:
    return [marker.name for marker in markers]


@pytest.mark.long
@pytest.mark.tlc
def test_verdicts_are_the_same_of_every_corruption() -> None:
    projections = [one.partition for one in chain(sound(), first_of_each()) if one.partition]

    def found(machines: Machines) -> Iterator[tuple[list[str], list[str], int]]:
        for one in projections:
            whole = run_tlc([one], machines)
            last, markers = replay_in_segments(halves(one), machines)
            yield names(whole), names(markers), last.number

    with Machines() as machines:
        ends = list(found(machines))

    assert [at_once for at_once, _, _ in ends] == [in_two for _, in_two, _ in ends]
    assert {number for _, _, number in ends} == {0, 1}
