"""Watches of which a broker hears late: a session tells them in the order in which they fired."""

from collections.abc import Callable

from fencepost.impl.core.types.events import WatchFired
from fencepost.impl.sim.engine.scheduler import Scheduler


class LateWatches:
    """What a fault keeps from one client, and what has to wait behind it."""

    def __init__(self, scheduler: Scheduler, tell: Callable[[WatchFired], None]) -> None:
        """`tell` sends a watch on its way."""
        self._scheduler = scheduler
        self._tell = tell
        self.lateness_us: Callable[[str], int] = lambda _: 0
        """Asked of the path of each watch that fires: how late the broker hears of it."""
        self.waiting: list[WatchFired] = []
        """Of which the client has not heard, in order."""
        self._due_us = 0
        """When the last of them is told."""

    def keeps(self, event: WatchFired) -> bool:
        """True when the watch comes later, by itself."""
        late_us = self.lateness_us(event.path)
        if not late_us and not self.waiting:
            return False
        due_us = self._scheduler.now_us + late_us
        self._due_us = max(due_us, self._due_us) if self.waiting else due_us
        self.waiting.append(event)
        self._scheduler.at_us(self._due_us, lambda: self._come(event))
        return True

    def hear_of(self, path: str = "") -> None:
        """Those of a path come now, and all before them; or all."""
        for event in [one for one in self.waiting if path in ("", one.path)]:
            self._come(event)

    def clear(self) -> None:
        """None of them comes any more."""
        self.waiting.clear()

    def _come(self, event: WatchFired) -> None:
        while any(one is event for one in self.waiting):
            self._tell(self.waiting.pop(0))
