"""A way between a broker and ZooKeeper that is hurt: what is sent waits, or nobody connects."""

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False, kw_only=True)
class HurtLink:
    """One active fault; while there is one, the broker gets no new connection."""

    stalls_to_server: bool = False
    stalls_to_broker: bool = False
    since_ms: int
    matched: int = 0
    """How many messages waited, and connections were refused."""
    _waiting: list[Callable[[], None]] = field(init=False, default_factory=list)

    @property
    def stalls(self) -> bool:
        """True when the broker hears nothing, whichever direction it is that stands still."""
        return self.stalls_to_server or self.stalls_to_broker

    def keeps(self, arrive: Callable[[], None], *, to_server: bool) -> bool:
        """True when what would arrive now waits until the fault is over."""
        if not (self.stalls_to_server if to_server else self.stalls_to_broker):
            return False
        self.matched += 1
        self._waiting.append(arrive)
        return True

    def refuse(self) -> None:
        """The broker has tried to connect."""
        self.matched += 1

    def let_go(self) -> None:
        """What waits arrives now, in its order."""
        waiting, self._waiting = self._waiting, []
        for arrive in waiting:
            arrive()
