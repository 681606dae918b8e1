"""Clocks of the simulated world that jump or run at another rate."""

from fencepost.fault_injection.faults.clock_faults import DriftClock, JumpClock, StrobeClock
from fencepost.impl.sim.engine.clock import TRUE_RATE
from fencepost.impl.sim.injectors.injector import AnyFault, InstantInjector
from fencepost.impl.trace_lines import Line


class SimulatedClockFault(InstantInjector[AnyFault]):
    """The clock of the process is wrong from now on; a later process has another one."""

    _before_ms = 0

    def inject(self) -> None:
        """Begin to change the clock."""
        self._before_ms = self._ahead_ms()
        self.begin()

    def begin(self) -> None:
        """Change the clock."""

    def undo(self) -> Line:
        """Run at the true rate; how far the clock is ahead of where it was."""
        self.process.clock.run_at(TRUE_RATE)
        return {"ahead_ms": self._ahead_ms() - self._before_ms}

    def _ahead_ms(self) -> int:
        return self.process.clock.now_ms - self.cluster.scheduler.now_ms


class SimulatedClockJump(SimulatedClockFault[JumpClock]):
    """`clock.jump`."""

    def begin(self) -> None:
        """Jump forward."""
        self.process.clock.jump(self.fault.by_ms)


class SimulatedClockDrift(SimulatedClockFault[DriftClock]):
    """`clock.drift`."""

    def begin(self) -> None:
        """Run at another rate."""
        self.process.clock.run_at(self.fault.rate)


class SimulatedClockStrobe(SimulatedClockFault[StrobeClock]):
    """`clock.strobe`."""

    _jumps = 0
    _is_over = False

    def begin(self) -> None:
        """Jump forward, now and again and again."""
        if self._is_over:
            return
        self._jumps += 1
        self.process.clock.jump(self.fault.by_ms)
        self.cluster.scheduler.after_ms(self.fault.every_ms, self.begin)

    def undo(self) -> Line:
        """Jump no more; how often it jumped."""
        self._is_over = True
        return {"matched": self._jumps, **super().undo()}
