"""Folders in the temp directory that go when their owner ends, however it ends.

The owner holds a lock on a file in its folder; the kernel lets go of it even after SIGKILL. Whoever
makes the next such folder removes those that no process holds any more, as does `fencepost heal`.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

PREFIX = "fencepost-"
PROC = Path("/proc")
OWNER = ".owner"
"""The file that is locked. It is locked from its creation, so it never looks free too early."""


@contextmanager
def scratch_folder(what: str) -> Iterator[Path]:
    """An empty folder with `what` in its name, gone afterwards; those of the dead are gone too."""
    sweep()
    with TemporaryDirectory(prefix=f"{PREFIX}{what}-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        draft = folder / f"{OWNER}.draft"
        with draft.open("wb") as mark:
            fcntl.flock(mark, fcntl.LOCK_EX)
            draft.replace(folder / OWNER)
            yield folder


def sweep() -> tuple[Path, ...]:
    """Remove this user's folders of dead processes; returns which they were."""
    marks = sorted(Path(gettempdir()).glob(f"{PREFIX}*/{OWNER}"))
    return tuple(mark.parent for mark in marks if _remove_if_free(mark))


def _remove_if_free(mark: Path) -> bool:
    try:
        if mark.parent.is_symlink() or mark.stat().st_uid != os.geteuid():
            return False
        with mark.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_named(mark.parent):
                return False
            shutil.rmtree(mark.parent)
    except OSError:
        return False
    return True


def _is_named(folder: Path) -> bool:
    """True while a process has the folder in its command line, as the reaper of a run in it."""
    name = str(folder).encode()
    return any(name in words for words in map(_command_line, PROC.glob("[0-9]*/cmdline")))


def _command_line(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
