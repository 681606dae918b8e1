"""One run of TLC on generated data, and the markers that the replay modules print."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from fencepost.spec.replay.fields import Fields, TlaText
from fencepost.spec.replay.observed import ObservedProjection
from fencepost.spec.replay.pauses import STRIDE
from fencepost.spec.replay.projection import Event, Projection
from fencepost.spec.replay.recorded_run import ReplayError
from fencepost.spec.replay.tla_text import (
    MODULE,
    TlaPartition,
    TlaRun,
    config,
    missing_rules,
    module,
    observed_config,
    zookeeper_config,
)
from fencepost.spec.replay.zookeeper import ZooKeeperProjection
from fencepost.spec.tlc.java.installation import EXPECTED_ERRORS, Tlc, find_tlc
from fencepost.spec.tlc.java.machines import Machines, given_or_own
from fencepost.spec.tlc.java.output import conclude, read_messages
from fencepost.spec.tlc.models import ModelVerdict
from fencepost.spec.tlc.modules import modules_read
from fencepost.spec.tlc.mutants import Mutated, mutated
from fencepost.spec.tlc.values import TlaValueError, Value, parse_value

MODULES = Path(__file__).parents[1] / "tla"
HEAP_MB = 2048
"""For each `EVENTS_OF_A_LONG_RUN` that are begun: 152,000 fit, 334,000 do not."""
EVENTS_OF_A_LONG_RUN = 200_000
"""From here on an optimising compiler pays: 50,000 take 9 s of processor without, 16 s with it."""

BUDGET_S = 300.0
"""Enough for half a million events on an idle machine; TLC is ended after it."""
BUDGET_OF_EVENT_S = 0.002
"""A long run has at least that for each of its events, five times what one takes."""

SEGMENT_STRIDES = 128
"""Of a long run, 65,536 events: they take 1.3 GB, for TLC and its parser keep 12 kB for each that
they are given."""

CHECK = ("TraceReplication", "TraceNext", "Watch")
EXPLAIN = ("TraceExplain", "ExplainNext", "Explain")
REAL = "TraceReal"
ZOOKEEPER = "TraceZk"
OBSERVED = "TraceObserved"
_MARKERS = ("accepted", "reached", "violated", "stuck", "unreal")
_BUDGET = re.compile(r'Spend\("(\w+)"\)')


@dataclass(frozen=True, slots=True)
class Marker:
    """What a replay module printed: its name and the values after it."""

    name: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSegment:
    """Some events of a partition that follow each other, and the state before the first.

    That state is what TLC told when the segment before it ended: nothing is assumed.
    """

    whole: Projection
    pauses: tuple[Fields, ...]
    """Of the whole."""
    strides: int
    """How long a segment is, from pause to pause."""
    number: int = 0
    begins: TlaText | None = None
    """What TLC told of the state; the first begins in the one that the spec begins in."""

    @classmethod
    def first(cls, whole: Projection) -> Self:
        """The first one; of a whole that is no longer than one the only one."""
        return cls(whole=whole, pauses=whole.pauses, strides=SEGMENT_STRIDES)

    def then(self, state: str) -> Self:
        """The one after it, which begins in `state`, a value in TLA+."""
        return replace(self, number=self.number + 1, begins=TlaText(state))

    @property
    def begin(self) -> int:
        """How many events of the whole are before it."""
        return self.number * self.strides * self.whole.stride

    @property
    def end(self) -> int:
        """How many there are with its own."""
        return min(self.begin + self.strides * self.whole.stride, len(self.whole.events))

    @property
    def is_last(self) -> bool:
        """No events come after it."""
        return self.end == len(self.whole.events)

    @property
    def events(self) -> tuple[Event, ...]:
        """Its own."""
        return self.whole.events[self.begin : self.end]

    @property
    def level(self) -> int:
        """That of the whole."""
        return self.whole.level

    @property
    def brokers(self) -> frozenset[int]:
        """Those of the whole."""
        return self.whole.brokers

    @property
    def facts(self) -> Fields:
        """What the replay knows beside the events."""
        own = self.pauses[self.number * self.strides :][: self.strides]
        begins: Fields = {} if self.begins is None else {"begins": self.begins}
        stride = self.whole.stride
        return {"stride": stride, "pauses": own, "is_last": self.is_last, **begins}


def run_tlc(
    runs: Sequence[TlaPartition],
    machines: Machines | None = None,
    *,
    explain: bool = False,
    budget_s: float | None = None,
) -> list[Marker]:
    """Replay `runs`, of one level, and return the markers; raises `ReplayError`.

    A segment that does not begin as the spec does is replayed alone.
    """
    root, next_state, constraint = EXPLAIN if explain else CHECK
    over = _without_rules(root, runs[0].level)
    text = _config(runs, over, next_state, constraint)
    return _run(root, over, text, runs, machines, budget_s)


def _config(runs: Sequence[TlaPartition], over: Mutated, next_state: str, constraint: str) -> str:
    brokers = set[int]().union(*(run.brokers for run in runs))
    init = "TraceInit" if runs[0].begins is None else "ResumedInit"
    return config(
        runs[0].level, brokers, over, init=init, next_state=next_state, constraint=constraint
    )


def is_long(projection: Projection) -> bool:
    """More events than a segment has."""
    return len(projection.events) > SEGMENT_STRIDES * STRIDE


def replay_in_segments(
    segment: RunSegment, machines: Machines | None = None
) -> tuple[RunSegment, list[Marker]]:
    """The last segment from `segment` on that TLC was given, and its markers.

    The replay stopped in it, or came to the end of the whole. Raises `ReplayError`.
    """
    while True:
        markers = run_tlc([segment], machines)
        if not (states := list(_reached(markers))):
            return segment, markers
        segment = segment.then(states[0])


def _reached(markers: list[Marker]) -> Iterator[str]:
    return (str(marker.values[1]) for marker in markers if marker.name == "reached")


def run_real_tlc(runs: Sequence[Projection], machines: Machines | None = None) -> list[Marker]:
    """Replay `runs` and ask of each step whether it is one of `Replication`.

    A step that is none has the marker `unreal`, with its run, its event and its action. Records
    stay in the state, since a pause is no step of `Replication`. Raises `ReplayError`.
    """
    runs = [replace(run, stride=len(run.events) + 1) for run in runs]
    _, next_state, constraint = CHECK
    over = _without_rules(REAL, runs[0].level)
    text = _config(runs, over, next_state, constraint)
    return _run(REAL, over, f"{text}ACTION_CONSTRAINT Real\n", runs, machines)


def run_zookeeper_tlc(
    runs: Sequence[ZooKeeperProjection], machines: Machines | None = None
) -> list[Marker]:
    """Replay ZooKeeper in `runs` and return the markers; raises `ReplayError`."""
    over = mutated(MODULES / f"{ZOOKEEPER}.tla", ())
    return _run(ZOOKEEPER, over, zookeeper_config(), runs, machines)


def run_observed_tlc(
    runs: Sequence[ObservedProjection], machines: Machines | None = None
) -> list[Marker]:
    """Replay what was observed of partitions and return the markers; raises `ReplayError`."""
    brokers = set[int]().union(*(run.brokers for run in runs))
    over = mutated(MODULES / f"{OBSERVED}.tla", ())
    return _run(OBSERVED, over, observed_config(brokers), runs, machines)


def _without_rules(root: str, level: int) -> Mutated:
    """The root module without the rules that the level does not have."""
    return mutated(MODULES / f"{root}.tla", missing_rules(level))


def _run(
    root: str,
    over: Mutated,
    config_text: str,
    runs: Sequence[TlaRun],
    machines: Machines | None,
    budget_s: float | None = None,
) -> list[Marker]:
    events = sum(len(run.events) for run in runs)
    is_short = events <= EVENTS_OF_A_LONG_RUN
    heap_mb = HEAP_MB * max(1, -(-events // EVENTS_OF_A_LONG_RUN))
    tlc = _found_tlc()
    with (
        given_or_own(machines) as used,
        used.one(tlc, heap_mb=heap_mb, is_short=is_short) as java,
    ):
        directory = java.folder
        limits = _copy_modules(MODULES / f"{root}.tla", directory)
        (directory / f"{MODULE}.tla").write_text(module(runs, limits))
        for name, text in over.texts.items():
            (directory / name).write_text(text)
        (directory / f"{over.root}.cfg").write_text(config_text)
        budget_s = budget_s or max(BUDGET_S, events * BUDGET_OF_EVENT_S)
        lines = list(java.run(tlc.arguments(over.root), budget_s))
        try:
            return _markers(lines, timed_out=java.time_is_up.is_set())
        except ReplayError:
            java.is_spent = True
            raise


def _copy_modules(root: Path, directory: Path) -> list[str]:
    """The modules are there; returns what their budgets are called."""
    limits: set[str] = set()
    for path in modules_read(root):
        text = path.read_text()
        (directory / path.name).write_text(text)
        limits.update(_BUDGET.findall(text))
    return sorted(limits)


def _found_tlc() -> Tlc:
    try:
        return find_tlc()
    except EXPECTED_ERRORS as error:
        raise ReplayError(str(error)) from error


def _markers(lines: Iterable[str], *, timed_out: bool) -> list[Marker]:
    messages = list(read_messages(lines))
    finding = conclude(messages, timed_out=timed_out)
    if finding.verdict is ModelVerdict.NOT_EXHAUSTED:
        raise ReplayError("TLC was ended before it had replayed the run: its time was up")
    if finding.verdict is not ModelVerdict.HOLDS:
        raise ReplayError(f"TLC could not replay the run: {finding.error or finding.violated}")
    loose = "\n".join(message.text for message in messages if message.code == 0)
    return [_marker(text) for text in _values(loose)]


def _values(text: str) -> list[str]:
    """The printed tuples that begin with the name of a marker; TLC wraps long ones."""
    starts = [
        m.start() for m in re.finditer(rf'^<<\s*"(?:{"|".join(_MARKERS)})"', text, re.MULTILINE)
    ]
    ends = [*starts[1:], len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=False)]


def _marker(text: str) -> Marker:
    value = _leading_value(text)
    assert isinstance(value, list)
    assert isinstance(value[0], str)
    return Marker(value[0], tuple(value[1:]))


def _leading_value(text: str) -> Value:
    """The value with which `text` begins; what TLC printed after it is cut off line by line."""
    lines = text.splitlines()
    for end in range(1, len(lines) + 1):
        try:
            return parse_value(" ".join(lines[:end]))
        except TlaValueError:
            continue
    raise ReplayError(f"TLC printed something that is no value: {text[:80]!r}")
