"""A harness that is killed leaves nothing; `ci/bench/leftovers.py` does fifty rounds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.ci.bench.leftovers import MARK, kill_once, marked

pytestmark = pytest.mark.chaos


@pytest.mark.parametrize("moment_s", [0.5, 6.0])
def test_killed_harness_leaves_nothing(tmp_path: Path, moment_s: float) -> None:
    # The first process may be one that only tells the version of Java.
    left = kill_once(1, tmp_path / "run", moment_s, processes=2)

    assert left.at_the_kill > 0
    assert (left.processes, left.mounts) == ((), ())


def test_what_is_left_would_be_seen() -> None:
    sleep = "import time; print(1, flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", sleep],
        env={**os.environ, MARK: "seen"},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        found = marked("seen")
    finally:
        process.kill()
        process.communicate()

    assert [line.split()[0] for line in found] == [str(process.pid)]
    assert marked("seen") == []
