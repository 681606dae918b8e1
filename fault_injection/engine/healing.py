"""Heals by hand what a harness has left when its reaper was killed with it.

The reaper does this by itself when only the harness ends; `fencepost heal` is for the rest. A run
with a reaper that is alive is left alone: its harness is at work, or the reaper is.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fencepost.fault_injection.processes.ledger import Entry, Ledger
from fencepost.fault_injection.processes.process_identity import (
    PROC,
    ProcessIdentity,
    is_alive,
    read_stat,
)
from fencepost.fault_injection.processes.reaper import reap
from fencepost.fault_injection.processes.supervisor import LEDGER_FILE

REAPER = b"fencepost.fault_injection.processes.reaper"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealedRun:
    """What became of the open entries of one ledger, each told in a few words."""

    ledger: Path
    is_at_work: bool = False
    """True when its reaper lives: nothing was touched."""
    undone: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    """What is still open: processes that are meant to stay, or that would not end."""
    survivors: int = 0
    """Processes that are meant to stay, as those of `fencepost cluster up`."""
    foreign_lines: int = 0
    """Lines that are no entries, which were passed over."""


def heal_below(folder: Path) -> list[HealedRun]:
    """Every ledger below `folder` with open entries has been healed, or is told as at work.

    One with lines that are no entries is told as well.
    """
    ledgers = map(Ledger, sorted(folder.rglob(LEDGER_FILE)))
    return [heal(one.path) for one in ledgers if one.open_entries() or one.foreign_lines()]


def heal(path: Path) -> HealedRun:
    """The entries of one ledger are undone, unless its reaper lives."""
    if _is_watched(path):
        return HealedRun(ledger=path, is_at_work=True)
    ledger = Ledger(path)
    before = ledger.open_entries()
    reap(ledger)
    _close_what_is_moot(ledger)
    after = ledger.open_entries()
    left = {entry.number for entry in after}
    return HealedRun(
        ledger=path,
        undone=tuple(_told(entry) for entry in before if entry.number not in left),
        left=tuple(_told(entry) for entry in after if not _is_survivor(entry)),
        survivors=sum(_is_survivor(entry) for entry in after),
        foreign_lines=ledger.foreign_lines(),
    )


def _close_what_is_moot(ledger: Ledger) -> None:
    """A fault ends with the processes that it hurt: rules and clocks are in their memory."""
    entries = ledger.open_entries()
    if any(entry.kind == "process" and is_alive(_identity(entry)) for entry in entries):
        return
    for entry in entries:
        ledger.close(entry.number)


def _is_watched(path: Path) -> bool:
    """True while a living reaper has this ledger."""
    wanted = str(path.resolve()).encode()
    return any(REAPER in words and wanted in words for words in _command_lines())


def _command_lines() -> Iterator[list[bytes]]:
    """The words of every living process; one that ends meanwhile has none."""
    for folder in PROC.glob("[0-9]*"):
        stat = read_stat(folder)
        if stat is None or stat.is_dead:
            continue
        try:
            yield (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue


def _is_survivor(entry: Entry) -> bool:
    is_meant = entry.kind == "process" and bool(entry.fields.get("survives", False))
    return is_meant and is_alive(_identity(entry))


def _identity(entry: Entry) -> ProcessIdentity:
    return ProcessIdentity(
        pid=int(entry.fields["pid"]),
        start_time=int(entry.fields["start_time"]),
        run_id=str(entry.fields["run_id"]),
    )


def _told(entry: Entry) -> str:
    fields = entry.fields
    if entry.kind == "fault":
        broker = f" at broker {fields['broker_id']}" if "broker_id" in fields else ""
        return f"fault {fields.get('fault_id')} ({fields.get('fault')}){broker}"
    return f"{entry.kind} of {fields.get('name', '?')}, pid {fields.get('pid', '?')}"
