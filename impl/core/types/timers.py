"""Which partitions a tick must look at: those that changed since, and those that are due.

A tick costs as much as there is to do, not as much as there are partitions.
"""

from heapq import heappop, heappush

from fencepost.spec.znodes import TopicPartition


def earliest(*times_ms: int | None) -> int | None:
    """The first of the times that are known."""
    return min([one for one in times_ms if one is not None], default=None)


class Timers:
    """One alarm per partition at most: it may go off too early, never too late."""

    def __init__(self) -> None:
        self._changed: set[TopicPartition] = set()
        self._due: dict[TopicPartition, int] = {}
        self._heap: list[tuple[int, TopicPartition]] = []

    def touch(self, key: TopicPartition) -> None:
        """Something about the partition changed: the next tick looks at it."""
        self._changed.add(key)

    def drop(self, key: TopicPartition) -> None:
        """There is no such partition."""
        self._changed.discard(key)
        self._due.pop(key, None)

    def set(self, key: TopicPartition, due_ms: int | None) -> None:
        """The partition has been looked at; it is looked at again at `due_ms` at the latest."""
        self._changed.discard(key)
        if due_ms is not None:
            self.expect(key, due_ms)

    def expect(self, key: TopicPartition, due_ms: int) -> None:
        """The partition is looked at at `due_ms` at the latest."""
        known = self._due.get(key)
        if known is None or due_ms < known:
            self._due[key] = due_ms
            heappush(self._heap, (due_ms, key))

    def take(self, now_ms: int) -> list[TopicPartition]:
        """The partitions to look at now, ascending; each must be `set` again."""
        keys = self._changed.copy()
        while self._heap and self._heap[0][0] <= now_ms:
            due_ms, key = heappop(self._heap)
            if self._due.get(key) == due_ms:
                del self._due[key]
                keys.add(key)
        return sorted(keys)
