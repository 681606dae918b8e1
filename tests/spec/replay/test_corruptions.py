"""Each kind of corruption of a run is rejected: by the replay, and some by the checks as well.

`corruptions.md` is what the replay and the checks say of each; a kind that neither rejects at one
of its places has its reason here.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

from fencepost.conformance.checks.registry import run_checks
from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import (
    STOPS,
    Projection,
    is_about,
    project,
    project_all,
)
from fencepost.spec.replay.recorded_run import ReplayError, as_lines, recorded_run
from fencepost.spec.replay.tlc_run import run_tlc, run_zookeeper_tlc
from fencepost.spec.replay.zookeeper import ZooKeeperProjection, project_zookeeper
from fencepost.spec.vocabulary import NEWEST_LEVEL, NO_EPOCH
from fencepost.spec.znodes import TopicPartition, partition_of
from tests.spec.replay.corruption_kinds import KINDS
from tests.spec.replay.corruptions import Corrupted, Events

TABLE = Path(__file__).parent / "corruptions.md"
LEVEL = NEWEST_LEVEL
SEEDS = (49, 37, 46, 0, 96, 58, 44, 20, 23, 54, 29)
"""Short runs in which every kind has a place; the shortest comes first."""

PASSED: Mapping[str, str] = {
    "command for an earlier start": "the specs of the replay have no epochs of brokers: a broker "
    "may obey it until it hears of its next registration, which `StaleIncarnationHarmless` judges"
}
"""Kinds that the replay may accept -> why it cannot know better."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One corruption of one run, and what there is to replay of it."""

    kind: str
    is_checked: bool
    """A check finds a violation in it."""
    partition: Projection | None
    """None where no order of its lines is left."""
    zookeeper: ZooKeeperProjection | None


@cache
def run_of(seed: int) -> Events:
    lines = as_lines(simulate_modelled(seed, level=LEVEL, mutant=None))
    return [line.event for line in total_order(recorded_run("run", lines))]


def projected(events: Events) -> Projection:
    """The first partition of a run."""
    lines = total_order(recorded_run("run", as_lines(events)))
    key, assigned = next(iter(partitions_of_run(lines).items()))
    return project("run", LEVEL, lines, key, assigned)


def tried(kind: str, corrupted: Corrupted) -> Tried:
    """The partition of the line, or the first one where it is about none.

    Where a partition is stopped its replay is over: another one tells of that, the longest.
    """
    is_checked = any(result.violations for result in run_checks(corrupted.events))
    try:
        lines = total_order(recorded_run("run", as_lines(corrupted.events)))
        partitions = partitions_of_run(lines)
    except ReplayError:
        return Tried(kind, is_checked, None, None)
    key = next((one for one in partitions if is_of(corrupted, one)), min(partitions))
    incarnations = list(project_all("run", LEVEL, lines, key, partitions[key]))
    projection = next((one for one in incarnations if tells(one, corrupted)), incarnations[0])
    if corrupted.line.action in STOPS and corrupted.line.leader_epoch == NO_EPOCH:
        replays = (project("run", LEVEL, lines, *one) for one in partitions.items())
        projection = max(replays, key=lambda one: len(one.events))
    return Tried(kind, is_checked, projection, project_zookeeper("run", lines))


def tells(projection: Projection, corrupted: Corrupted) -> bool:
    """The replay has the corrupted line, whatever that says now."""
    line = corrupted.line
    place = (line.node, line.action, line.mono_ns, line.zxid)
    told = (event.line.event for event in projection.events)
    return any((e.node, e.action, e.mono_ns, e.zxid) == place for e in told)


def is_of(corrupted: Corrupted, key: TopicPartition) -> bool:
    line = corrupted.line
    if line.topic == key.topic and line.partition is None:
        return True
    path = line.path or ""
    is_request = path.startswith("/admin/") and path.endswith(f"/{key.topic}/{key.partition}")
    return is_about(line, key) or is_request or partition_of(path) == key


def rejected(cases: list[Tried]) -> list[bool]:
    """Whether the replay rejects each, of its partition or of its ZooKeeper."""
    accepted = set(_accepted_partitions(cases)) & set(_accepted_zookeepers(cases))
    return [place not in accepted for place in range(len(cases))]


def _accepted_partitions(cases: list[Tried]) -> Iterator[int]:
    found = [(place, one.partition) for place, one in enumerate(cases) if one.partition]
    found.sort(key=lambda one: sorted(one[1].brokers))
    for _, group in groupby(found, key=lambda one: sorted(one[1].brokers)):
        pack = list(group)
        for marker in run_tlc([one for _, one in pack]):
            if marker.name == "accepted":
                yield pack[int(str(marker.values[0])) - 1][0]


def _accepted_zookeepers(cases: list[Tried]) -> Iterator[int]:
    found = [(place, one.zookeeper) for place, one in enumerate(cases) if one.zookeeper]
    for marker in run_zookeeper_tlc([one for _, one in found]):
        if marker.name == "accepted":
            yield found[int(str(marker.values[0])) - 1][0]


def sound() -> Iterator[Tried]:
    """The runs as they are: where the replay rejects those, a corruption shows nothing."""
    for seed in SEEDS:
        events = run_of(seed)
        yield tried("none", Corrupted(events, events[0]))


def first_of_each() -> Iterator[Tried]:
    """Each kind at its first place in the shortest run that has one."""
    for kind, corruption in KINDS.items():
        found = (one for seed in SEEDS for one in corruption(run_of(seed)))
        yield tried(kind, next(found))


def told(cases: list[Tried], is_rejected: list[bool]) -> str:
    """The table of what is rejected by what."""
    words = {True: "rejected", False: ""}
    rows = [
        f"| {case.kind} | {words[by_replay]} | {words[case.is_checked]} |"
        for case, by_replay in zip(cases, is_rejected, strict=True)
    ]
    head = ["| corruption | replay | checks |", "|---|---|---|"]
    return "\n".join([*head, *rows, ""])


@pytest.mark.long
@pytest.mark.tlc
def test_what_is_not_corrupted_is_accepted() -> None:
    assert not any(rejected(list(sound())))


@pytest.mark.long
@pytest.mark.tlc
def test_each_kind_is_rejected_as_the_table_says() -> None:
    cases = list(first_of_each())
    is_rejected = rejected(cases)

    assert told(cases, is_rejected) == TABLE.read_text(encoding="utf-8")
    passed = {case.kind for case, is_it in zip(cases, is_rejected, strict=True) if not is_it}
    assert passed <= PASSED.keys()
