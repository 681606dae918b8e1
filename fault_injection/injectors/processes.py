"""Processes that stand still or die, by signals that reach no other process."""

from dataclasses import dataclass, field

from fencepost.fault_injection.engine import broker_control, data_folder
from fencepost.fault_injection.engine.pause_cycle import PauseCycle
from fencepost.fault_injection.faults.fault import BrokerFault
from fencepost.fault_injection.faults.process_faults import (
    BounceBroker,
    CrashAt,
    KillBroker,
    PauseBroker,
    StarveBroker,
    StopBroker,
    StutterBroker,
)
from fencepost.fault_injection.injectors.injection import (
    Registration,
    ResolvedFault,
    TargetProcess,
    address_of,
    registered,
    registered_anew,
)
from fencepost.fault_injection.processes.process_identity import PROC, read_stat

TIMES = 2
"""A process that stood still so often stutters."""
SESSION_MARGIN_MS = 300
"""A pause this much longer than the session timeout must end the session (ZooKeeper rounds up)."""


@dataclass(slots=True)
class PauseInjector:
    """`proc.pause`: SIGSTOP, and SIGCONT at the end."""

    resolved: ResolvedFault[PauseBroker]
    _process: TargetProcess | None = field(init=False, default=None)
    _before: Registration | None = field(init=False, default=None)

    def inject(self) -> None:
        """The process stands still."""
        self._process = self.resolved.target.process(self.resolved.broker_id)
        self._before = self.resolved.registration()
        self._process.pause()

    def evidence(self) -> str | None:
        """State T and, for a pause longer than the session, a registration that is gone."""
        if self._process is None or process_state(self._process.pid) != "T":
            return None
        stopped = f"process {self._process.pid} in state T"
        if self.resolved.fault.for_ms < self.resolved.target.session_timeout_ms + SESSION_MARGIN_MS:
            return stopped
        if self._before is None or self.resolved.registration() is not None:
            return None
        return f"{stopped}, session {self._before.session_id:#x} ended"

    def heal(self) -> None:
        """The process goes on."""
        if self._process is not None:
            self._process.resume()

    def healed(self) -> str | None:
        """Running and registered."""
        if self._process is not None and process_state(self._process.pid) == "T":
            return None
        now = self.resolved.registration()
        return registered(now) if now else None


@dataclass(slots=True)
class PauseCycleInjector:
    """`proc.stutter`, `cpu.starve`: SIGSTOP and SIGCONT in turn, by a thread of its own."""

    resolved: ResolvedFault[StutterBroker | StarveBroker]
    _stutter: PauseCycle | None = field(init=False, default=None)

    def inject(self) -> None:
        """The process stands still for the first time."""
        fault = self.resolved.fault
        process = self.resolved.target.process(self.resolved.broker_id)
        self._stutter = PauseCycle(process, fault.stands_ms, fault.runs_ms)
        self._stutter.start()

    def evidence(self) -> str | None:
        """It stood still more than once."""
        stutter = self._stutter
        if stutter is None or stutter.times < TIMES:
            return None
        return (
            f"stood still {stutter.times} times, {stutter.duty:.0%} of the time; "
            f"used {stutter.cpu_share:.0%} of a processor"
        )

    def heal(self) -> None:
        """The process goes on for good."""
        if self._stutter is not None:
            self._stutter.stop()

    def healed(self) -> str | None:
        """Registered; with how often it stood still."""
        now = self.resolved.registration()
        if now is None or self._stutter is None:
            return registered(now) if now else None
        return f"{registered(now)}; stood still {self._stutter.times} times"


@dataclass(slots=True)
class ProcessEndInjector:
    """SIGKILL, and a new process on the same data at the end."""

    resolved: ResolvedFault[BrokerFault]
    _process: TargetProcess | None = field(init=False, default=None)
    _before: Registration | None = field(init=False, default=None)
    _is_restarted: bool = field(init=False, default=False)

    def inject(self) -> None:
        """The process has ended."""
        self._process = self.resolved.target.process(self.resolved.broker_id)
        self._before = self.resolved.registration()
        self._process.kill()
        self.resolved.target.prepare(self.resolved.broker_id)

    def evidence(self) -> str | None:
        """The process is no more."""
        if self._process is None or self._process.is_running:
            return None
        return f"process {self._process.pid} killed"

    def heal(self) -> None:
        """A new process starts on the same data."""
        if self._process is not None and not self._is_restarted:
            self._is_restarted = True
            self.resolved.target.restart(self.resolved.broker_id)

    def healed(self) -> str | None:
        """Registered anew: under a zxid that the killed process did not have."""
        return registered_anew(self.resolved.registration(), self._before)


