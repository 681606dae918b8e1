"""A broker that refuses its first command may leave the ISR, though its registration never ended.

At its start it read the very state of the command that names it leader: it leads in no such epoch.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from impl.sim.adapter import simulate
from spec.replay.ordering import total_order
from spec.replay.projection import Event, Projection, partitions_of_run, project
from spec.replay.recorded_run import as_lines, recorded_run
from spec.replay.tlc_run import run_tlc
from spec.tlc.process import Stop
from spec.vocabulary import Action

LEVEL = 2
SEED = 8
"""Broker 1 registers long before it reads; until then the partition gets it as its leader."""

REFUSING, ELECTED = 1, 2


@pytest.fixture(scope="module")
def refused() -> Projection:
    """The run up to the election of another leader."""
    lines = as_lines(simulate(SEED, level=LEVEL, mutant=None))
    ordered = total_order(recorded_run("run", lines))
    key, assigned = next(iter(partitions_of_run(ordered).items()))
    projection = project("run", LEVEL, ordered, key, assigned)
    actions = [event.fields["action"] for event in projection.events]
    end = actions.index(Action.ELECT_LEADER) + 1
    assert "ZkUnregister" not in actions[:end]
    assert Action.BECOME_LEADER not in actions[:end]
    return replace(projection, events=projection.events[:end])


def is_floor(event: Event) -> bool:
    fields = event.fields
    return fields["action"] == "ReadState" and bool(fields["is_start"])


def is_command(event: Event) -> bool:
    fields = event.fields
    return fields["action"] == Action.SEND_LEADER_AND_ISR and fields["peer"] == REFUSING


def without(projection: Projection, is_left_out: Callable[[Event], bool]) -> Projection:
    kept = tuple(event for event in projection.events if not is_left_out(event))
    assert len(kept) < len(projection.events)
    return replace(projection, events=kept)


def electing(projection: Projection, leader: int) -> Projection:
    """The last event elects `leader` alone."""
    *before, election = projection.events
    fields = election.fields | {"leader": leader, "isr": frozenset({leader})}
    return replace(projection, events=(*before, replace(election, fields=fields)))


def test_only_who_may_have_refused_its_command_leaves_the_isr(refused: Projection) -> None:
    assert electing(refused, ELECTED) == refused
    runs = [
        refused,
        without(refused, is_floor),
        without(refused, is_command),
        electing(refused, REFUSING),
    ]

    told = [(marker.name, marker.values[0]) for marker in run_tlc(runs, Stop())]

    assert told == [("accepted", 1)]
