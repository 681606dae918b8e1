"""Processes that stand still or die, by signals that reach no other process."""

import signal

from fencepost.fault_injection.engine import broker_control, data_folder
from fencepost.fault_injection.engine.pause_cycle import PauseCycle
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
    AnyFault,
    ProcessInjector,
    registered,
    registered_anew,
)
from fencepost.fault_injection.processes.process_identity import PROC, read_stat

ORDERLY = (0, 128 + signal.SIGTERM)
"""Exit codes of a process that has ended in good order; the second is that of a Java."""
TIMES = 2
"""A process that stood still so often stutters."""
SESSION_MARGIN_MS = 300
"""A pause this much longer than the session timeout must end the session (ZooKeeper rounds up)."""


class PauseInjector(ProcessInjector[PauseBroker]):
    """`proc.pause`: SIGSTOP, and SIGCONT at the end."""

    def inject(self) -> None:
        """The process stands still."""
        self.find_process().pause()

    def evidence(self) -> str | None:
        """State T and, for a pause longer than the session, a registration that is gone."""
        if self.process is None or process_state(self.process.pid) != "T":
            return None
        stopped = f"process {self.process.pid} in state T"
        if self.fault.for_ms < self.target.session_timeout_ms + SESSION_MARGIN_MS:
            return stopped
        if self.before is None or self.registration() is not None:
            return None
        return f"{stopped}, session {self.before.session_id:#x} ended"

    def heal(self) -> None:
        """The process goes on, if it is still there."""
        if self.process is not None and self.process.is_running:
            self.process.resume()

    def healed(self) -> str | None:
        """Running and registered, or ended meanwhile, which another fault has to undo."""
        if self.process is not None and not self.process.is_running:
            return f"process {self.process.pid} has ended meanwhile"
        if self.process is not None and process_state(self.process.pid) == "T":
            return None
        now = self.registration()
        return registered(now) if now else None


class PauseCycleInjector(ProcessInjector[StutterBroker | StarveBroker]):
    """`proc.stutter`, `cpu.starve`: SIGSTOP and SIGCONT in turn, by a thread of its own."""

    _stutter: PauseCycle | None = None

    def inject(self) -> None:
        """The process stands still for the first time."""
        fault = self.fault
        process = self.target.process(self.broker_id)
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
        now = self.registration()
        if now is None or self._stutter is None:
            return registered(now) if now else None
        return f"{registered(now)}; stood still {self._stutter.times} times"


class ProcessEndInjector(ProcessInjector[AnyFault]):
    """SIGKILL, and a new process on the same data at the end."""

    _is_restarted: bool = False

    def inject(self) -> None:
        """The process has ended."""
        self.find_process().kill()
        self.target.prepare(self.broker_id)

    def evidence(self) -> str | None:
        """The process is no more."""
        if self.process is None or self.process.is_running:
            return None
        return f"{self.ended} killed"

    def heal(self) -> None:
        """A new process starts on the same data."""
        if self.process is not None and not self._is_restarted:
            self._is_restarted = True
            self.target.restart(self.broker_id)

    @property
    def ended(self) -> str:
        """The process by its pid, or the broker without a process of its own by its id."""
        pid = self.process.pid if self.process else 0
        return f"process {pid}" if pid else f"broker {self.broker_id}"

    def healed(self) -> str | None:
        """Registered anew: under a zxid that the killed process did not have."""
        return registered_anew(self.registration(), self.before)


class KillInjector(ProcessEndInjector[KillBroker]):
    """`proc.kill`: SIGKILL, and a new process at the end, on what is left of the data."""

    _gone: data_folder.Gone | None = None

    def inject(self) -> None:
        """The process has ended, and what is to be wiped is gone."""
        wipe = self.fault.wipe
        if wipe == "none":
            super().inject()
            return
        folder = self.target.data_folder(self.broker_id)
        if wipe == "log":
            data_folder.record_files(folder)  # nothing is killed in vain
        super().inject()
        wiped = data_folder.wipe_all if wipe == "all" else data_folder.wipe_records
        self._gone = wiped(folder)

    def evidence(self) -> str | None:
        """The process is no more, and something was there to be wiped."""
        killed = ProcessEndInjector.evidence(self)
        if self.fault.wipe == "none" or killed is None:
            return killed
        if self._gone is None or not self._gone.size:
            return None
        return f"{killed}, {self._gone.files} files with {self._gone.size} bytes wiped"


