"""The clock of the core: monotonic, and true until a clock fault changes it.

Traces, request deadlines and the ZooKeeper session use the clock of the host.
"""

import time

TRUE_RATE = 1_000
"""In thousandths."""
NS_PER_MS = 1_000_000


def wall_ms() -> int:
    """Milliseconds since 1970, as the host says: lives of tokens alone depend on it."""
    return time.time_ns() // NS_PER_MS


class NodeClock:
    """The clock of one process; it never goes back."""

    def __init__(self) -> None:
        self._since_ns = self._then_ns = time.monotonic_ns()
        self._rate = TRUE_RATE

    def now_ms(self) -> int:
        """Milliseconds since an arbitrary start."""
        return self._at(time.monotonic_ns()) // NS_PER_MS

    def run_at(self, rate: int) -> None:
        """Run at `rate` thousandths of the true rate from now on; past drift is kept."""
        now_ns = time.monotonic_ns()
        self._then_ns = self._at(now_ns)
        self._since_ns = now_ns
        self._rate = rate

    def jump(self, by_ms: int) -> None:
        """Advance by `by_ms` milliseconds at once."""
        self._then_ns += by_ms * NS_PER_MS

    def _at(self, now_ns: int) -> int:
        return self._then_ns + (now_ns - self._since_ns) * self._rate // TRUE_RATE
