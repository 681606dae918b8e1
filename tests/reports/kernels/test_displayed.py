"""What is told from columns of the surroundings of a violation is what its events tell."""

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from fencepost.ci.bench.reports.agreement import by_definition, rows_of
from fencepost.conformance.checks.ordering import partition_of_event
from fencepost.conformance.verdict import Violation
from fencepost.conformance.whitebox.simulate import Subject
from fencepost.reports.analysis import evidence
from fencepost.reports.analysis.evidence import gather
from fencepost.reports.kernels import displayed_rows
from fencepost.reports.kernels.displayed import DisplayedEvents
from fencepost.reports.kernels.displayed_rows import DisplayedRows
from fencepost.spec.trace import TraceEvent
from tests.reports.kernels.histories import EDITS, good_history

GOOD = good_history()


@pytest.fixture(autouse=True, params=[1, 256], scope="module")
def _lines_of_a_replica(request: pytest.FixtureRequest) -> Iterator[None]:
    """Among how many of its last lines a replica's state is looked for at first."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(displayed_rows, "LINES_OF_REPLICA", request.param)
        patch.setattr(displayed_rows, "BLOCK", 16)
        patch.setattr(evidence, "_BLOCK", 7)
        yield


NUMBERS = ("offset", "high_watermark", "log_end_offset", "mono_ns", "seq")
BULK = [at for at, event in enumerate(GOOD) if event.topic is not None and event.mono_ns]


def both(events: Sequence[TraceEvent]) -> tuple[DisplayedEvents, DisplayedRows]:
    """Of the first partition of these events, and the events about none."""
    rows = rows_of(events)
    shared = [event for event in events if partition_of_event(event) is None]
    own = [event for event in events if partition_of_event(event) == rows.name(0)]
    return DisplayedEvents([*shared, *own]), DisplayedRows(rows, 0, shared)


def violations_of(events: Sequence[TraceEvent]) -> list[Violation]:
    return [one for found in by_definition(events).values() for one in found.violations]


@cache
def broken(name: str) -> list[TraceEvent]:
    return EDITS[name](GOOD)


@pytest.mark.parametrize("name", [name for name in EDITS if violations_of(EDITS[name](GOOD))])
def test_the_surroundings_of_each_violation_are_the_same(name: str) -> None:
    of_events, of_rows = both(broken(name))
    violations = violations_of(broken(name))

    assert gather(violations, of_rows, 0) == gather(violations, of_events, 0)


@pytest.mark.parametrize(
    "mutant", ["acknowledge_before_replication", "truncate_below_high_watermark"]
)
def test_the_replicas_are_the_same_before_each_event_of_a_simulated_run(mutant: str) -> None:
    events = Subject(level=0, mutant=mutant, target="python:fencepost.impl.sim.adapter").simulate(1)
    of_events, of_rows = both(events)
    places = range(0, len(of_events), 7)

    assert len(of_rows) == len(of_events) > 0
    assert of_rows.events(places) == of_events.events(places)
    assert of_rows.states(places) == of_events.states(places)
    assert list(of_rows.weights(0, len(of_rows))) == list(of_events.weights(0, len(of_events)))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(BULK),
            st.sampled_from(NUMBERS),
            st.sampled_from([None, -2, -1, 0, 1, 3, 2_000_000]),
        ),
        max_size=6,
    )
)
def test_the_replicas_are_the_same_whatever_lines_tell(
    changes: list[tuple[int, str, int | None]],
) -> None:
    history = list(GOOD)
    for at, name, by in changes:
        before = getattr(history[at], name)
        required = name in ("mono_ns", "seq")
        told = by if by is None or before is None else max(0, before + by)
        history[at] = replace(history[at], **{name: before if told is None and required else told})
    of_events, of_rows = both(history)

    assert of_rows.states(range(len(of_rows) + 1)) == of_events.states(range(len(of_events) + 1))


def test_a_log_that_is_told_without_its_last_appends_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        displayed_rows, "_last_appends", lambda offset, _end: np.flatnonzero(offset > len(offset))
    )
    of_events, of_rows = both(GOOD)

    assert of_rows.states([len(of_rows)]) != of_events.states([len(of_events)])
