"""Simulated runs as the files that real processes leave."""

from pathlib import Path

from fencepost.impl.sim.adapter import simulate
from fencepost.spec.replay.recorded_run import as_lines
from fencepost.spec.trace import encode


def write_run(folder: Path, seed: int) -> None:
    """The run of a seed at level 2; `folder` is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for line in as_lines(simulate(seed, level=2, mutant=None)):
        with (folder / line.file).open("ab") as file:
            file.write(encode(line.event))
