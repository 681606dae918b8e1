"""What each level promises while brokers are upgraded, on both sides of each boundary."""

import json

import pytest

from fencepost.conformance.checks import (
    metadata_in_order,
    only_controller_writes,
    stale_incarnation_harmless,
)
from fencepost.conformance.checks.spoken_protocols import EVERY_PROMISE, spoken_protocols
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action
from tests.conformance.checks.trace_builder import ZNODE, Trace

CONFIG = "/config/topics/t"


def register(trace: Trace, broker_id: int, level: int | None, zxid: int) -> None:
    """In a session of the number of the broker."""
    document = {"version": 1, "host": "h", "port": 1}
    if level is not None:
        document["inter_broker_protocol"] = level
    path = f"/brokers/ids/{broker_id}"
    trace.zookeeper("Create", path, json.dumps(document), session=broker_id, zxid=zxid)


def elect(trace: Trace, broker_id: int, epoch: int, zxid: int) -> None:
    path = "/controller_epoch"
    trace.zookeeper("SetData", path, str(epoch), session=broker_id, zxid=zxid, version=epoch)


def state(trace: Trace, author: int, isr: dict[int, int], zxid: int, leader: int = 1) -> None:
    """Each member as the incarnation that joined, 0 where none is named; a version per write."""
    version = sum(event.path == ZNODE for event in trace.events)
    told = {
        "version": 1,
        "leader": leader,
        "leader_epoch": version,
        "isr": sorted(isr),
        "controller_epoch": 1,
        "isr_broker_epochs": [isr[one] for one in sorted(isr)],
    }
    action = "SetData" if version else "Create"
    trace.zookeeper(action, ZNODE, json.dumps(told), session=author, zxid=zxid, version=version)


def test_levels_are_told_by_registrations() -> None:
    trace = Trace()
    register(trace, 1, 4, zxid=5)
    register(trace, 2, None, zxid=6)
    elect(trace, 1, 7, zxid=8)
    elect(trace, 3, 7, zxid=9)
    trace.zookeeper("Create", "/brokers/ids/9", "no document", session=9, zxid=10)
    protocols = spoken_protocols(trace.events)

    assert (protocols.of_registration(5), protocols.of_session(1)) == (4, 4)
    assert protocols.of_controller(7) == 4, "of a person that writes the epoch again, nothing"
    assert {protocols.of_registration(6), protocols.of_session(2)} == {EVERY_PROMISE}
    assert {protocols.of_session(None), protocols.of_controller(8)} == {EVERY_PROMISE}
    assert protocols.of_session(9) == EVERY_PROMISE


@pytest.mark.parametrize(
    ("author", "member", "wrong"), [(3, 3, 1), (2, 3, 0), (3, 2, 0), (2, 2, 0), (None, None, 1)]
)
def test_a_member_without_an_epoch_joins_where_one_side_speaks_below_level_3(
    author: int | None, member: int | None, wrong: int
) -> None:
    trace = Trace()
    register(trace, 1, author, zxid=5)
    register(trace, 2, member, zxid=6)
    state(trace, 1, {1: 5}, zxid=7)
    state(trace, 1, {1: 5, 2: 0}, zxid=8)

    assert len(stale_incarnation_harmless.check(trace.events).violations) == wrong


@pytest.mark.parametrize(("level", "wrong"), [(3, 2), (2, 0), (None, 2)])
def test_what_a_controller_below_level_3_elects_says_nothing_of_incarnations(
    level: int | None, wrong: int
) -> None:
    """Broker 2 was registered as 6, and is as 8 when it is elected by its id."""
    trace = Trace()
    register(trace, 1, level, zxid=4)
    elect(trace, 1, 1, zxid=5)
    register(trace, 2, 5, zxid=6)
    state(trace, 1, {1: 4, 2: 6}, zxid=7)
    trace.zookeeper("Delete", "/brokers/ids/2", "", session=2, zxid=8)
    register(trace, 2, 5, zxid=9)
    state(trace, 1, {1: 4, 2: 6}, zxid=10)
    state(trace, 1, {2: 6}, zxid=11, leader=2)
    trace.broker(2, Action.REGISTER_BROKER, topic=None, partition=None, zxid=9)
    trace.broker(2, Action.BECOME_LEADER, leader_epoch=2, controller_epoch=1)

    assert len(stale_incarnation_harmless.check(trace.events).violations) == wrong


@pytest.mark.parametrize(("level", "wrong"), [(4, 1), (3, 0), (None, 1)])
def test_a_controller_below_level_4_gives_roles_without_metadata(
    level: int | None, wrong: int
) -> None:
    trace = Trace()
    register(trace, 1, level, zxid=4)
    elect(trace, 1, 1, zxid=5)
    live = {"live_brokers": [1], "broker_epochs": [4], "topic": None, "partition": None}
    trace.broker(2, Action.UPDATE_METADATA, controller_epoch=0, **live)
    trace.broker(2, Action.BECOME_FOLLOWER, leader_epoch=1, controller_epoch=1)

    assert len(metadata_in_order.check(trace.events).violations) == wrong


@pytest.mark.parametrize(
    ("begun", "level", "forwarded", "premise", "wrong"),
    [
        (4, 5, None, 1, 1),
        (5, 4, None, 0, 0),
        (5, 4, "2-6-1", 1, 1),
        (5, None, None, 1, 1),
        (4, None, None, 0, 0),
    ],
)
def test_a_broker_below_level_5_writes_what_is_not_forwarded_to_it(
    begun: int, level: int | None, forwarded: str | None, premise: int, wrong: int
) -> None:
    """Broker 3 speaks level 5, so that the run is not all below; broker 2 is not controller."""
    trace = Trace()
    trace.add("harness", Kind.RUN, "RunStarted", {"detail": json.dumps({"level": begun})})
    if level is not None:
        register(trace, 3, 5, zxid=5)
    register(trace, 2, level, zxid=6)
    trace.zookeeper("SetData", CONFIG, "{}", session=2, zxid=7)
    trace.broker(
        2,
        Action.APPLY_MUTATION,
        topic=None,
        partition=None,
        path=CONFIG,
        zxid=7,
        forwarded_request=forwarded,
    )
    result = only_controller_writes.check(trace.events)

    assert (result.premise_count, len(result.violations)) == (premise, wrong)
