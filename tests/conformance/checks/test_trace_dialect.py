"""What Kafka does otherwise than our texts takes a demand back, and nothing more."""

import pytest

from fencepost.conformance.checks import (
    leader_in_isr,
    linearizable_log,
    linearizable_znode,
    one_controller_per_epoch,
    only_authorised_writes,
)
from fencepost.conformance.checks.trace_dialect import (
    DIALECTS,
    KAFKA_0_10,
    KAFKA_2_1,
    KAFKA_2_7,
    KAFKA_4_1,
    SPEC,
    TraceDialect,
    dialect_of,
)
from fencepost.conformance.verdict import Verdict
from tests.conformance.checks.trace_builder import PARTITION, Trace, document
from tests.conformance.checks.znode_stories import (
    FIRST,
    SHRUNK,
    elect,
    obey,
    register,
    session,
    store,
)

UNTOLD = "brokers do not tell of their own writes of LeaderAndISR"
LATE_EPOCH = "the controller epoch is raised after /controller is created"
BY_CONTROLLER = "the controller writes the ISR that a leader asks for"
EMPTY = "a partition without a leader may have an empty ISR"
TWICE = "a leader that restarts may lag behind in its former epoch"


def test_a_dialect_tells_what_it_takes_back() -> None:
    assert {name: dialect.differences for name, dialect in DIALECTS.items()} == {
        "spec": (),
        "untold-writes": (UNTOLD,),
        "kafka-0.10": (UNTOLD, LATE_EPOCH, TWICE),
        "kafka-2.1": (UNTOLD, TWICE),
        "kafka-2.7": (UNTOLD, BY_CONTROLLER, TWICE),
        "kafka-4.1": (UNTOLD, BY_CONTROLLER, EMPTY, TWICE),
    }
    assert [dialect.epochs_may_skip for dialect in DIALECTS.values()] == [False] * 5 + [True]


def begun() -> Trace:
    """Broker 3 is controller, and broker 1 leads; only ZooKeeper tells the authors of writes."""
    trace = Trace()
    register(trace)
    elect(trace, 3, 1, zxid=1)
    store(trace, 3, FIRST, 0, zxid=2)
    obey(trace, 1, "BecomeLeader", (1, 0, 0))
    return trace


@pytest.mark.parametrize(("dialect", "verdict"), [(SPEC, Verdict.FAIL), (KAFKA_2_1, Verdict.PASS)])
def test_brokers_of_kafka_do_not_tell_their_writes(dialect: TraceDialect, verdict: Verdict) -> None:
    assert linearizable_znode.check(begun().events, dialect).verdict is verdict


def test_a_command_that_was_never_published_is_seen_in_every_dialect() -> None:
    trace = begun()
    obey(trace, 2, "BecomeFollower", (1, 1, 1))

    assert linearizable_znode.check(trace.events, KAFKA_2_1).verdict is Verdict.FAIL


def raised_apart() -> Trace:
    """The epoch is raised by the transaction after the one that creates `/controller`."""
    trace = Trace()
    register(trace)
    own = session(3)
    trace.zookeeper("Create", "/controller", "{}", session=own, zxid=1)
    trace.zookeeper("Create", "/controller_epoch", "1", session=own, zxid=2, version=0)
    return trace


@pytest.mark.parametrize(("dialect", "verdict"), [(SPEC, Verdict.FAIL), (KAFKA_0_10, Verdict.PASS)])
def test_old_kafka_raises_the_epoch_apart(dialect: TraceDialect, verdict: Verdict) -> None:
    trace = raised_apart()
    trace.broker(
        3,
        "ElectController",
        topic=None,
        partition=None,
        controller_id=3,
        controller_epoch=1,
        session_id=session(3),
    )

    assert one_controller_per_epoch.check(trace.events, dialect).verdict is verdict


@pytest.mark.parametrize(
    ("epoch", "dialect", "verdict"),
    [
        (3, KAFKA_0_10, Verdict.FAIL),
        (3, KAFKA_2_7, Verdict.FAIL),
        (3, KAFKA_4_1, Verdict.PASS),
        (1, KAFKA_4_1, Verdict.FAIL),
    ],
)
def test_only_a_quorum_may_skip_an_epoch_and_none_repeats_one(
    epoch: int, dialect: TraceDialect, verdict: Verdict
) -> None:
    trace = Trace()
    register(trace)
    elect(trace, 3, 1, zxid=1)
    told = {"session": session(2), "zxid": 2, "version": 1}
    trace.zookeeper("SetData", "/controller_epoch", str(epoch), **told)

    assert one_controller_per_epoch.check(trace.events, dialect).verdict is verdict


