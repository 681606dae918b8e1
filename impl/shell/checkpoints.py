"""Small files of numbers that are replaced as a whole: the old content or the new, never a mix."""

import os
from collections.abc import Sequence
from pathlib import Path

_VERSION = "fencepost-checkpoint 1"


class CheckpointError(ValueError):
    """A file that is no checkpoint; says which."""


def write_checkpoint(path: Path, rows: Sequence[tuple[int, ...]], *, flush: bool) -> None:
    """The file holds `rows`; with `flush` also after a loss of power.

    Without it, such a loss may leave a damaged file; `read_checkpoint` finds that out.
    """
    lines = [_VERSION, *(" ".join(map(str, row)) for row in rows), str(len(rows))]
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
        if flush:
            file.flush()
            os.fsync(file.fileno())
    fresh.replace(path)


def read_checkpoint(path: Path) -> list[tuple[int, ...]]:
    """The rows; none when there is no file; raises `CheckpointError` when it is damaged."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    try:
        version, *rows, count = text.decode("ascii").splitlines()
        numbers = [tuple(map(int, row.split())) for row in rows]
        sound = version == _VERSION and int(count) == len(rows)
    except ValueError:
        sound, numbers = False, []
    if not sound:
        raise CheckpointError(f"{path.name} is damaged and was ignored")
    return numbers
