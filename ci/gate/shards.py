"""One of several machines' shares of a gate: `2/4` is the second of four.

Every fourth thing of a list is a machine's, so that the shares are alike, each thing is in exactly
one, and nothing has to be agreed on. `merge` puts them together again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from fencepost.ci.gate.failures import UsageError

SHARDS_MAX = 16
"""A quick gate has no more scenarios to share."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Shard:
    """Which share; `1/1` is the whole."""

    number: int = 1
    """From 1 on."""
    of: int = 1

    def __str__(self) -> str:
        """As `parse` reads it."""
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Of `2/4`; raises `UsageError`."""
        number, _, of = text.partition("/")
        if not all(part.isascii() and part.isdecimal() for part in (number, of)):
            raise UsageError(f"{text!r} is no share; write for example 2/4, the second of four")
        found = cls(int(number), int(of))
        if not 1 <= found.number <= found.of <= SHARDS_MAX:
            raise UsageError(
                f"there is no share {text}; write 1/4 to 4/4 for four, and at most {SHARDS_MAX}"
            )
        return found

    @property
    def is_whole(self) -> bool:
        """True when there is no other."""
        return self.of == 1

    @property
    def is_first(self) -> bool:
        """True for the one that has what cannot be shared."""
        return self.number == 1

    def take(self, items: Sequence[Item]) -> tuple[Item, ...]:
        """The share of these, in their order."""
        return tuple(items[self.number - 1 :: self.of])


WHOLE = Shard()
