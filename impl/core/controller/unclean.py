"""Elections outside the ISR: the live brokers are read once more before one is decided (FAIL-002).

The live brokers that a controller knows may be older than the state that it is about to replace,
and tell of an absence of the ISR that is over (H8c). Many partitions share one reading.
"""

from collections.abc import Callable, Generator

from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import TopicPartition

Changed = frozenset[BrokerId] | None
"""Who came, went or came back, as read; None when the term or the reading ended."""


class UncleanElections:
    """Partitions that wait for a reading of the live brokers that is newer than their state."""

    def __init__(
        self,
        outbox: Outbox,
        read_live_brokers: Callable[[], Generator[Ask, Answer, Changed]],
        decide: Callable[[list[TopicPartition], Changed], None],
    ) -> None:
        """`decide` gets the partitions whose state is older than what has been read now."""
        self._outbox = outbox
        self._read_live_brokers = read_live_brokers
        self._decide = decide
        self.clear()

    def clear(self) -> None:
        """Nothing waits; what is being read is of another term."""
        self._waiting: set[TopicPartition] = set()
        self.is_reading = False

    def confirm(self, key: TopicPartition) -> None:
        """The partition is decided upon after the live brokers have been read."""
        self._waiting.add(key)
        if not self.is_reading:
            self.is_reading = True
            self._outbox.run(self._confirm())

    def _confirm(self) -> Script:
        """Who comes while brokers are being read waits for the next reading."""
        while self._waiting:
            keys, self._waiting = sorted(self._waiting), set()
            waiting = self._waiting
            changed = yield from self._read_live_brokers()
            if self._waiting is not waiting:
                return
            self._decide(keys, changed)
        self.is_reading = False
