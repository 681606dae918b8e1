"""What the definitions find of a partition in which something is in doubt, given what they need."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, compress
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from fencepost.conformance.checks.registry import CHECKS
from fencepost.conformance.verdict import CheckResult
from fencepost.reports.hot.stage_two.needed_lines import NeededLines
from fencepost.reports.kernels.bucket_rows import KERNEL_COLUMNS, BucketRows, Mask, Numbers
from fencepost.reports.tables.buckets import SplitRows, completed
from fencepost.reports.tables.schema import from_table
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant


class NumberedLines(Protocol):
    """The lines of one partition, in their order."""

    few: pa.Table
    """Those of actions that are few, with all columns that have anything."""

    def lines(self) -> Iterator[pa.Table]:
        """All others: pieces with the kernels' columns, those of a node in its order."""

    def whole(self, numbers: Numbers) -> Iterator[tuple[Numbers, pa.Table]]:
        """Some of all others, with all their columns; `numbers` count through `lines`, ascending.

        Beside them are their numbers.
        """


class InQuestion(NamedTuple):
    """What must be decided, and by which lines."""

    checks: Sequence[Invariant]
    lines: NeededLines
    premises: Sequence[int | None] = ()
    """Of each check, where the lines do not tell them."""


def judge_again(
    pieces: NumberedLines, begun: Sequence[TraceEvent], asked: Sequence[InQuestion]
) -> list[CheckResult]:
    """What each check finds that is asked for."""
    found: list[CheckResult] = []
    if not asked:
        return found
    few = _look_through(pieces, asked)
    wanted = [np.unique(one.lines.numbers) for one in asked]
    wanted = [numbers[numbers >= 0] for numbers in wanted]
    given: list[list[TraceEvent]] = [[] for _ in asked]
    for numbers, rows in pieces.whole(np.unique(np.concatenate(wanted))):
        made = from_table(rows)
        for own, of_one in zip(given, wanted, strict=True):
            own.extend(compress(made, np.isin(numbers, of_one)))
    for one, events in zip(asked, given, strict=True):
        found += _judged(one, [*begun, *few, *events])
    return found


def _look_through(pieces: NumberedLines, asked: Sequence[InQuestion]) -> list[TraceEvent]:
    """The lines that are few, when all was seen."""
    seen = 0
    none = completed(pieces.few, sorted(KERNEL_COLUMNS))[:0]
    for bulk in chain(pieces.lines(), [none]):
        rows = BucketRows(SplitRows(pieces.few, bulk, nothing_more))
        number = np.full(len(rows.partition), -1)
        number[rows.is_bulk] = np.arange(seen, seen + bulk.num_rows)
        seen += bulk.num_rows
        for one in asked:
            one.lines.see(rows, number)
    return from_table(pieces.few)


def nothing_more(rows: Mask) -> pa.Table:
    """For `SplitRows`: what is wanted of pieces is read whole, by its number."""
    raise AssertionError(len(rows))


def _judged(asked: InQuestion, events: Sequence[TraceEvent]) -> Iterator[CheckResult]:
    left_out = asked.lines.left_out
    premises = asked.premises or [None] * len(asked.checks)
    for invariant, count in zip(asked.checks, premises, strict=True):
        result = CHECKS[invariant].judge(events, left_out=left_out)
        yield result if count is None else replace(result, premise_count=count)
