"""Is the trace whole? A judgement on the evidence, not on the system.

A lost line can look like a record without a writer, so a gap makes the run inconclusive. A broker
that was killed leaves a shorter trace without a gap: its lines are written one by one, and its
pending operations count as indefinite.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from fencepost.conformance.verdict import Verdict
from fencepost.spec.trace import TraceEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceHealth:
    """What is missing from the events of a run, one sentence each."""

    gaps: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    ended: bool
    """The harness wrote `RunEnded`."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """All reasons not to rely on the trace."""
        unfinished = () if self.ended else ("The run has no RunEnded: it was cut short.",)
        return (*self.gaps, *self.repeated, *unfinished)

    @property
    def verdict(self) -> Verdict:
        """`PASS` for a whole trace, `INCONCLUSIVE` otherwise."""
        return Verdict.INCONCLUSIVE if self.doubts else Verdict.PASS


def trace_health(events: Iterable[TraceEvent]) -> TraceHealth:
    """Whether `seq` is dense from 0 and without repetition on each node, and the run ended."""
    numbers: dict[tuple[str, int], list[int]] = {}
    ended = False
    for event in events:
        numbers.setdefault((event.node, event.incarnation), []).append(event.seq)
        ended = ended or event.action == "RunEnded"
    gaps: list[str] = []
    repeated: list[str] = []
    for (node, incarnation), found in sorted(numbers.items()):
        distinct = set(found)
        missing = max(distinct) + 1 - len(distinct)
        where = f"of {node}, incarnation {incarnation}"
        if missing:
            gaps.append(f"{missing} lines {where} are missing before line {max(distinct)}.")
        if len(distinct) != len(found):
            repeated.append(f"{len(found) - len(distinct)} lines {where} occur twice.")
    return TraceHealth(gaps=tuple(gaps), repeated=tuple(repeated), ended=ended)
