"""Which links between members a fault on the network closes; a link is directed. Pure.

The simulator and the proxy read the same sets, the one of broker ids, the other of names.
"""

from collections.abc import Iterable, Sequence
from itertools import permutations
from typing import TypeVar

Member = TypeVar("Member")


def between(side: Iterable[Member], others: Iterable[Member]) -> frozenset[tuple[Member, Member]]:
    """Both links between each member of one side and each of the other, without links to itself."""
    there = list(others)
    pairs = [(a, b) for a in side for b in there if a != b]
    return frozenset(pairs) | frozenset((b, a) for a, b in pairs)


def around_bridge(bridge: Member, members: Sequence[Member]) -> frozenset[tuple[Member, Member]]:
    """Both links between the two halves of the other members; only `bridge` reaches both halves."""
    others = [member for member in members if member != bridge]
    half = len(others) // 2
    return between(others[:half], others[half:])


def outside_majorities(members: Sequence[Member]) -> frozenset[tuple[Member, Member]]:
    """The links to cut so that each member receives only from a majority around itself, in a ring.

    Of three, each receives from itself and the next one. No two have the same majority.
    """
    size = len(members)
    # Itself, the next, the one before, the one after the next, and so on.
    steps = [step // 2 if step % 2 == 0 else -(step // 2) for step in range(2, size + 2)]
    heard = {
        members[at]: {members[at], *(members[(at + step) % size] for step in steps[: size // 2])}
        for at in range(size)
    }
    return frozenset((a, b) for a, b in permutations(members, 2) if a not in heard[b])
