"""Which nodes may write LeaderAndISR, on both sides of each boundary."""

import pytest

from fencepost.conformance.checks.only_authorised_writes import check
from fencepost.conformance.checks.trace_dialect import KAFKA_2_7, KAFKA_4_1, SPEC, TraceDialect
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Action, Outcome
from tests.conformance.checks.trace_builder import PARTITION, ZNODE, Fields, Trace, document
from tests.conformance.checks.znode_stories import (
    FIRST,
    SHRUNK,
    elect,
    register,
    session,
    store,
    write,
)

TOPIC = f"/brokers/topics/{PARTITION.topic}"
AT = f"{PARTITION} at zxid"


def begun(first: str = FIRST) -> Trace:
    """Broker 3 is controller, and writes `first` at zxid 5."""
    trace = Trace()
    register(trace)
    elect(trace, 3, 1, zxid=1)
    store(trace, 3, first, 0, zxid=5)
    return trace


def messages(trace: Trace, dialect: TraceDialect = SPEC) -> list[str]:
    return [violation.message for violation in check(trace.events, dialect).violations]


def assign(trace: Trace, zxid: int, *replicas: int) -> None:
    data = f'{{"version":1,"partitions":{{"0":{[*replicas]}}}}}'
    trace.zookeeper("SetData", TOPIC, data, session=session(3), zxid=zxid)


def registered(trace: Trace, broker_id: int, since: int, until: int | None) -> None:
    path = f"/brokers/ids/{broker_id}"
    trace.zookeeper("Create", path, "{}", session=session(broker_id), zxid=since)
    if until is not None:
        trace.zookeeper("Delete", path, "", session=session(broker_id), zxid=until)


def decided(trace: Trace, leader: int, epoch: int, **flags: object) -> None:
    told = {"leader": leader, "leader_epoch": epoch, "controller_epoch": 1}
    trace.broker(3, Action.ELECT_LEADER, **told, **flags)


def beside(data: str, *eligible: int) -> str:
    return data.removesuffix("}") + f',"eligible":{[*eligible]}}}'


@pytest.mark.parametrize(
    ("action", "outcome", "expected"),
    [
        ("WriteLeaderAndIsr", Outcome.OK, []),
        ("ReadLeaderAndIsr", Outcome.OK, [f"{AT} 6: session 7 belongs to no broker."]),
        ("WriteLeaderAndIsr", None, [f"{AT} 6: session 7 belongs to no broker."]),
        (
            "WriteLeaderAndIsr",
            Outcome.DEFINITE_ERROR,
            [f"{AT} 6: session 7 belongs to no broker."],
        ),
    ],
)
def test_a_stranger_owns_up_to_a_write_that_changes_nothing(
    action: str, outcome: Outcome | None, expected: list[str]
) -> None:
    trace = begun()
    trace.operation("harness", action, outcome, path=ZNODE, session_id=7)
    trace.zookeeper("SetData", ZNODE, FIRST, session=7, zxid=6, version=1)

    assert messages(trace) == expected


def test_a_broker_without_standing_does_not_even_write_what_is_there() -> None:
    trace = begun()
    write(trace, 2, FIRST, 0, znode_version=1)
    store(trace, 2, FIRST, 1, zxid=6)

    assert messages(trace) == [f"{AT} 6: broker 2 was neither the controller nor the leader."]


def test_a_write_without_a_session_is_of_no_broker() -> None:
    trace = begun()
    line = {"path": ZNODE, "data": SHRUNK, "zxid": 6, "znode_version": 1}
    trace.add("zookeeper", trace.events[-1].kind, "SetData", line)

    assert messages(trace) == [f"{AT} 6: session None belongs to no broker."]


@pytest.mark.parametrize(
    ("eligible", "expected"),
    [
        ((1, 2, 3), []),
        ((3,), []),
        ((3, 4), [f"{AT} 6: [3, 4] became eligible, of [1, 2, 3]."]),
    ],
)
def test_members_of_the_isr_alone_become_eligible(
    eligible: tuple[int, ...], expected: list[str]
) -> None:
    trace = begun()
    store(trace, 1, beside(SHRUNK, *eligible), 1, zxid=6)

    assert messages(trace) == expected


@pytest.mark.parametrize(("zxid", "expected"), [(5, 0), (6, 1)])
def test_the_first_leader_is_of_an_assignment_up_to_the_write(zxid: int, expected: int) -> None:
    trace = begun()
    assign(trace, 4, 2, 1, 3)
    assign(trace, zxid, 1, 2, 3)

    assert len(messages(trace)) == expected


