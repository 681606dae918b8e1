"""Replicas' logs and high watermarks, piece by piece; what `kernels.replica_logs` finds.

Of each replica its end is carried on, of each term its high watermark, of each process the highest
that it knew; of each epoch how far it committed, and which brokers did.
"""

from collections.abc import Iterable

import numpy as np

from fencepost.reports.hot.carried import Carried, CarriedMaximum, Key, coded
from fencepost.reports.hot.counters import Counters
from fencepost.reports.kernels.bucket_rows import UNTOLD, BucketRows, Numbers
from fencepost.reports.kernels.replica_logs import (
    ReplicaLines,
    advances,
    answers_of_one,
    claims_of_answers,
    commits_of,
    grows,
    strange_replicas,
    terms,
)
from fencepost.spec.vocabulary import Action

ANSWERS = 2
"""Begins the keys of counters of what one leader answered in one epoch."""


class ReplicaPieces:
    """What is known of all replicas after the pieces that were seen, those of a node in order."""

    def __init__(self) -> None:
        self._nodes: dict[int, str] = {}
        self._ends = Carried(first=0)
        self._high_watermarks = Carried(first=UNTOLD)
        self._reached = CarriedMaximum(first=0)
        self._known = CarriedMaximum(first=0)
        self._advanced = CarriedMaximum(first=0)
        self._leaders: list[tuple[int, int]] = []
        self._cuts = 0
        self.steps = 0
        """High watermarks of leaders that have one before them."""
        self.is_strange = False
        self.is_cut = False
        """Or has holes, of some replica's log."""
        self.is_misshapen = False
        """Some append has not one epoch for each record."""
        self.holes: list[tuple[int, int]] = []
        """Offsets, from one up to another, of which some log may have nothing."""
        self.falls = False
        """Some leader's high watermark does."""
        self.gives_up = False
        """Some replica what it knows to be committed."""

    def see(self, rows: BucketRows, replicas: ReplicaLines) -> None:
        """The lines of one piece."""
        broker = rows.numbers("broker_id")[replicas.row]
        self._see_nodes(rows, replicas, broker)
        before = self._ends.before([broker], replicas.end)
        grown = grows(rows, replicas, before)
        if not grown.all():
            self.is_cut = True
            self._see_holes(rows, replicas, before, np.flatnonzero(~grown))
        term = [broker, *terms(rows, replicas)]
        before = self._high_watermarks.before(term, replicas.high_watermark)
        stepped = advances(rows, replicas, before)
        self.steps += int(stepped.premises.sum())
        self.falls |= bool(stepped.suspicious.any())
        self._see_commits(rows, replicas, broker)

    def _see_holes(
        self, rows: BucketRows, replicas: ReplicaLines, before: Numbers, own: Numbers
    ) -> None:
        """`own`: the lines after which a log is not longer by what they append."""
        row = replicas.row[own]
        values = rows.lengths("values")[row]
        self.is_misshapen |= bool((values != rows.lengths("record_epochs")[row]).any())
        base = np.where(values > 0, rows.known("offset", 0, row), before[own])
        end = replicas.end[own]
        for starts, ends in ((before[own], base), (base + values, end)):
            is_hole = starts < ends
            told = starts[is_hole].tolist(), ends[is_hole].tolist()
            self.holes.extend(zip(*told, strict=True))

    def _see_nodes(self, rows: BucketRows, replicas: ReplicaLines, broker: Numbers) -> None:
        self.is_strange |= bool(strange_replicas(rows, replicas).any())
        names = rows.word_list("node")
        for broker_id, code in coded([broker, rows.words("node", replicas.row)])[1]:
            first = self._nodes.setdefault(broker_id, names[code])
            self.is_strange |= first != names[code]

    def _see_commits(self, rows: BucketRows, replicas: ReplicaLines, broker: Numbers) -> None:
        process = [broker, rows.numbers("incarnation")[replicas.row]]
        known = self._known.before(process, replicas.high_watermark)
        cuts = rows.is_action(Action.TRUNCATE_LOG)[replicas.row] & (known > 0)
        self._cuts += int(cuts.sum())
        self.gives_up |= bool((replicas.end < known)[cuts].any())
        reach = np.minimum(replicas.high_watermark, replicas.end)
        self._reached.before([broker], reach)
        advance, leads = replicas.is_advance, replicas.is_leading
        self._advanced.before([replicas.epoch[advance]], reach[advance])
        told = replicas.epoch[leads].tolist(), replicas.end[leads].tolist()
        self._leaders.extend(zip(*told, strict=True))

    def join(self, other: "ReplicaPieces") -> None:
        """What the other one has seen of other brokers is seen here, too."""
        self.is_strange |= other.is_strange or bool(self._nodes.keys() & other._nodes.keys())
        self._nodes |= other._nodes
        self._ends.join(other._ends)
        self._high_watermarks.join(other._high_watermarks)
        self._reached.join(other._reached)
        self._known.join(other._known)
        self._advanced.join(other._advanced)
        self._leaders.extend(other._leaders)
        self._cuts += other._cuts
        self.steps += other.steps
        self.is_cut |= other.is_cut
        self.is_misshapen |= other.is_misshapen
        self.holes.extend(other.holes)
        self.falls |= other.falls
        self.gives_up |= other.gives_up

    @property
    def compared(self) -> int:
        """Entries that a replica committed after another one: the premises of `LogMatching`."""
        reached = [reach for _, reach in self._reached.of()]
        return sum(reached) - max(reached, default=0)

    @property
    def complete(self) -> tuple[int, bool]:
        """The premises of `LeaderComplete`, and whether a leader lacks something."""
        longest = longest_before(self._leaders, self._advanced.of())
        lacks = any(most > end for most, (_, end) in zip(longest, self._leaders, strict=True))
        return self._cuts + sum(most > 0 for most in longest), lacks or self.gives_up

    @property
    def short_leaders(self) -> list[int]:
        """Where the logs of leaders end that lack something."""
        longest = longest_before(self._leaders, self._advanced.of())
        return [end for most, (_, end) in zip(longest, self._leaders, strict=True) if most > end]

    @property
    def ends(self) -> list[int]:
        """Where the log of each replica ends."""
        return [end for _, end in self._ends.of()]

    @property
    def leaders(self) -> list[tuple[int, int]]:
        """The leader epoch of each leader, and where its log ended when it began."""
        return self._leaders


