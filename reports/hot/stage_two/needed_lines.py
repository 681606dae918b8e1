"""The lines that stage two is given of a check that is violated, but for those of clients' logs.

Each finds lines without which its check would find something else: mostly those that break it, and
the ones that these are compared with. Lines that are few are given in any case.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.conformance.checks.log_history import LeftOut
from fencepost.conformance.checks.replica_log import Agreed
from fencepost.reports.hot.carried import Carried, Key, coded
from fencepost.reports.hot.replicas import ANSWERS
from fencepost.reports.hot.windows import Windows
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows, Mask, Numbers
from fencepost.reports.kernels.insync_appends import appends_with_isr
from fencepost.reports.kernels.isr_repeats import is_asked_for, repeated_advances
from fencepost.reports.kernels.replica_logs import (
    answers_of_one,
    claims_of_answers,
    commits_of,
    replicas_of,
    terms,
)
from fencepost.reports.kernels.roles import misplaced_acts
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action


class NeededLines(Protocol):
    """Looks at piece after piece."""

    def see(self, rows: BucketRows, number: Numbers) -> None:
        """The lines of a piece, and the number of each among those that are many; -1: few.

        The last piece has none but those that are few.
        """

    @property
    def numbers(self) -> Numbers:
        """Those of the lines that are needed, when all pieces were seen."""

    @property
    def left_out(self) -> LeftOut | Agreed | None:
        """What the definition is told of all other lines, when all pieces were seen."""


class _Deciding:
    """Without other lines the definition finds the same."""

    @property
    def left_out(self) -> LeftOut | Agreed | None:
        """As `NeededLines` says."""
        return None


class MaskedLines(_Deciding, ABC):
    """Knows the lines of a piece that are needed by this piece alone."""

    def __init__(self) -> None:
        self._found: list[Numbers] = [np.zeros(0, np.int64)]

    def see(self, rows: BucketRows, number: Numbers) -> None:
        """As `NeededLines` says."""
        self._found.append(number[self._keep(rows)])

    @abstractmethod
    def _keep(self, rows: BucketRows) -> Mask:
        """The lines of this piece that are needed."""

    @property
    def numbers(self) -> Numbers:
        """As `NeededLines` says."""
        return np.concatenate(self._found)


class AllLines(MaskedLines):
    """Whatever a check reads."""

    def __init__(self, actions: Collection[str]) -> None:
        super().__init__()
        self._actions = actions

    def _keep(self, rows: BucketRows) -> Mask:
        return rows.is_action(*self._actions)


class RoleLines(MaskedLines):
    """What replicas do without its role: all that gives one is few."""

    def _keep(self, rows: BucketRows) -> Mask:
        found = np.zeros(len(rows.partition), np.bool_)
        found[misplaced_acts(rows)] = True
        return found


class IsrLines(MaskedLines):
    """Advances under another ISR than the one before, and all that are wrong, or may be."""

    def _keep(self, rows: BucketRows) -> Mask:
        advance = rows.is_action(Action.ADVANCE_HIGH_WATERMARK)
        first = advance & ~repeated_advances(rows)
        wrong = first.copy()
        wrong[np.flatnonzero(first)] = [_is_wrong(event) for event in rows.of(first)]
        row, process = rows.by_process(advance)
        begun = np.maximum.accumulate(np.where(first[row], np.arange(len(row)), 0))
        found = first | (advance & is_asked_for(rows))
        found[row] |= wrong[row[begun]] & (process[begun] == process)
        return np.asarray(found)


def _is_wrong(advance: TraceEvent) -> bool:
    isr = set(advance.isr or ())
    maximal = isr if advance.maximal_isr is None else set(advance.maximal_isr)
    return advance.broker_id not in isr or not isr <= maximal


class AppendLines(MaskedLines):
    """Appends under an ISR that is too small, and the acks of their records."""

    def __init__(self, least: int, records: Collection[str]) -> None:
        """`records`: those of these appends."""
        super().__init__()
        self._least = least
        self._records = pa.array(sorted(records), pa.string())

    def _keep(self, rows: BucketRows) -> Mask:
        found = np.zeros(len(rows.partition), np.bool_)
        is_named = pc.is_in(rows.records, self._records).to_numpy(zero_copy_only=False)
        found[rows.values.row[is_named.astype(np.bool_)[rows.values.code]]] = True
        found &= rows.is_told("acks")
        row, known = appends_with_isr(rows)
        found[row[rows.lengths("isr")[known] < self._least]] = True
        return found


class CommitLines(_Deciding):
    """Of each epoch the first commit that each node tells of each broker, and the furthest."""

    def __init__(self) -> None:
        self._first: dict[Key, int] = {}
        self._furthest: dict[Key, tuple[int, int]] = {}
        """How far, and the line that tells it first."""

    def see(self, rows: BucketRows, number: Numbers) -> None:
        """As `NeededLines` says."""
        told = commits_of(rows)
        node, names = rows.words("node", told.row), rows.word_list("node")
        broker, at = rows.numbers("broker_id")[told.row], number[told.row]
        life = rows.known("partition_incarnation", 0, told.row)
        for name, own in _groups([node, life, told.epoch, broker]):
            self._first.setdefault((_code(names[name[0]]), *name[1:]), int(at[own[0]]))
        for name, own in _groups([node, life, told.epoch]):
            key = _code(names[name[0]]), *name[1:]
            furthest = own[int(np.argmax(told.length[own]))]
            length = int(told.length[furthest])
            if key not in self._furthest or length > self._furthest[key][0]:
                self._furthest[key] = length, int(at[furthest])

    @property
    def numbers(self) -> Numbers:
        """As `NeededLines` says."""
        furthest = (number for _, number in self._furthest.values())
        return np.array([*self._first.values(), *furthest], np.int64)


def _code(name: str) -> int:
    """Of a node, the same in each piece."""
    return int.from_bytes(name.encode(), "big")


def _groups(keys: list[Numbers]) -> Iterator[tuple[Key, Numbers]]:
    """Each key, and where it is, ascending."""
    group, names = coded(keys)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    yield from zip(names, np.split(order, starts[1:]), strict=True) if len(order) else ()


class LevelLines(_Deciding):
    """High watermarks that fall, or that advance to what they were, and those that they follow."""

    def __init__(self, windows: Windows, contradicted: Mapping[Key, object]) -> None:
        """`contradicted`: among them leaders with answers that contradict each other."""
        self._windows = windows
        self._levels, self._lines = Carried(first=UNTOLD), Carried(first=-1)
        self._wanted = {key for key in contradicted if key[0] == ANSWERS}
        self._found: list[Numbers] = [np.zeros(0, np.int64)]
        self._answers: dict[Key, list[tuple[Numbers, ...]]] = {}

    def see(self, rows: BucketRows, number: Numbers) -> None:
        """As `NeededLines` says."""
        replicas = replicas_of(rows, own_lines(self._windows, rows))
        term = [rows.numbers("broker_id")[replicas.row], *terms(rows, replicas)]
        level = replicas.high_watermark
        before = self._levels.before(term, level)
        line = self._lines.before(term, number[replicas.row])
        falls = (before != UNTOLD) & (level < before + replicas.is_advance)
        self._found += [number[replicas.row[falls]], line[falls]]
        self._see_answers(rows, number)

    def _see_answers(self, rows: BucketRows, number: Numbers) -> None:
        if not self._wanted:
            return
        leads = rows.is_action(Action.BECOME_LEADER) & (rows.numbers("broker_id") != UNTOLD)
        answers = answers_of_one(rows, np.flatnonzero(leads))
        claims = claims_of_answers(rows, answers)
        life = rows.known("partition_incarnation", 0, answers.row)
        epoch = rows.numbers("leader_epoch")[answers.row]
        keys = [np.full(len(life), ANSWERS), rows.numbers("broker_id")[answers.row], life, epoch]
        for key, own in _groups(keys):
            if key in self._wanted:
                told = claims.inv[own], claims.ret[own], claims.lo[own], number[answers.row[own]]
                self._answers.setdefault(key, []).append(told)

    @property
    def numbers(self) -> Numbers:
        """As `NeededLines` says."""
        of_answers = (
            _fallen(*map(np.concatenate, zip(*told, strict=True)))
            for told in self._answers.values()
        )
        found = np.concatenate([*self._found, *of_answers])
        return found[found >= 0]


def own_lines(windows: Windows, rows: BucketRows) -> Mask:
    """As `Windows.of`; of the last piece, all that are few and were in no other."""
    return windows.of(rows) if rows.is_bulk.any() else windows.rest()


def _fallen(inv: Numbers, ret: Numbers, level: Numbers, number: Numbers) -> Numbers:
    """Answers that are lower than one before, the highest of those, and the first of all.

    As `log_history.after_highest` finds them.
    """
    order = np.argsort(number, kind="stable")
    inv, ret, level, number = (column[order] for column in (inv, ret, level, number))
    came = np.argsort(ret, kind="stable")
    highest = np.maximum.accumulate(level[came])
    first = np.maximum.accumulate(
        np.where(np.diff(highest, prepend=highest[:1] - 1) > 0, np.arange(len(came)), 0)
    )
    before = np.searchsorted(ret[came], inv, side="left") - 1
    fell = np.flatnonzero((before >= 0) & (level < highest[before]))
    return np.concatenate([number[:1], number[fell], number[came[first[before[fell]]]]])
