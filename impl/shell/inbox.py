"""What a node has still to take: the cluster's word before that of followers and clients.

Whoever fails over thousands of partitions would else serve each follower of the first ones before
it decides about the last ones; Kafka gives its controller's requests a queue of their own, too
(KIP-291). Within each of the two queues the order is that of arrival.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

OTHERS_IN_A_ROW = 20
"""So many are taken before the event loop may put something urgent among them."""

T = TypeVar("T")


class Inbox(Generic[T]):
    """Two queues: of what is urgent, and of the others, one of which is taken in between."""

    def __init__(self, is_urgent: Callable[[T], bool]) -> None:
        self._is_urgent = is_urgent
        self._urgent: deque[T] = deque()
        self._others: deque[T] = deque()
        self._arrived = asyncio.Event()
        self._is_others_turn = False
        self._in_a_row = 0

    def put(self, item: T) -> None:
        """The item will be taken."""
        (self._urgent if self._is_urgent(item) else self._others).append(item)
        self._arrived.set()

    async def take(self) -> T:
        """The next item, when there is one."""
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
