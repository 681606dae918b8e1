"""Disks that lose, refuse or spoil what a broker writes.

A loss of power is a kill, and what is done to the data folder before the next start. A disk that
refuses is the broker's own storage, which does so on command.
"""

from collections.abc import Sequence
from random import Random
from typing import Any

from fencepost.fault_injection.engine import broker_control, data_folder
from fencepost.fault_injection.faults.disk_faults import BreakDisk, FillDisk, SlowDisk
from fencepost.fault_injection.injectors.injection import (
    ProcessInjector,
    registered_anew,
)
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.injectors.processes import ProcessEndInjector

VERBS = {FillDisk.kind: "full", BreakDisk.kind: "broken", SlowDisk.kind: "slow"}
"""As `DiskFault.verb` of `spec/wire/fault_control.proto`."""


class PowerLossInjector(ProcessEndInjector[Any]):
    """`disk.lose_unsynced`: a kill, and each file of records is cut to what was flushed of it."""

    _tails: Sequence[data_folder.Tail] = ()

    def inject(self) -> None:
        """The process has ended, and what it had not flushed is gone."""
        folder = self.target.data_folder(self.broker_id)
        data_folder.tails(folder)  # nothing is killed in vain
        super().inject()
        self._tails = data_folder.tails(folder)
        self.spoil()

    def spoil(self) -> None:
        """The tails are gone."""
        data_folder.cut(self._tails)

    def evidence(self) -> str | None:
        """The process is no more, and something was lost."""
        killed = ProcessEndInjector.evidence(self)
        lost = sum(tail.lost for tail in self._tails)
        return (
            f"{killed}, {lost} bytes of {len(self._tails)} files lost" if killed and lost else None
        )


class CorruptTailInjector(PowerLossInjector):
    """`disk.corrupt_tail`: a kill, and of each file one byte that was not flushed is another."""

    _positions: Sequence[int] = ()

    def spoil(self) -> None:
        """Each tail holds a wrong byte."""
        self._positions = data_folder.corrupt(self._tails, Random(self.fault_id))

    def evidence(self) -> str | None:
        """The process is no more, and something was spoilt."""
        killed = ProcessEndInjector.evidence(self)
        if killed is None or not self._positions:
            return None
        where = ", ".join(
            f"{tail.path.parent.name}/{tail.path.name}:{position}"
            for tail, position in zip(self._tails, self._positions, strict=True)
        )
        return f"{killed}, a byte changed at {where}"


class StaleCheckpointInjector(ProcessEndInjector[Any]):
    """`disk.stale_checkpoint`: a kill, and older checkpoints are put back."""

    _changed: int = 0

    def inject(self) -> None:
        """The process has ended, and its next start finds checkpoints of before."""
        if not broker_control.keep_older_files(self.address()).older_files:
            raise InjectionError(f"broker {self.broker_id} has no older checkpoint yet")
        super().inject()
        folder = self.target.data_folder(self.broker_id)
        self._changed = len(data_folder.put_older_back(folder))

    def evidence(self) -> str | None:
        """The process is no more, and a checkpoint says something else."""
        killed = ProcessEndInjector.evidence(self)
        return f"{killed}, {self._changed} older checkpoints put back" if self._changed else None


class DiskInjector(ProcessInjector[Any]):
    """`disk.enospc`, `disk.eio`, `disk.slow`: the broker's storage refuses, or takes its time.

    A log that was refused something is offline until the broker starts again, so it does.
    """

    _matched: int = 0
    _is_killed: bool = False
    _is_restarted: bool = False

    def inject(self) -> None:
        """The disk is so from now on."""
        self.process = self.target.process(self.broker_id)
        address = self.address()
        self._matched = broker_control.get_disk(address).matched
        delay_ms = getattr(self.fault, "delay_ms", 0)
        broker_control.set_disk(address, VERBS[self.fault.kind], delay_ms)

    def evidence(self) -> str | None:
        """Calls were refused and logs are offline; of a slow disk, calls were slowed."""
        if not self.has_process:
            return None
        status = broker_control.get_disk(self.address())
        matched = status.matched - self._matched
        if not matched:
            return None
        if isinstance(self.fault, SlowDisk):
            return f"{matched} calls took longer"
        if not status.failed_logs:
            return None
        self.target.prepare(self.broker_id)
        return f"{matched} calls refused, offline is {'; '.join(status.failed_logs)}"

    def heal(self) -> None:
        """The disk is well again; a new process uses it when a log has failed."""
        if self.process is None or self._is_restarted:
            return
        if self.process.is_running:
            address = self.address()
            if not broker_control.set_disk(address, "").failed_logs:
                return
            self.before = self.registration()
            self._is_killed = True
            self.process.kill()
        if self._is_killed:
            self._is_restarted = True
            self.target.restart(self.broker_id)

    def healed(self) -> str | None:
        """Registered, and anew when it was started again."""
        return registered_anew(self.registration(), self.before)
