"""One number for equal rows of columns: as their order is, without gaps."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fencepost.reports.kernels import bucket_rows
from fencepost.reports.kernels.bucket_rows import ROWS_PER_RUN_MIN, joint

FAR = 1 << 40
"""Between numbers that are sorted, not marked."""
Row = tuple[int, int, int]
ROWS = st.lists(st.tuples(*[st.sampled_from([-1, 0, 1, 2, FAR])] * 3), min_size=1)


def numbered(rows: list[Row]) -> object:
    """What `joint` says of the rows."""
    return joint(*np.array(rows, np.int64).T).tolist()


def ranked(rows: list[Row]) -> list[int]:
    """The same by definition."""
    ranks = {row: rank for rank, row in enumerate(sorted(set(rows)))}
    return [ranks[row] for row in rows]


@given(ROWS)
def test_rows_are_numbered_in_their_order(rows: list[Row]) -> None:
    assert numbered(rows) == ranked(rows)


def many() -> list[Row]:
    """Rows of which the first number decides the second, but for one."""
    random = Random(1)
    rows = [(place, random.randrange(50), 0) for place in range(50)]
    return [*rows, (3, 50, 0)]


@given(ROWS)
def test_rows_that_change_seldom_are_numbered_in_their_order(rows: list[Row]) -> None:
    seldom = [row for row in rows for _ in range(ROWS_PER_RUN_MIN)]

    assert numbered(seldom) == ranked(seldom)


def test_a_column_that_others_decide_adds_nothing() -> None:
    assert numbered(many()[:-1]) == ranked(many()[:-1])
    assert numbered(many()) == ranked(many())


def test_a_wrong_guess_of_that_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_rows, "decides", lambda _one, _other: True)

    assert numbered(many()) != ranked(many())
