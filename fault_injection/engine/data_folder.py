"""What is done to the data folder of a broker while it is down, by the book that it has kept.

A broker with `--fault-control` keeps `.fault-control/` in its data folder. `synced` has lines of a
length, a tab and a path in the data folder; the last line of a path counts: so many bytes of that
file survive a loss of power. `older/` has files to be put back in place of newer ones.
"""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fencepost.fault_injection.injectors.injector import InjectionError

RECORD = Path(".fault-control")
FLIP = 0xFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The end of a file that a loss of power may take or spoil."""

    path: Path
    synced: int
    size: int

    @property
    def lost(self) -> int:
        """In bytes."""
        return self.size - self.synced


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone:
    """What the next start will not find."""

    files: int
    size: int
    """In bytes."""


def tails(folder: Path) -> list[Tail]:
    """Of every file that has one; raises `InjectionError` when the broker kept no record."""
    return [
        Tail(path=path, synced=synced, size=size)
        for path, synced in record_files(folder).items()
        if (size := _size(path)) > synced
    ]


def record_files(folder: Path) -> dict[Path, int]:
    """The files of records that there ever were, and how much of each survives a loss of power.

    Raises `InjectionError` when the broker kept no record of them, or not of its own files.
    """
    path = folder / RECORD / "synced"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InjectionError(
            f"the broker does not support this fault: it keeps no record of what survives a loss "
            f"of power ({RECORD / 'synced'} in its data folder: {error.strerror})"
        ) from error
    synced = {name: int(length) for length, _, name in (line.partition("\t") for line in lines)}
    for name in synced:
        if not (folder / name).resolve().is_relative_to(folder.resolve()):
            raise InjectionError(f"the broker's record names {name}, which is not in {folder}")
    return {folder / name: length for name, length in sorted(synced.items())}


def wipe_records(folder: Path) -> Gone:
    """The files of records are gone; checkpoints and all else stay."""
    files = [path for path in record_files(folder) if path.is_file()]
    gone = Gone(files=len(files), size=sum(map(_size, files)))
    for path in files:
        path.unlink()
    return gone


def wipe_all(folder: Path) -> Gone:
    """The folder is empty; what a fault has put there does not count."""
    files = [path for path in folder.rglob("*") if path.is_file() and RECORD.name not in path.parts]
    gone = Gone(files=len(files), size=sum(map(_size, files)))
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    return gone


def cut(found: Sequence[Tail]) -> None:
    """The tails are gone."""
    for tail in found:
        os.truncate(tail.path, tail.synced)


def corrupt(found: Sequence[Tail], chance: Random) -> list[int]:
    """One byte of each tail is another; where it is in its file."""
    positions = []
    for tail in found:
        position = chance.randrange(tail.synced, tail.size)
        with tail.path.open("r+b") as file:
            file.seek(position)
            byte = file.read(1)[0]
            file.seek(position)
            file.write(bytes([byte ^ FLIP]))
        positions.append(position)
    return positions


def put_older_back(folder: Path) -> list[Path]:
    """Each older file is in its place again, if it says something else; which those are."""
    older = folder / RECORD / "older"
    changed = []
    for kept in sorted(path for path in older.rglob("*") if path.is_file()):
        place = folder / kept.relative_to(older)
        if place.parent.is_dir() and (
            not place.exists() or place.read_bytes() != kept.read_bytes()
        ):
            place.write_bytes(kept.read_bytes())
            changed.append(place)
        kept.unlink()
    return changed


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
