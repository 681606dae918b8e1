"""Clocks that go wrong: a broker's own, on command, and never that of the host."""

from typing import TypeVar

from fencepost.fault_injection.engine import broker_control
from fencepost.fault_injection.engine.broker_control import Reading
from fencepost.fault_injection.engine.repetition import Repetition
from fencepost.fault_injection.faults.clock_faults import (
    TRUE_RATE,
    DriftClock,
    JumpClock,
    StrobeClock,
)
from fencepost.fault_injection.injectors.injection import ControlAddress, ProcessInjector

ROUNDING_MS = 2
"""Two readings in whole milliseconds."""
TIMES = 2
"""A clock that jumped so often jumps again and again."""
AnyClockFault = TypeVar("AnyClockFault", bound=DriftClock | JumpClock | StrobeClock)


class ClockInjector(ProcessInjector[AnyClockFault]):
    """`clock.jump` and `clock.drift`: seen by what the broker takes for the time."""

    _before: Reading | None = None
    _ahead_ms: int = 0

    def inject(self) -> None:
        """The clock is wrong from now on."""
        address = self.address()
        self.process = self.target.process(self.broker_id)
        self._before = broker_control.get_clock(address)
        self.meddle(address)

    def meddle(self, address: ControlAddress) -> None:
        """It jumps, or runs at another rate."""
        fault = self.fault
        if isinstance(fault, DriftClock):
            broker_control.set_clock(address, rate=fault.rate)
        else:
            broker_control.set_clock(address, jump_ms=fault.by_ms)

    def evidence(self) -> str | None:
        """It is as far ahead as it should be by now; of a drift, it is not where it was."""
        if not self.has_process or self._before is None:
            return None
        self._look(broker_control.get_clock(self.address()))
        return self._told() if abs(self._ahead_ms) >= self.wanted_ms() - ROUNDING_MS else None

    def wanted_ms(self) -> int:
        """How far it must be ahead to be seen."""
        fault = self.fault
        return 2 * ROUNDING_MS if isinstance(fault, DriftClock) else fault.by_ms

    def heal(self) -> None:
        """The clock runs at its true rate, from where it is."""
        if self.has_process:
            self._look(broker_control.set_clock(self.address(), rate=TRUE_RATE))

    def healed(self) -> str | None:
        """It runs at its true rate, or the process that had it is gone."""
        return self._told() if self.has_process else "the process that had the clock has ended"

    def _look(self, now: Reading) -> None:
        if self._before is not None:
            self._ahead_ms = now.ahead_ms - self._before.ahead_ms

    def _told(self) -> str:
        return f"the clock has gained {self._ahead_ms} ms"


class ClockStrobeInjector(ClockInjector[StrobeClock]):
    """`clock.strobe`: it jumps again and again, by a thread of its own."""

    _beat: Repetition | None = None

    def meddle(self, address: ControlAddress) -> None:
        """It has jumped once."""
        by_ms = self.fault.by_ms
        self._beat = Repetition(
            lambda: broker_control.set_clock(address, jump_ms=by_ms), self.fault.every_ms
        )
        self._beat.start()

    def wanted_ms(self) -> int:
        """It has jumped more than once."""
        return TIMES * self.fault.by_ms

    def heal(self) -> None:
        """It jumps no more."""
        if self._beat is not None:
            self._beat.stop()
        ClockInjector.heal(self)

    def healed(self) -> str | None:
        """How often it jumped, and how far that took it."""
        told = ClockInjector.healed(self)
        return f"{told} in {self._beat.times} jumps" if self._beat and told else told
