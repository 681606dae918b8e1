"""What the registry promises: completeness, splitting, and that `reads` may filter."""

from itertools import permutations

import pytest

from fencepost.conformance.checks.completeness import trace_health
from fencepost.conformance.checks.evidence import MAX_WITNESSES, Evidence
from fencepost.conformance.checks.generations import generations, is_flagged, may_have_lost
from fencepost.conformance.checks.ordering import (
    broker_named,
    by_zxid,
    order,
    partition_of_event,
    split_by_partition,
)
from fencepost.conformance.checks.registry import CHECKS, IMPLIED_BY, run_check, run_checks
from fencepost.conformance.checks.znode_history import assignment_of
from fencepost.conformance.verdict import MAX_LISTED, Verdict
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Invariant, snake_case
from fencepost.spec.znodes import TopicPartition
from tests.conformance.checks.trace_builder import PARTITION, ZNODE, Trace
from tests.conformance.checks.znode_stories import quiet_failover


def busy_run() -> list[TraceEvent]:
    """Two partitions; the second one loses a record."""
    trace = Trace()
    quiet_failover(trace)
    trace.produce("ab", offset=0)
    trace.produce("c", offset=0, partition=1)
    trace.final_read("ab")
    trace.final_read("", partition=1)
    return trace.events


def test_every_invariant_has_a_check_or_is_implied_by_some() -> None:
    assert set(CHECKS) | set(IMPLIED_BY) == set(Invariant)
    assert not set(CHECKS) & set(IMPLIED_BY)
    assert {part for parts in IMPLIED_BY.values() for part in parts} <= set(CHECKS)


def test_each_check_lives_in_the_module_of_its_name() -> None:
    for invariant, check in CHECKS.items():
        assert check.invariant is invariant
        assert check.run.__module__ == f"fencepost.conformance.checks.{snake_case(invariant)}"
        assert check.run([]).invariant is invariant


def test_events_that_a_check_does_not_read_leave_its_result() -> None:
    events = busy_run()
    for check in CHECKS.values():
        for part in split_by_partition(events).values() if check.per_partition else [events]:
            read = [event for event in part if event.action in check.reads]

            assert check.run(read) == check.run(part), check.invariant


def test_partitions_are_judged_apart() -> None:
    check = CHECKS[Invariant.ACKNOWLEDGED_DURABLE]
    result = run_check(check, busy_run())

    assert result.premise_count == 3
    assert [violation.partition for violation in result.violations] == [1]


def test_results_come_in_the_order_of_the_registry() -> None:
    results = run_checks(busy_run())

    assert [result.invariant for result in results] == list(CHECKS)
    assert run_checks(busy_run()[::-1]) == results


def test_zookeeper_lines_belong_to_the_partition_of_their_path() -> None:
    trace = Trace()
    line = trace.zookeeper("Create", ZNODE, "", session=1, zxid=1)
    other = trace.zookeeper("Create", "/controller", "", session=1, zxid=2)
    operation = trace.produce("a", offset=0, partition=3)

    assert partition_of_event(line) == PARTITION
    assert partition_of_event(other) is None
    assert partition_of_event(operation) == TopicPartition("orders", 3)
    assert list(split_by_partition(trace.events)) == [PARTITION, TopicPartition("orders", 3)]


def test_only_lines_with_a_transaction_are_in_its_order() -> None:
    trace = Trace()
    later = trace.zookeeper("SetData", ZNODE, "", session=1, zxid=2)
    earlier = trace.zookeeper("Create", ZNODE, "", session=1, zxid=1)
    trace.add("zookeeper", Kind.ZOOKEEPER, "CloseSession", {"session_id": 1})

    assert by_zxid(trace.events) == [earlier, later]


def test_a_partition_without_its_topic_is_told_by_the_path() -> None:
    event = Trace().add("broker-1", Kind.ACTION, "ShrinkIsr", {"partition": 3, "path": ZNODE})

    assert partition_of_event(event) == PARTITION


def test_only_an_election_may_have_lost_records() -> None:
    trace = Trace()
    flags = {"is_loss_possible": True, "is_unclean": True}
    lines = [trace.broker(1, action, **flags) for action in ("ElectLeader", "BecomeLeader")]

    assert [may_have_lost(event) for event in lines] == [True, False]
    assert [is_flagged(event) for event in lines] == [True, False]


