"""The clock of one broker: monotonic, but not always right."""

from fencepost.impl.sim.engine.scheduler import US_PER_MS, Scheduler

TRUE_RATE = 1_000


class VirtualClock:
    """The time of one process; it never goes back."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._since_us = scheduler.now_us
        self._then_us = scheduler.now_us
        self._rate = TRUE_RATE

    @property
    def now_ms(self) -> int:
        """Whole milliseconds; the true time until `run_at` or `jump` is called."""
        passed_us = self._scheduler.now_us - self._since_us
        return (self._then_us + passed_us * self._rate // TRUE_RATE) // US_PER_MS

    def run_at(self, rate: int) -> None:
        """Run at `rate` thousandths of the true time from now on."""
        passed_us = self._scheduler.now_us - self._since_us
        self._then_us += passed_us * self._rate // TRUE_RATE
        self._since_us = self._scheduler.now_us
        self._rate = rate

    def jump(self, by_ms: int) -> None:
        """Add `by_ms` to the time at once."""
        self._then_us += by_ms * US_PER_MS
