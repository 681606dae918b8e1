"""Kinds of corruption of a run: a line that is left out, changed, moved or made up.

A kind takes the lines of a run in order and gives the run with it, at each place where it changes
what the run says. A line that says again what others say is no place: leaving it out is no lie.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import msgspec

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, Outcome
from fencepost.spec.znodes import BROKER_IDS, parse_leader_and_isr, topic_path

Events = list[TraceEvent]


@dataclass(frozen=True, slots=True)
class Corrupted:
    """A run with one corruption."""

    events: Events
    line: TraceEvent
    """The line that is corrupted, as it was; of one that is made up, the one before it."""


Corruption = Callable[[Events], Iterator[Corrupted]]
IsPlace = Callable[[Events, int], bool]


def renumbered(events: Events) -> Events:
    """The lines as if each node had written just these."""
    found: dict[tuple[str, int], int] = {}
    numbered = []
    for event in events:
        node = (event.node, event.incarnation)
        found[node] = found.get(node, -1) + 1
        numbered.append(msgspec.structs.replace(event, seq=found[node]))
    return numbered


def anywhere(_events: Events, _at: int) -> bool:
    """Every line of the action is a place."""
    return True


# A line that is left out


def dropped(action: str, is_place: IsPlace = anywhere) -> Corruption:
    """The line is not there."""

    def corrupt(events: Events) -> Iterator[Corrupted]:
        for at, event in enumerate(events):
            if event.action == action and event.kind is not Kind.INVOKE and is_place(events, at):
                yield Corrupted(renumbered(events[:at] + events[at + 1 :]), event)

    return corrupt


def next_of_node(events: Events, at: int) -> TraceEvent | None:
    """The next action of the same process about the same partition."""
    event = events[at]
    return next(
        (
            other
            for other in events[at + 1 :]
            if (other.node, other.incarnation) == (event.node, event.incarnation)
            and other.kind is Kind.ACTION
            and (other.topic, other.partition) == (event.topic, event.partition)
        ),
        None,
    )


def is_followed_by(*actions: str) -> IsPlace:
    """What its process does next about the partition is one of these."""

    def is_place(events: Events, at: int) -> bool:
        other = next_of_node(events, at)
        return other is not None and other.action in actions

    return is_place


def has_records(events: Events, at: int) -> bool:
    """Records move, and not the high watermark alone."""
    return bool(events[at].values)


def is_registration(events: Events, at: int) -> bool:
    """ZooKeeper's line about the znode of a broker."""
    return (events[at].path or "").startswith(f"{BROKER_IDS}/")


def is_of_state(events: Events, at: int) -> bool:
    """ZooKeeper's line about a LeaderAndISR znode."""
    return events[at].kind is Kind.ZOOKEEPER and "leaderAndISR" in (events[at].path or "")


def decides_next(events: Events, at: int) -> bool:
    """The controller decides something before it looks again."""
    event = events[at]
    for other in events[at + 1 :]:
        if other.node == event.node and other.action == event.action:
            return False
        if other.node == event.node and other.action in (Action.ELECT_LEADER, Action.INIT_LEADER):
            return True
    return False


def is_late_topic(events: Events, at: int) -> bool:
    """Its controller had sent something when the topic came, and decides which broker leads it."""
    event = events[at]
    came = next((n for n in range(at) if events[n].path == topic_path(event.topic or "")), at)
    act = (event.node, event.incarnation, event.controller_epoch)
    sent = (e for e in events[:came] if e.action == Action.SEND_INIT)
    led = (e for e in events[at:] if e.action == Action.INIT_LEADER and e.topic == event.topic)
    return all(
        any((e.node, e.incarnation, e.controller_epoch) == act for e in lines)
        for lines in (sent, led)
    )


def command_never_sent(events: Events) -> Iterator[Corrupted]:
    """A command that was obeyed is in no line of its sender."""
    for event in events:
        if event.action not in (Action.BECOME_LEADER, Action.BECOME_FOLLOWER):
            continue
        kept = [other for other in events if not is_sent(other, event)]
        if len(kept) < len(events):
            yield Corrupted(renumbered(kept), event)


