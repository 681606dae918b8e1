"""How many packets met something, and their bytes: what filters and queues count.

Standard library only.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Self


class Tally(NamedTuple):
    """Packets, and their bytes."""

    packets: int
    size: int
    """In bytes."""

    def plus(self, other: Self) -> "Tally":
        """Both together."""
        return Tally(self.packets + other.packets, self.size + other.size)

    def since(self, before: Self) -> "Tally":
        """What has come since `before` was counted."""
        return Tally(self.packets - before.packets, self.size - before.size)


NOTHING = Tally(0, 0)


def total(tallies: Iterable[Tally]) -> Tally:
    """All of them together."""
    packets, sizes = 0, 0
    for one in tallies:
        packets += one.packets
        sizes += one.size
    return Tally(packets, sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """What has happened on some links."""

    dropped: Tally
    narrow: Tally
    """Packets as often as they had to wait before a narrow link."""
    late: Tally
