"""What Jepsen looks for in histories of Kafka's clients is found by the checks that there are.

The table of `docs/kafka.md` says which check finds which anomaly; each has its trace here, and the
healthy trace that they all begin with violates nothing.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.conformance.checks.registry import run_checks
from fencepost.spec.vocabulary import Invariant, Outcome
from tests.conformance.checks.trace_builder import Trace

PAGE = Path(__file__).resolve().parents[3] / "docs" / "kafka.md"
ROW = re.compile(
    r"^\| (?P<anomaly>[a-z][a-z -]+) \| (?P<checks>(?:`\w+`(?:, )?)+) \|", re.MULTILINE
)
LOG, DURABLE = Invariant.LINEARIZABLE_LOG, Invariant.ACKNOWLEDGED_DURABLE
Anomaly = Callable[[Trace], object]


def begun() -> Trace:
    """Two records are acknowledged, and read."""
    trace = Trace()
    trace.produce("a", offset=0)
    trace.produce("b", offset=1)
    trace.fetch(0, "ab", 2)
    return trace


def lost_write(trace: Trace) -> None:
    trace.produce("c", offset=2)
    trace.produce("d", offset=2)
    trace.final_read("abd")


def duplicate(trace: Trace) -> None:
    trace.produce("c", Outcome.INDEFINITE)
    trace.fetch(2, "cc", 4)


def inconsistent_offsets(trace: Trace) -> None:
    trace.produce("cd", Outcome.INDEFINITE)
    trace.fetch(2, "c", 3)
    trace.fetch(2, "d", 3)


def poll_skip(trace: Trace) -> None:
    trace.produce("cd", offset=2)
    trace.fetch(2, "d", 4)


def non_monotonic_poll(trace: Trace) -> None:
    trace.fetch(2, "ab", 4)


def non_monotonic_send(trace: Trace) -> None:
    trace.produce("d", offset=3)
    trace.produce("c", offset=2)


def unseen(trace: Trace) -> None:
    trace.produce("c", offset=2)
    trace.final_read("ab", leader_epoch=2)


def stale_read(trace: Trace) -> None:
    trace.fetch(1, "", 1)


def aborted_read(trace: Trace) -> None:
    trace.produce("c", Outcome.DEFINITE_ERROR)
    trace.fetch(2, "c", 3)


ANOMALIES: dict[str, tuple[Anomaly, set[Invariant]]] = {
    "lost write": (lost_write, {LOG, DURABLE}),
    "duplicate": (duplicate, {LOG}),
    "inconsistent offsets": (inconsistent_offsets, {LOG}),
    "poll skip": (poll_skip, {LOG, DURABLE}),
    "non-monotonic poll": (non_monotonic_poll, {LOG}),
    "non-monotonic send": (non_monotonic_send, {LOG}),
    "unseen": (unseen, {DURABLE}),
    "stale read": (stale_read, {LOG}),
    "aborted read": (aborted_read, {LOG}),
}


def violated(trace: Trace) -> set[Invariant]:
    return {result.invariant for result in run_checks(trace.events) if result.violations}


@pytest.mark.parametrize("anomaly", ANOMALIES)
def test_an_anomaly_of_clients_is_found(anomaly: str) -> None:
    write, expected = ANOMALIES[anomaly]
    trace = begun()
    assert violated(trace) == set()

    write(trace)

    assert violated(trace) == expected


def test_the_page_names_the_checks_that_find_each() -> None:
    rows = {
        row["anomaly"]: set(re.findall(r"\w+", row["checks"]))
        for row in ROW.finditer(PAGE.read_text())
    }

    assert rows == {name: {*map(str, checks)} for name, (_, checks) in ANOMALIES.items()}
