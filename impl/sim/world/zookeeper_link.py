"""A faulty link between a broker and ZooKeeper: messages wait, and connections are refused."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False, kw_only=True)
class ZooKeeperLinkFault:
    """One active fault; while there is one, the broker gets no new connection."""

    stalls_to_server: bool = False
    stalls_to_broker: bool = False
    since_ms: int
    matched: int = 0
    """How many messages waited, and connections were refused."""
    _waiting: list[Callable[[], None]] = field(init=False, default_factory=list)

    @property
    def stalls(self) -> bool:
        """True when the broker gets no answers, whichever direction is stalled."""
        return self.stalls_to_server or self.stalls_to_broker

    def keeps(self, arrive: Callable[[], None], *, to_server: bool) -> bool:
        """Keep a message until the fault is over; false when its direction is not stalled."""
        if not (self.stalls_to_server if to_server else self.stalls_to_broker):
            return False
        self.matched += 1
        self._waiting.append(arrive)
        return True

    def refuse(self) -> None:
        """Count a refused connection."""
        self.matched += 1

    def release(self) -> None:
        """Deliver the messages that wait, in order."""
        waiting, self._waiting = self._waiting, []
        for arrive in waiting:
            arrive()