def longest_before(leaders: Iterable[Key], committed: Iterable[tuple[Key, int]]) -> list[int]:
    """For each leader, how far any earlier epoch committed; 0: not at all."""
    told = [(epoch, length) for (epoch,), length in committed]
    return [
        max((length for before, length in told if before < epoch), default=0)
        for epoch, _ in leaders
    ]


class Committers:
    """Which brokers committed in each epoch, and how far."""

    def __init__(self) -> None:
        self._brokers: dict[int, int] = {}
        self._lengths = CarriedMaximum(first=0)
        self.premises = 0
        self.is_vague = False
        """Some acknowledgement names no epoch."""
        self._is_wrong = False

    def see(self, rows: BucketRows) -> None:
        """The lines of one piece."""
        told = commits_of(rows)
        self.premises += len(told.row)
        self.is_vague |= bool(told.unnamed.any())
        for epoch, broker in coded([told.epoch, rows.numbers("broker_id")[told.row]])[1]:
            self._is_wrong |= self._brokers.setdefault(epoch, broker) != broker
        self._lengths.before([told.epoch], told.length)

    def join(self, other: "Committers") -> None:
        """What the other one has seen is seen here, too."""
        self.premises += other.premises
        self.is_vague |= other.is_vague
        self._is_wrong |= other._is_wrong
        for epoch, broker in other._brokers.items():
            self._is_wrong |= self._brokers.setdefault(epoch, broker) != broker
        self._lengths.join(other._lengths)

    def are_wrong(self, leaders: list[tuple[int, int]]) -> bool:
        """Two committed in one epoch, or an earlier epoch behind where a leader's began."""
        longest = longest_before(leaders, self._lengths.of())
        return (
            self.is_vague
            or self._is_wrong
            or any(most > end for most, (_, end) in zip(longest, leaders, strict=True))
        )


class Answers:
    """What clients were told of high watermarks by one leader in one epoch."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._earliest: dict[Key, int] = {}
        self._open: dict[Key, Numbers] = {}
        self._later = 0
        self.is_vague = False

    def see(self, rows: BucketRows) -> None:
        """The lines of one piece; those of all leaders are among its rows."""
        leads = rows.is_action(Action.BECOME_LEADER) & (rows.numbers("broker_id") != UNTOLD)
        answers = answers_of_one(rows, np.flatnonzero(leads))
        self.is_vague |= bool(answers.vague.any())
        keys = (
            np.full(len(answers.row), ANSWERS),
            rows.numbers("broker_id")[answers.row],
            rows.known("partition_incarnation", 0, answers.row),
            rows.numbers("leader_epoch")[answers.row],
        )
        claims = claims_of_answers(rows, answers)
        self._counters.see(claims, keys)
        group, names = coded(keys)
        for code, name in enumerate(names):
            own = group == code
            self._count(name, claims.inv[own], int(claims.ret[own].min()))

    def join(self, other: "Answers") -> None:
        """What the other one has seen is seen here, too, but for its counters."""
        self.is_vague |= other.is_vague
        self._later += other._later
        for name, earliest in other._earliest.items():
            self._count(name, other._open[name], earliest)

    def _count(self, name: Key, inv: Numbers, came: int) -> None:
        """What was asked before any answer that is known so far is counted when all are.

        `came`: when the first of these answers did.
        """
        earliest = min(came, self._earliest.get(name, came))
        told = np.concatenate([self._open.get(name, inv[:0]), inv])
        is_later = told > earliest
        self._later += int(is_later.sum())
        self._earliest[name], self._open[name] = earliest, told[~is_later]

    @property
    def premises(self) -> int:
        """Answers that were asked for after another one had come."""
        return self._later
