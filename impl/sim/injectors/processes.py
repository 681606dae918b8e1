"""Processes of the simulated world that are paused, end, or start again."""

from fencepost.fault_injection.faults.process_faults import (
    BounceBroker,
    CrashAt,
    KillBroker,
    PauseBroker,
    StarveBroker,
    StopBroker,
    StutterBroker,
)
from fencepost.impl.crash_points import CrashPlan
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.injectors.injector import AnyFault, InstantInjector, nothing_to_act_on
from fencepost.impl.trace_lines import Line


class SimulatedPause(InstantInjector[PauseBroker]):
    """`proc.pause`."""

    def inject(self) -> None:
        """Pause the process."""
        self.process.pause()

    def undo(self) -> Line:
        """Resume the process."""
        self.process.resume()
        return {}


class SimulatedPauseCycle(InstantInjector[StutterBroker | StarveBroker]):
    """`proc.stutter`, `cpu.starve`: the process is paused and resumed in turn."""

    _is_over = False
    _is_paused = False
    _pauses = 0

    def inject(self) -> None:
        """Pause the process for the first time."""
        self._pause()

    def undo(self) -> Line:
        """Resume the process; how often it was paused."""
        self._resume()
        self._is_over = True
        return {"matched": self._pauses}

    def _pause(self) -> None:
        if self._is_over or not self.process.is_alive:
            return
        self.process.pause()
        self._is_paused = True
        self._pauses += 1
        self.cluster.scheduler.after_ms(self.fault.stands_ms, self._resume)

    def _resume(self) -> None:
        if not self._is_paused:
            return
        self._is_paused = False
        self.process.resume()
        self.cluster.scheduler.after_ms(self.fault.runs_ms, self._pause)


class SimulatedProcessEnd(InstantInjector[AnyFault]):
    """The process ends, and starts again when the fault heals."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.found: dict[str, int] = {}
        """What the death of the process did to its disk."""

    def inject(self) -> None:
        """Prepare what happens to the disk, and kill the process."""
        if self.cluster.move_recorder is not None:
            self.note(self.cluster.move_recorder)
        self.prepare()
        self.process.kill()

    def note(self, recorder: MoveRecorder) -> None:
        """Record that no move does the same to a disk."""
        recorder.obstacle = recorder.obstacle or (
            f"no move does what {self.fault.kind} does to a disk"
        )

    def prepare(self) -> None:
        """Say what happens to the disk at the death of the process."""

    def undo(self) -> Line:
        """Start the broker again; what its disk lost."""
        self.cluster.restart(self.process)
        return {**self.found}


class SimulatedKill(SimulatedProcessEnd[KillBroker]):
    """`proc.kill`."""

    def note(self, recorder: MoveRecorder) -> None:
        """A move kills a process, and none wipes a disk."""
        if self.fault.wipe != "none":
            super().note(recorder)

    def prepare(self) -> None:
        """Wipe the disk at the death of the process, if asked for."""
        if self.fault.wipe != "none":
            self.process.at_death(self._wipe)

    def _wipe(self) -> None:
        disk = self.cluster.disks[self.process.broker_id]
        self.found["matched"] = disk.wipe(with_checkpoints=self.fault.wipe == "all")


class SimulatedCrashPoint(InstantInjector[CrashAt]):
    """`proc.crash_at`: the process dies, or is paused, at a named point of a step."""

    _plan: CrashPlan

    def inject(self) -> None:
        """Plan the crash at the point."""
        holds = self.fault.action == "hold"
        self._plan = self.process.crash_at(self.fault.point, self.fault.nth, holds=holds)

    def undo(self) -> Line:
        """Start or resume what stopped there; else cancel the plan, which had no effect."""
        if self.fault.action == "hold":
            if self._plan.left > 0:
                self.process.spare()
                return {"matched": 0}
            self.process.resume()
            return {"matched": 1}
        if self.process.is_alive:
            self.process.spare()
            return {"matched": 0}
        self.cluster.restart(self.process)
        return {}


class SimulatedStop(InstantInjector[StopBroker]):
    """`proc.term`."""

    def inject(self) -> None:
        """End the process in good order."""
        self.process.ask_to_end()

    def undo(self) -> Line:
        """Start the broker again."""
        self.cluster.restart(self.process)
        return {}


class SimulatedBounce(InstantInjector[BounceBroker]):
    """`proc.bounce_fast`."""

    _session_id: int = 0

    def inject(self) -> None:
        """Kill the process and start the broker again before its session has ended."""
        self._session_id = self.process.zookeeper.session_id
        if not self._session_id:
            raise nothing_to_act_on()
        self.process.die()
        self.cluster.restart(self.process)

    def undo(self) -> Line:
        """Nothing to undo; the session that had to end."""
        return {"session_id": self._session_id}
