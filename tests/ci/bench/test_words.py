"""A bench that is asked what it does says so, and measures nothing."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 120.0


@pytest.mark.parametrize("name", ["specs", "simulator"])
@pytest.mark.parametrize(
    ("word", "code", "told"),
    [("--help", 0, "-m fencepost.ci.bench.{name}"), ("quick", 4, "takes no words, and got quick")],
)
def test_a_bench_without_words_says_what_it_is(name: str, word: str, code: int, told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"fencepost.ci.bench.{name}", word],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )

    assert (done.returncode, "Traceback" in done.stderr) == (code, False)
    assert told.format(name=name) in done.stdout + done.stderr
