"""Which lines of those that are few belong to a piece: by the order of each node's own lines."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

import numpy as np

from fencepost.reports.kernels.bucket_rows import BucketRows, Mask, segments
from fencepost.spec.trace import TraceEvent

Place = tuple[int, int]
"""Incarnation and number of a line: its place among those of its node."""


class Windows:
    """The lines that are few, of which each piece is given those up to its own last ones."""

    def __init__(self, few: Sequence[TraceEvent]) -> None:
        self._count = len(few)
        self._places: dict[str, list[tuple[Place, int]]] = {}
        self._done: dict[str, Place] = {}
        for at, event in enumerate(few):
            place = event.incarnation, event.seq
            self._places.setdefault(event.node, []).append((place, at))
        for own in self._places.values():
            own.sort()
        self._given = dict.fromkeys(self._places, 0)
        self.is_disordered = False
        """A piece has lines that come before some of an earlier piece."""

    def of(self, rows: BucketRows) -> Mask:
        """The rows of a piece that are its own: all that are many, and the few since the last."""
        own = rows.is_bulk.copy()
        for node, first, last in _spans(rows):
            done = self._done.get(node)
            self.is_disordered |= done is not None and first <= done
            self._done[node] = last
            self._give(own, node, last)
        return own

    def join(self, other: "Windows") -> None:
        """The pieces of the other one are of other nodes."""
        self.is_disordered |= other.is_disordered or bool(self._done.keys() & other._done.keys())
        self._done |= other._done
        for node, given in other._given.items():
            self._given[node] = max(given, self._given.get(node, 0))

    def rest(self) -> Mask:
        """The few that were in no piece."""
        own = np.zeros(self._count, np.bool_)
        for node in self._places:
            self._give(own, node, (1 << 63, 0))
        return own

    def _give(self, own: Mask, node: str, last: Place) -> None:
        places, begin = self._places.get(node, []), self._given.get(node, 0)
        end = max(begin, bisect_right(places, (last, self._count)))
        own[[at for _, at in places[begin:end]]] = True
        self._given[node] = end


def _spans(rows: BucketRows) -> Iterator[tuple[str, Place, Place]]:
    """Each node with lines that are many, and the places of its first and last one."""
    node, names = rows.words("node"), rows.word_list("node")
    keys = rows.numbers("seq"), rows.numbers("incarnation"), node
    own = np.flatnonzero(rows.is_bulk)
    own = own[np.lexsort(tuple(key[own] for key in keys))]
    seq, incarnation, node = (key[own] for key in keys)
    for begin, end in segments(node):
        first, last = ((int(incarnation[at]), int(seq[at])) for at in (begin, end - 1))
        yield names[node[begin]], first, last
