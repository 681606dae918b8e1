"""Where what can be made again is kept: results of TLC, and class archives of Java.

Of an archive nothing but its content tells whether it is whole, and a torn one ends Java 17 by a
signal. So such a file has its hash in its name, after its key.
"""

import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

OVERRIDE = "FENCEPOST_CACHE"
HASH_DIGITS = 32


def cache_folder() -> Path | None:
    """`FENCEPOST_CACHE`, else `fencepost` below the user's cache; None where nothing can be kept.

    The folder exists afterwards.
    """
    try:
        folder = _wanted()
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError):
        return None
    return folder if os.access(folder, os.W_OK | os.X_OK) else None


def _wanted() -> Path:
    if told := os.environ.get(OVERRIDE):
        return Path(told).absolute()
    if told := os.environ.get("XDG_CACHE_HOME"):
        return Path(told).absolute() / "fencepost"
    return Path.home() / ".cache" / "fencepost"


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` at `path` at once; a disk that refuses costs the entry and nothing else."""
    draft = draft_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(content)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)


def draft_of(path: Path) -> Path:
    """A name beside `path` that no other process writes to."""
    return path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.draft")


def key_for(java: Path, *parts: str) -> str:
    """A hash of which Java it is, and of all else that a file follows from. Raises `OSError`."""
    real = java.resolve()
    release = real.parents[1] / "release"
    told = release.read_text(errors="replace") if release.is_file() else ""
    return _hash_of("\0".join((str(real), told, *parts)).encode())


def find_file(place: Path, key: str, suffix: str) -> Path | None:
    """What is kept there under `key`; what is not whole is removed. Raises `OSError`."""
    for path in sorted(place.glob(f"{key}-{'?' * HASH_DIGITS}{suffix}")):
        if is_whole(path):
            return path
        path.unlink(missing_ok=True)
    return None


def keep_file(made: Path, place: Path, key: str, written_ns: int | None = None) -> Path:
    """`made` is kept there under `key`, all at once; returns where. Raises `OSError`.

    With `written_ns`, that is when it was written: the same content is the same file.
    """
    content = made.read_bytes()
    path = place / f"{key}-{_hash_of(content)}{made.suffix}"
    draft = draft_of(path)
    try:
        draft.write_bytes(content)
        if written_ns is not None:
            os.utime(draft, ns=(written_ns, written_ns))
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return path


def tidy(place: Path, archives_max: int) -> None:
    """Remove the oldest archives but so many, and the drafts of processes that were killed."""
    archives = sorted(place.glob("*.jsa"), key=lambda path: path.stat().st_mtime_ns)
    for path in (*archives[:-archives_max], *place.glob("*.draft")):
        path.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[bool]:
    """True for one process at a time, by a lock of the kernel, without waiting."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


def is_whole(path: Path) -> bool:
    """True while a kept file has the content that it was kept with. Raises `OSError`."""
    status = path.stat()
    return path.stem.endswith(_hash_once(path, status.st_ctime_ns, status.st_size))


@cache
def _hash_once(path: Path, _changed_ns: int, _size: int) -> str:
    return _hash_of(path.read_bytes())


def _hash_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:HASH_DIGITS]