def is_sent(line: TraceEvent, obeyed: TraceEvent) -> bool:
    """The line of a controller that sends what the other line obeys."""
    return (
        line.action == Action.SEND_LEADER_AND_ISR
        and line.peer == obeyed.node
        and command_of(line) == command_of(obeyed)
    )


def command_of(event: TraceEvent) -> tuple[object, ...]:
    """What tells commands apart."""
    place = (event.topic, event.partition)
    return (*place, event.leader_epoch, event.znode_version, event.controller_epoch)


# A field that is changed


Change = Callable[[TraceEvent], TraceEvent | None]
"""Another line of the same process; None where there is no other one to say."""


def others(
    events: Events, action: str, change: Change, is_place: IsPlace
) -> Iterator[tuple[int, TraceEvent]]:
    """Where lines of the action stand, and what `change` makes of each."""
    for at, event in enumerate(events):
        if event.action == action and event.kind is not Kind.INVOKE and is_place(events, at):
            other = change(event)
            if other is not None:
                yield at, other


def changed(action: str, change: Change, is_place: IsPlace = anywhere) -> Corruption:
    """The line says something else."""

    def corrupt(events: Events) -> Iterator[Corrupted]:
        for at, other in others(events, action, change, is_place):
            yield Corrupted([*events[:at], other, *events[at + 1 :]], events[at])

    return corrupt


def moved(field: str, by: int) -> Change:
    """A number is larger or smaller."""

    def change(event: TraceEvent) -> TraceEvent | None:
        value = getattr(event, field)
        if value is None or value + by < 0:
            return None
        return msgspec.structs.replace(event, **{field: value + by})

    return change


def without_last(field: str) -> Change:
    """A set of brokers lacks one of them, a sequence of two or more its last element."""

    def change(event: TraceEvent) -> TraceEvent | None:
        value = getattr(event, field)
        if not value or len(value) < 2:
            return None
        return msgspec.structs.replace(event, **{field: value[:-1]})

    return change


def with_stranger(event: TraceEvent) -> TraceEvent | None:
    """The first record is one that was never sent."""
    if not event.values:
        return None
    return msgspec.structs.replace(event, values=["client-9/9/9", *event.values[1:]])


def of_earlier_epoch(event: TraceEvent) -> TraceEvent | None:
    """The first record is of the leader epoch before."""
    if not event.record_epochs or event.record_epochs[0] == 0:
        return None
    epochs = [event.record_epochs[0] - 1, *event.record_epochs[1:]]
    return msgspec.structs.replace(event, record_epochs=epochs)


def for_earlier_start(event: TraceEvent) -> TraceEvent | None:
    """For no broker that has ever registered."""
    if event.max_broker_epoch is None:
        return None
    return msgspec.structs.replace(event, max_broker_epoch=0)


def led_by_another(event: TraceEvent) -> TraceEvent | None:
    """Another member of the ISR is the leader."""
    others = [one for one in event.isr or () if one != event.leader]
    return msgspec.structs.replace(event, leader=others[0]) if others else None


def registered_at(events: Events, end: int) -> set[int]:
    """The brokers with a registration, by ZooKeeper's lines up to there."""
    found: set[int] = set()
    for event in events[:end]:
        path = event.path or ""
        if event.kind is Kind.ZOOKEEPER and path.startswith(f"{BROKER_IDS}/"):
            number = int(path.rpartition("/")[2])
            (found.add if event.action == "Create" else found.discard)(number)
    return found


def departure_denied(events: Events) -> Iterator[Corrupted]:
    """A controller that saw a broker leave, and decided on it, says that it is live."""
    seen: dict[str, dict[int, int]] = {}
    for at, event in enumerate(events):
        if event.action != Action.DETECT_BROKER_CHANGE:
            continue
        live, before = live_of(event), seen.get(event.node, {})
        seen[event.node] = live
        if before.keys() - live.keys() and decides_next(events, at):
            told = with_live(event, before | live)
            yield Corrupted([*events[:at], told, *events[at + 1 :]], event)


