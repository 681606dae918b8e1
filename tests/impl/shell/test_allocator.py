"""What a broker frees it gives back, however large its requests were."""

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="the C library is not glibc 2.33 or newer"
)
def test_blocks_of_a_mebibyte_are_mapped_by_themselves_after_a_larger_one() -> None:
    command = [sys.executable, "-m", "tests.impl.shell.large_blocks"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["1", "0"]
