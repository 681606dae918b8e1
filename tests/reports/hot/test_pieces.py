"""What is found of a partition in pieces of few lines is what is found of all its lines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from fencepost.ci.bench.reports.agreement import (
    by_definition,
    in_pieces,
    judged_in_pieces,
    rows_of,
)
from fencepost.conformance.checks.ordering import split_by_partition
from fencepost.conformance.checks.registry import RUN_STARTED
from fencepost.conformance.verdict import CheckResult, merge
from fencepost.conformance.whitebox.simulate import REFERENCE_TARGET, Subject
from fencepost.reports.hot import contents, counters, judge, replicas, sequences, windows
from fencepost.reports.hot.carried import Carried
from fencepost.reports.hot.judge import HotFound
from fencepost.reports.kernels import two_stages
from fencepost.reports.kernels.bucket_rows import UNTOLD, Numbers
from fencepost.reports.kernels.claims import latest_below
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant
from tests.reports.kernels.compared import leadership_by_definition
from tests.reports.kernels.histories import (
    EDITS,
    Change,
    changed,
    changes_of,
    good_history,
    places_of,
)

GOOD = good_history()
LINES = 3
"""Of a piece."""
MORE_CAREFUL = {("sent twice", Invariant.MIN_INSYNC_REPLICAS)}
"""What pieces leave to the definition, and the kernels do not."""


@pytest.fixture(autouse=True, scope="module")
def _little_together() -> Iterator[None]:
    """What is dealt out is judged by few lengths, and by few records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judge, "BOUNDS_TOGETHER", 3)
        patch.setattr(contents, "ITEMS_TOGETHER", 25)
        yield


@cache
def defined(name: str) -> dict[Invariant, CheckResult]:
    return by_definition(EDITS[name](GOOD))


def span_of(events: Sequence[TraceEvent]) -> tuple[int, int]:
    stamps = [event.mono_ns for event in events if event.mono_ns > 0]
    return min(stamps), max(stamps)


def found_in(events: Sequence[TraceEvent], size: int) -> HotFound:
    begun = [event for event in events if event.action in RUN_STARTED]
    (own,) = split_by_partition(events).values()
    found = judged_in_pieces(own, begun, size, span_of(events))
    assert found is not None
    return found


@pytest.mark.parametrize("name", EDITS)
def test_pieces_find_what_definition_and_kernels_find(name: str) -> None:
    history = EDITS[name](GOOD)
    begun = [event for event in history if event.action in RUN_STARTED]
    kernels = two_stages._by_kernels(rows_of(history), begun)
    expected = {one for one, found in kernels.items() if found.suspicious.any()}

    found = found_in(history, LINES)

    assert {one.invariant: merge(one.invariant, [one]) for one in found.results} == defined(name)
    left = {one for one in found.suspicious if one in kernels}
    assert {(name, one) for one in left - expected} <= MORE_CAREFUL
    assert expected <= left
    assert found.leadership == leadership_by_definition(history, span_of(history))


PLACES = places_of(GOOD)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    changes_of(GOOD, most=2),
    st.integers(1, 7),
)
def test_pieces_find_what_the_definition_finds_of_any_numbers(
    changes: list[Change], size: int
) -> None:
    history = changed(GOOD, changes)

    assert in_pieces(history, size) == by_definition(history)


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(st.sets(st.sampled_from(PLACES), max_size=4), st.integers(1, 7))
def test_the_loss_of_lines_changes_nothing_about_that(lost: set[int], size: int) -> None:
    kept = [event for at, event in enumerate(GOOD) if at not in lost]

    assert in_pieces(kept, size) == by_definition(kept)


@pytest.mark.long
@pytest.mark.parametrize("mutant", ["acknowledge_before_replication", "forget_producers_at_start"])
def test_a_simulated_run_of_a_mutant_is_judged_alike(mutant: str) -> None:
    events = Subject(level=2, mutant=mutant, target=REFERENCE_TARGET).simulate(1)

    assert in_pieces(events, 40) == by_definition(events)


def test_lines_of_a_node_that_come_in_another_order_are_left_to_the_definition() -> None:
    (own,) = split_by_partition(GOOD).values()
    pieces = windows.Windows([])
    later, earlier = own[len(own) // 2 :], own[: len(own) // 2]

    for part in (later, earlier):
        pieces.of(rows_of(part))

    assert pieces.is_disordered


def _forgetting(first: int) -> Callable[[Carried, Sequence[Numbers], Numbers], Numbers]:
    whole = Carried.before

    def before(carried: Carried, keys: Sequence[Numbers], numbers: Numbers) -> Numbers:
        if carried._first == first:
            carried._last.clear()
        return whole(carried, keys, numbers)

    return before


def _well(take: Callable[[Any, Numbers], bool]) -> Callable[[Any, Numbers], bool]:
    return lambda taken, offsets: take(taken, offsets) or True


WRONG: Mapping[str, tuple[str, Any, str, Any]] = {
    "lengths of a range before": (
        "a staler high watermark",
        counters,
        "_last_below",
        lambda most, least, _latest: latest_below(most, least),
    ),
    "the high watermark before": ("an append that falls", Carried, "before", _forgetting(UNTOLD)),
    "lines that are few": (
        "a leader that lacks a record",
        windows.Windows,
        "_give",
        lambda *_told: None,
    ),
    "offsets of another table": (
        "another record in one log",
        contents.TakenOffsets,
        "take",
        _well(contents.TakenOffsets.take),
    ),
    "invocations of another piece": (
        "asked twice",
        contents._OpenInvocations,
        "left",
        lambda _open: contents._SCHEMA.empty_table(),
    ),
    "the commits of another piece": (
        "acknowledged by another",
        replicas.Committers,
        "see",
        lambda *_told: None,
    ),
    "answers of another piece": (
        "nothing",
        replicas.Answers,
        "_count",
        lambda *_told: None,
    ),
    "the number before": ("a number left out", sequences._Order, "see", lambda *_told: None),
}
"""What is carried from piece to piece, or from table to table, lost; and the edit that shows it."""


@pytest.mark.parametrize("name", WRONG)
def test_what_is_lost_at_a_seam_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    edit, *wrong = WRONG[name]
    monkeypatch.setattr(*wrong)

    assert in_pieces(EDITS[edit](GOOD), 1) != defined(edit)
