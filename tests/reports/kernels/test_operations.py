"""Which requests have an answer, by their operations: as sets of these tell it."""

from random import Random

import numpy as np
import pytest

from fencepost.ci.bench.reports.agreement import rows_of
from fencepost.reports.kernels.client_logs import also_among
from fencepost.spec.trace import Kind, TraceEvent

FAR = 1 << 40
"""A number as a damaged line may tell it."""


def lines(random: Random, numbers: list[int | None]) -> list[TraceEvent]:
    """Requests and answers of some clients, for one of two partitions each."""
    return [
        TraceEvent(
            run_id="r",
            node=f"client-{random.randrange(2)}",
            incarnation=random.randrange(2),
            seq=seq,
            mono_ns=seq + 1,
            kind=random.choice([Kind.INVOKE, Kind.COMPLETE]),
            action="Produce",
            topic="t",
            partition=random.randrange(2),
            op_id=random.choice(numbers),
        )
        for seq in range(random.randrange(2, 30))
    ]


@pytest.mark.parametrize("numbers", [[1, 2, 3, 4, 5], [7, 8, None], [0, 2, FAR], [3]])
def test_a_request_has_an_answer_of_its_own_client_and_partition(
    numbers: list[int | None],
) -> None:
    random = Random(5)
    for _ in range(100):
        rows = rows_of(lines(random, numbers))
        columns = ("node", "incarnation", "op_id", "topic", "partition")
        told = [tuple(row[name] for name in columns) for row in rows.table.to_pylist()]
        asked, answered = rows.is_kind("invoke"), rows.is_kind("complete")
        others = {told[row] for row in np.flatnonzero(answered).tolist()}
        expected = [one in others and bool(own) for one, own in zip(told, asked, strict=True)]

        assert also_among(rows, asked, answered).tolist() == expected
