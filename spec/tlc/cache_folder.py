"""Where what can be made again is kept: results of TLC and class archives of Java."""

import os
import secrets
from pathlib import Path

OVERRIDE = "FENCEPOST_CACHE"


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
    """A name beside `path` that nobody else writes to."""
    return path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}.draft")
