"""Which lines are about which broker and partition, and in which order they are read."""

from itertools import permutations

import pytest

from fencepost.conformance.checks.ordering import (
    actions,
    broker_named,
    broker_of,
    by_zxid,
    is_recorded,
    order,
    partition_of_event,
    split_by_partition,
)
from fencepost.spec.trace import Kind
from tests.conformance.checks.trace_builder import PARTITION, ZNODE, Fields, Trace


@pytest.mark.parametrize(
    ("node", "broker_id"),
    [
        ("broker-2", 2),
        ("broker-x", None),
        ("broker", None),
        ("client-2", None),
        ("zookeeper", None),
    ],
)
def test_a_broker_is_told_by_its_name(node: str, broker_id: int | None) -> None:
    line = Trace().add(node, Kind.RUN, "NodeStarted", {})

    assert (broker_named(node), broker_of(line)) == (broker_id, broker_id)


@pytest.mark.parametrize(
    ("fields", "partition"),
    [
        ({"topic": "orders", "partition": 0}, PARTITION),
        ({"topic": "orders"}, None),
        ({"partition": 0}, None),
        ({"partition": 1, "path": ZNODE}, PARTITION),
        ({"topic": "other", "path": ZNODE}, PARTITION),
        ({"topic": "other", "partition": 0, "path": ZNODE}, ("other", 0)),
        ({"path": "/controller"}, None),
    ],
)
def test_a_line_is_about_the_partition_that_it_names_or_that_its_path_does(
    fields: Fields, partition: tuple[str, int] | None
) -> None:
    trace = Trace()
    line = trace.add("zookeeper", Kind.ZOOKEEPER, "SetData", fields)

    assert partition_of_event(line) == partition
    assert split_by_partition(trace.events) == ({partition: [line]} if partition else {})


def test_lines_are_read_by_transaction_and_actions_by_node() -> None:
    trace = Trace()
    second = trace.zookeeper("SetData", ZNODE, "", session=1, zxid=2)
    first = trace.zookeeper("Create", ZNODE, "", session=1, zxid=1)
    third = trace.zookeeper("SetData", ZNODE, "", session=1, zxid=2)
    trace.add("zookeeper", Kind.ZOOKEEPER, "SessionExpired", {})
    late = trace.broker(2, "BecomeLeader", zxid=3)
    restarted = trace.broker(1, "BecomeFollower", incarnation=2)
    early = trace.broker(1, "BecomeFollower")

    assert by_zxid(trace.events) == [first, second, third]
    assert actions(trace.events) == [early, restarted, late]
    assert actions(trace.events, "BecomeLeader") == [late]


def test_zookeepers_own_record_is_of_transactions() -> None:
    trace = Trace()
    trace.add("zookeeper", Kind.ZOOKEEPER, "SessionExpired", {})
    trace.broker(1, "RegisterBroker", zxid=3)
    without = is_recorded(trace.events)
    trace.zookeeper("Create", ZNODE, "", session=1, zxid=4)

    assert (without, is_recorded(trace.events)) == (False, True)


def test_order_is_each_nodes_own() -> None:
    trace = Trace()
    trace.broker(2, "CreateTopic")
    trace.broker(1, "CreateTopic", incarnation=2)
    trace.broker(1, "CreateTopic")
    trace.broker(1, "CreateTopic")
    expected = [("broker-1", 1, 0), ("broker-1", 1, 1), ("broker-1", 2, 0), ("broker-2", 1, 0)]

    for events in permutations(trace.events):
        assert [(e.node, e.incarnation, e.seq) for e in order(events)] == expected
