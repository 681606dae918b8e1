"""Which folders of a run hold traces: each is one run of the system, with a run id of its own."""

from dataclasses import dataclass
from pathlib import Path

from fencepost.reports.tables.errors import ReportError
from fencepost.spec.trace import TRACES, run_folders

PARQUET = "parquet"
"""Where the ingested columns of a run live; ours to delete and rewrite."""

SOURCES = "_sources.json"
"""In a folder of Parquet: what it was made of; `sources.py` writes it last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFolder:
    """A folder with at least one `trace-*.ndjson`."""

    name: str
    """Its path inside the run, with slashes: `chaos/leader_killed`."""
    files: tuple[str, ...]
    """Names of the trace files, sorted."""
    size: int
    """Bytes of all of them."""


def trace_folders(run: Path) -> tuple[TraceFolder, ...]:
    """The trace folders of `run`, sorted by name.

    Raises `ReportError` when `run` is no folder or holds no trace at all.
    """
    if not run.is_dir():
        raise ReportError(f"{run} is not a folder", "name a folder that a run has left")
    by_folder: dict[str, list[Path]] = {}
    for folder in run_folders(run):
        relative = folder.relative_to(run)
        if relative.parts[:1] != (PARQUET,):
            by_folder[relative.as_posix()] = sorted(filter(Path.is_file, folder.glob(TRACES)))
    if not by_folder:
        raise ReportError(
            f"{run} holds no {TRACES}", "name a run folder in which simulate or chaos ran"
        )
    return tuple(_folder(name, paths) for name, paths in sorted(by_folder.items()))


def _folder(name: str, paths: list[Path]) -> TraceFolder:
    return TraceFolder(
        name=name,
        files=tuple(path.name for path in paths),
        size=sum(path.stat().st_size for path in paths),
    )
