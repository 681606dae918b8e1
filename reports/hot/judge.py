"""The checks of one partition with more lines than a task can hold, piece by piece.

A piece is some lines that follow each other in a file, so that those of a node come in order. What
they tell of states is carried on from piece to piece; what they tell of records, by their value,
and of lengths, by how long, is dealt out to tables on disk that are judged one by one. The lines of
each node are a part that can be seen by a task of its own. What is found is what the kernels find
of all lines together; where they would leave a check to the definition, so does this, with the
lines that it needs (`stage_two`).
`tests/reports/hot` holds them together.
"""

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from fencepost.conformance.checks.min_insync_replicas import least_of
from fencepost.conformance.checks.registry import CHECKS
from fencepost.conformance.verdict import CheckResult
from fencepost.reports.analysis.tenures import Leadership
from fencepost.reports.hot.carried import Key
from fencepost.reports.hot.clients import Clients, ClientsFound, of_log
from fencepost.reports.hot.contents import ToldRecords
from fencepost.reports.hot.counters import Counters, Stale
from fencepost.reports.hot.leaders import Leaders
from fencepost.reports.hot.replicas import Answers, Committers, ReplicaPieces
from fencepost.reports.hot.roles import Roles
from fencepost.reports.hot.sequences import Sequences
from fencepost.reports.hot.spill import NUMBERS_MAX
from fencepost.reports.hot.stage_two.client_lines import ClientLines
from fencepost.reports.hot.stage_two.definitions import InQuestion, NumberedLines, judge_again
from fencepost.reports.hot.stage_two.doubts import doubts_of
from fencepost.reports.hot.stage_two.log_lines import LogLines, doubted_offsets
from fencepost.reports.hot.stage_two.needed_lines import (
    AllLines,
    AppendLines,
    CommitLines,
    IsrLines,
    LevelLines,
    NeededLines,
    RoleLines,
)
from fencepost.reports.hot.windows import Windows
from fencepost.reports.kernels.bucket_rows import KERNEL_COLUMNS, BucketRows
from fencepost.reports.kernels.client_logs import operations_of
from fencepost.reports.kernels.in_doubt import OF_CLIENTS
from fencepost.reports.kernels.replica_logs import replicas_of
from fencepost.reports.tables.buckets import BULK, SplitRows, completed
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

BOUNDS_TOGETHER = 1 << 16
"""Lengths of a log of which the claims are judged in one go, at the least."""


OF_LOGS = (Invariant.LOG_MATCHING, Invariant.LEADER_COMPLETE)
_NO_OFFSETS = np.zeros(0, np.int64)
_STATES = ("_counters", "_sequences", "_contents", "_windows", "_clients", "_replicas",
           "_committers", "_answers", "_roles", "_leaders")  # fmt: skip
"""What knows something of the pieces."""
_Decisions = dict[Invariant, tuple[int, bool]]
"""Of each check its premises, and whether the definition must decide."""


