"""The lines of levels 4 and 5, metadata and changes of the configuration, against their rules."""

from collections.abc import Iterator, Mapping
from functools import cache

import pytest
from msgspec.structs import replace

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Projection, project
from fencepost.spec.replay.recorded_run import as_lines, recorded_run
from fencepost.spec.replay.tlc_run import run_tlc
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, ProtocolLevel
from tests.spec.replay.corruptions import (
    Corruption,
    Events,
    changed,
    dropped,
    moved,
    without_last,
)

LEVEL = ProtocolLevel.CONTROLLER_MUTATIONS
SEEDS = (3, 0)
"""Short runs of three brokers in which every kind has a place."""


def tells_state(events: Events, at: int) -> bool:
    """Of the first partition, not of the brokers."""
    return (events[at].topic, events[at].partition) == ("t", 0)


def tells_brokers(events: Events, at: int) -> bool:
    return events[at].topic is None


def is_taken(events: Events, at: int) -> bool:
    """The body was sent once, and its receiver tells that it took it."""
    sent = events[at]
    version = (sent.controller_epoch, sent.metadata_version)
    same = [e for e in events if (e.controller_epoch, e.metadata_version) == version]
    sends = [e for e in same if e.action == Action.SEND_UPDATE_METADATA and e.peer == sent.peer]
    takes = [e for e in same if e.action == Action.UPDATE_METADATA and e.node == sent.peer]
    return len(sends) == 1 and bool(takes)


def registered_otherwise(event: TraceEvent) -> TraceEvent | None:
    """A live broker has another epoch."""
    if not event.broker_epochs:
        return None
    *others, last = event.broker_epochs
    return replace(event, broker_epochs=[*others, last + 10**6])


def is_of_session(events: Events, at: int) -> bool:
    """ZooKeeper's line about a change of the configuration."""
    return events[at].kind is Kind.ZOOKEEPER and events[at].path == "/config/changes"


KINDS: Mapping[str, Corruption] = {
    "metadata that were not sent": dropped(Action.SEND_UPDATE_METADATA, is_taken),
    "body of another number": changed(
        Action.UPDATE_METADATA, moved("metadata_version", 1), tells_brokers
    ),
    "body without its number": changed(
        Action.UPDATE_METADATA, moved("controller_epoch", -1), tells_brokers
    ),
    "broker that registered otherwise": changed(
        Action.UPDATE_METADATA, registered_otherwise, tells_brokers
    ),
    "state with another ISR": changed(Action.UPDATE_METADATA, without_last("isr"), tells_state),
    "state of another leader epoch": changed(
        Action.UPDATE_METADATA, moved("leader_epoch", 1), tells_state
    ),
    "state of another version": changed(
        Action.UPDATE_METADATA, moved("znode_version", 1), tells_state
    ),
    "change that ZooKeeper does not hold": changed(Action.APPLY_MUTATION, moved("zxid", 1)),
    "change by another session": changed("SetData", moved("session_id", 10**6), is_of_session),
}


@cache
def run_of(seed: int) -> Events:
    lines = as_lines(simulate_modelled(seed, level=LEVEL, mutant=None))
    return [line.event for line in total_order(recorded_run("run", lines))]


def projected(events: Events) -> Projection:
    lines = total_order(recorded_run("run", as_lines(events)))
    key, assigned = next(iter(partitions_of_run(lines).items()))
    return project("run", LEVEL, lines, key, assigned)


def accepted(projections: list[Projection]) -> Iterator[int]:
    for marker in run_tlc(projections):
        if marker.name == "accepted":
            yield int(str(marker.values[0])) - 1


@pytest.mark.tlc
def test_each_kind_is_rejected() -> None:
    first = {
        kind: next(found.events for seed in SEEDS for found in corruption(run_of(seed)))
        for kind, corruption in KINDS.items()
    }
    projections = [projected(run_of(seed)) for seed in SEEDS]
    projections += [projected(events) for events in first.values()]

    passed = sorted(accepted(projections))

    names = [f"seed {seed}" for seed in SEEDS] + list(first)
    assert [names[number] for number in passed] == names[: len(SEEDS)]


def test_every_line_of_these_levels_is_replayed() -> None:
    told = {
        str(event.fields["action"]) for seed in SEEDS for event in projected(run_of(seed)).events
    }

    assert {
        Action.SEND_UPDATE_METADATA,
        Action.UPDATE_METADATA,
        Action.FORWARD_REQUEST,
        Action.APPLY_MUTATION,
        "ZkConfigure",
    } <= told