class CrashPointInjector(ProcessEndInjector[CrashAt]):
    """`proc.crash_at`: the broker kills or stops itself; else it is spared: nothing was done."""

    def inject(self) -> None:
        """The broker waits for the point."""
        fault, holds = self.fault, self._holds
        process = self.find_process()
        if holds:
            process.expect_stop()
        broker_control.set_crash_point(self.address(), fault.point, fault.nth, holds=holds)

    def evidence(self) -> str | None:
        """The process is no more or stands still, and its last words name the point."""
        if self.process is None:
            return None
        if self._stands():
            return f"process {self.process.pid} in state T {self.fault.point}"
        if self.process.is_running:
            return None
        if f"dies {self.fault.point}" not in self.process.log_tail():
            return None
        self.target.prepare(self.broker_id)
        return f"process {self.process.pid} died {self.fault.point}"

    def heal(self) -> None:
        """It goes on, or a new one starts; the one that did not come there is spared."""
        if self.process is not None and self.process.is_running:
            if self._holds and self._is_stopped():
                self.process.resume()
                self.before = None
                return
            broker_control.set_crash_point(self.address(), "", 0)
            self.before = None
            return
        ProcessEndInjector.heal(self)

    def healed(self) -> str | None:
        """Registered, anew if it has died; and not standing still."""
        return None if self._is_stopped() else ProcessEndInjector.healed(self)

    @property
    def _holds(self) -> bool:
        return self.fault.action == "hold"

    def _is_stopped(self) -> bool:
        return self.process is not None and process_state(self.process.pid) == "T"

    def _stands(self) -> bool:
        """It said that it would, and does."""
        if self.process is None or not self._holds or not self._is_stopped():
            return False
        return f"stands still {self.fault.point}" in self.process.log_tail()


class StopInjector(ProcessEndInjector[StopBroker]):
    """`proc.term`: SIGTERM, and a new process on the same data at the end."""

    def inject(self) -> None:
        """The process has been told."""
        self.find_process().ask_to_end()
        self.target.prepare(self.broker_id)

    def evidence(self) -> str | None:
        """The process has ended in good order; of one that is not ours, that it has ended."""
        if self.process is None or self.process.is_running:
            return None
        code = self.process.returncode
        if code is None:
            return f"{self.ended} ended when it was asked to"
        return f"{self.ended} ended with exit code {code}" if code in ORDERLY else None

    def heal(self) -> None:
        """A new process starts on the same data, when the old one has ended or was made to."""
        if self.process is not None and self.process.is_running:
            self.process.kill()
        ProcessEndInjector.heal(self)


class BounceInjector(ProcessEndInjector[BounceBroker]):
    """`proc.bounce_fast`: SIGKILL once the next process is ready, which then starts at once."""

    def inject(self) -> None:
        """The next process is on its way, and the old one runs."""
        self.target.prepare(self.broker_id)

    def evidence(self) -> str | None:
        """The new process says that its registration still belongs to the old session."""
        if not self._is_restarted:
            self._bounce_when_ready()
            return None
        if self.process is None or self.before is None:
            return None
        old = f"belongs to session {self.before.session_id:#x}"
        if old not in self.process.log_tail():
            return None
        return f"process {self.process.pid} found that its registration still {old}"

    def _bounce_when_ready(self) -> None:
        target, broker_id = self.target, self.broker_id
        if not target.is_ready(broker_id):
            return
        super().inject()
        ProcessEndInjector.heal(self)
        self.process = target.process(broker_id)


def is_standing(pid: int) -> bool:
    """True of a process that a signal has stopped."""
    return process_state(pid) == "T"


def process_state(pid: int) -> str:
    """The state letter of a process; empty when it is gone."""
    stat = read_stat(PROC / str(pid))
    return stat.state if stat else ""