class Pieces(NumberedLines, Protocol):
    """The lines of one partition, and which nodes wrote them."""

    items: int
    """How many records its other lines name, at the most."""

    @property
    def nodes(self) -> Sequence[str]:
        """The names of parts, each with all lines of some nodes."""

    def of_node(self, name: str) -> Iterator[pa.Table]:
        """All others of a part: pieces with the kernels' columns, in the order of lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HotFound:
    """What is found of one partition."""

    results: tuple[CheckResult, ...]
    """Of all checks per partition."""
    suspicious: frozenset[Invariant]
    """Those that the definition decided."""
    leadership: Leadership


class RunFacts(NamedTuple):
    """What is told of the run of a partition."""

    begun: tuple[TraceEvent, ...]
    """Its `RunStarted`."""
    folder: int
    span_ns: tuple[int, int]
    """Its first and last `mono_ns`."""


def judge_partition(pieces: Pieces, run: RunFacts, scratch: Path) -> HotFound | None:
    """What is found of a partition, one part after the other; see `conclude`."""
    parts = [
        see_part(pieces, name, run, scratch / f"part-{number}")
        for number, name in enumerate(pieces.nodes)
    ]
    return conclude(pieces, run, scratch / "whole", parts)


def see_part(pieces: Pieces, name: str, run: RunFacts, scratch: Path) -> bytes:
    """What `conclude` needs of a part; the rest of it is in the new folder `scratch`."""
    judge = _Judge(pieces, run, scratch)
    for bulk in pieces.of_node(name):
        judge.see(bulk)
    return judge.hand_on()


def conclude(
    pieces: Pieces, run: RunFacts, scratch: Path, parts: Iterable[bytes]
) -> HotFound | None:
    """What is found of all checks per partition, when all parts were seen.

    None if the lines of a node were not in order, or in two parts.
    """
    judge = _Judge(pieces, run, scratch)
    for part in parts:
        judge.join(part)
    return judge.found()


class _Judge:
    """What is known of a partition after the pieces that were seen."""

    def __init__(self, pieces: Pieces, run: RunFacts, scratch: Path) -> None:
        self._pieces = pieces
        self._few = pieces.few
        self._begun = run.begun
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
        self._least = least_of(run.begun)
        self._roles = Roles(self._only_few, self._least)
        self._leaders = Leaders(run.folder, run.span_ns)
        self._lives: set[int] = set()

    def _rows(self, bulk: pa.Table) -> BucketRows:
        return BucketRows(SplitRows(self._few, bulk, lambda _rows: bulk))

    def hand_on(self) -> bytes:
        """What is known, for `join`; nothing is seen after that."""
        self._counters.close()
        self._contents.close()
        return pickle.dumps({name: getattr(self, name) for name in (*_STATES, "_lives")})

    def join(self, handed_on: bytes) -> None:
        """What was handed on is known here, too."""
        states = pickle.loads(handed_on)  # noqa: S301 - of our own tasks
        for name in _STATES:
            getattr(self, name).join(states[name])
        self._lives |= states["_lives"]

    def see(self, bulk: pa.Table) -> None:
        """The next piece."""
        rows = self._rows(bulk)
        self._see_lines(rows, self._windows.of(rows))
        self._roles.see(rows)
        self._leaders.see(rows)
        self._answers.see(rows)
        self._committers.see(rows)

    def _see_lines(self, rows: BucketRows, own: np.typing.NDArray[np.bool_]) -> None:
        self._lives.update(np.unique(rows.lives[1]).tolist())
        self._sequences.see(rows)
        replicas = replicas_of(rows, own)
        self._replicas.see(rows, replicas)
        appended = np.zeros(len(own), np.bool_)
        appended[replicas.row] = True
        self._clients.see(rows, operations_of(rows), appended)

    def found(self) -> HotFound | None:
        """What is found; nothing is seen after that."""
        if self._windows.is_disordered:
            return None
        self._see_lines(self._only_few, self._windows.rest())
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
        found |= self._of_roles(clients)
        asked = list(self._asked(found, clients, contradicted, strange=strange, is_odd=is_odd))
        again = judge_again(self._pieces, self._begun, asked)
        well = (
            CheckResult(invariant=name, premise_count=premises)
            for name, (premises, is_suspicious) in found.items()
            if not is_suspicious
        )
        few = self._by_definition()
        return HotFound(
            results=(*well, *again, *few),
            suspicious=frozenset(one.invariant for one in (*again, *few) if _is_in_doubt(one)),
            leadership=self._leaders.found(self._only_few.few),
        )

    def _asked(
        self,
        found: _Decisions,
        clients: ClientsFound,
        contradicted: Mapping[Key, Stale],
        *,
        strange: bool,
        is_odd: bool,
    ) -> Iterator[InQuestion]:
        """What the definitions must decide: of each check, by as few lines as it needs."""
        roles, answers, committers = self._roles, self._answers, self._committers
        is_mixed = self._least > 1 and (roles.is_mixed or clients.unasked)
        needed: dict[Invariant, NeededLines] = {
            Invariant.ACTS_IN_ITS_ROLE: RoleLines(),
            Invariant.LEADER_IN_ISR: IsrLines(),
        }
        if not is_mixed and not roles.has_own_least:
            needed[Invariant.MIN_INSYNC_REPLICAS] = AppendLines(self._least, roles.small)
        if not strange and not committers.is_vague:
            needed[Invariant.ONE_COMMITTER_PER_EPOCH] = CommitLines()
        if not strange and not answers.is_vague:
            windows = Windows(self._only_few.few)
            needed[Invariant.HIGH_WATERMARK_MONOTONIC] = LevelLines(windows, contradicted)
        in_doubt = [name for name, (_, is_suspicious) in found.items() if is_suspicious]
        of_clients = [name for name in in_doubt if name in OF_CLIENTS]
        if of_clients and not is_odd and not clients.is_strange:
            doubts = doubts_of(self._contents, self._counters, contradicted)
            final = clients.length, clients.asked
            lines = ClientLines(doubts, final, self._contents.read.extent)
            yield InQuestion(of_clients, lines, [found[name][0] for name in of_clients])
            in_doubt = [name for name in in_doubt if name not in of_clients]
        if not strange and not self._replicas.is_misshapen:
            in_doubt = [name for name in in_doubt if name not in OF_LOGS]
            yield from self._of_logs(found)
        for name in in_doubt:
            if name in needed:
                yield InQuestion([name], needed[name], [found[name][0]])
            else:
                yield InQuestion([name], AllLines(CHECKS[name].reads))

    def _of_logs(self, found: _Decisions) -> Iterator[InQuestion]:
        """`LogMatching` is told its premises by the lines."""
        in_doubt = [name for name in OF_LOGS if found[name][1]]
        if in_doubt:
            clashes = np.concatenate([_NO_OFFSETS, *self._contents.held.clashes])
            short = [(end, end + 1) for end in self._replicas.short_leaders]
            agreed = doubted_offsets(clashes, [*self._replicas.holes, *short])
            lines = LogLines(Windows(self._only_few.few), agreed)
            known = {Invariant.LEADER_COMPLETE: found[Invariant.LEADER_COMPLETE][0]}
            yield InQuestion(in_doubt, lines, [known.get(name) for name in in_doubt])

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
            Invariant.MIN_INSYNC_REPLICAS: (
                roles.appends,
                bool(roles.small) or roles.has_own_least or is_mixed,
            ),
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

    def _by_definition(self) -> list[CheckResult]:
        """Of the checks that read nothing but what is few."""
        given = [*self._begun, *self._only_few.few]
        return [
            check.judge(given)
            for check in CHECKS.values()
            if check.per_partition and not check.reads & BULK
        ]


def _is_in_doubt(result: CheckResult) -> bool:
    """Or was, if the definition was asked for it."""
    check = CHECKS[result.invariant]
    return bool(check.reads & BULK or result.violations or result.doubts)
