"""Four checks of replicas' logs and high watermarks over all partitions of a bucket at once.

Columnar twins of `log_matching`, `leader_complete`, `high_watermark_monotonic` and
`one_committer_per_epoch` in `conformance.checks`. They decide where logs only grow, record by
record from offset 0, and all replicas have the same entry at each offset, committed or not: then
what is held, committed or begun is told by lengths alone. Anything else is suspicious.
"""

from typing import NamedTuple

import numpy as np

from fencepost.conformance.checks.replica_log import REPLICA_ACTIONS
from fencepost.reports.kernels.bucket_rows import (
    UNTOLD,
    BucketRows,
    Cells,
    Found,
    Mask,
    Numbers,
    decides,
    heads_of,
    in_order,
    joint,
    running_maximum,
    segments,
)
from fencepost.reports.kernels.claims import Claims, contradicted
from fencepost.spec.vocabulary import NO_EPOCH, Action


class ReplicaLines(NamedTuple):
    """The rows that tell of replicas' logs, those of each replica together and in its order."""

    row: Numbers
    partition: Numbers
    replica: Numbers
    """Partition and broker in one number, ascending."""
    epoch: Numbers
    end: Numbers
    high_watermark: Numbers
    is_leading: Mask
    """A broker becomes leader."""
    is_advance: Mask


class JudgedReplicas(NamedTuple):
    """What is found of each check."""

    entries: Mask
    """Partitions in which logs are cut, have holes, or differ."""
    matching: Found
    complete: Found
    monotonic: Found
    committers: Found


def judge_replicas(rows: BucketRows, replicas: ReplicaLines) -> JudgedReplicas:
    """What is found of the four checks."""
    strange = rows.is_odd | strange_replicas(rows, replicas)
    entries = strange | _entries(rows, replicas)
    return JudgedReplicas(
        entries=entries,
        matching=_matching(rows, replicas, entries),
        complete=_complete(rows, replicas, entries),
        monotonic=_monotonic(rows, replicas, strange),
        committers=_committers(rows, replicas, strange),
    )


def replicas_of(rows: BucketRows, among: Mask | None = None) -> ReplicaLines:
    """The lines of replicas' logs in order; `among`: the rows that count, all without it."""
    told = rows.is_action(*REPLICA_ACTIONS) & (rows.numbers("broker_id") != UNTOLD)
    own = np.flatnonzero(told if among is None else told & among)
    keys = (rows.numbers(key)[own] for key in ("broker_id", "incarnation"))
    row = own[in_order(joint(rows.partition[own], *keys), rows.numbers("seq")[own])]
    return ReplicaLines(
        row=row,
        partition=rows.partition[row],
        replica=joint(rows.partition[row], rows.numbers("broker_id")[row]),
        epoch=rows.known("leader_epoch", NO_EPOCH, row),
        end=rows.numbers("log_end_offset")[row],
        high_watermark=rows.numbers("high_watermark")[row],
        is_leading=rows.is_action(Action.BECOME_LEADER)[row],
        is_advance=rows.is_action(Action.ADVANCE_HIGH_WATERMARK)[row],
    )


def strange_replicas(rows: BucketRows, replicas: ReplicaLines) -> Mask:
    """Partitions with lines that the definitions know, and these kernels do not.

    A broker is one node: else the order of its lines is not that of their numbers.
    """
    row = replicas.row
    kind = rows.is_kind("action")[row] | (rows.is_action("LogRecovered") & rows.is_kind("run"))[row]
    told = np.minimum(replicas.end, replicas.high_watermark) >= 0
    bounded = replicas.high_watermark <= replicas.end
    strange = _of(replicas, ~(kind & told & bounded), rows.count)
    if not decides(joint(rows.numbers("broker_id")[row]), rows.words("node", row)):
        strange[:] = True
    unnamed = rows.is_action(Action.BECOME_LEADER) & (rows.numbers("broker_id") == UNTOLD)
    return strange | rows.where(unnamed)


def _of(replicas: ReplicaLines, lines: Mask, count: int) -> Mask:
    return np.bincount(replicas.partition[np.flatnonzero(lines)], minlength=count) > 0


def _before(replica: Numbers, numbers: Numbers, first: int) -> Numbers:
    """The number of the line before, of the same replica; `first` where there is none."""
    before = np.roll(numbers, 1)
    before[heads_of(replica)] = first
    return before


def _entries(rows: BucketRows, replicas: ReplicaLines) -> Mask:
    """Partitions in which a log is cut or has holes, or two logs differ."""
    row = replicas.row
    grown = grows(rows, replicas, _before(replicas.replica, replicas.end, 0))
    suspicious = _of(replicas, ~grown, rows.count)
    is_replica = np.zeros(len(rows.partition), np.bool_)
    is_replica[row] = True
    told = rows.values
    own = np.flatnonzero(is_replica[told.row])
    item_row = told.row[own]
    partition = rows.partition[item_row]
    offset = rows.known("offset", 0, item_row) + told.position[own]
    cells = Cells(partition, offset, rows.count)
    differs = cells.differs(told.code[own]) | cells.differs(rows.record_epochs(own))
    return suspicious | cells.sparse | differs