def arrival_denied(events: Events) -> Iterator[Corrupted]:
    """A broker that is registered and was so before is not in the list."""
    for at, event in enumerate(events):
        if event.action == Action.DETECT_BROKER_CHANGE and len(live := live_of(event)) > 1:
            last = max(live)
            if last in registered_at(events, at) and decides_next(events, at):
                del live[last]
                yield Corrupted([*events[:at], with_live(event, live), *events[at + 1 :]], event)


def live_of(event: TraceEvent) -> dict[int, int]:
    """The live brokers that a controller tells of, and their epochs."""
    return dict(zip(event.live_brokers or (), event.broker_epochs or (), strict=True))


def with_live(event: TraceEvent, live: Mapping[int, int]) -> TraceEvent:
    """The controller tells of these."""
    brokers = sorted(live)
    epochs = [live[one] for one in brokers]
    return msgspec.structs.replace(event, live_brokers=brokers, broker_epochs=epochs)


def log_forgotten(event: TraceEvent) -> TraceEvent | None:
    """A starting broker has one record less on its disk."""
    end = event.log_end_offset
    if not end:
        return None
    mark = min(event.high_watermark or 0, end - 1)
    return msgspec.structs.replace(event, log_end_offset=end - 1, high_watermark=mark)


# Lines that are swapped


def exchanged(events: Events, at: int, other: int) -> Events:
    """Two lines of one node stand in each other's place."""
    first, second = events[at], events[other]
    found = list(events)
    found[at], found[other] = in_place_of(second, first), in_place_of(first, second)
    return found


def in_place_of(event: TraceEvent, other: TraceEvent) -> TraceEvent:
    """The line where the other one stands."""
    return msgspec.structs.replace(
        event, seq=other.seq, mono_ns=other.mono_ns, lamport=other.lamport
    )


def swapped(earlier: str, *later: str) -> Corruption:
    """Two lines of a process about one partition that follow each other stand the other way."""

    def corrupt(events: Events) -> Iterator[Corrupted]:
        for at, event in enumerate(events):
            if event.action != earlier or event.kind is not Kind.ACTION:
                continue
            other = next_of_node(events, at)
            if other is not None and other.action in later:
                yield Corrupted(exchanged(events, at, events.index(other)), event)

    return corrupt


def transactions_swapped(events: Events) -> Iterator[Corrupted]:
    """Two writes of a state have each other's zxid."""
    places = [at for at in range(len(events)) if is_of_state(events, at)]
    for at, other in pairwise(places):
        first, second = events[at], events[other]
        if first.path != second.path:
            continue
        found = list(events)
        found[at] = msgspec.structs.replace(first, zxid=second.zxid)
        found[other] = msgspec.structs.replace(second, zxid=first.zxid)
        yield Corrupted(found, first)


# Lines that are made up


def inserted(action: str, made: Change, is_place: IsPlace = anywhere) -> Corruption:
    """After each line of the action the same process says what `made` makes of it."""

    def corrupt(events: Events) -> Iterator[Corrupted]:
        for at, other in others(events, action, made, is_place):
            found = [*events[: at + 1], other, *events[at + 1 :]]
            yield Corrupted(renumbered(found), events[at])

    return corrupt


def appended_again(event: TraceEvent) -> TraceEvent | None:
    """The same records once more, behind themselves."""
    if not event.values or event.log_end_offset is None:
        return None
    end = event.log_end_offset + len(event.values)
    return msgspec.structs.replace(event, offset=event.log_end_offset, log_end_offset=end)


def appended_by_follower(event: TraceEvent) -> TraceEvent | None:
    """A broker that has just become follower takes a record from a producer."""
    if event.log_end_offset is None:
        return None
    return msgspec.structs.replace(
        event,
        action=Action.LEADER_APPEND,
        leader=None,
        isr=None,
        znode_version=None,
        controller_id=None,
        controller_epoch=None,
        offset=event.log_end_offset,
        log_end_offset=event.log_end_offset + 1,
        values=["client-9/9/9"],
        record_epochs=[event.leader_epoch or 0],
    )


