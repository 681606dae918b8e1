"""Runs in which all brokers are upgraded (UMD-003, FWD-007)."""

import json

import pytest

from fencepost.conformance.checks.registry import judge
from fencepost.impl.sim.adapter import simulate_upgrade
from fencepost.spec.trace import TraceEvent
from fencepost.spec.znodes import parse_broker


def spoken(events: list[TraceEvent]) -> list[tuple[str | None, object]]:
    """Where each registration was, and what it told of its level, in their order."""
    return [
        (event.path, parse_broker(event.path, (event.data or "").encode()).inter_broker_protocol)
        for event in events
        if event.action == "Create" and (event.path or "").startswith("/brokers/ids/")
        if event.path is not None
    ]


# In seed 16 leaders of level 2 change ISRs under a controller of level 5; in 6 the epoch of a
# controller is written again by hand; in 8 a follower of level 2 joins an ISR with broker epochs.
@pytest.mark.long
@pytest.mark.parametrize("seed", [6, 8, 16])
def test_what_is_promised_holds_at_every_mixed_step(seed: int) -> None:
    events = simulate_upgrade(seed, level=5, upgrade_from=2)

    assert judge(events) == []
    assert json.loads(events[-1].detail or "{}")["converged"]


def test_brokers_come_to_speak_one_level_after_the_other() -> None:
    told = spoken(simulate_upgrade(21, level=5, upgrade_from=2))

    for path in ("/brokers/ids/1", "/brokers/ids/2", "/brokers/ids/3"):
        levels = [level for one, level in told if one == path]
        assert levels == sorted(levels, key=str)
        assert {*levels} == {2, 3, 4, 5}


@pytest.mark.parametrize(("first", "last"), [(1, 3), (3, 3), (4, 2)])
def test_there_is_no_way_from_level_to_level_but_up_from_2(first: int, last: int) -> None:
    with pytest.raises(ValueError, match=f"no upgrade leads from level {first} to {last}"):
        simulate_upgrade(0, level=last, upgrade_from=first)
