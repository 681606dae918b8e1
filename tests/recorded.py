"""Simulated runs as the files that real processes leave."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from fencepost.impl.sim.adapter import simulate
from fencepost.spec.replay.recorded_run import as_lines
from fencepost.spec.trace import encode


@cache
def recorded(seed: int) -> Mapping[str, bytes]:
    """Name and bytes of each file."""
    files: dict[str, bytearray] = defaultdict(bytearray)
    for line in as_lines(simulate(seed, level=2, mutant=None)):
        files[line.file] += encode(line.event)
    return {name: bytes(told) for name, told in files.items()}


def write_run(folder: Path, seed: int) -> None:
    """The run of a seed at level 2; `folder` is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, told in recorded(seed).items():
        (folder / name).write_bytes(told)
