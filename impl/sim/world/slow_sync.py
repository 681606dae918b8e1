"""The queue before the slow disk of the simulated ZooKeeper: writes wait, and all requests behind.

As in a real server, each request goes through one pipeline, and no client sees a write before it is
on disk. Heartbeats and the ends of sessions do not wait here.
"""

from collections import deque
from collections.abc import Callable

from fencepost.impl.sim.engine.scheduler import Scheduler

Perform = Callable[[], None]


class SlowSyncQueue:
    """Requests that have reached the server, in their order."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.delay_us = 0
        """How long the disk takes for a write; 0: no time."""
        self.writes = 0
        """How many writes have waited."""
        self._scheduler = scheduler
        self._waiting: deque[tuple[bool, Perform]] = deque()

    def enter(self, perform: Perform, *, is_write: bool) -> None:
        """`perform` is called now, or after all that came before it."""
        self._waiting.append((is_write, perform))
        if len(self._waiting) == 1:
            self._go_on()

    def _go_on(self) -> None:
        while self._waiting:
            is_write, perform = self._waiting[0]
            if is_write and self.delay_us:
                self._scheduler.after_us(self.delay_us, self._written)
                return
            perform()
            self._waiting.popleft()

    def _written(self) -> None:
        _, perform = self._waiting[0]
        self.writes += 1
        perform()
        self._waiting.popleft()
        self._go_on()
