"""Run folders: where a gate or a chaos run leaves its traces, verdict and report."""

import os
import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path

from fencepost.ci.gate.failures import HarnessError, UsageError
from fencepost.reports.tables.folders import SOURCES

RUNS = Path("reports") / "runs"
"""Below the folder that the command is run in."""
LATEST = "latest"
MIB = 1024 * 1024
ROOM_BYTES = 64 * MIB
"""The least that a cluster of a short run writes."""


def new_run_id(now: datetime | None = None) -> str:
    """Sorts by time, and differs between two runs of one second."""
    moment = now or datetime.now(UTC)
    return f"{moment:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


def make_run_folder(run_id: str, out: Path | None) -> Path:
    """An empty folder for one run; raises when it holds something or cannot be made.

    Without `out` it is `reports/runs/<run id>`, and the link `latest` beside it leads there.
    """
    folder = RUNS / run_id if out is None else out
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty; name a new folder with --out")
        check_writable(folder)
        require_room(folder, "a new folder with --out")
        if out is None:
            link_latest(folder)
    except (FileExistsError, NotADirectoryError) as error:
        raise UsageError(f"{folder} is not a folder; name another with --out") from error
    except PermissionError as error:
        raise HarnessError(f"no permission to write {folder}; name another with --out") from error
    except OSError as error:
        why = error.strerror or str(error)
        raise HarnessError(f"{folder} cannot be made: {why}; name another with --out") from error
    return folder


def check_writable(folder: Path) -> None:
    """Raise `PermissionError` when nothing can be created in `folder`."""
    probe = folder / f".probe-{os.getpid()}"
    probe.touch()
    probe.unlink()


def require_room(folder: Path, instead: str) -> None:
    """Raise `HarnessError` when the disk of `folder` is full, or nearly so."""
    left = shutil.disk_usage(folder).free
    if left < ROOM_BYTES:
        raise HarnessError(
            f"the disk of {folder} is full: {left // MIB:,} MiB are left, and a cluster needs "
            f"{ROOM_BYTES // MIB:,}; make room, or name {instead}"
        )


def link_latest(folder: Path) -> None:
    """`latest` beside `folder` leads to it; it is replaced in one step, and so never missing."""
    fresh = folder.parent / f".{LATEST}-{folder.name}"
    fresh.symlink_to(folder.name)
    fresh.replace(folder.parent / LATEST)


def require_folder(folder: Path) -> None:
    """Raise `UsageError` when `folder` is a file, or not there."""
    if folder.is_file():
        raise UsageError(f"{folder} is a file; name the run folder that holds it")
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a run folder: there is no such folder")


def existing_run(folder: Path) -> Path:
    """`folder`, when it holds a trace, or a trace's Parquet; raises `UsageError` otherwise."""
    require_folder(folder)
    if (folder / SOURCES).exists():
        return folder
    if next(folder.rglob("*.ndjson"), None) is None:
        raise UsageError(f"{folder} is not a run folder: it holds no trace-*.ndjson")
    return folder
