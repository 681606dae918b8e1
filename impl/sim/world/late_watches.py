"""Watches that a fault delivers late, in the order in which they fired."""

from collections.abc import Callable

from fencepost.impl.core.types.events import WatchFired
from fencepost.impl.sim.engine.scheduler import Scheduler


class LateWatches:
    """The watches of one client that are held, and the later ones behind them."""

    def __init__(self, scheduler: Scheduler, tell: Callable[[WatchFired], None]) -> None:
        """`tell` sends a watch to the client."""
        self._scheduler = scheduler
        self._tell = tell
        self.lateness_us: Callable[[str], int] = lambda _: 0
        """Path of a watch that fires -> how late the broker hears of it."""
        self.waiting: list[WatchFired] = []
        """Not delivered yet, in order."""
        self._due_us = 0
        """When the last of them is delivered."""

    def keeps(self, event: WatchFired) -> bool:
        """True when the watch is held, and delivered later."""
        late_us = self.lateness_us(event.path)
        if not late_us and not self.waiting:
            return False
        due_us = self._scheduler.now_us + late_us
        self._due_us = max(due_us, self._due_us) if self.waiting else due_us
        self.waiting.append(event)
        self._scheduler.at_us(self._due_us, lambda: self._come(event))
        return True

    def hear_of(self, path: str = "") -> None:
        """Deliver the watches of a path, and all before them, now; or all."""
        for event in [one for one in self.waiting if path in ("", one.path)]:
            self._come(event)

    def clear(self) -> None:
        """Drop all held watches."""
        self.waiting.clear()

    def _come(self, event: WatchFired) -> None:
        while any(one is event for one in self.waiting):
            self._tell(self.waiting.pop(0))