def of_next_epoch(event: TraceEvent) -> TraceEvent | None:
    """A command with the next leader epoch, which no controller decided."""
    return moved("leader_epoch", 1)(event)


def led_too(event: TraceEvent) -> TraceEvent | None:
    """A follower leads in the epoch in which it follows."""
    if event.broker_id not in (event.isr or ()):
        return None
    return msgspec.structs.replace(event, action=Action.BECOME_LEADER, leader=event.broker_id)


def fenced(event: TraceEvent) -> TraceEvent:
    """A leader that has asked for nothing is told that it may not."""
    return msgspec.structs.replace(
        event,
        action=Action.FENCE_LEADER,
        leader=None,
        controller_id=None,
        controller_epoch=None,
        high_watermark=None,
        log_end_offset=None,
        maximal_isr=event.isr,
    )


def obeyed_again_late(events: Events) -> Iterator[Corrupted]:
    """A broker obeys once more what it obeyed before the last command."""
    last: dict[tuple[str, int, object], TraceEvent] = {}
    for at, event in enumerate(events):
        if event.action not in (Action.BECOME_LEADER, Action.BECOME_FOLLOWER):
            continue
        replica = (event.node, event.incarnation, (event.topic, event.partition))
        if (old := last.get(replica)) is not None:
            places = {"log_end_offset": event.log_end_offset}
            places["high_watermark"] = event.high_watermark
            again = msgspec.structs.replace(in_place_of(old, event), **places)
            yield Corrupted(renumbered([*events[: at + 1], again, *events[at + 1 :]]), event)
        last[replica] = event


def acknowledged_nowhere(event: TraceEvent) -> TraceEvent | None:
    """A producer is told of a record that no log has."""
    if event.outcome is not Outcome.OK or event.acks != -1 or event.offset is None:
        return None
    far = event.offset + 1_000
    return msgspec.structs.replace(
        event, offset=far, values=["client-9/9/9"], op_id=90_000, high_watermark=far + 1
    )


def elected_too(events: Events) -> Iterator[Corrupted]:
    """Another broker says that it is controller in the same epoch."""
    for at, event in enumerate(events):
        if event.action != Action.ELECT_CONTROLLER:
            continue
        others = [
            other
            for other in events[:at]
            if other.action == Action.REGISTER_BROKER and other.node != event.node
        ]
        if not others:
            continue
        told = msgspec.structs.replace(
            others[-1],
            action=Action.ELECT_CONTROLLER,
            controller_id=others[-1].broker_id,
            controller_epoch=event.controller_epoch,
            zxid=None,
            mono_ns=event.mono_ns,
        )
        yield Corrupted(renumbered([*events[: at + 1], told, *events[at + 1 :]]), event)


def write_made_up(events: Events) -> Iterator[Corrupted]:
    """ZooKeeper logged a change of an ISR that no broker asked for."""
    newest = {event.path: at for at, event in enumerate(events) if is_of_state(events, at)}
    for path, at in newest.items():
        event = events[at]
        if path is None or event.znode_version is None or event.action == "Delete":
            continue
        state = parse_leader_and_isr(path, (event.data or "").encode())
        if len(state.isr) < 2:
            continue
        smaller = msgspec.structs.replace(state, isr=state.isr - {max(state.isr - {state.leader})})
        told = msgspec.structs.replace(
            event,
            action="SetData",
            data=smaller.document().decode(),
            znode_version=event.znode_version + 1,
            zxid=max(one.zxid or 0 for one in events) + 1,
        )
        last = max(i for i, one in enumerate(events) if one.kind is Kind.ZOOKEEPER)
        yield Corrupted(renumbered([*events[: last + 1], told, *events[last + 1 :]]), event)
