"""A local cluster for tests, which goes down with them however they end."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fencepost.conformance.adapters import local_cluster
from fencepost.conformance.adapters.local_cluster import ClusterStatus

_TAKE_DOWN = """
import sys
from pathlib import Path
from fencepost.conformance.adapters import local_cluster

sys.stdin.read()
local_cluster.down(Path(sys.argv[1]))
"""


@contextmanager
def running(folder: Path, *, is_wired: bool = False) -> Iterator[ClusterStatus]:
    """The cluster is up; another process takes it down when this context or this process ends."""
    status = local_cluster.up(folder, is_wired=is_wired)
    command = [sys.executable, "-c", _TAKE_DOWN, str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as guard:
        yield status
    assert guard.returncode == 0
