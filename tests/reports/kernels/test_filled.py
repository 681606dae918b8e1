"""The numbers of a column as one array, whatever its chunks are."""

import numpy as np
import pyarrow as pa
from hypothesis import given, strategies as st

from fencepost.reports.kernels.bucket_rows import UNTOLD, filled

NUMBERS = st.sampled_from([None, -(1 << 63), -1, 0, 1, (1 << 63) - 1])
CHUNKS = st.lists(st.lists(NUMBERS, max_size=20), max_size=4)


@given(CHUNKS, st.integers(0, 10), st.sampled_from([UNTOLD, -1, 0]))
def test_null_is_a_number_and_all_others_are_themselves(
    parts: list[list[int | None]], start: int, null: int
) -> None:
    chunks = [pa.array(part, pa.int64()).slice(start) for part in parts]
    expected = [null if number is None else number for part in parts for number in part[start:]]

    assert filled(chunks, null).tolist() == expected


def test_codes_take_few_bytes() -> None:
    found = filled([pa.array([0, None, 126], pa.int32())], -1, np.int8)

    assert found.tolist() == [0, -1, 126]
    assert found.dtype == np.int8
