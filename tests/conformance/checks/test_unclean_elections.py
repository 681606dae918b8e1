"""Elections outside the ISR: which of them were needless."""

from collections.abc import Sequence
from typing import Any

import pytest

from fencepost.conformance.checks.registry import VACUOUS, judge
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


LATE = of_node(50, "broker-9", Kind.COMPLETE, "ReadLeaderAndIsr", path=STATE)
"""Nothing was told before it."""
READ: dict[str, Any] = {"ns": 70, "node": "broker-9", "kind": Kind.COMPLETE, "path": STATE}
DECIDED: dict[str, Any] = {"leader": 2, "leader_epoch": 1}


@pytest.mark.parametrize(
    "other",
    [
        {"node": "broker-8"},
        {"incarnation": 2},
        {"kind": Kind.INVOKE},
        {"action": "WriteLeaderAndIsr"},
        {"path": CONTROLLER},
        {"ns": 90},
    ],
)
def test_what_the_author_knew_is_told_by_its_own_reads_before(other: dict[str, Any]) -> None:
    read = of_node(**{**READ, "action": "ReadLeaderAndIsr", **other})

    assert judge_elections([OFFICE, FIRST, BACK, UNCLEAN, ELECTED, LATE, read, told(60)]) == (1, ())


@pytest.mark.parametrize(
    "other", [{"action": "InitLeader"}, {"partition": 1}, {"leader": 3}, {"leader_epoch": 2}]
)
def test_the_author_is_the_one_that_made_this_decision(other: dict[str, Any]) -> None:
    line = {"action": "ElectLeader", **DECIDED, **other}
    decided = of_node(30, "broker-8", Kind.ACTION, **line)
    events = [OFFICE, FIRST, BACK, UNCLEAN, decided, ELECTED, HEARD, told(60)]

    assert len(judge_elections(events)[1]) == 1
    assert judge_elections([OFFICE, FIRST, BACK, UNCLEAN, decided, HEARD, told(60)]) == (1, ())


@pytest.mark.parametrize(
    ("node", "action"), [("broker-3", "RegisterBroker"), ("broker-1", "NodeStarted")]
)
def test_a_member_tells_of_its_own_registration(node: str, action: str) -> None:
    line = of_node(60, node, Kind.ACTION, action, zxid=5)

    assert judge_elections([OFFICE, FIRST, BACK, UNCLEAN, ELECTED, HEARD, line]) == (1, ())


def test_the_office_is_what_was_created_and_not_deleted_up_to_the_election() -> None:
    events = [FIRST, BACK, UNCLEAN, ELECTED, HEARD, told(75)]
    rewritten = zookeeper(7, "SetData", CONTROLLER, session_id=AUTHOR)
    taken = zookeeper(9, "Create", CONTROLLER, session_id=OTHER)

    assert judge_elections([OFFICE, rewritten, *events]) == (1, ())
    assert len(judge_elections(events)[1]) == 1
    assert len(judge_elections([OFFICE, taken, *events])[1]) == 1


def test_only_a_new_leader_is_elected() -> None:
    nonsense = zookeeper(9, "SetData", STATE, session_id=AUTHOR, data="?")
    isr_change = zookeeper(9, "SetData", STATE, session_id=AUTHOR, data=FIRST.data)
    outside = written(9, leader=0, epoch=1, isr=[0])

    for line in (nonsense, isr_change, written(9, leader=-1, epoch=1, isr=[1])):
        assert judge_elections([FIRST, BACK, line]) == (0, ())
    assert len(judge_elections([FIRST, BACK, outside])[1]) == 1


def test_a_story_is_told_what_a_trace_violates() -> None:
    needless = [OFFICE, FIRST, BACK, UNCLEAN, ELECTED, HEARD, told(60)]
    names = judge(needless)

    assert names[-1] == "violated: UncleanOnlyIfIsrDead"
    assert all(name.startswith("violated: ") for name in names)
    assert "violated: UncleanOnlyIfIsrDead" not in judge([OFFICE, FIRST])
    assert judge([told(60)]) == [VACUOUS]
    led = of_node(3, "broker-1", Kind.ACTION, "BecomeLeader", broker_id=1, leader_epoch=0)
    assert judge([led]) == []
    read_back = {"broker_id": 1, "high_watermark": 2, "log_end_offset": 1}
    recovered = of_node(3, "broker-1", Kind.RUN, "LogRecovered", **read_back)
    assert judge([recovered]) == ["violated: HighWatermarkMonotonic"]


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
