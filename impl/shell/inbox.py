"""The inbox of a node: events of ZooKeeper and the controller come first.

Otherwise a failover of thousands of partitions waits behind fetches for the first ones. Kafka gives
controller requests their own queue for the same reason (KIP-291). Each queue is FIFO.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

OTHERS_IN_A_ROW = 20
"""Non-urgent items taken before the event loop runs and may add urgent ones."""

T = TypeVar("T")


class Inbox(Generic[T]):
    """An urgent and a normal queue; while both have items they alternate."""

    def __init__(self, is_urgent: Callable[[T], bool]) -> None:
        self._is_urgent = is_urgent
        self._urgent: deque[T] = deque()
        self._others: deque[T] = deque()
        self._arrived = asyncio.Event()
        self._is_others_turn = False
        self._in_a_row = 0

    def put(self, item: T) -> None:
        """Append the item to its queue."""
        (self._urgent if self._is_urgent(item) else self._others).append(item)
        self._arrived.set()

    async def take(self) -> T:
        """Wait for the next item and return it."""
        if self._in_a_row >= OTHERS_IN_A_ROW:
            self._in_a_row = 0
            await asyncio.sleep(0)
        while not self._urgent and not self._others:
            self._arrived.clear()
            await self._arrived.wait()
        if self._urgent and not (self._is_others_turn and self._others):
            self._is_others_turn = True
            self._in_a_row = 0
            return self._urgent.popleft()
        self._is_others_turn = False
        self._in_a_row += 1
        return self._others.popleft()
