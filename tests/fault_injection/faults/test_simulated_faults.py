"""Faults of the simulator are values like all others, and the engine of real processes says no."""

import pytest

from fencepost.fault_injection.faults.network_faults import ReorderLink
from fencepost.fault_injection.faults.targets import FaultError, broker
from fencepost.fault_injection.stories.story import StoryAction
from tests.fault_injection.engine.test_engine import Bench, pause, run


def test_fault_that_can_only_be_simulated_is_refused_before_anything_is_done() -> None:
    bench = Bench()
    reorder = ReorderLink(sender=broker(1), for_ms=10, delay_ms=5)
    disorder = StoryAction.at(action_id="b", at_ms=9, fault=reorder)

    with pytest.raises(FaultError, match=r"^b: net\.reorder can only be simulated, since .+; on r"):
        run(bench, pause("a", 0), disorder)
    assert bench.log == []
