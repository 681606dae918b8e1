"""Faults of clients: more producers, and one that ends before its answer."""

from collections.abc import Callable

from fencepost.fault_injection.faults.load_faults import BurstLoad, CrashClient
from fencepost.fault_injection.injectors.injection import ProcessInjector, RunningBurst


class BurstInjector(ProcessInjector[BurstLoad]):
    """`load.burst`: more producers, for a while."""

    _burst: RunningBurst | None = None

    def inject(self) -> None:
        """They are at work."""
        self._burst = self.target.load.burst(self.fault.producers)

    def evidence(self) -> str | None:
        """Some of their requests were acknowledged."""
        if self._burst is None or not self._burst.acknowledged:
            return None
        producers = self.fault.producers
        return f"{self._burst.acknowledged} requests of {producers} more producers"

    def heal(self) -> None:
        """They have ended."""
        if self._burst is not None:
            self._burst.end()

    def healed(self) -> str | None:
        """How much they did."""
        acknowledged = self._burst.acknowledged if self._burst is not None else 0
        return f"{acknowledged} of their requests were acknowledged"


class ClientCrashInjector(ProcessInjector[CrashClient]):
    """`client.crash`: a producer does not live to hear an answer."""

    _fate: Callable[[], str | None] | None = None

    def inject(self) -> None:
        """The next answer is its end."""
        self._fate = self.target.load.crash_producer()

    def evidence(self) -> str | None:
        """It has ended, and another one goes on."""
        return self._fate() if self._fate is not None else None

    def healed(self) -> str | None:
        """Another one goes on."""
        return self.evidence() or "no producer has ended"
