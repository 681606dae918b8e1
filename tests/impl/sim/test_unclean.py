"""A broker outside the ISR may lead: what is lost then was flagged, and nothing else is lost."""

from dataclasses import replace

import msgspec
import pytest

from fencepost.conformance.checks.generations import is_flagged
from fencepost.impl.sim.draw.draw import swarm
from fencepost.impl.sim.engine.run import described, run
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, ProtocolLevel
from tests.impl.sim.build import violated

FLAGGED_SEEDS = (0, 1, 8)
"""Random schedules in which a whole ISR is gone for a while."""


def unclean_run(seed: int) -> list[TraceEvent]:
    options = swarm(seed, level=ProtocolLevel.LEADER_EPOCH)
    return run(described(replace(options, unclean_leader_election=True)), "run")


@pytest.mark.parametrize("seed", FLAGGED_SEEDS)
def test_an_unclean_election_breaks_nothing_that_it_did_not_flag(seed: int) -> None:
    events = unclean_run(seed)

    assert any(is_flagged(event) for event in events)
    assert violated(events) == set()
    assert '"converged": true' in (events[-1].detail or "")


def test_without_its_flag_the_same_run_is_a_violation() -> None:
    events = unclean_run(FLAGGED_SEEDS[-1])
    bare = [
        msgspec.structs.replace(event, is_unclean=False)
        if event.action == Action.ELECT_LEADER
        else event
        for event in events
    ]

    assert violated(bare)
