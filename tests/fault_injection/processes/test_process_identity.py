"""A process is known by its pid, its start time and its run tag, whatever it is just doing."""

from pathlib import Path

from fencepost.fault_injection.processes.process_identity import is_alive
from fencepost.fault_injection.processes.supervisor import Supervisor
from tests.fault_injection.conftest import Eventually

LOOKS = 3000
AGAIN = '#!/bin/sh\nexec "$0"\n'
"""Begins itself anew, for ever: most of the time it has no environment that could be read."""


def test_process_that_begins_another_program_is_still_the_same(
    supervisor: Supervisor, tmp_path: Path, eventually: Eventually
) -> None:
    program = tmp_path / "again"
    program.write_text(AGAIN)
    program.chmod(0o755)
    process = supervisor.start("again", [program])
    comm = Path(f"/proc/{process.pid}/comm")
    assert eventually(lambda: comm.read_text().strip() == "again")
    environ = Path(f"/proc/{process.pid}/environ")

    assert eventually(lambda: environ.read_bytes() == b"")
    assert all(is_alive(process.identity) for _ in range(LOOKS))
