"""One order of all lines of a run: the one in which they could have happened.

Lines of one node follow `(incarnation, seq)`, ZooKeeper's own its `zxid`. Between nodes, what was
asked comes before what was done, and that before what was heard. All that leaves open is decided by
`mono_ns`, the one clock of the host that all nodes of a run share; ZooKeeper's log has only
`wall_ns`, to a millisecond; the lines that carry both give its distance from it, or those that tell
of registrations.
"""

import heapq
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from statistics import median_low

from fencepost.spec.replay.recorded_run import RecordedRun, ReplayError, TraceFileLine
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, BrokerId, RefusalKind
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    MalformedZnodeError,
    broker_path,
    parse_topic,
    topic_path,
)

LOG_CLOCK_NS = 1_000_000
"""ZooKeeper's log tells the millisecond in which a transaction was made."""

Fact = tuple[object, ...]
"""What one line establishes and another one needs, for example `("state", path, 3)`."""


Stamp = tuple[int, str, int, int]
"""When a line was written, by the host's clock; then its node, incarnation and number."""


@dataclass(slots=True)
class _Constraints:
    """Which line must come before which, by index."""

    later: dict[int, list[int]] = field(default_factory=dict)
    waiting: dict[int, int] = field(default_factory=dict)
    """How many earlier lines a line still waits for."""

    def add(self, earlier: int, later: int) -> None:
        self.later.setdefault(earlier, []).append(later)
        self.waiting[later] = self.waiting.get(later, 0) + 1


def total_order(run: RecordedRun) -> list[TraceFileLine]:
    """All lines, in order; raises `ReplayError` when there is no such order."""
    lines = run.lines
    constraints = _Constraints()
    chains = [*_chains(lines)]
    for own in chains:
        for earlier, later in pairwise(own):
            constraints.add(earlier, later)
    stamps = _stamps(lines)
    for earlier, later in chain(
        _facts_before_uses(lines), _asked_in_the_same_millisecond(lines, chains, stamps)
    ):
        constraints.add(earlier, later)
    return [lines[index] for index in _merge(run, stamps, constraints)]


def _merge(run: RecordedRun, stamps: list[Stamp], constraints: _Constraints) -> list[int]:
    waiting = constraints.waiting
    ready = [(stamps[index], index) for index in range(len(stamps)) if not waiting.get(index)]
    heapq.heapify(ready)
    ordered: list[int] = []
    while ready:
        _, index = heapq.heappop(ready)
        ordered.append(index)
        for later in constraints.later.get(index, ()):
            waiting[later] -= 1
            if not waiting[later]:
                heapq.heappush(ready, (stamps[later], later))
    if len(ordered) < len(stamps):
        first = min((stamps[index], index) for index, count in waiting.items() if count)[1]
        line = run.lines[first]
        raise ReplayError(
            f"{run.name} has no order: what {line.file}, line {line.number} "
            f"({line.event.action}) must follow comes after it by zxid or by the order of its node"
        )
    return ordered


def _chains(lines: tuple[TraceFileLine, ...]) -> Iterator[list[int]]:
    chains: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        chains.setdefault(line.event.node, []).append(index)
    for own in chains.values():
        yield sorted(own, key=lambda index: _place(lines[index].event))


def _place(event: TraceEvent) -> tuple[int, int, int]:
    if event.kind is Kind.ZOOKEEPER:
        return (event.zxid or 0, event.incarnation, event.seq)
    return (0, event.incarnation, event.seq)


def _asked_in_the_same_millisecond(
    lines: tuple[TraceFileLine, ...], chains: list[list[int]], stamps: list[Stamp]
) -> Iterator[tuple[int, int]]:
    """What a broker did before it asked for a transaction, and that transaction.

    No line tells when it asks for the office, or to change a topic. It does so at once, and
    ZooKeeper's log dates the transaction to the beginning of its millisecond.
    """
    asked = [*_asks(lines, chains)]
    written = _transactions(lines, chains, {fact for _, fact in asked})
    for before, fact in asked:
        at_ns = stamps[before][0]
        after = (
            index for index in written.get(fact, ()) if stamps[index][0] > at_ns - LOG_CLOCK_NS
        )
        transaction = next(after, None)
        if transaction is not None and stamps[transaction][0] <= at_ns:
            yield before, transaction


