"""Virtual time: a heap of callbacks, and nothing that could differ between two runs of a seed."""

from collections.abc import Callable
from heapq import heappop, heappush

Callback = Callable[[], object]

US_PER_MS = 1000


class Scheduler:
    """Runs callbacks in order of time, and of scheduling where times are equal."""

    def __init__(self) -> None:
        self.now_us = 0
        self._order = 0
        self._heap: list[tuple[int, int, Callback]] = []

    @property
    def now_ms(self) -> int:
        """Whole milliseconds since the start."""
        return self.now_us // US_PER_MS

    def at_us(self, time_us: int, callback: Callback) -> None:
        """`callback` runs at `time_us`, or now if that is past."""
        self._order += 1
        heappush(self._heap, (max(time_us, self.now_us), self._order, callback))

    def after_us(self, delay_us: int, callback: Callback) -> None:
        """`callback` runs `delay_us` from now."""
        self._order += 1
        heappush(self._heap, (self.now_us + delay_us, self._order, callback))

    def after_ms(self, delay_ms: int, callback: Callback) -> None:
        """`callback` runs `delay_ms` from now."""
        self.after_us(delay_ms * US_PER_MS, callback)

    def run_until(self, time_ms: int, is_done: Callable[[], bool] | None = None) -> bool:
        """Run everything up to `time_ms`, or until `is_done`; returns whether it is done."""
        limit_us = time_ms * US_PER_MS
        heap = self._heap
        while heap and heap[0][0] <= limit_us:
            if is_done is not None and is_done():
                return True
            self.now_us, _, callback = heappop(heap)
            callback()
        self.now_us = max(self.now_us, limit_us)
        return is_done is not None and is_done()
