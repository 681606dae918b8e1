"""What the core takes for the time: monotonic, and right until a fault meddles with it.

Traces, deadlines of requests and the session with ZooKeeper keep to the clock of the host.
"""

import time

TRUE_RATE = 1_000
"""In thousandths."""
NS_PER_MS = 1_000_000


class NodeClock:
    """The clock of one process; never goes back."""

    def __init__(self) -> None:
        self._since_ns = self._then_ns = time.monotonic_ns()
        self._rate = TRUE_RATE

    def now_ms(self) -> int:
        """Whole milliseconds since some moment in the past."""
        return self._at(time.monotonic_ns()) // NS_PER_MS

    def run_at(self, rate: int) -> None:
        """From now on it runs at `rate` thousandths of the true one; keeps what it has gained."""
        now_ns = time.monotonic_ns()
        self._then_ns = self._at(now_ns)
        self._since_ns = now_ns
        self._rate = rate

    def jump(self, by_ms: int) -> None:
        """It is later at once."""
        self._then_ns += by_ms * NS_PER_MS

    def _at(self, now_ns: int) -> int:
        return self._then_ns + (now_ns - self._since_ns) * self._rate // TRUE_RATE
