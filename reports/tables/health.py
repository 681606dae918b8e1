"""What is known of each trace file after it was read: whole, torn, doubled, and of which run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fencepost.reports.tables.lines import ReadLines
from fencepost.spec.trace import Kind

LISTED_LINES = 10
"""Numbers of foreign lines that the report lists per file; all are counted."""


@dataclass(slots=True, kw_only=True)
class FileHealth:
    """What was read from one trace file, and what could not be."""

    folder: int
    file: str
    lines: int = 0
    events: int = 0
    torn_lines: int = 0
    foreign_lines: int = 0
    foreign_examples: list[int] = field(default_factory=list)
    """Line numbers, from 1, of the first foreign lines."""
    missing_lines: int = 0
    """Gaps in the sequence numbers of the file's nodes: events that were lost."""
    doubled_lines: int = 0
    """Numbers that do not grow: events that were there already, or are of another start."""
    run_ids: list[str] = field(default_factory=list)
    nodes: list[str] = field(default_factory=list)
    """The nodes that wrote the file's lines, ascending."""
    started: str | None = None
    """The `detail` of `RunStarted`, when this file holds it."""
    ended: bool = False
    """True when this file holds `RunEnded`."""
    first_ns: int | None = None
    last_ns: int | None = None
    digest: str = ""
    """SHA-256 of the file."""


class HealthCount:
    """Brings what is known of a file up to date, block by block."""

    def __init__(self, health: FileHealth) -> None:
        self._health = health
        self._last_seq: dict[tuple[str, int], int] = {}

    def lines(self, read: ReadLines) -> None:
        """Take the lines of the next block."""
        health = self._health
        listed = [*health.foreign_examples, *(health.lines + line.number for line in read.foreign)]
        health.foreign_examples = listed[:LISTED_LINES]
        health.foreign_lines += len(read.foreign)
        health.torn_lines += bool(read.torn)
        health.lines += read.lines

    def events(self, table: pa.Table) -> None:
        """Take the events of the next block."""
        health = self._health
        health.events += table.num_rows
        names = (pc.unique(table.column(name)).to_pylist() for name in ("run_id", "node"))
        run_ids, nodes = names
        health.run_ids = sorted({*health.run_ids, *run_ids})
        health.nodes = sorted({*health.nodes, *nodes})
        self._number(table, nodes)
        self._note_run(table.filter(pc.equal(table.column("kind"), Kind.RUN.value)))
        stamps = table.column("mono_ns")
        bounds = pc.min_max(pc.filter(stamps, pc.greater(stamps, 0))).as_py()
        if bounds["min"] is not None:
            health.first_ns = min(bounds["min"], health.first_ns or bounds["min"])
            health.last_ns = max(bounds["max"], health.last_ns or bounds["max"])

    def _number(self, table: pa.Table, nodes: Sequence[str]) -> None:
        """Count what is missing and what is there twice, of each start of each node."""
        for node in nodes:
            own = table if len(nodes) == 1 else _where(table, "node", node)
            starts = pc.unique(own.column("incarnation")).to_pylist()
            for incarnation in starts:
                rows = own if len(starts) == 1 else _where(own, "incarnation", incarnation)
                self._follow((node, incarnation), rows.column("seq").to_numpy())

    def _follow(self, source: tuple[str, int], numbers: NDArray[np.int64]) -> None:
        last = self._last_seq.get(source, -1)
        before = np.maximum.accumulate(np.concatenate([[last], numbers]))
        grows = numbers > before[:-1]
        gaps = (numbers - before[:-1] - 1)[grows]
        self._health.missing_lines += sum(gaps[gaps > 0].tolist())
        self._health.doubled_lines += int((~grows).sum())
        self._last_seq[source] = int(before[-1])

    def _note_run(self, rows: pa.Table) -> None:
        for row in rows.select(["action", "detail"]).to_pylist():
            if row["action"] == "RunStarted":
                self._health.started = row["detail"] or "{}"
            if row["action"] == "RunEnded":
                self._health.ended = True


def _where(table: pa.Table, name: str, value: str | int) -> pa.Table:
    return table.filter(pc.equal(table.column(name), value))
