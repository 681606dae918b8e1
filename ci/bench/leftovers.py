"""What a killed harness leaves behind: `python -m fencepost.ci.bench.leftovers [--rounds N]`.

Each round starts a chaos run, kills its harness with SIGKILL at a moment that the seed draws, and
looks three seconds later for what carries the round's mark in its environment: brokers, ZooKeeper,
proxies, reapers, whether they run or stand still. A zombie counts as gone: nothing here reaps it.
"""

import argparse
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fencepost.ci.screens.console import note, say, show_table
from fencepost.spec.scratch import scratch_folder

ROUNDS = 50
GRACE_S = 3.0
MOMENT_S = (0.0, 15.0)
"""How long after its first process was there a harness is killed."""
START_S = 60.0
"""How long the first process may take."""
POLL_S = 0.02
MARK = "FENCEPOST_LEFTOVERS"
"""The variable that the harness gets and all its processes inherit."""
PROC = Path("/proc")
MOUNTS = PROC / "self" / "mounts"
ZOMBIE = "Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """What was found of one round."""

    seed: int
    at_the_kill: int
    """Processes of the round, besides the harness, when it died."""
    gone_after_s: float
    """Until the last of them was gone, or `GRACE_S`."""
    processes: tuple[str, ...]
    """Those that still were there: pid, state and command."""
    mounts: tuple[str, ...]
    """Those in the folder of the run."""


def kill_once(seed: int, folder: Path, moment_s: float, *options: str, processes: int = 1) -> Left:
    """One round in a new folder: run, kill, look; `options` are for `fencepost chaos`.

    The harness is killed `moment_s` after it had so many processes.
    """
    mark = f"{os.getpid()}-{seed}-{time.monotonic_ns()}"
    command = [
        sys.executable,
        "-m",
        "fencepost.ci",
        "chaos",
        "--story",
        "random",
        "--seed",
        str(seed),
    ]
    with said_in(folder).open("wb") as said:
        harness = subprocess.Popen(
            [*command, *options, "--out", str(folder)],
            env={**os.environ, MARK: mark},
            stdout=said,
            stderr=subprocess.STDOUT,
        )
    _await_processes(harness, mark, processes)
    with suppress(subprocess.TimeoutExpired):  # it is at work, as it should be
        harness.wait(moment_s)
    before = len(marked(mark)) - 1
    harness.kill()
    killed = time.monotonic()
    harness.wait()
    gone_after_s = _await_none(mark, killed)
    return Left(
        seed=seed,
        at_the_kill=max(0, before),
        gone_after_s=gone_after_s,
        processes=tuple(marked(mark)),
        mounts=tuple(line for line in MOUNTS.read_text().splitlines() if str(folder) in line),
    )


def said_in(folder: Path) -> Path:
    """The log of the harness that runs in that folder."""
    return folder.with_name(f"{folder.name}.log")


def _await_processes(harness: subprocess.Popen[bytes], mark: str, processes: int) -> None:
    """So many besides the harness run: there is something that could be left."""
    wait, deadline = threading.Event(), time.monotonic() + START_S
    while len(marked(mark)) <= processes and time.monotonic() < deadline:
        if harness.poll() is not None:
            break
        wait.wait(POLL_S)


def _await_none(mark: str, since: float) -> float:
    wait = threading.Event()
    while marked(mark) and time.monotonic() - since < GRACE_S:
        wait.wait(POLL_S)
    return min(GRACE_S, time.monotonic() - since)


def marked(mark: str) -> list[str]:
    """The processes with that mark that are alive: pid, state and command."""
    return list(_marked(os.fsencode(f"{MARK}={mark}")))


def _marked(wanted: bytes) -> Iterator[str]:
    for path in PROC.glob("[0-9]*"):
        try:
            if wanted not in (path / "environ").read_bytes().split(b"\0"):
                continue
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has just ended
        if state != ZOMBIE:
            yield f"{path.name} {state} {command[:80]}".rstrip()


def measure(rounds: int, first_seed: int) -> list[Left]:
    """All rounds, one after the other."""
    found: list[Left] = []
    with scratch_folder("bench") as folder:
        for seed in range(first_seed, first_seed + rounds):
            moment_s = Random(seed).uniform(*MOMENT_S)
            found.append(kill_once(seed, folder / str(seed), moment_s))
            left = found[-1]
            note(
                f"seed {seed}: killed after {moment_s:.1f} s with {left.at_the_kill} processes, "
                f"{len(left.processes)} left, gone after {left.gone_after_s:.2f} s"
            )
    return found


def main(arguments: Sequence[str]) -> int:
    """Print what was left; 1 when anything was."""
    parser = argparse.ArgumentParser(
        prog="python -m fencepost.ci.bench.leftovers", description=__doc__
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    found = measure(given.rounds, given.seed)
    dirty = [left for left in found if left.processes or left.mounts]
    busy = [left for left in found if left.at_the_kill]
    slowest = max((left.gone_after_s for left in found), default=0.0)
    show_table(
        "harness killed with SIGKILL",
        ("rounds", "with processes", f"left after {GRACE_S:g} s", "slowest to be gone, s"),
        [(len(found), len(busy), len(dirty), f"{slowest:.2f}")],
    )
    for left in dirty:
        say(f"seed {left.seed}: {'; '.join((*left.processes, *left.mounts))}")
    return 1 if dirty or not busy else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
