"""What `kernels.leadership_rows` makes of a partition, piece by piece."""

from collections.abc import Iterator, Sequence

from fencepost.reports.analysis.tenures import (
    Leadership,
    Writes,
    levels_of,
    tenures_of,
    turns_of,
    unserved_of,
)
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows
from fencepost.reports.kernels.leadership_rows import (
    is_acknowledged,
    last_levels,
    telling,
    writes_in,
)
from fencepost.spec.trace import TraceEvent
from fencepost.spec.znodes import TopicPartition


class Leaders:
    """Of each piece, the lines that may tell something of the whole."""

    def __init__(self, folder: int, span_ns: tuple[int, int]) -> None:
        self._folder = folder
        self._partition = TopicPartition("", -1)
        self._span_ns = span_ns
        self._served_ns = UNTOLD
        self._telling: list[TraceEvent] = []
        self._writes: dict[int, tuple[int, int]] = {}
        """By column, what was acknowledged and what was not answered."""

    def see(self, rows: BucketRows) -> None:
        """The lines of one piece."""
        stamps = rows.numbers("mono_ns")[is_acknowledged(rows)]
        self._served_ns = max(self._served_ns, int(stamps.max(initial=UNTOLD)))
        kept = telling(rows, self._served_ns)
        last, _ = last_levels(rows, self._span_ns)
        kept[last] = True
        self._telling.extend(rows.of(kept & rows.is_bulk))
        self._partition = rows.name(0)
        for own in writes_in(rows, self._folder, self._span_ns):
            for told in zip(own.columns, own.records, own.unanswered, strict=True):
                self._write(*told)

    def _write(self, column: int, records: int, unanswered: int) -> None:
        before = self._writes.get(column, (0, 0))
        self._writes[column] = before[0] + records, before[1] + unanswered

    def join(self, other: "Leaders") -> None:
        """What the other one has seen is seen here, too."""
        self._partition = max(self._partition, other._partition)
        self._telling.extend(other._telling)
        for column, told in other._writes.items():
            self._write(column, *told)

    def found(self, few: Sequence[TraceEvent]) -> Leadership:
        """The tenures, turns, writes and levels; `few`: all lines that are few."""
        events = [*few, *self._telling]
        return Leadership(
            tenures=tenures_of(self._folder, events),
            writes=tuple(self._all_writes()),
            unserved=unserved_of(self._folder, events),
            turns=turns_of(self._folder, events),
            levels=levels_of(self._folder, events, self._span_ns),
        )

    def _all_writes(self) -> Iterator[Writes]:
        if not self._writes:
            return
        columns = sorted(self._writes)
        records, unanswered = zip(*(self._writes[column] for column in columns), strict=True)
        yield Writes(
            folder=self._folder,
            topic=self._partition.topic,
            partition=self._partition.partition,
            columns=tuple(columns),
            records=records,
            unanswered=unanswered,
        )
