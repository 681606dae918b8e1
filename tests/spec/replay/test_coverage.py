"""How much of what processes did is replayed: the share of their lines, over some seeds."""

import pytest

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.coverage import OF_RECORDS, Coverage, coverage
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Projection, project_all
from fencepost.spec.replay.recorded_run import TraceFileLine, as_lines, recorded_run
from fencepost.spec.vocabulary import NEWEST_LEVEL, Action

LEVEL = NEWEST_LEVEL
SEEDS = (*range(39), 180, 196, 124, 85)
"""Drawn ones, and some of those with which the gate begins."""

ALL_MIN = 0.99
CONTROL_PLANE_MIN = 0.99


def run_of(seed: int) -> list[TraceFileLine]:
    lines = as_lines(simulate_modelled(seed, level=LEVEL, mutant=None))
    return total_order(recorded_run("run", lines))


def replays_of(lines: list[TraceFileLine]) -> list[Projection]:
    partitions = partitions_of_run(lines).items()
    return [one for found in partitions for one in project_all("run", LEVEL, lines, *found)]


@pytest.mark.long
def test_most_of_what_processes_do_is_replayed() -> None:
    every, control_plane = Coverage(), Coverage()
    for seed in SEEDS:
        lines = run_of(seed)
        replays = replays_of(lines)
        every += coverage(lines, replays)
        control_plane += coverage(lines, replays, OF_RECORDS)

    assert every.share >= ALL_MIN, every
    assert control_plane.share >= CONTROL_PLANE_MIN, control_plane


def test_a_line_counts_once_and_only_if_it_is_in_a_replay() -> None:
    lines = run_of(49)
    (replay,) = replays_of(lines)

    assert coverage(lines, [replay]) == coverage(lines, [replay, replay])
    assert coverage(lines, []).replayed == 0
    assert coverage([], [replay]).share == 1.0
    appends = sum(line.event.action == Action.LEADER_APPEND for line in lines)
    without = frozenset({*Action} - {Action.LEADER_APPEND})
    assert coverage(lines, [replay], without) == Coverage(appends, appends)
