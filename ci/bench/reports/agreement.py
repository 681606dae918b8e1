"""Kernels and definitions find the same: `python -m fencepost.ci.bench.reports.agreement [NAME…]`.

Of every trace that the simulator leaves of something wrong: one run of each mutant, the steps of
each counterexample, and each story. A disagreement is a wrong kernel, whatever the run shows. Each
is judged in pieces of a few lines, too, as a partition is that is too long for a task.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from fencepost.ci.bench.golden_master import STORIES
from fencepost.ci.screens.console import say
from fencepost.conformance.checks.ordering import partition_of_event, split_by_partition
from fencepost.conformance.checks.registry import CHECKS, RUN_STARTED, judge, run_check
from fencepost.conformance.verdict import CheckResult, merge
from fencepost.conformance.whitebox.simulate import REFERENCE_TARGET, load
from fencepost.reports.hot.judge import HotFound, RunFacts, judge_partition
from fencepost.reports.kernels import two_stages
from fencepost.reports.kernels.bucket_rows import KERNEL_COLUMNS, BucketRows, Numbers
from fencepost.reports.kernels.two_stages import judge_bucket
from fencepost.reports.tables.buckets import BULK, SplitRows
from fencepost.reports.tables.schema import encoded, to_table
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Invariant

PER_PARTITION = [check for check in CHECKS.values() if check.per_partition]


def rows_of(events: Sequence[TraceEvent]) -> BucketRows:
    """The events about partitions, as a bucket has them."""
    own = [event for event in events if partition_of_event(event)]
    few, bulk = (_stored(own, is_bulk=is_bulk) for is_bulk in (False, True))
    told = [name for name in bulk.column_names if name in KERNEL_COLUMNS]
    rest = bulk.drop_columns(told)
    return BucketRows(SplitRows(few, bulk.select(told), lambda rows: rest.filter(pa.array(rows))))


def _stored(events: Sequence[TraceEvent], *, is_bulk: bool) -> pa.Table:
    return encoded(to_table(event for event in events if (event.action in BULK) is is_bulk))


class CutPieces:
    """The events about one partition in pieces of so many lines."""

    def __init__(self, events: Sequence[TraceEvent], size: int) -> None:
        self.few = _stored(events, is_bulk=False)
        self.items = sum(len(event.values or ()) for event in events)
        self._bulk = [event for event in events if event.action in BULK]
        self._size = size
        self._order: dict[str, list[int]] = {}
        for at in sorted(range(len(self._bulk)), key=self._place):
            self._order.setdefault(self._bulk[at].node, []).append(at)

    def _place(self, at: int) -> tuple[int, int]:
        return self._bulk[at].incarnation, self._bulk[at].seq

    @property
    def nodes(self) -> list[str]:
        """Each is a part."""
        return sorted(self._order)

    def of_node(self, name: str) -> Iterator[pa.Table]:
        """All of its lines but the few."""
        own = [self._bulk[at] for at in self._order[name]]
        for begin in range(0, len(own), self._size):
            rows = _stored(own[begin : begin + self._size], is_bulk=True)
            yield rows.select([name for name in rows.column_names if name in KERNEL_COLUMNS])

    def lines(self) -> Iterator[pa.Table]:
        """Those of all nodes."""
        for name in self.nodes:
            yield from self.of_node(name)

    def whole(self, numbers: Numbers) -> Iterator[tuple[Numbers, pa.Table]]:
        """In the order in which the events were given."""
        order = np.array([at for name in self.nodes for at in self._order[name]], np.int64)
        chosen = numbers[np.argsort(order[numbers])]
        yield chosen, _stored([self._bulk[at] for at in order[chosen]], is_bulk=True)


def judged_in_pieces(
    events: Sequence[TraceEvent], begun: Sequence[TraceEvent], size: int, span_ns: tuple[int, int]
) -> HotFound | None:
    """What is found of the events about one partition in pieces of so many lines."""
    with TemporaryDirectory() as scratch:
        run = RunFacts(tuple(begun), 0, span_ns)
        return judge_partition(CutPieces(events, size), run, Path(scratch))


def in_pieces(events: Sequence[TraceEvent], size: int) -> dict[Invariant, CheckResult]:
    """What pieces of so many lines and, where these do not decide, the definitions find."""
    begun = [event for event in events if event.action in RUN_STARTED]
    parts: dict[Invariant, list[CheckResult]] = {check.invariant: [] for check in PER_PARTITION}
    for own in split_by_partition(events).values():
        found = judged_in_pieces(own, begun, size, (0, 1))
        decided = {result.invariant: result for result in found.results} if found else {}
        for check in PER_PARTITION:
            result = check.judge([*begun, *own]) if found is None else decided[check.invariant]
            parts[check.invariant].append(result)
    return {invariant: merge(invariant, found) for invariant, found in parts.items()}


def in_two_stages(events: Sequence[TraceEvent]) -> dict[Invariant, CheckResult]:
    """What kernels and definitions together find, however few events there are."""
    begun = [event for event in events if event.action in RUN_STARTED]
    two_stages.FEW_ROWS, few_rows = 1, two_stages.FEW_ROWS
    parts: dict[Invariant, list[CheckResult]] = {check.invariant: [] for check in PER_PARTITION}
    for part in judge_bucket(rows_of(events), begun):
        for result in part.results:
            parts[result.invariant].append(result)
    two_stages.FEW_ROWS = few_rows
    return {invariant: merge(invariant, found) for invariant, found in parts.items()}


LINES_OF_A_PIECE = 25
WAYS: Mapping[str, Callable[[Sequence[TraceEvent]], Mapping[Invariant, CheckResult]]] = {
    "the kernels": in_two_stages,
    "the pieces": lambda events: in_pieces(events, LINES_OF_A_PIECE),
}


def by_definition(events: Sequence[TraceEvent]) -> dict[Invariant, CheckResult]:
    """What the definitions find."""
    return {check.invariant: run_check(check, events) for check in PER_PARTITION}


def traces(names: Sequence[str]) -> Iterator[tuple[str, Sequence[TraceEvent]]]:
    """Name and events of each run that is compared, of those with these names or of all."""
    simulator = load(REFERENCE_TARGET)
    for record in simulator.mutants():
        name = str(record["mutant"])
        if not names or name in names:
            yield name, _run_of(record)
        if record["shows"] and (not names or name in names):
            yield f"counterexample {name}", simulator.replay(name, judge)["events"]
    for path in sorted(path for folder in STORIES for path in folder.glob("*.yaml")):
        if not names or path.stem in names:
            played = simulator.play(path.read_text(encoding="utf-8"), judge)
            for number, events in enumerate(played["traces"]):
                yield f"story {path.stem}, trace {number}", events


def _run_of(record: Mapping[str, object]) -> Sequence[TraceEvent]:
    seed, level = record.get("seed"), record.get("level")
    return load(REFERENCE_TARGET).simulate(
        seed if isinstance(seed, int) else 0,
        level=level if isinstance(level, int) else 0,
        mutant=str(record["mutant"]),
    )


def main(names: Sequence[str]) -> int:
    """Say what was compared; 1 when anything differs."""
    compared = violated = 0
    differing = 0
    for name, events in traces(names):
        defined = by_definition(events)
        for way, judged in WAYS.items():
            found = judged(events)
            for one in (one for one in defined if defined[one] != found[one]):
                differing += 1
                say(f"{way} find something else: {one} of {name}")
        violated += any(result.violations for result in defined.values())
        compared += 1
    say(f"{compared} runs compared, {violated} with a violation, {differing} disagreements")
    return 1 if differing or not compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
