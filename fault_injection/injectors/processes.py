"""Processes that stand still or die, by signals that reach no other process."""

from dataclasses import dataclass, field

from fencepost.fault_injection.engine import broker_control, data_folder
from fencepost.fault_injection.engine.pause_cycle import Stutter
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
    BrokerProcess,
    Deed,
    Registration,
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
class Pause:
    """`proc.pause`: SIGSTOP, and SIGCONT at the end."""

    deed: Deed[PauseBroker]
    _process: BrokerProcess | None = field(init=False, default=None)
    _before: Registration | None = field(init=False, default=None)

    def inject(self) -> None:
        """The process stands still."""
        self._process = self.deed.target.process(self.deed.broker_id)
        self._before = self.deed.target.registration(self.deed.broker_id)
        self._process.pause()

    def evidence(self) -> str | None:
        """State T and, for a pause longer than the session, a registration that is gone."""
        if self._process is None or process_state(self._process.pid) != "T":
            return None
        stopped = f"process {self._process.pid} in state T"
        if self.deed.fault.for_ms < self.deed.target.session_timeout_ms + SESSION_MARGIN_MS:
            return stopped
        if self._before is None or self.deed.target.registration(self.deed.broker_id) is not None:
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
        now = self.deed.target.registration(self.deed.broker_id)
        return registered(now) if now else None


@dataclass(slots=True)
class StandAgain:
    """`proc.stutter`, `cpu.starve`: SIGSTOP and SIGCONT in turn, by a thread of its own."""

    deed: Deed[StutterBroker | StarveBroker]
    _stutter: Stutter | None = field(init=False, default=None)

    def inject(self) -> None:
        """The process stands still for the first time."""
        fault = self.deed.fault
        process = self.deed.target.process(self.deed.broker_id)
        self._stutter = Stutter(process, fault.stands_ms, fault.runs_ms)
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
        now = self.deed.target.registration(self.deed.broker_id)
        if now is None or self._stutter is None:
            return registered(now) if now else None
        return f"{registered(now)}; stood still {self._stutter.times} times"


@dataclass(slots=True)
class Kill:
    """SIGKILL, and a new process on the same data at the end."""

    deed: Deed[BrokerFault]
    _process: BrokerProcess | None = field(init=False, default=None)
    _before: Registration | None = field(init=False, default=None)
    _is_restarted: bool = field(init=False, default=False)

    def inject(self) -> None:
        """The process has ended."""
        self._process = self.deed.target.process(self.deed.broker_id)
        self._before = self.deed.target.registration(self.deed.broker_id)
        self._process.kill()
        self.deed.target.prepare(self.deed.broker_id)

    def evidence(self) -> str | None:
        """The process is no more."""
        if self._process is None or self._process.is_running:
            return None
        return f"process {self._process.pid} killed"

    def heal(self) -> None:
        """A new process starts on the same data."""
        if self._process is not None and not self._is_restarted:
            self._is_restarted = True
            self.deed.target.restart(self.deed.broker_id)

    def healed(self) -> str | None:
        """Registered anew: under a zxid that the killed process did not have."""
        return registered_anew(self.deed.target.registration(self.deed.broker_id), self._before)


@dataclass(slots=True)
class KillAndWipe(Kill):
    """`proc.kill`: SIGKILL, and a new process at the end, on what is left of the data."""

    deed: Deed[KillBroker]
    _gone: data_folder.Gone | None = field(init=False, default=None)

    def inject(self) -> None:
        """The process has ended, and what is to be wiped is gone."""
        wipe = self.deed.fault.wipe
        if wipe == "none":
            Kill.inject(self)
            return
        folder = self.deed.target.data_folder(self.deed.broker_id)
        if wipe == "log":
            data_folder.record_files(folder)  # nobody is killed for nothing
        Kill.inject(self)
        wiped = data_folder.wipe_all if wipe == "all" else data_folder.wipe_records
        self._gone = wiped(folder)

    def evidence(self) -> str | None:
        """The process is no more, and something was there to be wiped."""
        killed = Kill.evidence(self)
        if self.deed.fault.wipe == "none" or killed is None:
            return killed
        if self._gone is None or not self._gone.size:
            return None
        return f"{killed}, {self._gone.files} files with {self._gone.size} bytes wiped"


