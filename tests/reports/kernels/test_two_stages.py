"""The kernels and the definitions find the same, and a wrong kernel does not."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from msgspec.structs import replace

from fencepost.ci.bench.reports.agreement import by_definition, in_two_stages
from fencepost.conformance.verdict import CheckResult
from fencepost.conformance.whitebox.simulate import Subject
from fencepost.reports.kernels import (
    bucket_rows,
    client_logs,
    insync_appends,
    isr_repeats,
    numbered_records,
    replica_logs,
    roles,
    two_stages,
)
from fencepost.reports.kernels.bucket_rows import BucketRows, Cells, Found
from fencepost.reports.kernels.claims import Claims
from fencepost.reports.kernels.in_doubt import InDoubt
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant
from tests.reports.kernels.compared import assert_same
from tests.reports.kernels.histories import (
    EDITS,
    Change,
    changed,
    changes_of,
    good_history,
    places_of,
)
from tests.reports.stories import failover_story

GOOD = good_history()
REFERENCE = "python:fencepost.impl.sim.adapter"


@cache
def defined(name: str) -> dict[Invariant, CheckResult]:
    return by_definition(EDITS[name](GOOD))


def test_of_a_good_history_the_definition_sees_no_bulk(monkeypatch: pytest.MonkeyPatch) -> None:
    def unexpected(_events: object) -> list[TraceEvent]:
        raise AssertionError

    monkeypatch.setattr(InDoubt, "_table", property(unexpected))

    found = in_two_stages(EDITS["numbers"](GOOD))

    assert not any(result.violations or result.doubts for result in found.values())
    assert all(result.premise_count for result in found.values())


@pytest.mark.parametrize("name", EDITS)
def test_two_stages_find_what_the_definition_finds(name: str) -> None:
    assert_same(EDITS[name](GOOD))


def test_the_edits_violate_each_check_that_has_a_kernel() -> None:
    violated = {
        invariant
        for name in EDITS
        for invariant, result in defined(name).items()
        if result.violations
    }

    assert violated >= {
        Invariant.LINEARIZABLE_LOG,
        Invariant.ACKNOWLEDGED_DURABLE,
        Invariant.LOG_MATCHING,
        Invariant.LEADER_COMPLETE,
        Invariant.HIGH_WATERMARK_MONOTONIC,
        Invariant.ONE_COMMITTER_PER_EPOCH,
        Invariant.LEADER_IN_ISR,
        Invariant.ACTS_IN_ITS_ROLE,
        Invariant.MIN_INSYNC_REPLICAS,
        Invariant.SEQUENCES_IN_ORDER,
    }


PLACES = places_of(GOOD)


@settings(max_examples=40, deadline=None)
@given(changes_of(GOOD, most=3))
def test_two_stages_find_what_the_definition_finds_of_any_numbers(changes: list[Change]) -> None:
    assert_same(changed(GOOD, changes))


@settings(max_examples=10, deadline=None)
@given(st.permutations(PLACES), st.integers(0, 4))
def test_order_and_loss_of_lines_change_nothing_about_that(order: list[int], lost: int) -> None:
    kept = order[lost:]

    assert_same(
        [GOOD[at] for at in range(len(GOOD)) if at not in PLACES] + [GOOD[at] for at in kept]
    )


def test_a_simulated_run_of_a_mutant_is_judged_alike() -> None:
    subject = Subject(level=2, mutant="acknowledge_before_replication", target=REFERENCE)

    assert_same(subject.simulate(1))


def _nowhere(rows: BucketRows, *_others: object) -> bucket_rows.Mask:
    return np.zeros(rows.count, np.bool_)


def _no_rows(rows: BucketRows, *_others: object) -> bucket_rows.Mask:
    return np.zeros(len(rows.partition), np.bool_)


_NO_CLAIMS = Claims(*[np.zeros(0, np.int64)] * 5)


def _none_differ(cells: Cells, *_told: object) -> bucket_rows.Mask:
    return np.zeros_like(cells.sparse)


def _trusting(found: Found) -> Found:
    return Found(found.premises, np.zeros_like(found.suspicious))


def _one_more(found: Found) -> Found:
    return Found(found.premises + 1, found.suspicious)


def _after(
    change: Callable[[Found], Found], function: Callable[..., Found]
) -> Callable[..., Found]:
    return lambda *arguments: change(function(*arguments))


WRONG: Mapping[str, tuple[str, Any, str, Any]] = {
    "C0": ("acknowledged nowhere", client_logs, "misshapen", _no_rows),
    "C1 to C6": ("acknowledged twice", client_logs, "_contents", _nowhere),
    "one value per offset": ("another record in one log", Cells, "differs", _none_differ),
    "no hole": ("a hole that nothing fills", Cells, "filled", property(lambda cells: cells.extent)),
    "C6": ("stale empty read", client_logs, "contradicted", lambda _claims: np.zeros(0, np.int64)),
    "C6 in an epoch": (
        "stale high watermark",
        client_logs,
        "claims_in_epochs",
        lambda *_rows: (_NO_CLAIMS, np.zeros(0, np.int64)),
    ),
    "final reads": (
        "no final read",
        client_logs,
        "final_reads",
        lambda rows, _: (np.full(rows.count, 99), np.zeros(rows.count, np.int64)),
    ),
    "strange lines of replicas": (
        "a follower that is two nodes",
        replica_logs,
        "strange_replicas",
        _nowhere,
    ),
    "entries": ("another epoch in one log", replica_logs, "_entries", _nowhere),
    "odd partitions": ("an unclean election", BucketRows, "is_odd", property(_nowhere)),
    "commits before a leader": (
        "nothing",
        replica_logs,
        "_longest_before",
        lambda _told, leading, *_rest: np.zeros(len(leading), np.int64),
    ),
    "answers of one leader": (
        "stale high watermark",
        replica_logs,
        "_answers",
        _after(_trusting, replica_logs._answers),
    ),
    "high watermarks": (
        "read by one as another",
        replica_logs,
        "_monotonic",
        _after(_trusting, replica_logs._monotonic),
    ),
    "committers": (
        "acknowledged by another",
        replica_logs,
        "_committers",
        _after(_trusting, replica_logs._committers),
    ),
    "premises of matching": (
        "nothing",
        replica_logs,
        "_matching",
        _after(_one_more, replica_logs._matching),
    ),
    "premises of commits": (
        "nothing",
        replica_logs,
        "_committers",
        _after(_one_more, replica_logs._committers),
    ),
    "premises of leaders": (
        "nothing",
        replica_logs,
        "_complete",
        _after(_one_more, replica_logs._complete),
    ),
    "premises of durability": (
        "nothing",
        client_logs,
        "_durable",
        _after(_one_more, client_logs._durable),
    ),
    "repeats under another ISR": (
        "an advance for too few",
        isr_repeats,
        "_lists_as_before",
        lambda _rows, _name, row: row >= 0,
    ),
    "appends under a small ISR": (
        "a small ISR",
        two_stages,
        "judge_appends",
        _after(_trusting, insync_appends.judge_appends),
    ),
    "premises of appends": (
        "nothing",
        two_stages,
        "judge_appends",
        _after(_one_more, insync_appends.judge_appends),
    ),
    "roles": (
        "an append in another epoch",
        two_stages,
        "judge_roles",
        _after(_trusting, roles.judge_roles),
    ),
    "premises of roles": (
        "nothing",
        two_stages,
        "judge_roles",
        _after(_one_more, roles.judge_roles),
    ),
    "numbers": ("a number left out", numbered_records, "_out_of_order", _nowhere),
    "cut batches": ("a batch in two appends", numbered_records, "_cut_batches", _nowhere),
    "refusals": ("a refusal for a number", numbered_records, "REFUSALS", frozenset[str]()),
    "premises of numbers": (
        "nothing",
        two_stages,
        "judge_numbers",
        _after(_one_more, numbered_records.judge_numbers),
    ),
    "premises of repeats": (
        "nothing",
        two_stages,
        "premises_of",
        lambda rows, _repeats: np.zeros(rows.count, np.int64),
    ),
}
"""Kernels with one thing wrong, and the edit that shows it."""


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_finds_something_else(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    edit, *wrong = WRONG[name]
    monkeypatch.setattr(*wrong)

    assert in_two_stages(EDITS[edit](GOOD)) != defined(edit)


def test_answers_without_a_leader_epoch_are_of_the_broker_that_leads() -> None:
    unnamed = [
        replace(event, leader_epoch=None) if event.action == "Produce" else event
        for event in failover_story("r").events
    ]

    assert_same(unnamed)
