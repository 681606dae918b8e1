"""One wrong field of one event: the replay must not accept it, whatever action and field."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import msgspec
import pytest

from fencepost.impl.sim.adapter import simulate_modelled
from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.fields import FIELDS
from fencepost.spec.replay.limits import LIFECYCLE, QUOTAS
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Projection, project
from fencepost.spec.replay.recorded_run import ReplayError, TraceFileLine, as_lines, recorded_run
from fencepost.spec.replay.tlc_run import run_tlc
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import NEWEST_LEVEL, Action

LEVEL = NEWEST_LEVEL
PARTITIONS = {4: "t/0", 7: "t/4", 58: "t/1", 140: "t/1"}
"""Of some seeds the partition that moves, comes, goes, or is taken up at a start."""
SEEDS = (3, 20, 43, 44, 50, *PARTITIONS)
"""Between them they have every action, and have it early."""

OPERATIONS = {
    (Kind.COMPLETE, "ReadLeaderAndIsr"): ("data", "znode_version"),
    (Kind.COMPLETE, "WriteLeaderAndIsr"): ("data", "znode_version", "zxid"),
    (Kind.COMPLETE, "Produce"): ("offset", "values", "leader_epoch"),
    (Kind.RUN, "LogRecovered"): ("log_end_offset", "high_watermark"),
}
"""What is compared beside the actions."""


TOLD_LATER = {
    (Action.LEADER_APPEND, "values"),
    ("LogRecovered", "log_end_offset"),
}
"""A leader may append anything, and a follower may have got more before it died; a broker that
fetches from the one, or what the other does next, knows better."""

NEVER_TOLD = {
    *((Action.SEND_STOP_REPLICA, name) for name in ("topic", "partition", "leader_epoch")),
    (Action.SEND_UPDATE_METADATA, "metadata_version"),
    ("RefuseCommand", "max_broker_epoch"),
    ("RefuseStop", "max_broker_epoch"),
}
"""A controller may stop anything, and publish under any number: only of some another line tells
(`stop_never_sent`, and in `test_told` what a broker took). What is too old for its leader epoch
is refused for any start of the broker."""


@dataclass(frozen=True, slots=True)
class Case:
    """An event of a seed and one field that it compares."""

    seed: int
    kind: Kind
    action: str
    name: str


@cache
def lines_of(seed: int) -> tuple[TraceFileLine, ...]:
    return tuple(as_lines(simulate_modelled(seed, level=LEVEL, mutant=None)))


@cache
def projection_of(seed: int) -> Projection:
    return _project(seed, list(lines_of(seed)))


def _project(seed: int, lines: list[TraceFileLine]) -> Projection:
    """The partition of the seed, or the one with the longest replay."""
    ordered = total_order(recorded_run("run", lines))
    partitions = partitions_of_run(ordered).items()
    replays = [project("run", LEVEL, ordered, *one) for one in partitions]
    named = [one for one in replays if str(one.partition) == PARTITIONS.get(seed)]
    return max(named or replays, key=lambda one: len(one.events))


def compared(event: TraceEvent) -> tuple[str, ...]:
    if event.kind in (Kind.ACTION, Kind.REFUSAL):
        return ("broker_id", *FIELDS.get(event.action, ()))
    return OPERATIONS.get((event.kind, event.action), ())


WITHOUT_ORDER = {
    (Action.ELECT_CONTROLLER, "controller_epoch"),
    (Action.ELECT_CONTROLLER, "session_id"),
    (Action.LEARN_CONTROLLER, "controller_epoch"),
}
"""ZooKeeper elected no broker like that: the run may be refused before TLC sees it."""


def first_of_each() -> dict[Case, int]:
    """For each action and field the shortest run that has it, and where."""
    found: dict[tuple[Kind, str, str], tuple[int, int]] = {}
    for seed in SEEDS:
        for index, step in enumerate(projection_of(seed).events):
            event = step.line.event
            for name in compared(event):
                value = getattr(event, name)
                place = (event.kind, event.action, name)
                if value is not None and index < found.get(place, (10**9, 0))[0]:
                    found[place] = (index, seed)
    return {Case(seed, *place): index for place, (index, seed) in found.items()}


def corrupted(event: TraceEvent, name: str) -> TraceEvent:
    """The event with another value in one field."""
    match getattr(event, name):
        case bool() as is_so:
            other: object = not is_so
        case int() as number:
            other = number + (9 if name == "partition" else 1)
        case [str(), *rest]:
            other = ["stranger/1/1", *rest]
        case [int() as first, *rest] if name == "record_epochs":
            other = [first + 1, *rest]
        case [_, *rest] if name == "assigned_replicas" or rest:
            other = rest
        case [int() as only]:
            other = [only % 3 + 1]
        case [] | None:
            other = [1]
        case str() as text if name == "data":
            other = text.replace('"leader":', '"leader":1')
        case str() as text if event.action == Action.OBEY_SHUTDOWN:
            other = f"broker-{int(text[-1]) % 3 + 1}"
        case _:
            other = "broker-9"
    return msgspec.structs.replace(event, **{name: other})


def with_wrong(case: Case, index: int) -> Projection | None:
    """The run up to the event, which has one wrong field; None when no order is left.

    All of the run when only a later event can contradict it.
    """
    wrong = projection_of(case.seed).events[index].line
    lines = [
        TraceFileLine(corrupted(line.event, case.name), line.file, line.number)
        if line == wrong
        else line
        for line in lines_of(case.seed)
    ]
    try:
        projection = _project(case.seed, lines)
    except ReplayError:
        return None
    if (case.action, case.name) in TOLD_LATER:
        return projection
    last = max(
        number
        for number, event in enumerate(projection.events)
        if (event.line.file, event.line.number) == (wrong.file, wrong.number)
    )
    return replace(projection, events=projection.events[: last + 1])


def accepted(projections: list[Projection]) -> Iterator[int]:
    for marker in run_tlc(projections):
        if marker.name == "accepted":
            number = marker.values[0]
            assert isinstance(number, int)
            yield number - 1


OF_LEVEL_3 = {("RefuseCommand", "broker_epoch"), ("RefuseStop", "broker_epoch")}
"""Commands and stops from level 4 on have no such field, and none is refused for it."""


def test_every_action_and_field_occurs() -> None:
    cases = first_of_each()
    told = {case.action for case in cases}

    assert {*Action} - told == LIFECYCLE | (QUOTAS & {*Action})
    compared = {(action, name) for action, names in FIELDS.items() for name in names}
    assert compared - {(case.action, case.name) for case in cases} == OF_LEVEL_3


@pytest.mark.long
@pytest.mark.tlc
def test_one_wrong_field_is_rejected_at_once() -> None:
    tried = {
        case: with_wrong(case, index)
        for case, index in first_of_each().items()
        if (case.action, case.name) not in NEVER_TOLD
    }
    wrong = {case: projection for case, projection in tried.items() if projection}
    unread = {(case.action, case.name) for case in tried.keys() - wrong.keys()}
    assert unread <= WITHOUT_ORDER

    passed = list(accepted([projection_of(SEEDS[0]), *wrong.values()]))

    assert [list(wrong)[number - 1] for number in passed if number] == []
    assert passed == [0], "the run itself is accepted"
