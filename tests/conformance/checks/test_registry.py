"""What the registry promises: completeness, splitting, and that `reads` may filter."""

from dataclasses import replace

from fencepost.conformance.checks.completeness import trace_health
from fencepost.conformance.checks.evidence import MAX_WITNESSES, Evidence
from fencepost.conformance.checks.ordering import (
    split_by_partition,
)
from fencepost.conformance.checks.registry import CHECKS, IMPLIED_BY, run_check, run_checks
from fencepost.conformance.verdict import MAX_LISTED, CheckResult, Verdict
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Invariant, snake_case
from tests.conformance.checks.trace_builder import Trace
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


def test_lines_may_come_after_the_end() -> None:
    trace = whole_run()
    trace.broker(1, "CreateTopic")

    assert trace_health(trace.events).ended


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


def test_doubts_are_bounded() -> None:
    evidence = Evidence(invariant=Invariant.LEADER_IN_ISR)
    for number in range(MAX_LISTED + 1):
        evidence.doubt(f"It is dark in room {number}.")

    assert len(evidence.result().doubts) == MAX_LISTED


def test_partition_without_a_line_that_a_check_reads_is_not_judged() -> None:
    trace = Trace()
    trace.produce("a", offset=0)
    judged: list[list[TraceEvent]] = []

    def run(events: list[TraceEvent]) -> CheckResult:
        judged.append(events)
        return CheckResult(invariant=Invariant.LEADER_COMPLETE, premise_count=1)

    check = replace(CHECKS[Invariant.LEADER_COMPLETE], run=run, reads=frozenset({"Fetch"}))

    assert run_check(check, trace.events).premise_count == 0
    assert judged == []
