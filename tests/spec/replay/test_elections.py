"""Live members that an election leaves out of the ISR, and the reasons that the replay wants."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.fields import Fields
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Event, Projection, project
from fencepost.spec.replay.recorded_run import as_lines, recorded_run
from fencepost.spec.replay.tlc_run import run_tlc
from fencepost.spec.vocabulary import NO_BROKER, Action

LEVEL = 2

REFUSED = 123
"""In this seed broker 1 registers long before it reads; until then it becomes the leader in
ZooKeeper. It reads the very state of its first command, and leads in no such epoch (START-002)."""

REFUSING, ELECTED = 1, 2

FAILED = 430
"""In this seed the log of a leader that is the whole ISR fails; no other can lead."""


def until_election(seed: int, begins: Callable[[Event], bool]) -> Projection:
    """The run of the seed up to the first election behind such an event."""
    lines = as_lines(simulate_modelled(seed, level=LEVEL, mutant=None))
    ordered = total_order(recorded_run("run", lines))
    key, assigned = next(iter(partitions_of_run(ordered).items()))
    projection = project("run", LEVEL, ordered, key, assigned)
    events = projection.events
    begin = next(index for index, event in enumerate(events) if begins(event))
    end = next(index for index in range(begin, len(events)) if is_election(events[index]))
    return replace(projection, events=events[: end + 1])


def actions(projection: Projection) -> list[object]:
    return [event.fields["action"] for event in projection.events]


def is_floor(event: Event) -> bool:
    fields = event.fields
    return fields["action"] == "ReadState" and bool(fields["is_start"])


def is_command(event: Event) -> bool:
    fields = event.fields
    return fields["action"] == Action.SEND_LEADER_AND_ISR and fields["peer"] == REFUSING


def is_failure(event: Event) -> bool:
    return event.fields["action"] == "LogFailed"


def is_election(event: Event) -> bool:
    return event.fields["action"] == Action.ELECT_LEADER


def without(projection: Projection, is_left_out: Callable[[Event], bool]) -> Projection:
    kept = tuple(event for event in projection.events if not is_left_out(event))
    assert len(kept) < len(projection.events)
    return replace(projection, events=kept)


def electing(projection: Projection, leader: int) -> Projection:
    """The last event elects `leader` alone."""
    *before, election = projection.events
    fields = election.fields | {"leader": leader, "isr": frozenset({leader})}
    return replace(projection, events=(*before, replace(election, fields=fields)))


def accepted(*runs: Projection) -> list[object]:
    return [marker.values[0] for marker in run_tlc(runs) if marker.name == "accepted"]


@pytest.mark.tlc
def test_only_who_may_have_refused_its_command_leaves_the_isr() -> None:
    refused = until_election(REFUSED, is_floor)
    assert not {"ZkUnregister", Action.BECOME_LEADER}.intersection(actions(refused))
    assert electing(refused, ELECTED) == refused
    others = [without(refused, is_floor), without(refused, is_command), electing(refused, REFUSING)]

    assert accepted(refused, *others) == [1]


@pytest.mark.tlc
def test_a_live_leader_ends_only_when_its_log_has_failed() -> None:
    failed = until_election(FAILED, is_failure)
    assert failed.events[-1].fields["leader"] == NO_BROKER
    assert last(failed, "ZkWriteState")["leader"] in live_brokers(failed)

    assert accepted(failed, without(failed, is_failure)) == [1]


def last(projection: Projection, action: str) -> Fields:
    return next(e.fields for e in reversed(projection.events) if e.fields["action"] == action)


def live_brokers(projection: Projection) -> frozenset[object]:
    live = last(projection, Action.DETECT_BROKER_CHANGE)["live_brokers"]
    assert isinstance(live, frozenset)
    return live
