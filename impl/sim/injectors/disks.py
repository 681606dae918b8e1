"""Disks of the simulated world that lose, refuse or delay what is written."""

from fencepost.fault_injection.faults.disk_faults import (
    BreakDisk,
    CorruptTail,
    FillDisk,
    LosePower,
    SlowDisk,
    StaleCheckpoint,
)
from fencepost.impl.core.types.effects import AppendRecords, Effect
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.injectors.injector import InstantInjector, nothing_to_act_on
from fencepost.impl.sim.injectors.processes import SimulatedProcessEnd
from fencepost.impl.sim.world.disk import GROWS, USES
from fencepost.impl.trace_lines import Line


class SimulatedPowerLoss(SimulatedProcessEnd[LosePower]):
    """`disk.lose_unsynced`."""

    def note(self, recorder: MoveRecorder) -> None:
        """A move does the same, at the death of the process."""
        self.process.at_death(lambda: recorder.lost_power(self.process.broker_id))

    def prepare(self) -> None:
        """Lose what is not flushed at the death of the process."""
        disk = self.cluster.disks[self.process.broker_id]
        self.process.at_death(lambda: self.found.update(lost=disk.lose_unflushed()))


class SimulatedCorruptTail(SimulatedProcessEnd[CorruptTail]):
    """`disk.corrupt_tail`."""

    def prepare(self) -> None:
        """Spoil what is not flushed at the death of the process."""
        disk = self.cluster.disks[self.process.broker_id]
        chance = self.cluster.random(f"{self.fault.kind} of broker-{self.process.broker_id}")
        self.process.at_death(lambda: self.found.update(lost=disk.corrupt_unflushed(chance)))


class SimulatedStaleCheckpoint(SimulatedProcessEnd[StaleCheckpoint]):
    """`disk.stale_checkpoint`."""

    def prepare(self) -> None:
        """Put an older checkpoint in place at the death of the process."""
        disk = self.cluster.disks[self.process.broker_id]
        self.process.at_death(lambda: self.found.update(stale=disk.restore_older_checkpoint()))


class SimulatedDiskError(InstantInjector[FillDisk | BreakDisk]):
    """`disk.enospc`, `disk.eio`: a log that the disk refuses is offline until a restart."""

    def inject(self) -> None:
        """Refuse writes, or all use of the disk."""
        disk = self.cluster.disks[self.process.broker_id]
        disk.refused = GROWS if isinstance(self.fault, FillDisk) else USES

    def undo(self) -> Line:
        """Refuse nothing, and restart a broker with offline logs; how many there were."""
        self.cluster.disks[self.process.broker_id].refused = ()
        now = self.cluster.processes[self.process.broker_id]
        failed = len(now.failed_logs)
        if now.is_alive and failed:
            now.die()
            self.cluster.restart(now)
        return {"matched": failed}


class SimulatedSlowDisk(InstantInjector[SlowDisk]):
    """`disk.slow`: the process is paused before each append, as one that waits for the disk."""

    _waits_for: Effect | None = None
    _waits = 0

    def inject(self) -> None:
        """Delay each append from now on."""
        if self.process.before is not None:
            raise nothing_to_act_on()
        self.process.before = self._before

    def undo(self) -> Line:
        """Delay nothing more; how many appends waited."""
        self.process.before = None
        return {"matched": self._waits}

    def _before(self, effect: Effect) -> None:
        if isinstance(effect, AppendRecords) and effect is not self._waits_for:
            self._waits_for = effect
            self._waits += 1
            self.process.pause()
            self.cluster.scheduler.after_ms(self.fault.delay_ms, self.process.resume)
