"""What is known of each trace file after it was read: whole, torn, doubled, and of which run."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.reports.tables.blocks import digest_of
from fencepost.reports.tables.lines import ReadLines
from fencepost.reports.tables.numbering import NodeNumbers
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
    begun_ns: int | None = None
    """When that was, on the wall clock."""
    ended: bool = False
    """True when this file holds `RunEnded`."""
    first_ns: int | None = None
    last_ns: int | None = None
    digest: str = ""
    """As `blocks.digest_of` the digests of its parts."""


@dataclass(slots=True, kw_only=True)
class PartHealth:
    """What was read of one part of a trace file."""

    part: int
    health: FileHealth
    """Its lines are numbered from 1, and nothing is known of missing ones."""
    numbers: list[NodeNumbers] = field(default_factory=list)


def whole_file(parts: Sequence[PartHealth]) -> FileHealth:
    """What was read of a file, of all of its parts in order."""
    whole = FileHealth(folder=parts[0].health.folder, file=parts[0].health.file)
    last: dict[tuple[str, int], int] = {}
    for part in parts:
        _take_over(whole, part.health)
        for own in part.numbers:
            source = own.node, own.incarnation
            missing, doubled, last[source] = own.after(last.get(source, -1))
            whole.missing_lines += missing
            whole.doubled_lines += doubled
    whole.digest = digest_of([part.health.digest for part in parts])
    return whole


def _take_over(whole: FileHealth, part: FileHealth) -> None:
    listed = [*whole.foreign_examples, *(whole.lines + line for line in part.foreign_examples)]
    whole.foreign_examples = listed[:LISTED_LINES]
    whole.lines += part.lines
    whole.events += part.events
    whole.torn_lines += part.torn_lines
    whole.foreign_lines += part.foreign_lines
    whole.run_ids = sorted({*whole.run_ids, *part.run_ids})
    whole.nodes = sorted({*whole.nodes, *part.nodes})
    whole.started = whole.started if part.started is None else part.started
    whole.begun_ns = whole.begun_ns if part.begun_ns is None else part.begun_ns
    whole.ended |= part.ended
    whole.first_ns = _least(whole.first_ns, part.first_ns)
    if part.last_ns is not None:
        whole.last_ns = max(part.last_ns, whole.last_ns or part.last_ns)


def _least(one: int | None, other: int | None) -> int | None:
    return min((number for number in (one, other) if number is not None), default=None)


class HealthCount:
    """Brings what is known of a part up to date, block by block."""

    def __init__(self, health: FileHealth) -> None:
        self._health = health
        self._numbers: dict[tuple[str, int], NodeNumbers] = {}

    @property
    def numbers(self) -> list[NodeNumbers]:
        """Of each start of each node."""
        return list(self._numbers.values())

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
        """Note the numbers of each start of each node."""
        for node in nodes:
            own = table if len(nodes) == 1 else _where(table, "node", node)
            starts = pc.unique(own.column("incarnation")).to_pylist()
            for incarnation in starts:
                rows = own if len(starts) == 1 else _where(own, "incarnation", incarnation)
                own_numbers = self._numbers.setdefault(
                    (node, incarnation), NodeNumbers(node=node, incarnation=incarnation)
                )
                own_numbers.add(rows.column("seq").to_numpy())

    def _note_run(self, rows: pa.Table) -> None:
        for row in rows.select(["action", "detail", "wall_ns"]).to_pylist():
            if row["action"] == "RunStarted":
                self._health.started = row["detail"] or "{}"
                self._health.begun_ns = row["wall_ns"]
            if row["action"] == "RunEnded":
                self._health.ended = True


def _where(table: pa.Table, name: str, value: str | int) -> pa.Table:
    return table.filter(pc.equal(table.column(name), value))