@dataclass(slots=True)
class Crash(Kill):
    """`proc.crash_at`: the broker kills or stops itself; else it is spared: nothing was done."""

    deed: Deed[CrashAt]

    def inject(self) -> None:
        """The broker waits for the point."""
        fault, holds = self.deed.fault, self._holds
        self._process = self.deed.target.process(self.deed.broker_id)
        self._before = self.deed.target.registration(self.deed.broker_id)
        if holds:
            self._process.expect_stop()
        broker_control.set_crash_point(address_of(self.deed), fault.point, fault.nth, holds=holds)

    def evidence(self) -> str | None:
        """The process is no more or stands still, and its last words name the point."""
        if self._process is None:
            return None
        if self._stands():
            return f"process {self._process.pid} in state T {self.deed.fault.point}"
        if self._process.is_running:
            return None
        if f"dies {self.deed.fault.point}" not in self._process.log_tail():
            return None
        self.deed.target.prepare(self.deed.broker_id)
        return f"process {self._process.pid} died {self.deed.fault.point}"

    def heal(self) -> None:
        """It goes on, or a new one starts; the one that did not come there is spared."""
        if self._process is not None and self._process.is_running:
            if self._holds and self._is_stopped():
                self._process.resume()
                self._before = None
                return
            broker_control.set_crash_point(address_of(self.deed), "", 0)
            self._before = None
            return
        Kill.heal(self)

    def healed(self) -> str | None:
        """Registered, anew if it has died; and not standing still."""
        return None if self._is_stopped() else Kill.healed(self)

    @property
    def _holds(self) -> bool:
        return self.deed.fault.action == "hold"

    def _is_stopped(self) -> bool:
        return self._process is not None and process_state(self._process.pid) == "T"

    def _stands(self) -> bool:
        """It said that it would, and does."""
        if self._process is None or not self._holds or not self._is_stopped():
            return False
        return f"stands still {self.deed.fault.point}" in self._process.log_tail()


@dataclass(slots=True)
class Stop(Kill):
    """`proc.term`: SIGTERM, and a new process on the same data at the end."""

    deed: Deed[StopBroker]

    def inject(self) -> None:
        """The process has been told."""
        self._process = self.deed.target.process(self.deed.broker_id)
        self._before = self.deed.target.registration(self.deed.broker_id)
        self._process.ask_to_end()
        self.deed.target.prepare(self.deed.broker_id)

    def evidence(self) -> str | None:
        """The process has ended in good order."""
        if self._process is None or self._process.is_running or self._process.returncode:
            return None
        return f"process {self._process.pid} ended with exit code 0"

    def heal(self) -> None:
        """A new process starts on the same data, when the old one has ended or was made to."""
        if self._process is not None and self._process.is_running:
            self._process.kill()
        Kill.heal(self)


@dataclass(slots=True)
class Bounce(Kill):
    """`proc.bounce_fast`: SIGKILL once the next process is ready, which then starts at once."""

    deed: Deed[BounceBroker]

    def inject(self) -> None:
        """The next process is on its way, and the old one runs."""
        self.deed.target.prepare(self.deed.broker_id)

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
        target, broker_id = self.deed.target, self.deed.broker_id
        if not target.is_ready(broker_id):
            return
        Kill.inject(self)
        Kill.heal(self)
        self._process = target.process(broker_id)


def process_state(pid: int) -> str:
    """The state letter of a process; empty when it is gone."""
    stat = read_stat(PROC / str(pid))
    return stat.state if stat else ""
