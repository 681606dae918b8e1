"""Kill a process that writes a log, again and again, and take from the disk what was not flushed.

    python -m tests.impl.shell.kill_loop FOLDER ROUNDS [liar]

Every round forks a writer, which appends, flushes and tells which records it has flushed; it is
killed at some moment. A kill alone loses nothing, so a loss of power follows: of each segment, any
part may be missing that no `fsync` had covered. `fsync` is not really called: the writer tells of
it instead. A `liar` mostly does not flush and tells all the same. What is wrong is one line.
"""

import os
import random
import select
import signal
import sys
from pathlib import Path

from fencepost.impl.core.types.messages import Record
from fencepost.impl.shell.storage.files import Files, StorageError
from fencepost.impl.shell.storage.log_store import LogOptions, LogStore
from fencepost.spec.vocabulary import LeaderEpoch, Offset

OPTIONS = LogOptions(segment_bytes=2000)
ROUNDS_PER_LOG = 8
REPORTS_MAX = 25
"""A round ends before so many lines from the writer."""


class ToldFiles(Files):
    """Tells of each `fsync` of a file how long the file was."""

    def __init__(self, pipe: int) -> None:
        super().__init__()
        self._pipe = pipe

    def fsync(self, descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        tell(self._pipe, f"synced {name} {os.fstat(descriptor).st_size}")


def tell(pipe: int, line: str) -> None:
    """One line to the parent, whole."""
    os.write(pipe, f"{line}\n".encode())


def write_log(folder: Path, epoch: int, pipe: int, *, lies: bool) -> None:
    """Append and flush until killed; each record says its own offset."""
    chance = random.Random()
    log = LogStore(folder, OPTIONS, ToldFiles(pipe))
    while True:
        for _ in range(chance.randint(1, 5)):
            end = log.log_end_offset
            values = [str(end + i) for i in range(chance.randint(1, 6))]
            log.append([Record(LeaderEpoch(epoch), value) for value in values])
        log.checkpoint_high_watermark(Offset(chance.randint(0, log.log_end_offset)))
        if not lies or chance.random() < 0.1:
            log.flush()
        tell(pipe, f"flushed {log.log_end_offset}")


def kill_a_writer(folder: Path, epoch: int, *, lies: bool) -> list[str]:
    """The lines that a writer told before it was killed at some moment."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        write_log(folder, epoch, writer, lies=lies)
    os.close(writer)
    reports = random.randint(1, REPORTS_MAX)
    told = b""
    while told.count(b"\n") < reports:
        told += os.read(reader, 200)
    select.select([], [], [], random.random() / 1000)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while rest := os.read(reader, 65536):
        told += rest
    os.close(reader)
    return told.decode().splitlines()


def lose_power(folder: Path, synced: dict[str, int]) -> None:
    """Of each segment any part is gone that was not synced; later segments than a cut one too."""
    for path in sorted(folder.glob("*.log")):
        size = path.stat().st_size
        kept = random.randint(min(synced.get(path.name, 0), size), size)
        os.truncate(path, kept)


def judge(folder: Path, flushed: int) -> str | None:
    """What is wrong with the log that a start finds, in a sentence."""
    files = Files()
    try:
        log = LogStore(folder, OPTIONS, files)
        found = log.read(Offset(0), log.log_end_offset)
    except StorageError as error:
        return f"a start refuses the log: {error}"
    finally:
        files.close_all()
    if log.log_end_offset < flushed:
        return f"the log ends at {log.log_end_offset}; flushed was {flushed}"
    if [record.value for record in found] != [str(offset) for offset in range(len(found))]:
        return "there are records that nobody wrote there"
    if log.recovery.high_watermark > log.log_end_offset:
        return "the high watermark is above the log end"
    return None


def run(folder: Path, rounds: int, *, lies: bool) -> str | None:
    """What was wrong first, or None when all rounds were well."""
    synced: dict[str, int] = {}
    flushed = 0
    for number in range(rounds):
        log = folder / f"t-{number // ROUNDS_PER_LOG}"
        if number % ROUNDS_PER_LOG == 0:
            synced, flushed = {}, 0
        for line in kill_a_writer(log, number, lies=lies):
            kind, *words = line.split()
            if kind == "flushed":
                flushed = int(words[0])
            elif words[0].endswith(".log"):
                synced[words[0]] = int(words[1])
        lose_power(log, synced)
        if wrong := judge(log, flushed):
            return f"round {number}: {wrong}"
    return None


def main(folder: str, rounds: str, *liar: str) -> None:
    """Run the rounds and say how it went."""
    wrong = run(Path(folder), int(rounds), lies=bool(liar))
    sys.stdout.write(f"{wrong or 'all is well'}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
