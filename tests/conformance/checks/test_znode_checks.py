"""The LeaderAndISR register, with ZooKeeper's own lines as the truth."""

from collections.abc import Callable

import pytest

from fencepost.conformance.checks import linearizable_znode, only_authorised_writes
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import Outcome
from tests.conformance.checks.trace_builder import ZNODE, Trace
from tests.conformance.checks.znode_stories import (
    FIRST,
    SHRUNK,
    obey,
    quiet_failover,
    read,
    session,
    store,
    write,
)

Write = Callable[[Trace], object]

# Each function continues a trace in which version 0 was created.


def unconditional(trace: Trace) -> None:
    write(trace, 1, SHRUNK, -1, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)


def unconditional_and_unanswered(trace: Trace) -> None:
    write(trace, 1, SHRUNK, -1, None)
    store(trace, 1, SHRUNK, 1, zxid=3)


def wrong_expectation(trace: Trace) -> None:
    write(trace, 2, SHRUNK, 0, Outcome.INDEFINITE)
    store(trace, 2, SHRUNK, 1, zxid=3)
    write(trace, 1, FIRST, 0, znode_version=2, zxid=4)
    store(trace, 1, FIRST, 2, zxid=4)


def version_gap(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 1, znode_version=2, zxid=3)
    store(trace, 1, SHRUNK, 2, zxid=3)


def written_before_it_was_created(trace: Trace) -> None:
    trace.events.clear()
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)
    store(trace, 1, SHRUNK, 0, zxid=4)


def acknowledged_but_not_stored(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)


def stored_otherwise(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    write(trace, 1, FIRST, 0, None)
    store(trace, 1, FIRST, 1, zxid=3)


def acknowledged_twice(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)


def refused_but_stored(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, Outcome.DEFINITE_ERROR, error_code="BAD_VERSION")
    store(trace, 1, SHRUNK, 1, zxid=3)


def stored_by_nobody(trace: Trace) -> None:
    store(trace, 1, SHRUNK, 1, zxid=3)


def read_of_data_that_was_never_there(trace: Trace) -> None:
    read(trace, 1, SHRUNK, 0)


def read_before_it_was_written(trace: Trace) -> None:
    read(trace, 1, SHRUNK, 1)
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)


def session_reads_the_past(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)
    read(trace, 1, FIRST, 0)


def command_that_was_never_published(trace: Trace) -> None:
    obey(trace, 1, "BecomeFollower", (1, 1, 0))


@pytest.mark.parametrize(
    ("write_on", "message"),
    [
        (command_that_was_never_published, "ZooKeeper never held it"),
        (unconditional, "became version 1 was unconditional"),
        (unconditional_and_unanswered, "unknown outcome that expected -1"),
        (wrong_expectation, "became version 2 expected version 0"),
        (version_gap, "stored version 2 after version 0"),
        (written_before_it_was_created, "does not exist"),
        (acknowledged_but_not_stored, "ZooKeeper did not store it so"),
        (stored_otherwise, "ZooKeeper did not store it so"),
        (acknowledged_twice, "acknowledged to two writes"),
        (refused_but_stored, "answered as refused"),
        (stored_by_nobody, "by no write in the trace"),
        (read_of_data_that_was_never_there, "data that it never had"),
        (read_before_it_was_written, "Version 1 was proven"),
        (session_reads_the_past, "as if the version were at most 0"),
    ],
)
def test_each_condition_of_the_register_is_caught(write_on: Write, message: str) -> None:
    trace = Trace()
    write(trace, 3, FIRST, -1, znode_version=0, zxid=2)
    store(trace, 3, FIRST, 0, zxid=2)
    write_on(trace)
    result = linearizable_znode.check(trace.events)

    assert result.verdict is Verdict.FAIL
    assert message in " ".join(violation.message for violation in result.violations)


def test_another_session_may_read_the_past() -> None:
    trace = Trace()
    quiet_failover(trace)
    read(trace, 3, FIRST, 0)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_a_znode_created_again_is_another_register() -> None:
    trace = Trace()
    quiet_failover(trace)
    trace.zookeeper("Delete", ZNODE, "", session=session(2), zxid=6)
    write(trace, 2, FIRST, -1, znode_version=0, zxid=7)
    store(trace, 2, FIRST, 0, zxid=7)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_without_zookeepers_record_the_register_is_inconclusive() -> None:
    trace = Trace()
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)

    assert linearizable_znode.check(trace.events).verdict is Verdict.INCONCLUSIVE
    assert only_authorised_writes.check(trace.events).verdict is Verdict.INCONCLUSIVE


def test_without_zookeepers_record_two_writers_of_a_version_are_caught() -> None:
    trace = Trace()
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=3)
    write(trace, 2, SHRUNK, 0, znode_version=1, zxid=3)

    assert linearizable_znode.check(trace.events).verdict is Verdict.FAIL
