"""Each kind of corruption of a trace that real processes wrote is rejected by the replay."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.recorded_run import read_run
from tests.chaos.conftest import Played
from tests.spec.replay.corruption_kinds import KINDS
from tests.spec.replay.corruptions import Events
from tests.spec.replay.test_corruptions import PASSED, Tried, rejected, tried

pytestmark = [pytest.mark.chaos, pytest.mark.tlc]

SCENARIOS = ("truncation_loss", "controller_pause")
"""Short ones; the first has a place for most kinds, and TLC replays a run once per kind."""

KINDS_MIN = 60
"""Of all kinds; for the rest, the processes did not come to what they corrupt."""


def run_in(folder: Path) -> Events:
    return [line.event for line in total_order(read_run(folder))]


def first_of_each(runs: list[Events]) -> Iterator[Tried]:
    """Each kind at its first place in the first run that has one."""
    for kind, corruption in KINDS.items():
        found = next((one for run in runs for one in corruption(run)), None)
        if found is not None:
            yield tried(kind, found)


def test_each_kind_is_rejected_in_a_run_of_processes(played: Played) -> None:
    cases = list(first_of_each([run_in(Path(played(name).folder)) for name in SCENARIOS]))

    is_rejected = rejected(cases)

    passed = {case.kind for case, is_it in zip(cases, is_rejected, strict=True) if not is_it}
    assert passed <= PASSED.keys()
    assert len(cases) >= KINDS_MIN
