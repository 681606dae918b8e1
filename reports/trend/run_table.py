"""A table of many runs: `run=<run id>/failovers.parquet`, one file for each run of a system.

Its rows are the failovers of the run, and its metadata what is told of the run as a whole. A run is
added as a whole or not at all, and any reader of partitioned Parquet can read the table.
Each analysed folder has a table of its own runs, so that a folder of such folders is one, too.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from fencepost.conformance.verdict import Verdict, worst
from fencepost.reports.analysis.aggregates import Analysis
from fencepost.reports.analysis.budgets import PHASES
from fencepost.reports.analysis.folder_report import FolderReport
from fencepost.reports.analysis.metrics import Failover
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.health import FileHealth

FAILOVERS = "failovers.parquet"
OWN = "failovers"
"""The table of an analysed folder."""
_RUN = b"run"
_MS = [pa.field(f"{phase}_ms", pa.float64()) for phase in PHASES]
FAILOVER_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("fault", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int64()),
        ("old_leader", pa.int64()),
        ("new_leader", pa.int64()),
        ("noise", pa.string()),
        *_MS,
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run of a system."""

    run_id: str
    begun_ns: int
    """On the wall clock; 0 where no line tells."""
    level: int
    """-1 where no line tells."""
    implementation: str
    scenario: str
    verdict: Verdict
    """Of its checks and its traces."""
    violated: tuple[str, ...]
    events: int
    digest: str
    """Of its trace files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TabledRun:
    """A run and its failovers, which have the columns of `FAILOVER_SCHEMA`."""

    row: RunRow
    failovers: pa.Table


def stored_runs(analysis: Analysis, found: Iterable[Failover]) -> tuple[TabledRun, ...]:
    """The runs of an analysis that go into a table, with their failovers.

    Runs of mutants are left out, as are those with traces of no run or of several.
    Raises `ReportError` when two of them have one id.
    """
    reports = [r for r in analysis.folders if r.is_judged and len(r.run_ids) == 1]
    times = Counter(report.run_ids[0] for report in reports)
    for run_id, number in times.items():
        if number > 1:
            folders = " and ".join(r.name for r in reports if r.run_ids[0] == run_id)
            raise ReportError(
                f"{folders} are both run {run_id}", "one of them is a copy: remove it"
            )
    failovers = list(found)
    return tuple(_stored(report, analysis.health, failovers) for report in reports)


def _stored(
    report: FolderReport, health: Sequence[FileHealth], failovers: Sequence[Failover]
) -> TabledRun:
    own = sorted((f.file, f.digest) for f in health if f.folder == report.index)
    row = RunRow(
        run_id=report.run_ids[0],
        begun_ns=report.begun_ns or 0,
        level=-1 if report.level is None else report.level,
        implementation=report.implementation,
        scenario=report.scenario,
        verdict=worst([report.trace_verdict, *(check.verdict for check in report.decided)]),
        violated=tuple(check.invariant for check in report.failed),
        events=report.events,
        digest=sha256(msgspec.json.encode(own)).hexdigest(),
    )
    rows = [_failover_row(one) for one in failovers if one.folder == report.index]
    return TabledRun(row=row, failovers=pa.Table.from_pylist(rows, schema=FAILOVER_SCHEMA))


def _failover_row(one: Failover) -> dict[str, object]:
    names = FAILOVER_SCHEMA.names[: -len(PHASES)]
    told = {name: getattr(one, name) for name in names}
    return told | {f"{phase}_ms": one.phases_ms[phase] for phase in PHASES}


def add_runs(table: Path, runs: Sequence[TabledRun]) -> None:
    """All runs are in the table.

    One that is there already, of the same traces, is written again. Raises `ReportError` when it
    is there of other traces, before anything is written, and when the folder refuses.
    """
    for run in runs:
        there = _read_row(_place(table, run.row.run_id))
        if there is not None and there.digest != run.row.digest:
            raise ReportError(
                f"{table} holds run {run.row.run_id} already, of other traces",
                f"two runs have one id: to replace it, remove {_place(table, there.run_id).parent}",
            )
    try:
        for run in runs:
            _write(_place(table, run.row.run_id), run)
    except OSError as error:
        raise ReportError(
            f"{table} cannot be written ({error.strerror or error})", "name another --table"
        ) from error


def keep_own(folder: Path, analysis: Analysis, found: Iterable[Failover]) -> None:
    """The folder has the table of its own runs, of this analysis alone.

    It has none where two of them have one id. Raises `ReportError` when the folder refuses.
    """
    shutil.rmtree(folder / OWN, ignore_errors=True)
    try:
        runs = stored_runs(analysis, found)
    except ReportError:
        return
    add_runs(folder / OWN, runs)


def _place(table: Path, run_id: str) -> Path:
    return table / f"run={quote(run_id, safe='')}" / FAILOVERS


def _write(path: Path, run: TabledRun) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    told = run.failovers.replace_schema_metadata({_RUN: msgspec.json.encode(run.row)})
    draft = path.with_name(f".{FAILOVERS}.draft")
    pq.write_table(told, draft, compression="zstd")
    draft.replace(path)


def _read_row(path: Path) -> RunRow | None:
    if not path.exists():
        return None
    return _read(path).row


def read_runs(table: Path) -> tuple[TabledRun, ...]:
    """All runs of a table, or of the analysed folders in a folder, the oldest first.

    Raises `ReportError` when there is none, one is there twice, or a file is not one of a table.
    """
    files = {path: _read(path) for path in files_of(table)}
    runs = tuple(files.values())
    if not runs:
        raise ReportError(f"{table} holds no run", f"add one: fencepost report RUN --table {table}")
    first: dict[str, Path] = {}
    for path, run in files.items():
        if (other := first.setdefault(run.row.run_id, path)) is not path:
            raise ReportError(
                f"{other.parent} and {path.parent} are both run {run.row.run_id}",
                "one of them is a copy: remove it",
            )
    return tuple(sorted(runs, key=lambda run: (run.row.begun_ns, run.row.run_id)))


def files_of(table: Path) -> list[Path]:
    """Those of the runs in a table, or in the analysed folders of a folder."""
    below = table.iterdir() if table.is_dir() else ()
    folders = [table, *(path / OWN for path in below if not path.is_symlink())]
    return sorted(path for one in folders for path in one.glob(f"run=*/{FAILOVERS}"))


def _read(path: Path) -> TabledRun:
    try:
        with pq.ParquetFile(path) as file:
            told = (file.metadata.metadata or {}).get(_RUN, b"")
            return TabledRun(row=msgspec.json.decode(told, type=RunRow), failovers=file.read())
    except (OSError, pa.ArrowException, msgspec.MsgspecError) as error:
        raise ReportError(
            f"{path} is not what this Fencepost writes into a table",
            "remove it and add the run again",
        ) from error
