"""Each step of a replay is a step of `Replication`, and a replay that allows more is found out."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost.spec.replay import tlc_run
from fencepost.spec.replay.projection import Projection
from fencepost.spec.replay.tlc_run import run_real_tlc, run_tlc
from tests.spec.replay.corruption_kinds import KINDS
from tests.spec.replay.corruptions import Corrupted
from tests.spec.replay.test_corruptions import projected, run_of, tried

SEEDS = (40, 50, 49, 25, 43, 44)
"""Between them they have every action."""
MORE_SEEDS = (46, 57, 3, 18, 19, 37, 20, 23, 54, 29)
"""The last four: elections outside the ISR, a person that writes `/controller`, moves, removals."""


@dataclass(frozen=True, slots=True)
class Loosened:
    """A module of the replay with a weaker step, and a lie that the replay then believes."""

    module: str
    guard: str
    instead: str
    lie: str


LOOSENED = (
    Loosened(
        "TraceReplication",
        "new == Min({ReachedBy(l, f) : f \\in Quorum(l) \\cup {l}})",
        "new == Event.high_watermark",
        "smaller high watermark of a leader",
    ),
    Loosened(
        "TraceReplication",
        "IN /\\ command \\in messages\n",
        "IN /\\ TRUE\n",
        "command that no controller sent",
    ),
    Loosened(
        "TraceReplication",
        "/\\ Holding(\\E tenure \\in LedLogs(f) : IsAnswer(f, tenure))\n",
        "/\\ TRUE\n",
        "another record",
    ),
    Loosened(
        "TraceMetadata",
        "        /\\ state.leader \\in Event.isr => Event.leader = state.leader\n",
        "        /\\ TRUE\n",
        "decision for another leader",
    ),
    Loosened(
        "TraceAssignment",
        "isr |-> isr \\cap Members(both)",
        "isr |-> Event.isr",
        "step of a move before the new replicas have joined",
    ),
    Loosened(
        "TraceMetadata",
        "/\\ Event.isr = state.isr\n    /\\ messages'",
        "\n    /\\ messages'",
        "sent state with another ISR",
    ),
)


def unreal(projections: Sequence[Projection]) -> dict[int, str]:
    """Run -> the action that is no step of the spec."""
    return {
        int(str(marker.values[0])): str(marker.values[2])
        for marker in run_real_tlc(projections)
        if marker.name == "unreal"
    }


def first_partitions(seeds: Sequence[int]) -> list[Projection]:
    return [projected(run_of(seed)) for seed in seeds]


@pytest.mark.long
@pytest.mark.tlc
def test_each_step_of_a_replay_is_one_of_replication() -> None:
    runs = first_partitions(SEEDS)
    actions = {str(event.fields["action"]) for run in runs for event in run.events}

    markers = run_real_tlc(runs)

    assert {marker.name for marker in markers} == {"accepted"}
    assert len(markers) == len(runs)
    assert {"ElectLeader", "TruncateLog", "FenceLeader", "ResignController"} <= actions


@pytest.mark.tlc
@pytest.mark.long
def test_so_is_each_step_of_more_runs() -> None:
    assert unreal(first_partitions(MORE_SEEDS)) == {}


@pytest.mark.long
@pytest.mark.tlc
def test_a_step_that_allows_more_is_none_of_replication(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = tmp_path / "tla"
    shutil.copytree(tlc_run.MODULES, modules)
    for loosened in LOOSENED:
        loosen(modules / f"{loosened.module}.tla", loosened)
    lies = [next(lies_of(one.lie)) for one in LOOSENED]
    projections = [partition_of(one.lie) for one in LOOSENED]

    assert [one.name for one in run_tlc(projections)] == []
    monkeypatch.setattr(tlc_run, "MODULES", modules)
    told = {number: lie.line.action for number, lie in enumerate(lies, start=1)}
    assert unreal(projections) == told


def loosen(module: Path, loosened: Loosened) -> None:
    text = module.read_text()
    assert text.count(loosened.guard) == 1, loosened
    module.write_text(text.replace(loosened.guard, loosened.instead))


def lies_of(kind: str) -> Iterator[Corrupted]:
    return (one for seed in SEEDS for one in KINDS[kind](run_of(seed)))


def partition_of(kind: str) -> Projection:
    projection = tried(kind, next(lies_of(kind))).partition
    assert projection is not None
    return projection