def _asks(lines: tuple[TraceFileLine, ...], chains: list[list[int]]) -> Iterator[tuple[int, Fact]]:
    """Lines behind which a broker asks for a transaction, and what that writes, by its path."""
    for own in chains:
        resigned = None
        for index in own:
            event = lines[index].event
            replicas = tuple(event.assigned_replicas or ())
            match event.action:
                case Action.RESIGN_CONTROLLER:
                    resigned = index
                case Action.ELECT_CONTROLLER:
                    if resigned is not None:
                        yield (
                            resigned,
                            (CONTROLLER_EPOCH, event.session_id, str(event.controller_epoch)),
                        )
                    resigned = None
                case Action.ADD_PARTITIONS | Action.COMPLETE_REASSIGNMENT if replicas:
                    yield index, _assigned(event, replicas)
                case Action.REMOVE_PARTITIONS:
                    yield index, _assigned(event, ())
                case _:
                    pass


def _assigned(event: TraceEvent, replicas: tuple[int, ...]) -> Fact:
    return topic_path(event.topic or ""), event.partition, replicas


def _transactions(
    lines: tuple[TraceFileLine, ...], chains: list[list[int]], wanted: Collection[Fact]
) -> dict[Fact, list[int]]:
    """The first line of each transaction that writes this, in order of `zxid`.

    Those of the log alone: what else writes lines of ZooKeeper knows the time.
    """
    found: dict[Fact, list[int]] = {}
    first: dict[int | None, int] = {}
    by_path: dict[object, list[Fact]] = {}
    for fact in wanted:
        by_path.setdefault(fact[0], []).append(fact)
    for index in chain.from_iterable(own for own in chains if _is_of_log(lines[own[0]].event)):
        event = lines[index].event
        first.setdefault(event.zxid, index)
        for fact in _written(event, by_path):
            found.setdefault(fact, []).append(first[event.zxid])
    return found


def _is_of_log(event: TraceEvent) -> bool:
    return event.kind is Kind.ZOOKEEPER and not event.mono_ns


def _written(event: TraceEvent, wanted: Mapping[object, Sequence[Fact]]) -> Iterator[Fact]:
    """What is wanted, by path, and written by this line."""
    asked = wanted.get(event.path, ())
    if event.path == CONTROLLER_EPOCH:
        yield from (one for one in asked if one[1:] == (event.session_id, event.data))
    elif asked and event.action == "SetData":
        try:
            written = parse_topic(event.path or "", (event.data or "").encode())
        except MalformedZnodeError:
            return
        told = {(one, tuple(replicas)) for one, replicas in written.items()}
        yield from (one for one in asked if one[1:] in told or not (one[2] or one[1] in written))


def _stamps(lines: tuple[TraceFileLine, ...]) -> list[Stamp]:
    """When each line was written, by the host's clock; ties are broken by node and number."""
    events = [line.event for line in lines]
    both = [
        event.wall_ns - event.mono_ns
        for event in events
        if event.wall_ns is not None and event.mono_ns
    ] or [*_from_transactions(events)]
    offset = median_low(both) if both else 0
    return [
        (_stamp(line.event, offset), line.event.node, line.event.incarnation, line.event.seq)
        for line in lines
    ]


def _from_transactions(events: list[TraceEvent]) -> Iterator[int]:
    """The distance of the clocks by registrations, where no line carries both."""
    wall_ns = {event.zxid: event.wall_ns for event in events if event.kind is Kind.ZOOKEEPER}
    for event in events:
        at_ns = wall_ns.get(event.zxid)
        if event.action == Action.REGISTER_BROKER and at_ns is not None and event.mono_ns:
            yield at_ns - event.mono_ns


def _stamp(event: TraceEvent, offset: int) -> int:
    if event.mono_ns or event.wall_ns is None:
        return event.mono_ns
    return event.wall_ns - offset


def _facts_before_uses(lines: tuple[TraceFileLine, ...]) -> Iterator[tuple[int, int]]:
    yield from _asked_before_written(lines)
    established: dict[Fact, int] = {}
    for index, line in enumerate(lines):
        for fact in _establishes(line.event):
            known = established.get(fact)
            if known is None or line.event.mono_ns < lines[known].event.mono_ns:
                established[fact] = index
    for index, line in enumerate(lines):
        for fact in _needs(line.event):
            if fact in established and established[fact] != index:
                yield established[fact], index


