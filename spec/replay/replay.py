"""Replays ZooKeeper and each partition of recorded runs, and tells what was not allowed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import groupby
from pathlib import Path
from time import monotonic
from typing import TypeVar

from fencepost.spec.replay.assignments import partitions_of_run
from fencepost.spec.replay.coverage import NOTHING, Coverage, coverage
from fencepost.spec.replay.observed import ObservedProjection, is_observed, project_observed
from fencepost.spec.replay.ordering import total_order
from fencepost.spec.replay.projection import Event, Projection, project_all
from fencepost.spec.replay.recorded_run import (
    RecordedRun,
    ReplayError,
    TraceFileLine,
    find_runs,
    read_run,
)
from fencepost.spec.replay.tlc_run import (
    Marker,
    RunSegment,
    is_long,
    replay_in_segments,
    run_observed_tlc,
    run_tlc,
    run_zookeeper_tlc,
)
from fencepost.spec.replay.zookeeper import (
    ZooKeeperProjection,
    project_zookeeper,
    with_trace_numbers,
)
from fencepost.spec.tlc.java.machines import Machines
from fencepost.spec.tlc.java.process import side_by_side
from fencepost.spec.tlc.values import Value
from fencepost.spec.trace import TRACES, encode

EXPLAIN_S = 60.0
"""A verdict stands without its explanation."""

WORKERS = 2
"""Runs of TLC at a time."""

EVENTS_THAT_PAY = 4_000
"""Fewer are replayed by one run of TLC: another start of it costs as much as they do."""

ZOOKEEPER = "ZooKeeper"
"""In the place of a partition."""


OF_PARTITIONS = ("elections", "roles", "appends", "high_watermarks", "isr_changes")
"""What a replay of a partition needs to know, as `RunStarted` names it."""
OF_ZOOKEEPER = ("state_writes",)
"""The same of ZooKeeper."""
SEEN_FROM_OUTSIDE = "; `TraceObserved` replays what is seen of each from outside"


_Partition = TypeVar("_Partition", Projection, ObservedProjection)


class Replayed(StrEnum):
    """How the replay of ZooKeeper or of one partition of one run ended."""

    ACCEPTED = "accepted"
    """The run is a behaviour of the spec."""
    REJECTED = "rejected"
    """The spec does not allow one of its events."""
    VIOLATED = "violated"
    """The spec allows them, and an invariant does not hold."""
    UNREADABLE = "unreadable"
    """There is nothing to replay, or no order of it."""
    NOT_OBSERVABLE = "not observable"
    """The implementation does not show all the events that the spec speaks of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Where a replay stopped."""

    event: Event
    index: int
    """Of the event, from 1."""
    state: Value
    """The state of the spec before a rejected event, or after the one that broke an invariant."""
    enabled: tuple[tuple[str, int], ...]
    """Actions of the spec that could have come, each with its broker or ZooKeeper session; 0 for
    neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayResult:
    """What ZooKeeper or one partition of one run gave."""

    run: str
    partition: str = ""
    verdict: Replayed
    events: int = 0
    violated: tuple[str, ...] = ()
    """Invariants; of an accepted run those that its level does not promise and broke."""
    explanation: Explanation | None = None
    why: str = ""
    """One sentence, unless there is nothing to say of a run that was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayReport:
    """What several runs gave."""

    results: tuple[ReplayResult, ...]
    seconds: float
    coverage: Coverage = NOTHING
    """Of the runs of which all partitions were replayed."""

    @property
    def events(self) -> int:
        """All events that were to be replayed."""
        return sum(result.events for result in self.results)


def replay_folder(folder: Path) -> ReplayReport:
    """Replay every run at or below `folder`; raises `ReplayError` when there is none."""
    find_runs(folder)
    return replay((), folder)


def replay(
    runs: Iterable[RecordedRun] = (),
    folder: Path | None = None,
    *,
    partitions_max: int | None = None,
    named_below: Path | None = None,
) -> ReplayReport:
    """Replay `runs` and those at or below `folder`, of each at most so many partitions.

    Those of `folder` have their paths as names, below `named_below` if that is given.
    """
    started = monotonic()
    results: list[ReplayResult] = []
    projections: list[Projection] = []
    zookeepers: list[ZooKeeperProjection] = []
    observed: list[ObservedProjection] = []
    covered = Coverage()
    for name, read in _sources(runs, folder, named_below or Path()):
        try:
            run = read()
            results.extend(_unobserved(run))
            lines = total_order(run)
            if not run.detail.lacks(OF_PARTITIONS):
                of_run = _projections(run, lines, partitions_max)
                projections.extend(of_run)
                covered += coverage(lines, of_run) if partitions_max is None else Coverage()
            elif is_observed(run):
                observed.extend(_observed(run, lines)[:partitions_max])
            if not run.detail.lacks(OF_ZOOKEEPER):
                zookeepers.append(project_zookeeper(run.name, lines))
        except ReplayError as error:
            results.append(_unreadable(name, error))
    results.extend(_replay_all(zookeepers, observed, projections))
    results.sort(key=lambda result: (result.run, result.partition))
    return ReplayReport(results=tuple(results), seconds=monotonic() - started, coverage=covered)


def _sources(
    runs: Iterable[RecordedRun], folder: Path | None, named_below: Path
) -> Iterator[tuple[str, Callable[[], RecordedRun]]]:
    """Name of each run and how to get it."""
    for run in runs:
        yield run.name, partial(_itself, run)
    if folder is not None and folder.is_dir() and any(folder.rglob(TRACES)):
        for path in find_runs(folder):
            name = path.relative_to(named_below) if path.is_relative_to(named_below) else path
            yield str(name), partial(read_run, path, str(name))


def _itself(run: RecordedRun) -> RecordedRun:
    return run


def _unreadable(name: str, error: ReplayError, partition: str = "") -> ReplayResult:
    return ReplayResult(run=name, partition=partition, verdict=Replayed.UNREADABLE, why=str(error))


def _unobserved(run: RecordedRun) -> Iterator[ReplayResult]:
    """What of the run cannot be replayed, for its implementation does not show enough."""
    for subject, kinds in (("each partition", OF_PARTITIONS), (ZOOKEEPER, OF_ZOOKEEPER)):
        if lacking := run.detail.lacks(kinds):
            yield ReplayResult(
                run=run.name,
                partition=subject,
                verdict=Replayed.NOT_OBSERVABLE,
                why=f"the spec needs every one of: {', '.join(lacking)}"
                + (SEEN_FROM_OUTSIDE if kinds is OF_PARTITIONS and is_observed(run) else ""),
            )


def _pack(projection: Projection) -> tuple[int, list[int]]:
    """What one run of TLC has in common."""
    return projection.level, sorted(projection.brokers)


def _projections(
    run: RecordedRun, lines: list[TraceFileLine], partitions_max: int | None
) -> list[Projection]:
    partitions = partitions_of_run(lines)
    if not partitions:
        raise ReplayError(f"{run.name} has no topic: nothing can be replayed")
    return [
        projection
        for key, assigned in list(partitions.items())[:partitions_max]
        for projection in project_all(run.name, run.detail.level, lines, key, assigned)
    ]


def _observed(run: RecordedRun, lines: list[TraceFileLine]) -> list[ObservedProjection]:
    """None where the run has no topic, or one that cannot be read, as a story may have it."""
    try:
        return project_observed(run, lines)
    except ReplayError:
        return []


def _replay_all(
    zookeepers: list[ZooKeeperProjection],
    observed: list[ObservedProjection],
    projections: list[Projection],
) -> list[ReplayResult]:
    long = [projection for projection in projections if is_long(projection)]
    short = [projection for projection in projections if not is_long(projection)]
    with Machines() as machines:
        tasks = [partial(_replay_or_fail, _replay_long, [one], machines) for one in long]
        tasks.extend(
            partial(_replay_or_fail, _replay, pack, machines)
            for _, group in groupby(sorted(short, key=_pack), key=_pack)
            for pack in _shares(list(group))
        )
        tasks.extend(
            partial(_replay_observed_or_fail, pack, machines) for pack in _shares(observed)
        )
        if zookeepers:
            tasks.append(partial(_replay_zookeeper_or_fail, zookeepers, machines))
        told = side_by_side(tasks, workers=WORKERS, stop=machines.stop)
        return [result for results in told for result in results]


def _shares(pack: list[_Partition]) -> list[list[_Partition]]:
    """The pack, or as many shares of it as run side by side when that pays: about the same work."""
    if pack and sum(len(one.events) for one in pack) < EVENTS_THAT_PAY:
        return [pack]
    shares: list[list[_Partition]] = [[] for _ in range(WORKERS)]
    for one in sorted(pack, key=lambda one: -len(one.events)):
        min(shares, key=lambda share: sum(len(other.events) for other in share)).append(one)
    return [share for share in shares if share]


def _replay_or_fail(
    replay_pack: Callable[[Sequence[Projection], Machines], list[ReplayResult]],
    pack: Sequence[Projection],
    machines: Machines,
) -> list[ReplayResult]:
    try:
        return replay_pack(pack, machines)
    except ReplayError as error:
        return [_unreadable(one.run, error, one.subject) for one in pack]


def _replay(pack: Sequence[Projection], machines: Machines) -> list[ReplayResult]:
    markers = run_tlc(pack, machines)
    accepted = {m.values[0]: m for m in markers if m.name == "accepted"}
    violated = {m.values[0]: m for m in markers if m.name == "violated"}
    return [
        _accepted(projection, accepted[number])
        if number in accepted
        else _stopped(RunSegment.first(projection), violated.get(number), machines)
        for number, projection in enumerate(pack, start=1)
    ]


def _replay_long(pack: Sequence[Projection], machines: Machines) -> list[ReplayResult]:
    return [_replay_in_segments(projection, machines) for projection in pack]


def _replay_in_segments(projection: Projection, machines: Machines) -> ReplayResult:
    last, markers = replay_in_segments(RunSegment.first(projection), machines)
    told = {marker.name: marker for marker in markers}
    if "accepted" in told:
        return _accepted(projection, told["accepted"])
    return _stopped(last, told.get("violated"), machines)


def _replay_zookeeper_or_fail(
    pack: Sequence[ZooKeeperProjection], machines: Machines
) -> list[ReplayResult]:
    try:
        markers = run_zookeeper_tlc(pack, machines)
    except ReplayError as error:
        return [_unreadable(one.run, error, ZOOKEEPER) for one in pack]
    return [
        _told_result(
            ReplayResult(
                run=projection.run,
                partition=ZOOKEEPER,
                verdict=Replayed.ACCEPTED,
                events=len(projection.events),
            ),
            projection.events,
            {m.name: m for m in markers if m.values[0] == number},
            partial(_as_recorded, projection),
        )
        for number, projection in enumerate(pack, start=1)
    ]


def _as_recorded(projection: ZooKeeperProjection, stopped: Explanation) -> Explanation:
    """With the sessions of the trace in the place of small numbers."""
    return replace(
        stopped,
        state=with_trace_numbers(stopped.state, projection),
        enabled=tuple(
            (action, projection.sessions[number - 1] if number else 0)
            for action, number in stopped.enabled
        ),
    )


def _replay_observed_or_fail(
    pack: Sequence[ObservedProjection], machines: Machines
) -> list[ReplayResult]:
    try:
        markers = run_observed_tlc(pack, machines)
    except ReplayError as error:
        return [_unreadable(one.run, error, str(one.partition)) for one in pack]
    return [
        _told_result(
            ReplayResult(
                run=projection.run,
                partition=str(projection.partition),
                verdict=Replayed.ACCEPTED,
                events=len(projection.events),
                why=projection.ended,
            ),
            projection.events,
            {m.name: m for m in markers if m.values[0] == number},
        )
        for number, projection in enumerate(pack, start=1)
    ]


def _told_result(
    accepted: ReplayResult,
    events: Sequence[Event],
    told: dict[str, Marker],
    as_recorded: Callable[[Explanation], Explanation] = lambda stopped: stopped,
) -> ReplayResult:
    """The result, by the markers of a module that explains in the same run where it stopped."""
    run, partition = accepted.run, accepted.partition
    if "accepted" in told:
        return accepted
    if "stuck" not in told:
        return _unreadable(run, ReplayError(f"{run}, {partition}: TLC stopped without a word"))
    _, index, state, enabled = told["stuck"].values
    assert isinstance(index, int)
    explanation = as_recorded(
        Explanation(event=events[index - 1], index=index, state=state, enabled=_enabled(enabled))
    )
    return _stopped_at(run, partition, len(events), explanation, told.get("violated"))


def _accepted(projection: Projection, marker: Marker) -> ReplayResult:
    broken = _names(marker.values[1])
    return ReplayResult(
        run=projection.run,
        partition=projection.subject,
        verdict=Replayed.ACCEPTED,
        events=len(projection.events),
        violated=broken,
        why="; ".join(filter(None, (_unpromised(projection.level, broken), projection.ended))),
    )


def _unpromised(level: int, broken: tuple[str, ...]) -> str:
    return f"level {level} does not promise {', '.join(broken)}: it broke here" if broken else ""


def _stopped(segment: RunSegment, violated: Marker | None, machines: Machines) -> ReplayResult:
    """`segment` is the one in which the replay stopped."""
    projection = segment.whole
    run, partition = projection.run, projection.subject
    try:
        explanation = _explain(segment, machines)
    except ReplayError as error:
        return ReplayResult(
            run=run,
            partition=partition,
            verdict=Replayed.VIOLATED if violated else Replayed.REJECTED,
            events=len(projection.events),
            violated=_names(violated.values[2]) if violated else (),
            why=f"it is no behaviour of the spec; where it stops being one is not told: {error}",
        )
    return _stopped_at(run, partition, len(projection.events), explanation, violated)


def _stopped_at(
    run: str, partition: str, events: int, explanation: Explanation, violated: Marker | None
) -> ReplayResult:
    line = explanation.event.line
    where = f"{line.event.action} ({line.file}, line {line.number})"
    names = _names(violated.values[2]) if violated else ()
    return ReplayResult(
        run=run,
        partition=partition,
        verdict=Replayed.VIOLATED if violated else Replayed.REJECTED,
        events=events,
        violated=names,
        explanation=explanation,
        why=f"{', '.join(names)} does not hold after {where}"
        if names
        else f"the spec does not allow {where}",
    )


def _explain(segment: RunSegment, machines: Machines) -> Explanation:
    stuck = [
        marker
        for marker in run_tlc([segment], machines, explain=True, budget_s=EXPLAIN_S)
        if marker.name == "stuck"
    ]
    projection = segment.whole
    if not stuck:
        raise ReplayError(f"{projection.run}, {projection.subject}: TLC stopped without a word")
    index, state, enabled = stuck[0].values
    assert isinstance(index, int)
    index += segment.begin
    return Explanation(
        event=projection.events[index - 1],
        index=index,
        state=state,
        enabled=_enabled(enabled),
    )


def _enabled(value: Value) -> tuple[tuple[str, int], ...]:
    """Actions and their actors, in order."""
    return tuple(sorted((str(name), int(str(actor))) for name, actor in map(_items, _items(value))))


def _names(value: Value) -> tuple[str, ...]:
    return tuple(sorted(str(name) for name in _items(value)))


def _items(value: Value) -> list[Value]:
    assert isinstance(value, list)
    return value


def line_text(event: Event) -> str:
    """The line of the trace, as it stands in its file."""
    return encode(event.line.event).decode().rstrip("\n")
