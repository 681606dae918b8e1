"""Two hundred kills lose no record that was flushed (START-003)."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def kill_loop(folder: Path, rounds: int, *more: str) -> str:
    command = [sys.executable, "-m", "tests.impl.shell.kill_loop", str(folder), str(rounds), *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.strip()


def test_two_hundred_kills_lose_no_flushed_record(tmp_path: Path) -> None:
    assert kill_loop(tmp_path, 200) == "all is well"


def test_a_writer_that_tells_before_it_flushes_is_caught(tmp_path: Path) -> None:
    told = kill_loop(tmp_path, 200, "liar")

    assert "flushed was" in told or "a start refuses the log" in told
