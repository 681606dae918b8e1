"""Elections outside the ISR: which of them were needless."""

from collections.abc import Sequence
from typing import Any

import pytest

from fencepost.conformance.checks.unclean_elections import judge_elections
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import BrokerId, LeaderEpoch, Outcome
from fencepost.spec.znodes import (
    CONTROLLER,
    LeaderAndIsr,
    TopicPartition,
    broker_path,
    leader_and_isr_path,
)

STATE = leader_and_isr_path(TopicPartition("t", 0))
AUTHOR, OTHER = 100, 200
"""Sessions of controllers."""


def zookeeper(zxid: int, action: str, path: str, **fields: Any) -> TraceEvent:  # noqa: ANN401
    return TraceEvent(
        run_id="r",
        node="zookeeper",
        seq=zxid,
        mono_ns=zxid,
        kind=Kind.ZOOKEEPER,
        action=action,
        path=path,
        zxid=zxid,
        **fields,
    )


def written(zxid: int, leader: int, epoch: int, isr: Sequence[int]) -> TraceEvent:
    state = LeaderAndIsr(
        leader=BrokerId(leader),
        leader_epoch=LeaderEpoch(epoch),
        isr=frozenset(map(BrokerId, isr)),
    )
    action = "SetData" if epoch else "Create"
    return zookeeper(zxid, action, STATE, session_id=AUTHOR, data=state.document().decode())


def of_node(ns: int, node: str, kind: Kind, action: str, **fields: Any) -> TraceEvent:  # noqa: ANN401
    given = {"topic": "t", "partition": 0, **fields}
    return TraceEvent(run_id="r", node=node, seq=ns, mono_ns=ns, kind=kind, action=action, **given)


OFFICE = zookeeper(1, "Create", CONTROLLER, session_id=AUTHOR)
FIRST = written(2, leader=1, epoch=0, isr=[1])
BACK = zookeeper(5, "Create", broker_path(1), session_id=1)
UNCLEAN = written(9, leader=2, epoch=1, isr=[2])
ELECTED = of_node(80, "broker-9", Kind.ACTION, "ElectLeader", leader=2, leader_epoch=1)
HEARD = of_node(70, "broker-9", Kind.COMPLETE, "ReadLeaderAndIsr", path=STATE, outcome=Outcome.OK)


def told(ns: int, zxid: int = 5) -> TraceEvent:
    return of_node(ns, "broker-1", Kind.ACTION, "RegisterBroker", zxid=zxid)


def test_with_nobody_of_the_isr_there_it_is_not_needless() -> None:
    gone = zookeeper(6, "Delete", broker_path(1), session_id=1)

    assert judge_elections([OFFICE, FIRST, UNCLEAN, ELECTED, HEARD]) == (1, ())
    assert judge_elections([OFFICE, FIRST, BACK, gone, UNCLEAN, ELECTED, HEARD, told(60)])[1] == ()


def test_who_could_have_known_that_a_member_is_back_elects_needlessly() -> None:
    events = [OFFICE, FIRST, BACK, UNCLEAN, ELECTED, HEARD, told(60)]

    count, sentences = judge_elections(events)

    assert count == 1
    assert sentences == (f"broker 2 was elected in {STATE} though broker 1 of the ISR is there",)


@pytest.mark.parametrize(
    "told_then", [told(75), told(60, zxid=3)], ids=["told too late", "of an earlier registration"]
)
def test_who_could_not_have_known_does_not(told_then: TraceEvent) -> None:
    events = [OFFICE, FIRST, BACK, UNCLEAN, ELECTED, HEARD, told_then]

    assert judge_elections(events) == (1, ())


def test_a_loss_of_the_office_after_the_election_says_nothing_of_it() -> None:
    later = [
        zookeeper(10, "Delete", CONTROLLER, session_id=AUTHOR),
        zookeeper(11, "Create", CONTROLLER, session_id=OTHER),
    ]
    events = [OFFICE, FIRST, BACK, UNCLEAN, ELECTED, HEARD, told(75), *later]

    assert judge_elections(events) == (1, ())


def test_who_has_lost_the_office_elects_needlessly_whatever_he_knew() -> None:
    deposed = zookeeper(7, "Delete", CONTROLLER, session_id=AUTHOR)
    successor = zookeeper(8, "Create", CONTROLLER, session_id=OTHER)

    for more in ([deposed], [deposed, successor]):
        assert len(judge_elections([OFFICE, FIRST, BACK, *more, UNCLEAN])[1]) == 1


def test_a_member_of_the_isr_is_never_elected_needlessly() -> None:
    clean = written(9, leader=1, epoch=1, isr=[1])

    assert judge_elections([OFFICE, FIRST, BACK, clean]) == (1, ())
    assert judge_elections([FIRST, BACK, clean]) == (1, ())
    assert judge_elections([OFFICE, FIRST]) == (0, ())
