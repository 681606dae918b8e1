"""What brokers owe once all faults are over, by ZooKeeper and their traces."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fencepost.conformance.clients.transport import PartitionView, RoutingView
from fencepost.conformance.runs.liveness_state import LivenessState, differences, owed
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, LeaderEpoch, Liveness
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

KEY = TopicPartition("t", 0)
STATE = LeaderAndIsr(
    leader=BrokerId(1), leader_epoch=LeaderEpoch(2), isr=frozenset({BrokerId(1), BrokerId(2)})
)
WELL = LivenessState(
    registered=frozenset({1, 2}),
    controller=2,
    assigned={KEY: (1, 2)},
    states={KEY: STATE},
    asked=frozenset(),
)


def line(broker: int, seq: int, action: str, **fields: Any) -> TraceEvent:  # noqa: ANN401 - its fields
    about = {} if action.endswith("Controller") else {"topic": "t", "partition": 0}
    given = {"kind": Kind.ACTION, "incarnation": 1, **about, **fields}
    return TraceEvent(
        run_id="r", node=f"broker-{broker}", seq=seq, mono_ns=seq, action=action, **given
    )


def role(broker: int, action: str) -> TraceEvent:
    return line(broker, 1, action, leader_epoch=2, high_watermark=3, log_end_offset=3)


LEADS = role(1, "BecomeLeader")
FOLLOWS = role(2, "BecomeFollower")
RULES = line(2, 0, "ElectController")
EVENTS = (LEADS, FOLLOWS, RULES)


def test_a_cluster_that_is_well_owes_nothing() -> None:
    assert owed(WELL, EVENTS, [1, 2], {}) == ()


@pytest.mark.parametrize(
    ("standing", "more", "what"),
    [
        (replace(WELL, registered=frozenset({1})), (), Liveness.BROKER_EVENTUALLY_LEARNS_ROLE),
        (replace(WELL, controller=None), (), Liveness.CONTROLLER_EVENTUALLY_EXISTS),
        (WELL, (line(2, 9, "ResignController"),), Liveness.CONTROLLER_EVENTUALLY_EXISTS),
        (
            replace(WELL, assigned={KEY: (1,)}),
            (),
            Liveness.EVENTUALLY_ISR_FULL,
        ),
        (replace(WELL, states={}), (), Liveness.EVENTUALLY_LEADER),
        (WELL, (line(1, 9, "FenceLeader"),), Liveness.EVENTUALLY_LEADER),
        (WELL, (line(1, 9, "BecomeFollower", leader_epoch=2),), Liveness.EVENTUALLY_LEADER),
        (
            WELL,
            (line(1, 9, "LeaderAppend", log_end_offset=4),),
            Liveness.EVENTUALLY_ACKED_OR_FAILED,
        ),
        (WELL, (line(2, 9, "TruncateLog", log_end_offset=2),), Liveness.EVENTUALLY_CONVERGED),
        (WELL, (line(2, 9, "StopReplica"),), Liveness.BROKER_EVENTUALLY_LEARNS_ROLE),
        (WELL, (line(2, 9, "ObeyInit"),), Liveness.BROKER_EVENTUALLY_LEARNS_ROLE),
        (WELL, (line(2, 9, "BecomeFollower", partition=1),), Liveness.DELETION_COMPLETES),
        (
            replace(WELL, asked=frozenset({Liveness.REASSIGNMENT_COMPLETES})),
            (),
            Liveness.REASSIGNMENT_COMPLETES,
        ),
    ],
)
def test_what_is_not_as_it_must_be_is_named(
    standing: LivenessState, more: Sequence[TraceEvent], what: Liveness
) -> None:
    assert what in owed(standing, [*EVENTS, *more], [1, 2], {})


def test_only_the_last_start_of_a_broker_counts() -> None:
    found = {"log_end_offset": 3, "high_watermark": 3}
    again = line(1, 0, "LogRecovered", kind=Kind.RUN, incarnation=2, **found)

    assert Liveness.EVENTUALLY_LEADER in owed(WELL, [*EVENTS, again], [1, 2], {})


def test_who_is_dead_owes_nothing_and_is_owed_nothing() -> None:
    alone = replace(WELL, controller=1, states={KEY: one_left()}, registered=frozenset({1}))

    assert owed(alone, [LEADS, line(1, 0, "ElectController")], [1], {}) == ()


def test_a_partition_whose_whole_isr_is_dead_owes_nothing() -> None:
    dead = replace(WELL, states={KEY: one_left()})

    assert owed(dead, [FOLLOWS, RULES], [2], {}) == ()


ROUTE = PartitionView(leader=1, leader_epoch=2, isr=frozenset({1, 2}))
VIEW = RoutingView(
    broker_id=1, controller_id=2, addresses={1: "here:1", 2: "here:2"}, partitions={KEY: ROUTE}
)


def test_brokers_that_tell_clients_what_zookeeper_holds_owe_nothing() -> None:
    untold = replace(VIEW, controller_id=-1, partitions={KEY: replace(ROUTE, isr=None)})

    assert owed(WELL, EVENTS, [1, 2], {1: VIEW, 2: untold}) == ()


@pytest.mark.parametrize(
    ("view", "told"),
    [
        (None, "broker 1 tells clients no metadata"),
        (
            replace(VIEW, controller_id=1),
            "broker 1 tells clients controller 1, and ZooKeeper holds 2",
        ),
        (
            replace(VIEW, addresses={1: "here:1"}),
            "broker 1 tells clients live brokers 1, and ZooKeeper holds 1,2",
        ),
        (
            replace(VIEW, partitions={}),
            "broker 1 tells clients t/0 no leader, and ZooKeeper holds leader=1 epoch=2 isr=1,2",
        ),
        (
            replace(VIEW, partitions={KEY: replace(ROUTE, isr=frozenset({1}))}),
            "broker 1 tells clients t/0 leader=1 epoch=2 isr=1, "
            "and ZooKeeper holds leader=1 epoch=2 isr=1,2",
        ),
        (
            replace(VIEW, partitions={KEY: replace(ROUTE, leader=2, isr=None)}),
            "broker 1 tells clients t/0 leader=2 epoch=2, and ZooKeeper holds leader=1 epoch=2",
        ),
        (
            replace(VIEW, partitions={KEY: ROUTE, TopicPartition("u", 0): ROUTE}),
            "broker 1 tells clients u/0 leader=1 epoch=2 isr=1,2, and ZooKeeper holds no leader",
        ),
    ],
)
def test_what_a_broker_tells_clients_otherwise_is_said(view: RoutingView | None, told: str) -> None:
    assert list(differences(WELL, {1: view, 2: VIEW})) == [told]
    assert owed(WELL, EVENTS, [1, 2], {1: view}) == (Liveness.EVENTUALLY_METADATA_CONVERGES,)


def test_a_partition_without_a_leader_may_be_left_out_of_an_answer() -> None:
    leaderless = LeaderAndIsr(leader=NO_BROKER, leader_epoch=LeaderEpoch(2), isr=STATE.isr)
    published = replace(WELL, states={KEY: leaderless})

    assert list(differences(published, {1: replace(VIEW, partitions={})})) == []


def one_left() -> LeaderAndIsr:
    return LeaderAndIsr(
        leader=BrokerId(1), leader_epoch=LeaderEpoch(2), isr=frozenset({BrokerId(1)})
    )
