"""The reaper: a tiny process that ends and heals what a harness left, however that harness ended.

It runs in its own session with the read end of a pipe. A byte on it means that nothing is left; an
end of file, or the death of the harness, means that the ledger is all that remains of the plan.
Standard library only and no site-packages: it must be up at once and cost nothing.
"""

import argparse
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from fencepost.fault_injection.processes.ledger import Entry, Ledger
from fencepost.fault_injection.processes.process_identity import (
    ProcessIdentity,
    kill_session,
    open_process,
    send_signal,
    wait_for_exit,
)

EXIT_DEADLINE_S = 2.5
"""How long killed processes may take to be gone; a run is to be clean in three seconds."""


ENGINE_DEADLINE_S = 2.0
ENGINE_PATHS = {"container": "/containers/{name}?force=1&v=1", "network": "/networks/{name}"}
"""Kind of an entry -> what the engine is asked to delete."""


def reap(ledger: Ledger) -> None:
    """Kill the open entries' processes and resume paused survivors; closes what is settled.

    A process is touched only while pid, start time and run tag all match. Containers and their
    network go by name, if their engine has a socket and still answers. Entries of other kinds stay
    open: they need a harness.
    """
    entries = ledger.open_entries()
    for entry in reversed(entries):
        if entry.kind in ENGINE_PATHS and _remove_from_engine(entry):
            ledger.close(entry.number)
    doomed = [entry for entry in entries if entry.kind == "process" and not _survives(entry)]
    killed = {entry.number: _kill(_identity(entry)) for entry in doomed}
    for entry in entries:
        if entry.kind == "pause":
            _resume(_identity(entry))
            ledger.close(entry.number)
    deadline = time.monotonic() + EXIT_DEADLINE_S
    for entry in doomed:
        if _await_exit(killed[entry.number], deadline):
            kill_session(_identity(entry))
            ledger.close(entry.number)
    for entry in entries:
        if entry.kind == "engine_folder":
            shutil.rmtree(str(entry.fields["folder"]), ignore_errors=True)
            ledger.close(entry.number)


def _remove_from_engine(entry: Entry) -> bool:
    """True when the engine has removed it, or knows nothing of it, or is gone with it."""
    scheme, _, path = str(entry.fields["engine"]).partition("://")
    if scheme != "unix":
        return False
    what = ENGINE_PATHS[entry.kind].format(name=entry.fields["name"])
    try:
        with socket.socket(socket.AF_UNIX) as engine:
            engine.settimeout(ENGINE_DEADLINE_S)
            engine.connect(path)
            engine.sendall(f"DELETE {what} HTTP/1.0\r\n\r\n".encode())
            _, status, *_ = engine.recv(4096).split(b" ", 2)
    except OSError:
        return _remove_bridge(entry)  # the engine is gone, and every container with it
    return status in (b"204", b"404")


def _remove_bridge(entry: Entry) -> bool:
    """Remove the bridge, which alone outlives an engine of our own."""
    if "bridge" in entry.fields:
        command = ["ip", "link", "delete", str(entry.fields["bridge"])]
        subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    return True


def _identity(entry: Entry) -> ProcessIdentity:
    return ProcessIdentity(
        pid=int(entry.fields["pid"]),
        start_time=int(entry.fields["start_time"]),
        run_id=str(entry.fields["run_id"]),
    )


def _survives(entry: Entry) -> bool:
    return bool(entry.fields.get("survives", False))


def _kill(identity: ProcessIdentity) -> int | None:
    """The pidfd of the process just killed; None when it was dead."""
    pidfd = open_process(identity)
    if pidfd is not None:
        send_signal(pidfd, signal.SIGKILL)
    return pidfd


def _resume(identity: ProcessIdentity) -> None:
    pidfd = open_process(identity)
    if pidfd is not None:
        send_signal(pidfd, signal.SIGCONT)
        os.close(pidfd)


def _await_exit(pidfd: int | None, deadline: float) -> bool:
    if pidfd is None:
        return True
    try:
        return wait_for_exit(pidfd, deadline - time.monotonic())
    finally:
        os.close(pidfd)


def _harness_is_done(harness: int, pipe: int) -> bool:
    """Wait for the byte that says that nothing is left; False when the harness ended without it."""
    harness_fd = _open_harness(harness)
    poller = select.poll()
    poller.register(pipe, select.POLLIN)
    if harness_fd is not None:
        # A fork of the harness may hold the pipe open; its pidfd tells all the same.
        poller.register(harness_fd, select.POLLIN)
    ready = dict(poller.poll(None if harness_fd is not None else 0))
    return pipe in ready and bool(os.read(pipe, 1))


def _open_harness(harness: int) -> int | None:
    try:
        harness_fd = os.pidfd_open(harness)
    except ProcessLookupError:
        return None
    if os.getppid() == harness:
        return harness_fd
    os.close(harness_fd)
    return None


def main(arguments: list[str]) -> int:
    """Wait for the end of the harness and clean up after it if it could not do so itself."""
    parser = argparse.ArgumentParser(prog="python -m fencepost.fault_injection.processes.reaper")
    parser.add_argument("--harness", type=int, required=True, help="its pid, our parent")
    parser.add_argument("--pipe", type=int, required=True, help="descriptor of the read end")
    parser.add_argument("ledger", type=Path)
    options = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the last one to leave does not leave early
    if not _harness_is_done(options.harness, options.pipe):
        reap(Ledger(options.ledger))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
