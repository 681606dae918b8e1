"""What brokers owe once all faults are over, by ZooKeeper and their traces."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from fencepost.conformance.runs.liveness_state import LivenessState, owed
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch, Liveness
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
    assert owed(WELL, EVENTS, [1, 2]) == ()


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
    assert what in owed(standing, [*EVENTS, *more], [1, 2])


def test_only_the_last_start_of_a_broker_counts() -> None:
    found = {"log_end_offset": 3, "high_watermark": 3}
    again = line(1, 0, "LogRecovered", kind=Kind.RUN, incarnation=2, **found)

    assert Liveness.EVENTUALLY_LEADER in owed(WELL, [*EVENTS, again], [1, 2])


def test_who_is_dead_owes_nothing_and_is_owed_nothing() -> None:
    alone = replace(WELL, controller=1, states={KEY: one_left()}, registered=frozenset({1}))

    assert owed(alone, [LEADS, line(1, 0, "ElectController")], [1]) == ()


def test_a_partition_whose_whole_isr_is_dead_owes_nothing() -> None:
    dead = replace(WELL, states={KEY: one_left()})

    assert owed(dead, [FOLLOWS, RULES], [2]) == ()


def one_left() -> LeaderAndIsr:
    return LeaderAndIsr(
        leader=BrokerId(1), leader_epoch=LeaderEpoch(2), isr=frozenset({BrokerId(1)})
    )
