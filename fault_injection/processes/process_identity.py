"""The identity of a process: pid, start time and run tag; no signal reaches another one.

A pid alone is a number that the kernel reuses. Here a process is opened as a pidfd first
and identified second; from then on the pidfd names that process and no other.
Standard library only: the reaper imports this.
"""

import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TAG = "FENCEPOST_RUN_ID"
"""The environment variable that every process of a run carries."""

PROC = Path("/proc")
EXEC_S = 2.0
"""How long a process may take to begin another program, on a busy machine."""
POLL_S = 0.001
_START_TIME_FIELD = 22
_SESSION_FIELD = 6
_CPU_FIELDS = (14, 15)
_FIRST_FIELD_AFTER_NAME = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessIdentity:
    """What must match before a process counts as ours."""

    pid: int
    start_time: int
    """Clock ticks from boot to fork (`man proc_pid_stat`, field 22); exec does not change it."""
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStat:
    """The fields of `/proc/<pid>/stat` that count here."""

    state: str
    session: int
    start_time: int
    cpu_ticks: int
    """Used so far, in user mode and in the kernel."""

    @property
    def is_dead(self) -> bool:
        """True for a zombie too: it runs nothing and only waits to be collected."""
        return self.state in "ZX"


def read_stat(path: Path) -> ProcessStat | None:
    """The stat below `/proc/<pid>` or `/proc/<pid>/task/<tid>`; None when there is no such one."""
    try:
        text = (path / "stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text[text.rindex(")") + 2 :].split()  # the name before may hold anything
    return ProcessStat(
        state=fields[0],
        session=int(fields[_SESSION_FIELD - _FIRST_FIELD_AFTER_NAME]),
        start_time=int(fields[_START_TIME_FIELD - _FIRST_FIELD_AFTER_NAME]),
        cpu_ticks=sum(int(fields[one - _FIRST_FIELD_AFTER_NAME]) for one in _CPU_FIELDS),
    )


def identify(pid: int, run_id: str) -> ProcessIdentity:
    """The identity of a child that is not yet waited for; raises `ProcessLookupError`."""
    stat = read_stat(PROC / str(pid))
    if stat is None:
        raise ProcessLookupError(f"process {pid} is gone")
    return ProcessIdentity(pid=pid, start_time=stat.start_time, run_id=run_id)


def open_process(identity: ProcessIdentity) -> int | None:
    """A pidfd of exactly this process, or None when it is dead or its pid is another's."""
    try:
        pidfd = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return None
    if is_alive(identity):
        return pidfd
    os.close(pidfd)
    return None


def is_alive(identity: ProcessIdentity) -> bool:
    """True while this very process runs or is stopped."""
    stat = read_stat(PROC / str(identity.pid))
    if stat is None or stat.is_dead or stat.start_time != identity.start_time:
        return False
    return _carries_tag(identity.pid, identity.run_id)


def send_signal(pidfd: int, number: signal.Signals) -> bool:
    """Signal the process of `pidfd`; False when it has ended before."""
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return False
    return True


def wait_for_exit(pidfd: int, timeout_s: float) -> bool:
    """Wait until the process has ended, child of ours or not; False at the timeout."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    return bool(poller.poll(max(0.0, timeout_s) * 1000))


def thread_states(pid: int) -> set[str]:
    """The state letters of all threads; empty when the process is gone."""
    try:
        threads = list((PROC / str(pid) / "task").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return set()
    return {stat.state for thread in threads if (stat := read_stat(thread))}


def kill_session(leader: ProcessIdentity) -> None:
    """End what a dead session leader left behind: tagged processes that it started itself.

    Its pid stays taken while any of them lives: when another process has it, none does.
    """
    holder = read_stat(PROC / str(leader.pid))
    if holder is not None and holder.start_time != leader.start_time:
        return
    for pid, stat in living_processes():
        if stat.session != leader.pid:
            continue
        member = ProcessIdentity(pid=pid, start_time=stat.start_time, run_id=leader.run_id)
        pidfd = open_process(member)
        if pidfd is not None:
            send_signal(pidfd, signal.SIGKILL)
            os.close(pidfd)


def living_processes() -> Iterator[tuple[int, ProcessStat]]:
    """The pid and the stat of each process that is not dead."""
    for path in PROC.iterdir():
        stat = read_stat(path) if path.name.isdecimal() else None
        if stat is not None and not stat.is_dead:
            yield int(path.name), stat


def _carries_tag(pid: int, run_id: str) -> bool:
    """Look again while a process shows no environment, as it does during exec."""
    deadline = time.monotonic() + EXEC_S
    while True:
        try:
            environment = (PROC / str(pid) / "environ").read_bytes()
        except OSError:  # gone, or another user's and so not ours
            return False
        stat = read_stat(PROC / str(pid))
        if environment or stat is None or stat.is_dead or time.monotonic() > deadline:
            return os.fsencode(f"{TAG}={run_id}") in environment.split(b"\0")
        time.sleep(POLL_S)