@pytest.mark.parametrize(("epoch", "expected"), [(1, 0), (2, 0), (0, 1)])
def test_a_leader_signs_with_no_older_controller_epoch(epoch: int, expected: int) -> None:
    trace = begun()
    store(trace, 1, document(1, 0, [1, 2], epoch), 1, zxid=6)

    assert messages(trace) == [f"{AT} 6: leader 1 changed more than the ISR."] * expected


@pytest.mark.parametrize(
    ("isr", "flags", "expected"),
    [
        ([4], {"is_unclean": True}, []),
        ([4], {}, [f"{AT} 6: a decision made ISR [4] of ISR [1, 2, 3]."]),
        ([4, 5], {"is_unclean": True}, [f"{AT} 6: a decision made ISR [4, 5] of ISR [1, 2, 3]."]),
        (
            [4],
            {"is_loss_possible": True},
            [f"{AT} 6: leader 4 was away, and ISR [4] is not it alone."],
        ),
        ([1], {"is_loss_possible": True}, []),
        ([1], {"is_loss_possible": True, "is_unclean": True}, []),
        ([1], {"is_unclean": True}, [f"{AT} 6: leader 1 is unclean, it says, and ISR [1] is not."]),
    ],
)
def test_what_an_election_may_make_of_the_isr(
    isr: list[int], flags: Fields, expected: list[str]
) -> None:
    trace = begun()
    decided(trace, isr[0], 1, **flags)
    store(trace, 3, document(isr[0], 1, isr), 1, zxid=6)

    assert messages(trace) == expected


THERE = [f"{AT} 9: leader 4 is outside ISR [1, 2, 3], of which [1] is there."]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [(5, None, THERE), (6, None, []), (4, 10, THERE), (4, 9, []), (4, 8, [])],
)
def test_a_member_was_there_from_the_write_before_to_the_election(
    since: int, until: int | None, expected: list[str]
) -> None:
    trace = begun()
    registered(trace, 1, since, until)
    decided(trace, 4, 1, is_unclean=True)
    store(trace, 3, document(4, 1, [4]), 1, zxid=9)

    assert messages(trace) == expected


@pytest.mark.parametrize(
    ("broker_id", "partition", "expected"), [(1, 0, []), (1, 1, THERE), (2, 0, THERE)]
)
def test_a_member_with_a_log_that_failed_cannot_lead(
    broker_id: int, partition: int, expected: list[str]
) -> None:
    trace = begun()
    registered(trace, 1, 4, None)
    trace.broker(broker_id, "LogFailed", partition=partition)
    decided(trace, 4, 1, is_unclean=True)
    store(trace, 3, document(4, 1, [4]), 1, zxid=9)

    assert messages(trace) == expected


NEVER_AWAY = [f"{AT} 9: leader 1 may have lost records, it says, and [1] was never away."]


@pytest.mark.parametrize(("leader", "expected"), [(1, NEVER_AWAY), (-1, [])])
def test_without_a_leader_before_records_may_be_lost(leader: int, expected: list[str]) -> None:
    trace = begun(document(leader, 0, [1]))
    registered(trace, 1, 0, None)
    decided(trace, 1, 1, is_loss_possible=True)
    store(trace, 3, document(1, 1, [1]), 1, zxid=9)

    assert messages(trace) == expected


@pytest.mark.parametrize(
    ("epochs", "fields", "expected"),
    [
        ((0,), {}, []),
        ((0,), {"incarnation": 1}, NEVER_AWAY),
        ((0,), {"outcome": Outcome.DEFINITE_ERROR}, NEVER_AWAY),
        ((0,), {"action": "WriteLeaderAndIsr"}, NEVER_AWAY),
        ((0,), {"partition": 1}, NEVER_AWAY),
        ((1, 0), {}, NEVER_AWAY),
        ((0, 1), {}, []),
        ((None,), {}, NEVER_AWAY),
    ],
)
def test_a_member_is_excused_by_what_it_read_first_after_a_restart(
    epochs: tuple[int | None, ...], fields: Fields, expected: list[str]
) -> None:
    trace = begun(document(1, 0, [1]))
    registered(trace, 1, 0, None)
    for epoch in epochs:
        data = "?" if epoch is None else document(1, epoch, [1])
        told: Fields = {"action": "ReadLeaderAndIsr", "outcome": Outcome.OK, "incarnation": 2}
        line = {**told, "data": data, "path": ZNODE, **fields}
        trace.operation("broker-1", **line)  # type: ignore[arg-type]
    decided(trace, 1, 1, is_loss_possible=True)
    store(trace, 3, document(1, 1, [1]), 1, zxid=9)

    assert messages(trace) == expected


