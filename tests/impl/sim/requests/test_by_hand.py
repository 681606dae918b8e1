"""What people write by hand is survived, and what they garbled is taken away again."""

import pytest

from fencepost.conformance.whitebox.simulate import Subject, judge_seed
from fencepost.impl.sim.draw.draw import swarm
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import ProtocolLevel

SEEDS = (15, 110)
"""Of the swarm, in which requests are written by hand."""


@pytest.mark.parametrize("seed", SEEDS)
def test_run_with_requests_by_hand_heals(seed: int) -> None:
    assert swarm(seed, level=ProtocolLevel(3)).asks_by_hand

    result = judge_seed(Subject(level=3), seed)

    assert (result.verdict, result.failures) == ("PASS", ())


def paths(events: list[TraceEvent], action: str) -> set[str]:
    return {event.path or "" for event in events if event.action == action}


def test_hands_write_requests_and_take_back_what_is_none() -> None:
    events = Subject(level=3).simulate(SEEDS[0])
    told = [event for event in events if event.node == "zookeeper"]
    garbled = {e.path for e in told if e.path and (e.path.startswith("/admin") and e.data == "{")}

    assert any(path.startswith("/admin/leader_election/t/") for path in paths(told, "Create"))
    assert "/brokers/topics/half" in paths(told, "Create") & paths(told, "Delete")
    assert garbled
    assert garbled <= paths(told, "Delete")


def test_a_controller_that_cannot_be_read_is_none() -> None:
    options = swarm(SEEDS[0], level=ProtocolLevel(3))
    cluster = VirtualCluster(options, "run")

    assert cluster.view().controller_id is None
