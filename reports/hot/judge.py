"""The checks of one partition with more lines than a task can hold, piece by piece.

A piece is some lines that follow each other in a file, so that those of a node come in order. What
they tell of states is carried on from piece to piece; what they tell of records, by their value,
and of lengths, by how long, is dealt out to tables on disk that are judged one by one. What is
found is what the kernels find of all lines together; where they would leave a check to the
definition, so does this. `tests/reports/hot` holds them together.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from fencepost.conformance.checks.min_insync_replicas import least_of
from fencepost.conformance.checks.registry import CHECKS
from fencepost.conformance.verdict import CheckResult
from fencepost.reports.analysis.tenures import Leadership
from fencepost.reports.hot.carried import Key
from fencepost.reports.hot.clients import Clients, ClientsFound, of_log
from fencepost.reports.hot.contents import ToldRecords
from fencepost.reports.hot.counters import Counters
from fencepost.reports.hot.leaders import Leaders
from fencepost.reports.hot.replicas import Answers, Committers, ReplicaPieces
from fencepost.reports.hot.roles import Roles
from fencepost.reports.hot.sequences import Sequences
from fencepost.reports.hot.spill import NUMBERS_MAX
from fencepost.reports.hot.windows import Windows
from fencepost.reports.kernels.bucket_rows import KERNEL_COLUMNS, BucketRows
from fencepost.reports.kernels.client_logs import operations_of
from fencepost.reports.kernels.replica_logs import replicas_of
from fencepost.reports.tables.buckets import BULK, SplitRows, completed
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

BOUNDS_TOGETHER = 1 << 16
"""Lengths of a log of which the claims are judged in one go, at the least."""


_Decisions = dict[Invariant, tuple[int, bool]]
"""Of each check its premises, and whether the definition must decide."""


class Pieces(Protocol):
    """The lines of one partition."""

    few: pa.Table
    """Those of actions that are few, with all columns that have anything."""
    items: int
    """How many records its other lines name, at the most."""

    def __iter__(self) -> Iterator[pa.Table]:
        """All others: pieces with the kernels' columns, those of each node in the order of lines.

        Where they come in another order, nothing is found.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFound:
    """What is found of one partition."""

    premises: dict[Invariant, int]
    suspicious: frozenset[Invariant]
    """The definition must decide; elsewhere it finds nothing, and as many premises."""
    leadership: Leadership

    @property
    def results(self) -> tuple[CheckResult, ...]:
        """Of the checks in which all is well."""
        return tuple(
            CheckResult(invariant=name, premise_count=count)
            for name, count in self.premises.items()
            if name not in self.suspicious
        )


def judge_partition(
    pieces: Pieces,
    begun: Sequence[TraceEvent],
    picture: tuple[int, tuple[int, int]],
    scratch: Path,
) -> HotFound | None:
    """What is found of a partition, of all checks per partition.

    None if there are no pieces, or the lines of a node are not in order.
    `begun` are the `RunStarted` of the run, `picture` is the folder and the span of its stamps,
    `scratch` a folder for what is dealt out.
    """
    judge = _Judge(pieces, least_of(begun), picture, scratch)
    for bulk in pieces:
        judge.see(bulk)
    judge.end()
    return judge.found(begun)


