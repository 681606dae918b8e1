"""The lines of replicas' logs that stage two is given, where logs were cut, or differ.

Where all entries at an offset are one, only lengths matter, and these are told by few lines: those
that cut a log, and how far each had committed by then. At all other offsets every line counts that
appends there, or is the first to commit it.
"""

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from fencepost.conformance.checks.replica_log import Agreed
from fencepost.reports.hot.carried import Carried, CarriedMaximum, Key
from fencepost.reports.hot.stage_two.needed_lines import own_lines
from fencepost.reports.hot.windows import Windows
from fencepost.reports.kernels.bucket_rows import BucketRows, Mask, Numbers, joint, segments
from fencepost.reports.kernels.replica_logs import ReplicaLines, grows, replicas_of
from fencepost.spec.vocabulary import Action

_NO_LINE = -1


def doubted_offsets(clashes: Numbers, ranges: Iterable[tuple[int, int]]) -> Agreed:
    """Offsets with different entries, or with none in some log, each with the one behind it."""
    both = [(offset, offset + 2) for offset in np.unique(clashes).tolist()]
    both += [(begin, end + 1) for begin, end in ranges]
    found: list[tuple[int, int]] = []
    for begin, end in sorted(both):
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return Agreed(doubted=tuple(found))


class LogLines:
    """What `LogMatching` and `LeaderComplete` are given."""

    def __init__(self, windows: Windows, agreed: Agreed) -> None:
        self.left_out = agreed
        self._windows = windows
        doubted = np.array(agreed.doubted, np.int64).reshape(-1, 2)
        self._begins, self._ends = doubted[:, 0], doubted[:, 1]
        self._found: list[Numbers] = [np.zeros(0, np.int64)]
        self._end, self._reach, self._cuts = Carried(0), Carried(0), CarriedMaximum(0)
        self._advanced = Carried(0)
        """By broker, epoch, and how often the log was cut."""
        self._furthest: dict[int, tuple[int, int]] = {}
        """Of each broker since its log was cut last: how far it committed, by which line."""
        self._known: dict[Key, tuple[int, int]] = {}
        """Of each process the highest high watermark, and which line told it first."""

    def see(self, rows: BucketRows, number: Numbers) -> None:
        """As `NeededLines` says."""
        replicas = replicas_of(rows, own_lines(self._windows, rows))
        if not len(replicas.row):
            return
        line = number[replicas.row]
        broker = rows.numbers("broker_id")[replicas.row]
        before = self._end.before([broker], replicas.end)
        cuts = ~grows(rows, replicas, before)
        reach = np.minimum(replicas.high_watermark, replicas.end)
        kept = cuts | self._appends(rows, replicas)
        kept |= self._any_doubted(self._reach.before([broker], reach), reach)
        kept |= self._advances(replicas, broker, reach, cuts)
        self._found.append(line[kept])
        for begin, end in segments(replicas.replica):
            own = slice(begin, end)
            self._see_furthest(int(broker[begin]), reach[own], cuts[own], line[own])
        self._see_truncations(rows, replicas, line)

    @property
    def numbers(self) -> Numbers:
        """As `NeededLines` says."""
        furthest = [line for _, line in self._furthest.values()]
        return np.concatenate([*self._found, np.array(furthest, np.int64)])

    def _any_doubted(self, starts: Numbers, stops: Numbers) -> Mask:
        """Whether there are doubted offsets from each start up to its stop."""
        at = np.searchsorted(self._ends, starts, side="right")
        begins = np.append(self._begins, np.iinfo(np.int64).max)[at]
        return np.asarray((starts < stops) & (begins < stops))

    def _appends(self, rows: BucketRows, replicas: ReplicaLines) -> Mask:
        values, base = rows.lengths("values")[replicas.row], rows.numbers("offset")[replicas.row]
        return self._any_doubted(base, base + values) & (values > 0)

    def _advances(
        self, replicas: ReplicaLines, broker: Numbers, reach: Numbers, cuts: Mask
    ) -> Mask:
        """The first of an epoch that commits something in doubt, until the log is cut."""
        cut = np.zeros(len(reach), np.int64)
        for begin, end in segments(replicas.replica):
            cut[begin:end] = np.cumsum(cuts[begin:end])
        first = np.diff(replicas.replica, prepend=-1) != 0
        cut += self._cuts_before(broker, first, cut)
        own = replicas.is_advance
        found = np.zeros(len(reach), np.bool_)
        keys = [broker[own], replicas.epoch[own], cut[own]]
        found[own] = self._any_doubted(self._advanced.before(keys, reach[own]), reach[own])
        return found

    def _cuts_before(self, broker: Numbers, first: Mask, cut: Numbers) -> Numbers:
        """How often the log of each line's broker was cut in earlier pieces."""
        known = {name[0]: count for name, count in self._cuts.of()}
        before = np.array([known.get(one, 0) for one in broker[first].tolist()], np.int64)
        found = before[np.cumsum(first) - 1]
        self._cuts.before([broker], cut + found)
        return np.asarray(found)

    def _see_furthest(self, broker: int, reach: Numbers, cuts: Mask, line: Numbers) -> None:
        """The lines of one broker."""
        for begin, end in pairwise(sorted({0, *np.flatnonzero(cuts).tolist(), len(cuts)})):
            if cuts[begin]:
                self._found.append(np.array([self._furthest.get(broker, (0, _NO_LINE))[1]]))
                self._furthest.pop(broker, None)
            at = begin + int(np.argmax(reach[begin:end]))
            if reach[at] > self._furthest.get(broker, (0, _NO_LINE))[0]:
                self._furthest[broker] = int(reach[at]), int(line[at])

    def _see_truncations(self, rows: BucketRows, replicas: ReplicaLines, line: Numbers) -> None:
        """Those below what was known to be committed, and what told that first."""
        cuts = rows.is_action(Action.TRUNCATE_LOG)[replicas.row]
        broker = rows.numbers("broker_id")[replicas.row]
        incarnation = rows.numbers("incarnation")[replicas.row]
        for start, stop in segments(joint(replicas.replica, incarnation)):
            key = int(broker[start]), int(incarnation[start])
            for cut in (start + np.flatnonzero(cuts[start:stop])).tolist():
                self._learn(key, replicas.high_watermark[start:cut], line[start:cut])
                known, told_by = self._known.get(key, (0, _NO_LINE))
                if replicas.end[cut] < known:
                    self._found.append(np.array([told_by]))
            self._learn(key, replicas.high_watermark[start:stop], line[start:stop])

    def _learn(self, key: Key, level: Numbers, line: Numbers) -> None:
        if len(level):
            at = int(np.argmax(level))
            if level[at] > self._known.get(key, (0, _NO_LINE))[0]:
                self._known[key] = int(level[at]), int(line[at])
