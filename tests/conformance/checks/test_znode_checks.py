"""The LeaderAndISR register, with ZooKeeper's own lines as the truth."""

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from fencepost.conformance.checks import linearizable_znode, only_authorised_writes
from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Outcome
from tests.conformance.checks.trace_builder import ZNODE, Trace
from tests.conformance.checks.znode_stories import (
    ELECTED,
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


def read_of_a_version_that_was_never_there(trace: Trace) -> None:
    read(trace, 1, None, 7)


def created_twice(trace: Trace) -> None:
    write(trace, 3, FIRST, -1, znode_version=0, zxid=3)
    store(trace, 3, FIRST, 0, zxid=3)


def written_after_it_was_deleted(trace: Trace) -> None:
    trace.zookeeper("Delete", ZNODE, "", session=session(3), zxid=3)
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=4)
    store(trace, 1, SHRUNK, 1, zxid=4)


def acknowledged_in_another_transaction(trace: Trace) -> None:
    write(trace, 1, SHRUNK, 0, znode_version=1, zxid=4)
    store(trace, 1, SHRUNK, 1, zxid=3)


def acknowledged_to_another_session(trace: Trace) -> None:
    write(trace, 2, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 1, SHRUNK, 1, zxid=3)


def command_by_nonsense(trace: Trace) -> None:
    write(trace, 1, "nonsense", 0, znode_version=1, zxid=3)
    store(trace, 1, "nonsense", 1, zxid=3)
    obey(trace, 1, "BecomeFollower", (1, 1, 1))


def command_that_was_never_published(trace: Trace) -> None:
    obey(trace, 1, "BecomeFollower", (1, 1, 0))


@pytest.mark.parametrize(
    ("write_on", "message"),
    [
        (command_that_was_never_published, "ZooKeeper never held it"),
        (command_by_nonsense, "ZooKeeper never held it"),
        (created_twice, "stored version 0 after version 0"),
        (written_after_it_was_deleted, "does not exist"),
        (acknowledged_in_another_transaction, "ZooKeeper did not store it so"),
        (acknowledged_to_another_session, "ZooKeeper did not store it so"),
        (read_of_a_version_that_was_never_there, "data that it never had"),
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


def violation(trace: Trace) -> tuple[str, list[TraceEvent]]:
    (found,) = linearizable_znode.check(trace.events).violations
    return found.message, list(found.witness)


def created() -> Trace:
    trace = Trace()
    write(trace, 3, FIRST, -1, znode_version=0, zxid=2)
    store(trace, 3, FIRST, 0, zxid=2)
    return trace


@pytest.mark.parametrize(
    ("expected", "outcome", "cause"),
    [
        (-1, None, "by a write of unknown outcome that expected -1"),
        (1, Outcome.INDEFINITE, "by a write of unknown outcome that expected 1"),
        (0, Outcome.DEFINITE_ERROR, "by a write that was answered as refused"),
    ],
)
def test_the_author_that_may_not_have_written_is_shown(
    expected: int, outcome: Outcome | None, cause: str
) -> None:
    trace = created()
    write(trace, 2, SHRUNK, 0, outcome)
    author = write(trace, 1, SHRUNK, expected, outcome)
    line = store(trace, 1, SHRUNK, 1, zxid=3)

    assert violation(trace) == (f"Version 1 was stored {cause}.", [line, author])


def test_of_two_writes_without_answer_the_one_that_fits_is_settled() -> None:
    """Each text was written for one version only, in whatever order they are told."""
    trace = created()
    for expected in (2, 0, 1):
        write(trace, 1, SHRUNK, expected, None)
    for version in (1, 2, 3):
        store(trace, 1, SHRUNK, version, zxid=version + 2)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_an_answer_without_a_transaction_is_compared_by_its_text() -> None:
    trace = created()
    write(trace, 1, SHRUNK, 0, znode_version=1)
    store(trace, 1, SHRUNK, 1, zxid=3)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_a_write_without_answer_may_be_late() -> None:
    """Another session may read the version before meanwhile, and itself after it has given up."""
    trace = created()
    write(trace, 1, SHRUNK, 0, Outcome.INDEFINITE, inv=10, ret=11)
    store(trace, 1, SHRUNK, 1, zxid=3)
    read(trace, 1, FIRST, 0, inv=12, ret=13)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_a_read_that_two_creations_answer_alike_is_of_either() -> None:
    trace = created()
    trace.zookeeper("Delete", ZNODE, "", session=session(3), zxid=3)
    write(trace, 3, FIRST, -1, znode_version=0, zxid=4)
    store(trace, 3, FIRST, 0, zxid=4)
    write(trace, 3, SHRUNK, 0, znode_version=1, zxid=5)
    store(trace, 3, SHRUNK, 1, zxid=5)
    read(trace, 3, FIRST, 0)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_a_read_of_one_creation_is_not_compared_with_another() -> None:
    trace = created()
    write(trace, 3, SHRUNK, 0, znode_version=1, zxid=3)
    store(trace, 3, SHRUNK, 1, zxid=3)
    trace.zookeeper("Delete", ZNODE, "", session=session(3), zxid=4)
    write(trace, 3, ELECTED, -1, znode_version=0, zxid=5)
    store(trace, 3, ELECTED, 0, zxid=5)
    read(trace, 3, ELECTED, 0)

    assert linearizable_znode.check(trace.events).verdict is Verdict.PASS


def test_a_read_of_what_was_never_there_proves_no_version() -> None:
    trace = created()
    wrong = read(trace, 1, None, 7)
    read(trace, 1, FIRST, 0)

    assert violation(trace) == ("A read answered version 7 with data that it never had.", [wrong])


def test_lines_without_a_version_are_told_and_compared_with_nothing() -> None:
    trace = Trace()
    asked = write(trace, 3, FIRST, -1, zxid=2)
    line = store(trace, 3, FIRST, -1, zxid=2)

    found = linearizable_znode.check([asked, replace(line, action="Create")]).violations

    assert [one.message for one in found] == [
        "The write that became version -1 was unconditional.",
        "ZooKeeper stored version -1 after version -1.",
    ]
