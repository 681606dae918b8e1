"""Places by group and number, as a sort by both finds them."""

from collections.abc import Callable
from random import Random

import numpy as np
import pytest

from fencepost.reports.kernels import bucket_rows
from fencepost.reports.kernels.bucket_rows import UNTOLD, Numbers, in_order

LISTS = 200


def disagreements() -> list[int]:
    """Lists that are put in another order than by definition: short ones, with ties."""
    random = Random(3)
    found = []
    for number in range(LISTS):
        far = random.choice([0, UNTOLD, 1 << 61])
        rows = [
            (random.randrange(4), random.choice([-2, 0, 1, 1, 5, far]))
            for _ in range(random.randrange(12))
        ]
        expected = sorted(range(len(rows)), key=rows.__getitem__)
        columns = np.array(rows, np.int64).reshape(-1, 2).T
        if in_order(*columns).tolist() != expected:
            found.append(number)
    return found


def test_places_are_as_a_sort_by_both_finds_them() -> None:
    assert not disagreements()


def _by_number(_groups: Numbers, numbers: Numbers) -> Numbers:
    return np.argsort(numbers, kind="stable")


def _late_first(groups: Numbers, numbers: Numbers) -> Numbers:
    return np.lexsort((-np.arange(len(groups)), numbers, groups))


@pytest.mark.parametrize("wrong", [_by_number, _late_first])
def test_another_order_is_seen(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[..., Numbers]
) -> None:
    monkeypatch.setitem(disagreements.__globals__, "in_order", wrong)

    assert disagreements()


def test_numbers_too_far_apart_for_one_number_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_rows, "SORTED_MAX", 1 << 80)

    with np.errstate(over="ignore"):
        assert disagreements()