@dataclass(slots=True)
class KillInjector(ProcessEndInjector):
    """`proc.kill`: SIGKILL, and a new process at the end, on what is left of the data."""

    resolved: ResolvedFault[KillBroker]
    _gone: data_folder.Gone | None = field(init=False, default=None)

    def inject(self) -> None:
        """The process has ended, and what is to be wiped is gone."""
        wipe = self.resolved.fault.wipe
        if wipe == "none":
            ProcessEndInjector.inject(self)
            return
        folder = self.resolved.target.data_folder(self.resolved.broker_id)
        if wipe == "log":
            data_folder.record_files(folder)  # nothing is killed in vain
        ProcessEndInjector.inject(self)
        wiped = data_folder.wipe_all if wipe == "all" else data_folder.wipe_records
        self._gone = wiped(folder)

    def evidence(self) -> str | None:
        """The process is no more, and something was there to be wiped."""
        killed = ProcessEndInjector.evidence(self)
        if self.resolved.fault.wipe == "none" or killed is None:
            return killed
        if self._gone is None or not self._gone.size:
            return None
        return f"{killed}, {self._gone.files} files with {self._gone.size} bytes wiped"


@dataclass(slots=True)
class CrashPointInjector(ProcessEndInjector):
    """`proc.crash_at`: the broker kills or stops itself; else it is spared: nothing was done."""

    resolved: ResolvedFault[CrashAt]

    def inject(self) -> None:
        """The broker waits for the point."""
        fault, holds = self.resolved.fault, self._holds
        self._process = self.resolved.target.process(self.resolved.broker_id)
        self._before = self.resolved.registration()
        if holds:
            self._process.expect_stop()
        broker_control.set_crash_point(
            address_of(self.resolved), fault.point, fault.nth, holds=holds
        )

    def evidence(self) -> str | None:
        """The process is no more or stands still, and its last words name the point."""
        if self._process is None:
            return None
        if self._stands():
            return f"process {self._process.pid} in state T {self.resolved.fault.point}"
        if self._process.is_running:
            return None
        if f"dies {self.resolved.fault.point}" not in self._process.log_tail():
            return None
        self.resolved.target.prepare(self.resolved.broker_id)
        return f"process {self._process.pid} died {self.resolved.fault.point}"

    def heal(self) -> None:
        """It goes on, or a new one starts; the one that did not come there is spared."""
        if self._process is not None and self._process.is_running:
            if self._holds and self._is_stopped():
                self._process.resume()
                self._before = None
                return
            broker_control.set_crash_point(address_of(self.resolved), "", 0)
            self._before = None
            return
        ProcessEndInjector.heal(self)

    def healed(self) -> str | None:
        """Registered, anew if it has died; and not standing still."""
        return None if self._is_stopped() else ProcessEndInjector.healed(self)

    @property
    def _holds(self) -> bool:
        return self.resolved.fault.action == "hold"

    def _is_stopped(self) -> bool:
        return self._process is not None and process_state(self._process.pid) == "T"

    def _stands(self) -> bool:
        """It said that it would, and does."""
        if self._process is None or not self._holds or not self._is_stopped():
            return False
        return f"stands still {self.resolved.fault.point}" in self._process.log_tail()


@dataclass(slots=True)
class StopInjector(ProcessEndInjector):
    """`proc.term`: SIGTERM, and a new process on the same data at the end."""

    resolved: ResolvedFault[StopBroker]

    def inject(self) -> None:
        """The process has been told."""
        self._process = self.resolved.target.process(self.resolved.broker_id)
        self._before = self.resolved.registration()
        self._process.ask_to_end()
        self.resolved.target.prepare(self.resolved.broker_id)

    def evidence(self) -> str | None:
        """The process has ended in good order."""
        if self._process is None or self._process.is_running or self._process.returncode:
            return None
        return f"process {self._process.pid} ended with exit code 0"

    def heal(self) -> None:
        """A new process starts on the same data, when the old one has ended or was made to."""
        if self._process is not None and self._process.is_running:
            self._process.kill()
        ProcessEndInjector.heal(self)


@dataclass(slots=True)
class BounceInjector(ProcessEndInjector):
    """`proc.bounce_fast`: SIGKILL once the next process is ready, which then starts at once."""

    resolved: ResolvedFault[BounceBroker]

    def inject(self) -> None:
        """The next process is on its way, and the old one runs."""
        self.resolved.target.prepare(self.resolved.broker_id)

    def evidence(self) -> str | None:
        """The new process says that its registration still belongs to the old session."""
        if not self._is_restarted:
            self._bounce_when_ready()
            return None
        if self._process is None or self._before is None:
            return None
        old = f"belongs to session {self._before.session_id:#x}"
        if old not in self._process.log_tail():
            return None
        return f"process {self._process.pid} found that its registration still {old}"

    def heal(self) -> None:
        """Nothing: the new process runs, or the old one does."""

    def _bounce_when_ready(self) -> None:
        target, broker_id = self.resolved.target, self.resolved.broker_id
        if not target.is_ready(broker_id):
            return
        ProcessEndInjector.inject(self)
        ProcessEndInjector.heal(self)
        self._process = target.process(broker_id)


def process_state(pid: int) -> str:
    """The state letter of a process; empty when it is gone."""
    stat = read_stat(PROC / str(pid))
    return stat.state if stat else ""