class _Judge:
    """What is known after the pieces that were seen."""

    def __init__(
        self, pieces: Pieces, least: int, picture: tuple[int, tuple[int, int]], scratch: Path
    ) -> None:
        self._few = pieces.few
        self._only_few = self._rows(completed(pieces.few, sorted(KERNEL_COLUMNS))[:0])
        width = max(BOUNDS_TOGETHER, pieces.items // NUMBERS_MAX)
        self._counters = Counters(scratch / "counters", width)
        self._sequences = Sequences(scratch / "sequences", width)
        self._contents = ToldRecords(scratch / "contents", pieces.items, self._sequences)
        self._windows = Windows(self._only_few.few)
        self._clients = Clients(self._contents, self._counters)
        self._replicas = ReplicaPieces()
        self._committers = Committers()
        self._answers = Answers(self._counters)
        self._roles = Roles(self._only_few, least)
        self._least = least
        self._leaders: Leaders | None = None
        self._picture = picture
        self._lives: set[int] = set()

    def _rows(self, bulk: pa.Table) -> BucketRows:
        return BucketRows(SplitRows(self._few, bulk, lambda _rows: bulk))

    def see(self, bulk: pa.Table) -> None:
        """One piece."""
        rows = self._rows(bulk)
        self._see_lines(rows, self._windows.of(rows))
        self._roles.see(rows)
        if self._leaders is None:
            self._leaders = Leaders(self._picture[0], rows.name(0), self._picture[1])
        self._leaders.see(rows)
        self._answers.see(rows)
        self._committers.see(rows)

    def _see_lines(self, rows: BucketRows, own: np.typing.NDArray[np.bool_]) -> None:
        self._lives.update(np.unique(rows.lives[rows.lives > 0]).tolist())
        self._sequences.see(rows)
        replicas = replicas_of(rows, own)
        self._replicas.see(rows, replicas)
        appended = np.zeros(len(own), np.bool_)
        appended[replicas.row] = True
        self._clients.see(rows, operations_of(rows), appended)

    def end(self) -> None:
        """What is few and came after all pieces."""
        rows = self._only_few
        self._see_lines(rows, self._windows.rest())

    def found(self, begun: Sequence[TraceEvent]) -> HotFound | None:
        """What is found; nothing is seen after that."""
        if self._windows.is_disordered or self._leaders is None:
            return None
        clients = self._clients.found()
        contradicted = self._counters.contradicted()
        is_odd = bool(self._only_few.is_odd.any()) or len(self._lives) > 1
        linear = is_odd or clients.is_wrong or any(map(of_log, contradicted))
        strange = is_odd or self._replicas.is_strange
        entries = strange or self._replicas.is_cut or clients.differs
        found: _Decisions = {
            Invariant.LINEARIZABLE_LOG: (self._clients.answers, linear),
            Invariant.ACKNOWLEDGED_DURABLE: (
                self._clients.acknowledged,
                linear or clients.unread,
            ),
            Invariant.LOG_MATCHING: (self._replicas.compared, entries),
            Invariant.LEADER_COMPLETE: self._complete(entries),
            Invariant.HIGH_WATERMARK_MONOTONIC: (
                self._replicas.steps + self._answers.premises,
                strange or self._falls(contradicted),
            ),
            Invariant.ONE_COMMITTER_PER_EPOCH: (
                self._committers.premises,
                strange or self._committers.are_wrong(self._replicas.leaders),
            ),
            Invariant.SEQUENCES_IN_ORDER: self._numbered(clients.length, entries or linear),
        }
        found |= self._of_roles(clients) | self._by_definition(begun)
        return HotFound(
            premises={name: premises for name, (premises, _) in found.items()},
            suspicious=frozenset(name for name, (_, is_wrong) in found.items() if is_wrong),
            leadership=self._leaders.found(self._only_few.few),
        )

    def _complete(self, entries: bool) -> tuple[int, bool]:  # noqa: FBT001
        premises, lacks = self._replicas.complete
        return premises, entries or lacks

    def _falls(self, contradicted: Iterable[Key]) -> bool:
        of_answers = any(not of_log(key) for key in contradicted)
        return self._replicas.falls or self._answers.is_vague or of_answers

    def _of_roles(self, clients: ClientsFound) -> "_Decisions":
        roles = self._roles
        is_mixed = self._least > 1 and (roles.is_mixed or clients.unasked)
        return {
            Invariant.LEADER_IN_ISR: roles.in_isr(),
            Invariant.ACTS_IN_ITS_ROLE: (roles.acts, roles.is_misplaced),
            Invariant.MIN_INSYNC_REPLICAS: (roles.appends, roles.is_small or is_mixed),
        }

    def _numbered(self, length: int, in_doubt: bool) -> tuple[int, bool]:  # noqa: FBT001
        """What is found of numbers, given how many records the last reader found."""
        if not self._sequences.is_used:
            return 0, False
        ends = [*self._replicas.ends, length]
        premises, is_wrong = self._sequences.found(ends)
        logged = self._contents.logged
        is_whole = logged.count == logged.extent == max(ends)
        return premises, in_doubt or is_wrong or not is_whole or self._contents.is_unclear

    def _by_definition(self, begun: Sequence[TraceEvent]) -> "_Decisions":
        """Of the checks that read nothing but what is few."""
        given = [*begun, *self._only_few.few]
        results = [
            check.judge(given)
            for check in CHECKS.values()
            if check.per_partition and not check.reads & BULK
        ]
        return {
            one.invariant: (one.premise_count, bool(one.violations or one.doubts))
            for one in results
        }