def grows(rows: BucketRows, replicas: ReplicaLines, before: Numbers) -> Mask:
    """The lines after which a log is longer by what they append; `before`: its end until then."""
    row = replicas.row
    values, base = rows.lengths("values")[row], rows.numbers("offset")[row]
    follows = (values == 0) | ((base == before) & (rows.lengths("record_epochs")[row] == values))
    return np.asarray((replicas.end == before + values) & follows)


def _matching(rows: BucketRows, replicas: ReplicaLines, suspicious: Mask) -> Found:
    """Of the replicas that committed an offset, the first is compared with no other."""
    committed, greatest = np.zeros(rows.count, np.int64), np.zeros(rows.count, np.int64)
    reach = np.minimum(replicas.high_watermark, replicas.end)
    for start, end in segments(replicas.replica):
        partition, own = replicas.partition[start], int(reach[start:end].max())
        committed[partition] += own
        greatest[partition] = max(greatest[partition], own)
    return Found(committed - greatest, suspicious)


def _complete(rows: BucketRows, replicas: ReplicaLines, entries: Mask) -> Found:
    reach = np.minimum(replicas.high_watermark, replicas.end)
    advance = np.flatnonzero(replicas.is_advance & (reach > 0))
    leading = np.flatnonzero(replicas.is_leading)
    longest = _longest_before(replicas, leading, advance, reach)
    own = replicas.partition[leading]
    premises = np.bincount(own[longest > 0], minlength=rows.count)
    suspicious = entries | (
        np.bincount(own[longest > replicas.end[leading]], minlength=rows.count) > 0
    )
    cuts, known = _truncations(rows, replicas)
    own = replicas.partition[cuts]
    premises += np.bincount(own[known > 0], minlength=rows.count)
    suspicious |= np.bincount(own[replicas.end[cuts] < known], minlength=rows.count) > 0
    return Found(premises, suspicious)


def _longest_before(
    replicas: ReplicaLines, leading: Numbers, commits: Numbers, length: Numbers
) -> Numbers:
    """For each new leader, how far any earlier epoch of its partition committed; 0: not at all."""
    width = int(replicas.epoch.max(initial=0)) + 2
    place = replicas.partition * width + replicas.epoch + 1
    order = np.argsort(place[commits], kind="stable")
    ended, partition = place[commits][order], replicas.partition[commits][order]
    longest = running_maximum(partition, length[commits][order])
    at = np.searchsorted(ended, place[leading], side="left") - 1
    found = np.zeros(len(at), np.int64)
    has_one = at >= 0
    has_one[has_one] = partition[at[has_one]] == replicas.partition[leading][has_one]
    found[has_one] = longest[at[has_one]]
    return found


def _truncations(rows: BucketRows, replicas: ReplicaLines) -> tuple[Numbers, Numbers]:
    """The lines that cut a log, and the greatest high watermark that their process knew before."""
    process = joint(replicas.replica, rows.numbers("incarnation")[replicas.row])
    greatest = running_maximum(process, replicas.high_watermark)
    cuts = np.flatnonzero(rows.is_action(Action.TRUNCATE_LOG)[replicas.row])
    return cuts, _before(process, greatest, 0)[cuts]


def _monotonic(rows: BucketRows, replicas: ReplicaLines, strange: Mask) -> Found:
    term = joint(replicas.replica, *terms(rows, replicas))
    order = np.argsort(term, kind="stable")
    before = np.empty_like(term)
    before[order] = _before(term[order], replicas.high_watermark[order], UNTOLD)
    premises, falls = advances(rows, replicas, before)
    answered = _answers(rows, replicas)
    return Found(premises + answered.premises, strange | falls | answered.suspicious)


def terms(rows: BucketRows, replicas: ReplicaLines) -> tuple[Numbers, ...]:
    """Within what a replica's high watermark never falls: process, incarnation and epoch."""
    row = replicas.row
    return (
        rows.numbers("incarnation")[row],
        rows.known("partition_incarnation", 0, row),
        rows.numbers("leader_epoch")[row],
    )


def advances(rows: BucketRows, replicas: ReplicaLines, before: Numbers) -> Found:
    """What leaders tell of their high watermarks; `before`: what was told in the same term."""
    leads = replicas.is_advance | rows.is_action(Action.LEADER_APPEND)[replicas.row]
    steps = leads & (before != UNTOLD)
    falls = steps & (replicas.high_watermark < before + replicas.is_advance)
    premises = np.bincount(replicas.partition[np.flatnonzero(steps)], minlength=rows.count)
    return Found(premises, _of(replicas, falls, rows.count))


