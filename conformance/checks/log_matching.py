"""`LogMatching`: replicas' logs agree below the smaller high watermark (REPL-005).

What any replica ever held below its own high watermark is committed. The check keeps one entry
(value and record epoch) per offset from all replicas and all times; a second, different one is a
violation. The condition does not depend on the order of events of different brokers.
An election outside the ISR that says so begins a new generation (FAIL-002): what a replica appends
under it is compared with nothing older, and all that is below it with what the others have.
Each incarnation of the partition has a log of its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from fencepost.conformance.checks.evidence import Evidence
from fencepost.conformance.checks.generations import generations
from fencepost.conformance.checks.incarnations import split_by_incarnation
from fencepost.conformance.checks.replica_log import Agreed, ReplicaEntry, ReplicaLog, replay
from fencepost.conformance.verdict import CheckResult
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, Invariant

_Committed = dict[int, tuple[ReplicaEntry, TraceEvent]]

_HELD_AS_TOLD = frozenset(
    {
        Action.BECOME_LEADER,
        Action.LEADER_APPEND,
        Action.FOLLOWER_APPEND,
        Action.ADVANCE_HIGH_WATERMARK,
    }
)
"""After these the log is one of their leader epoch; a new follower still has what it had."""


def check(events: Sequence[TraceEvent], agreed: Agreed | None = None) -> CheckResult:
    """Judge the events of one partition; the premise counts entries that two replicas committed.

    `agreed`: of one incarnation and generation, what lines there are that are not given.
    """
    evidence = Evidence(invariant=Invariant.LOG_MATCHING)
    for _, part in split_by_incarnation(events):
        _check_incarnation(part, agreed, evidence)
    return evidence.result()


def _check_incarnation(
    events: Sequence[TraceEvent], agreed: Agreed | None, evidence: Evidence
) -> None:
    compared_before = None if agreed is None else _Compared(agreed)
    logs = generations(events)
    committed: dict[int, _Committed] = defaultdict(dict)
    held: dict[int, int] = {}
    compared: dict[int, int] = {}
    for event, log in replay(events, agreed):
        start = min(compared.get(log.broker_id, 0), log.shortest)
        end = min(log.high_watermark, len(log.entries))
        generation = held.get(log.broker_id, 0)
        if event.action in _HELD_AS_TOLD:
            held[log.broker_id] = logs.of(event.leader_epoch)
        if held.get(log.broker_id, 0) != generation:
            generation, start = held[log.broker_id], 0
        offsets = range(start, end) if agreed is None else agreed.within(start, end)
        differs_at = _compare(event, log, offsets, committed[generation], evidence)
        if compared_before is not None:
            stop = end if differs_at is None else differs_at
            evidence.premise_count += compared_before.by_others(log.broker_id, start, stop)
        compared[log.broker_id] = max(start, end)
        log.shortest = len(log.entries)


def _compare(
    event: TraceEvent,
    log: ReplicaLog,
    offsets: Iterable[int],
    committed: _Committed,
    evidence: Evidence,
) -> int | None:
    """The first offset with another entry, if there is one; what is behind it is not compared."""
    for offset in offsets:
        entry = log.entries[offset]
        if entry is None:
            continue
        other, witness = committed.setdefault(offset, (entry, event))
        evidence.premise_count += witness.broker_id != log.broker_id
        if other != entry:
            message = f"Offset {offset} was committed as {other} and, on broker {log.broker_id},"
            evidence.violated(f"{message} as {entry}.", witness, event)
            return offset
    return None


class _Compared:
    """Offsets in no doubt, by the brokers that committed them, one after the other."""

    def __init__(self, agreed: Agreed) -> None:
        self._doubted = agreed.doubted
        self._broker_id = -1
        self._own: list[tuple[int, int]] = []
        self._others: list[tuple[int, int]] = []
        """Without a gap or an overlap between them, but where something is in doubt."""

    def by_others(self, broker_id: int, start: int, stop: int) -> int:
        """How many from `start` up to `stop` other brokers have committed; now this one has."""
        if broker_id != self._broker_id:
            self._others = list(_without(self._doubted, _joined([*self._others, *self._own])))
            self._broker_id, self._own = broker_id, []
        if start >= stop:
            return 0
        self._own.append((start, stop))
        return sum(max(0, min(end, stop) - max(begin, start)) for begin, end in self._others)


def _joined(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The same offsets, ascending, without overlaps."""
    begin = end = 0
    for start, stop in sorted(ranges):
        if start > end:
            yield begin, end
            begin = start
        end = max(end, stop)
    yield begin, end


def _without(
    others: Sequence[tuple[int, int]], ranges: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """What is in `ranges` and not in `others`; all ascend."""
    for begin, end in ranges:
        for start, stop in others:
            if begin < start < end:
                yield begin, start
            if start < end and stop > begin:
                begin = stop  # noqa: PLW2901 - what is left of the range
        if begin < end:
            yield begin, end