@pytest.mark.parametrize(("dialect", "verdict"), [(SPEC, Verdict.FAIL), (KAFKA_2_7, Verdict.PASS)])
def test_the_controller_of_kafka_writes_the_isr_that_a_leader_asks_for(
    dialect: TraceDialect, verdict: Verdict
) -> None:
    trace = begun()
    store(trace, 3, SHRUNK, 1, zxid=3)

    assert only_authorised_writes.check(trace.events, dialect).verdict is verdict


@pytest.mark.parametrize(
    ("assigned", "verdict"),
    [
        pytest.param(None, Verdict.FAIL, id="nothing moves"),
        pytest.param([2, 1], Verdict.FAIL, id="another order of the same replicas"),
        pytest.param([1, 2, 3], Verdict.PASS, id="a replica more"),
    ],
)
def test_a_decision_takes_more_into_the_isr_only_with_the_end_of_a_move(
    assigned: list[int] | None, verdict: Verdict
) -> None:
    topic, moved = f"/brokers/topics/{PARTITION.topic}", '{"version":1,"partitions":{"0":%s}}'
    trace = Trace()
    register(trace)
    elect(trace, 3, 1, zxid=1)
    trace.zookeeper("Create", topic, moved % [1, 2], session=session(3), zxid=2)
    store(trace, 3, document(1, 0, [1]), 0, zxid=3)
    if assigned is not None:
        trace.zookeeper("SetData", topic, moved % assigned, session=session(3), zxid=4, version=1)
    store(trace, 3, document(1, 1, [1, 2]), 1, zxid=4)

    assert only_authorised_writes.check(trace.events, KAFKA_2_7).verdict is verdict


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(document(2, 0, [1, 2]), id="another leader"),
        pytest.param(document(1, 0, [2]), id="an ISR without the leader"),
    ],
)
def test_more_than_the_isr_is_seen_in_every_dialect(data: str) -> None:
    trace = begun()
    store(trace, 3, data, 1, zxid=3)

    assert only_authorised_writes.check(trace.events, KAFKA_2_7).verdict is Verdict.FAIL


def test_a_run_without_a_dialect_has_that_of_our_texts() -> None:
    assert dialect_of({}) is SPEC
    assert dialect_of({"dialect": "kafka-2.7"}) is KAFKA_2_7
    assert dialect_of({"dialect": "of another world"}) is SPEC


@pytest.mark.parametrize(
    ("dialect", "leader", "verdict"),
    [
        (KAFKA_2_7, -1, Verdict.FAIL),
        (KAFKA_4_1, 1, Verdict.FAIL),
        (KAFKA_4_1, -1, Verdict.VACUOUS),
    ],
)
def test_only_a_partition_without_a_leader_may_have_an_empty_isr(
    dialect: TraceDialect, leader: int, verdict: Verdict
) -> None:
    trace = Trace()
    trace.broker(1, "BecomeFollower", leader=leader, leader_epoch=2, isr=[])

    assert leader_in_isr.check(trace.events, dialect).verdict is verdict


@pytest.mark.parametrize(
    ("dialect", "begun_times", "verdict"),
    [
        (SPEC, 2, Verdict.FAIL),
        (KAFKA_2_1, 1, Verdict.FAIL),
        (KAFKA_2_1, 2, Verdict.PASS),
        (KAFKA_2_1, 0, Verdict.PASS),
    ],
)
def test_a_leader_of_kafka_that_restarts_in_its_epoch_may_lag_behind(
    dialect: TraceDialect, begun_times: int, verdict: Verdict
) -> None:
    trace = Trace()
    for incarnation in range(1, begun_times + 1):
        trace.broker(1, "BecomeLeader", leader_epoch=4, incarnation=incarnation)
    trace.produce("ab", offset=0, leader_epoch=None)
    trace.fetch(0, "ab", 2, leader_epoch=4)
    trace.fetch(0, "a", 1, leader_epoch=4)

    assert linearizable_log.check(trace.events, dialect).verdict is verdict