class AnswersOfOne(NamedTuple):
    """What clients were answered by one leader in one epoch."""

    vague: Mask
    """Rows of other answers, which do not tell enough."""
    row: Numbers
    term: Numbers
    """Equal for answers of one leader in one epoch."""


def answers_of_one(rows: BucketRows, leader: Numbers) -> AnswersOfOne:
    """The answers of those that led in but one process; `leader`: the rows that begin it."""
    reads = rows.is_action("Fetch", "ListOffsets") & rows.is_outcome("ok")
    reads &= rows.is_told("high_watermark")
    vague = reads & ((rows.numbers("leader_epoch") < 0) | (rows.numbers("high_watermark") < 0))
    answer = np.flatnonzero(reads & ~vague)
    both = np.concatenate([answer, leader])
    term = joint(
        rows.partition[both],
        rows.numbers("broker_id")[both],
        rows.known("partition_incarnation", 0, both),
        rows.known("leader_epoch", NO_EPOCH, both),
    )
    led = term[len(answer) :]
    starts = joint(led, rows.numbers("incarnation")[leader])
    processes = np.zeros(len(term) + 1, np.int64)
    processes[led] = 0
    _, first = np.unique(starts, return_index=True)
    np.add.at(processes, led[first], 1)
    group = term[: len(answer)]
    is_of_one = np.flatnonzero(processes[group] == 1)
    return AnswersOfOne(vague, answer[is_of_one], group[is_of_one])


def claims_of_answers(rows: BucketRows, answers: AnswersOfOne) -> Claims:
    """What they say of the high watermark."""
    told = rows.numbers("high_watermark")[answers.row]
    came = rows.numbers("mono_ns")[answers.row]
    return Claims(answers.term, rows.invoked(answers.row), came, told, told)


def _answers(rows: BucketRows, replicas: ReplicaLines) -> Found:
    answers = answers_of_one(rows, replicas.row[replicas.is_leading])
    claims = claims_of_answers(rows, answers)
    terms = int(answers.term.max(initial=-1)) + 1
    owner, earliest = np.zeros(terms, np.int64), np.full(terms, claims.ret.max(initial=0))
    owner[answers.term] = rows.partition[answers.row]
    np.minimum.at(earliest, answers.term, claims.ret)
    suspicious = rows.where(answers.vague)
    suspicious[owner[contradicted(claims)]] = True
    later = answers.row[np.flatnonzero(claims.inv > earliest[answers.term])]
    return Found(rows.per_partition_of(later), suspicious)


class Commits(NamedTuple):
    """The rows that tell of a commit in an epoch."""

    unnamed: Mask
    """Rows of acknowledgements that name no epoch."""
    row: Numbers
    epoch: Numbers
    length: Numbers
    """Offsets below it are committed by this."""


def commits_of(rows: BucketRows) -> Commits:
    """The advances of high watermarks, and the acknowledgements with acks=all."""
    acknowledged = rows.is_action("Produce") & rows.is_outcome("ok") & (rows.numbers("acks") == -1)
    unnamed = acknowledged & (rows.numbers("leader_epoch") < 0)
    advance = rows.is_action(Action.ADVANCE_HIGH_WATERMARK)
    commits = np.flatnonzero(advance | (acknowledged & ~unnamed))
    length = rows.known("offset", 0, commits) + rows.lengths("values")[commits]
    of_advance = np.flatnonzero(advance[commits])
    length[of_advance] = rows.known("high_watermark", 0, commits[of_advance])
    return Commits(unnamed, commits, rows.known("leader_epoch", NO_EPOCH, commits), length)


def _committers(rows: BucketRows, replicas: ReplicaLines, strange: Mask) -> Found:
    told = commits_of(rows)
    commits, partition = told.row, rows.partition[told.row]
    term = joint(partition, told.epoch)
    broker = rows.numbers("broker_id")[commits]
    first = np.zeros(len(commits), np.int64)
    first[term] = broker
    two = np.bincount(partition[first[term] != broker], minlength=rows.count) > 0
    leading = np.flatnonzero(replicas.is_leading)
    leaders, begun = replicas.row[leading], replicas.epoch[leading]
    places = np.arange(len(commits) + len(leaders))
    both = replicas._replace(
        partition=np.concatenate([partition, rows.partition[leaders]]),
        epoch=np.concatenate([told.epoch, begun]),
    )
    length = np.concatenate([told.length, np.zeros(len(leaders), np.int64)])
    longest = _longest_before(both, places[len(commits) :], places[: len(commits)], length)
    passed = longest > replicas.end[leading]
    late = np.bincount(rows.partition[leaders[passed]], minlength=rows.count) > 0
    return Found(
        np.bincount(partition, minlength=rows.count),
        strange | two | late | rows.where(told.unnamed),
    )