@pytest.mark.parametrize(
    ("named", "incarnation", "begins"),
    [(None, 5, (3,)), (0, 5, (3,)), (5, 5, (3,)), (7, 5, ()), (7, 0, (3,))],
)
def test_an_election_begins_a_generation_of_what_it_names(
    named: int | None, incarnation: int, begins: tuple[int, ...]
) -> None:
    trace = Trace()
    told = {"leader_epoch": 3, "is_unclean": True, "partition_incarnation": named}
    trace.broker(1, "ElectLeader", **told)
    logs = generations(trace.events, incarnation)

    assert logs.begins == begins
    assert [logs.of(epoch) for epoch in (None, 2, 3)] == [0, 0, len(begins)]


@pytest.mark.parametrize(
    ("node", "broker_id"),
    [("broker-2", 2), ("client-2", None), ("broker-two", None), ("zookeeper", None)],
)
def test_a_broker_is_told_by_the_name_of_its_node(node: str, broker_id: int | None) -> None:
    assert broker_named(node) == broker_id


def test_a_line_about_a_whole_topic_is_about_no_partition() -> None:
    event = Trace().add("broker-1", Kind.ACTION, "DeleteTopic", {"topic": "orders"})

    assert partition_of_event(event) is None


def test_a_deletion_stores_no_assignment() -> None:
    data = '{"version":1,"partitions":{"0":[1,2]}}'
    trace = Trace()
    lines = [
        trace.zookeeper(action, "/brokers/topics/orders", data, session=1, zxid=1)
        for action in ("Create", "Delete")
    ]

    assert [assignment_of(line) is None for line in lines] == [False, True]


def test_order_is_each_nodes_own() -> None:
    trace = Trace()
    trace.broker(2, "CreateTopic")
    trace.broker(1, "CreateTopic", incarnation=2)
    trace.broker(1, "CreateTopic")
    trace.broker(1, "CreateTopic")
    expected = [("broker-1", 1, 0), ("broker-1", 1, 1), ("broker-1", 2, 0), ("broker-2", 1, 0)]

    for events in permutations(trace.events):
        assert [(e.node, e.incarnation, e.seq) for e in order(events)] == expected


def whole_run() -> Trace:
    trace = Trace()
    trace.add("harness", Kind.RUN, "RunStarted", {})
    for _ in range(3):
        trace.broker(1, "CreateTopic")
    trace.broker(1, "NodeStarted", incarnation=2)
    trace.add("harness", Kind.RUN, "RunEnded", {})
    return trace


def test_a_whole_trace_is_healthy() -> None:
    health = trace_health(whole_run().events)

    assert health.verdict is Verdict.PASS
    assert health.doubts == ()


def test_a_missing_line_is_a_gap() -> None:
    events = whole_run().events
    health = trace_health([*events[:2], *events[3:]])

    assert health.verdict is Verdict.INCONCLUSIVE
    assert health.gaps == ("1 lines of broker-1, incarnation 1 are missing before line 2.",)


def test_a_repeated_line_is_told() -> None:
    events = whole_run().events
    health = trace_health([*events, events[2]])

    assert health.repeated == ("1 lines of broker-1, incarnation 1 occur twice.",)
    assert health.verdict is Verdict.INCONCLUSIVE


def test_a_run_without_its_end_is_inconclusive() -> None:
    health = trace_health(whole_run().events[:-1])

    assert health.verdict is Verdict.INCONCLUSIVE
    assert "cut short" in health.doubts[0]


def test_evidence_is_bounded() -> None:
    trace = Trace()
    event = trace.broker(1, "BecomeLeader")
    evidence = Evidence(invariant=Invariant.LEADER_IN_ISR)
    for _ in range(MAX_LISTED + 3):
        evidence.violated("It is wrong.", *[event] * (MAX_WITNESSES + 1))
        evidence.doubt("It is dark.")
    result = evidence.result()

    assert len(result.violations) == MAX_LISTED
    assert result.omitted_violations == 3
    assert len(result.violations[0].witness) == MAX_WITNESSES
    assert result.doubts == ("It is dark.",)