def _asked_before_written(lines: tuple[TraceFileLine, ...]) -> Iterator[tuple[int, int]]:
    """The invocation of which the answer names the zxid: the same may have been asked before."""
    asked: dict[Fact, int] = {}
    answered: dict[Fact, Fact] = {}
    for index, line in enumerate(lines):
        event = line.event
        operation: Fact = (event.node, event.incarnation, event.op_id)
        if event.action == "WriteLeaderAndIsr" and event.kind is Kind.INVOKE:
            asked[operation] = index
        elif event.action == "WriteLeaderAndIsr" and event.zxid is not None:
            answered[event.path, event.zxid] = operation
    for index, line in enumerate(lines):
        event = line.event
        if event.kind is Kind.ZOOKEEPER:
            known = asked.get(answered.get((event.path, event.zxid), ()))
            if known is not None:
                yield known, index


def _establishes(event: TraceEvent) -> Iterable[Fact]:
    if event.kind is Kind.ZOOKEEPER and event.path is not None:
        return _zookeeper_facts(event)
    match event.kind, event.action:
        case Kind.INVOKE, "WriteLeaderAndIsr":
            return [*_asked(event, event.expected_version)]
        case Kind.ACTION, Action.SEND_LEADER_AND_ISR:
            return [("sent", event.peer, *_command(event))]
        case Kind.ACTION, Action.SEND_STOP_REPLICA:
            return [("stop", event.peer, *_command(event))]
        case _:
            return []


def _asked(event: TraceEvent, expected_version: int | None) -> Iterable[Fact]:
    """That a write was asked for, and on which version: a leader may write the same ISR again."""
    yield "asked", event.path, event.session_id, event.data
    yield "asked", event.path, event.session_id, event.data, expected_version


def _zookeeper_facts(event: TraceEvent) -> Iterable[Fact]:
    yield "version", event.path, event.znode_version, event.data
    yield "written", event.path, event.zxid
    if event.path == CONTROLLER:
        yield "office", event.session_id
    if event.path == CONTROLLER_EPOCH:
        yield "epoch", event.data
    yield "exists", event.path


def _needs(event: TraceEvent) -> Iterable[Fact]:
    if event.kind is Kind.ZOOKEEPER:
        return [*_asked(event, None if event.znode_version is None else event.znode_version - 1)]
    match event.kind, event.action:
        case Kind.COMPLETE, "WriteLeaderAndIsr" if event.zxid is not None:
            return [("written", event.path, event.zxid)]
        case Kind.COMPLETE, "ReadLeaderAndIsr" if event.data is not None:
            return [("version", event.path, event.znode_version, event.data)]
        case Kind.COMPLETE, "ReadController" if event.controller_epoch is not None:
            return [("epoch", str(event.controller_epoch))]
        case Kind.ACTION | Kind.REFUSAL, _:
            return _needs_of_action(event)
        case _:
            return []


def _needs_of_action(event: TraceEvent) -> Iterable[Fact]:
    match event.action:
        case Action.REGISTER_BROKER | Action.DETECT_BROKER_CHANGE:
            return [*_registrations(event)]
        case Action.ELECT_CONTROLLER:
            return [("office", event.session_id), ("epoch", str(event.controller_epoch))]
        case Action.LEARN_CONTROLLER:
            return [("epoch", str(event.controller_epoch))]
        case Action.DETECT_TOPIC_CHANGE if event.zxid is not None:
            return [("written", f"/brokers/topics/{event.topic}", event.zxid)]
        case Action.CREATE_TOPIC:
            return [("exists", f"/brokers/topics/{event.topic}")]
        case Action.BECOME_LEADER | Action.BECOME_FOLLOWER | RefusalKind.REFUSE_COMMAND:
            return [("sent", event.node, *_command(event))]
        case Action.STOP_REPLICA | RefusalKind.REFUSE_STOP:
            return [("stop", event.node, *_command(event))]
        case _:
            return []


def _registrations(event: TraceEvent) -> Iterable[Fact]:
    """The broker's own, or those that a controller saw."""
    if event.action == Action.REGISTER_BROKER and event.broker_id is not None:
        yield "written", broker_path(event.broker_id), event.zxid
    for one, zxid in zip(event.live_brokers or (), event.broker_epochs or (), strict=False):
        yield "written", broker_path(BrokerId(one)), zxid


def _command(event: TraceEvent) -> Fact:
    return (
        event.topic,
        event.partition,
        event.leader_epoch,
        event.znode_version,
        event.controller_epoch,
    )