@pytest.mark.parametrize(
    ("registered_by", "expected"), [("broker-1", []), ("broker-2", NEVER_AWAY)]
)
def test_a_start_that_registers_late_reads_again(registered_by: str, expected: list[str]) -> None:
    trace = begun(document(1, 1, [1]))
    registered(trace, 1, 0, None)
    told: Fields = {"action": "ReadLeaderAndIsr", "incarnation": 2, "path": ZNODE}
    trace.operation("broker-1", **told, data=document(1, 0, [1]))  # type: ignore[arg-type]
    trace.add(registered_by, Kind.ACTION, Action.REGISTER_BROKER, {"incarnation": 2})
    trace.operation("broker-1", **told, data=document(1, 1, [1]))  # type: ignore[arg-type]
    decided(trace, 1, 2, is_loss_possible=True)
    store(trace, 3, document(1, 2, [1]), 1, zxid=9)

    assert messages(trace) == expected


@pytest.mark.parametrize(
    ("dialect", "leader", "moved", "isr", "is_allowed"),
    [
        (KAFKA_2_7, 1, [1, 2, 3], [1, 2], True),
        (KAFKA_2_7, 1, [1, 2, 3], [1, 2, 3], True),
        (KAFKA_2_7, 1, [1, 2, 3], [1, 4], False),
        (KAFKA_2_7, -1, [1, 2, 3], [1, 2], False),
        (SPEC, 1, [1, 2, 3], [1, 2], False),
        (KAFKA_2_7, 1, [1, 2], [1, 2], False),
    ],
)
def test_a_reassignment_ends_with_what_is_assigned(
    dialect: TraceDialect, leader: int, moved: list[int], isr: list[int], is_allowed: bool
) -> None:
    trace = begun(document(leader, 0, [1]))
    assign(trace, 6, 1, 2)
    assign(trace, 9, *moved)
    store(trace, 3, document(1, 1, isr), 1, zxid=9)

    fault = f"{AT} 9: a decision made ISR {isr} of ISR [1]."
    assert messages(trace, dialect) == ([] if is_allowed else [fault])


@pytest.mark.parametrize(("assigned_at", "expected"), [((9,), 1), ((4, 8), 1), ((4, 9), 0)])
def test_a_reassignment_ends_in_the_transaction_that_assigns_anew(
    assigned_at: tuple[int, ...], expected: int
) -> None:
    trace = begun(document(1, 0, [1]))
    for zxid, replicas in zip(reversed(assigned_at), ([1, 2, 3], [1]), strict=False):
        assign(trace, zxid, *replicas)
    store(trace, 3, document(1, 1, [1, 2]), 1, zxid=9)
    assign(trace, 10, 1, 4)

    assert len(messages(trace, KAFKA_2_7)) == expected


@pytest.mark.parametrize(
    ("dialect", "empty", "leader", "is_allowed"),
    [
        (KAFKA_4_1, beside(document(-1, 1, []), 2), 2, True),
        (KAFKA_4_1, beside(document(-1, 1, []), 2), 1, False),
        (KAFKA_4_1, document(-1, 1, []), 1, True),
        (KAFKA_2_7, document(-1, 1, []), 1, False),
        (KAFKA_2_7, beside(document(-1, 1, []), 2), 2, False),
    ],
)
def test_where_an_isr_may_be_empty_the_eligible_lead_or_the_last_of_it(
    dialect: TraceDialect, empty: str, leader: int, is_allowed: bool
) -> None:
    trace = begun()
    store(trace, 3, empty, 1, zxid=6)
    store(trace, 3, document(leader, 2, [leader]), 2, zxid=7)

    assert len(messages(trace, dialect)) == (0 if is_allowed else 1)


@pytest.mark.parametrize(("until", "expected"), [(8, 0), (9, 0), (10, 1)])
def test_a_member_that_has_left_is_not_the_one_that_joined(until: int, expected: int) -> None:
    """It is there again, as another one, since the state before was decided."""
    named = document(1, 0, [1]).removesuffix("}") + ',"isr_broker_epochs":[2]}'
    trace = begun(named)
    registered(trace, 1, 2, until)
    registered(trace, 1, 0, None)
    decided(trace, 1, 1, is_loss_possible=True)
    store(trace, 3, named.replace('"leader_epoch":0', '"leader_epoch":1'), 1, zxid=9)

    assert len(messages(trace)) == expected
