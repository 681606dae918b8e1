"""Kinds of corruption that only the checks see: of levels 3 to 5, which no replay follows.

Each is named after the lie, and made as those of `tests.spec.replay.corruptions` are.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

from msgspec.structs import replace

from fencepost.conformance.checks.ordering import by_zxid
from fencepost.fault_injection.workload.config_operations import ALTER_CONFIGS, DESCRIBE_CONFIGS
from fencepost.spec.config_store import entity_at
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Action, ErrorCode, Outcome
from fencepost.spec.znodes import CONTROLLER
from tests.spec.replay.corruptions import (
    Change,
    Corrupted,
    Corruption,
    Events,
    IsPlace,
    changed,
    dropped,
    inserted,
    led_by_another,
    moved,
    renumbered,
    without_last,
)

STRANGER = "stranger"


def as_other(**fields: object) -> Change:
    """The line says this in place of what it said."""

    def change(event: TraceEvent) -> TraceEvent | None:
        told = any(getattr(event, name) is not None for name in fields)
        return replace(event, **fields) if told else None

    return change


def is_(condition: Callable[[TraceEvent], bool]) -> IsPlace:
    """Lines of which something holds."""
    return lambda events, at: condition(events[at])


def is_config_write(events: Events, at: int) -> bool:
    """ZooKeeper's line about the configuration of an entity."""
    event = events[at]
    return event.kind is Kind.ZOOKEEPER and entity_at(event.path or "") is not None


def entries_of(event: TraceEvent) -> dict[str, str]:
    """What the znode of an entity holds after the line."""
    return dict(json.loads(event.data or "{}").get("config", {}))


def with_entries(event: TraceEvent, entries: Mapping[str, str]) -> TraceEvent:
    """The line has stored these."""
    return replace(event, data=json.dumps({"version": 1, "config": dict(entries)}))


def without_an_entry(event: TraceEvent) -> TraceEvent | None:
    """One entry of those that are stored is gone."""
    entries = entries_of(event)
    return with_entries(event, dict(list(entries.items())[1:])) if entries else None


def with_a_strange_value(event: TraceEvent) -> TraceEvent | None:
    """The first entry has a value that no client has set."""
    entries = entries_of(event)
    return with_entries(event, {**entries, min(entries): STRANGER}) if entries else None


def config_writes(events: Events) -> list[int]:
    """Where the configuration of one entity is written, in order."""
    return [at for at in range(len(events)) if is_config_write(events, at)]


def written_again(events: Events) -> Iterator[Corrupted]:
    """What was stored before the last write of an entity comes back with the next one."""
    places = config_writes(events)
    for first, second, third in zip(places, places[1:], places[2:], strict=False):
        former, latter, last = events[first], events[second], events[third]
        if former.path == latter.path == last.path and former.data != latter.data:
            told = replace(last, data=former.data)
            yield Corrupted([*events[:third], told, *events[third + 1 :]], last)


def entries_told(event: TraceEvent) -> dict[str, str]:
    """What a broker describes."""
    return dict(value.split("=", 1) for value in event.values or ())


def is_changed(former: Mapping[str, str], latter: Mapping[str, str]) -> bool:
    """An entry has another value than before."""
    return any(name in latter and latter[name] != value for name, value in former.items())


def described_as_before(events: Events) -> Iterator[Corrupted]:
    """A broker tells again what it told before it told something newer."""
    told = [
        at
        for at, event in enumerate(events)
        if event.action == DESCRIBE_CONFIGS and event.outcome is Outcome.OK and event.values
    ]
    by_broker: dict[int | None, list[int]] = {}
    for at in told:
        by_broker.setdefault(events[at].broker_id, []).append(at)
    for places in by_broker.values():
        for earlier, later in pairwise(places):
            first, second = events[earlier], events[later]
            if is_changed(entries_told(first), entries_told(second)):
                again = replace(
                    first,
                    mono_ns=second.mono_ns + 2,
                    inv_ns=second.mono_ns + 1,
                    op_id=90_000,
                )
                found = [*events[: later + 1], again, *events[later + 1 :]]
                yield Corrupted(renumbered(found), second)


def written_by(session: int) -> Corruption:
    """A write of the configuration is of a session that does not own the znode."""

    def corrupt(events: Events) -> Iterator[Corrupted]:
        yield from changed("SetData", as_other(session_id=session), is_config_write)(events)

    return corrupt


def is_used_office(events: Events, at: int) -> bool:
    """Under the znode of the controller, which its session creates once, something is written."""
    event = events[at]
    own = [line for line in events if line.session_id == event.session_id]
    created = [line for line in own if line.path == CONTROLLER and line.action == "Create"]
    return created == [event] and any(is_config_write(own, place) for place in range(len(own)))


def is_done(events: Events, at: int) -> bool:
    """What is forwarded is done."""
    request = events[at].forwarded_request
    return any(
        line.action == Action.APPLY_MUTATION and line.forwarded_request == request
        for line in events
    )


def is_told_as_made(events: Events, at: int) -> bool:
    """The controller tells what it wrote."""
    zxid = events[at].zxid
    lines = (line for line in events if line.action == Action.APPLY_MUTATION)
    return is_config_write(events, at) and any(line.zxid == zxid for line in lines)


def office_that_ended(events: Events) -> Iterator[Corrupted]:
    """The znode of the controller is deleted in the transaction before one of its writes."""
    for at in config_writes(events):
        zxid = events[at].zxid or 0
        before = [line for line in by_zxid(events[:at]) if (line.zxid or 0) < zxid]
        told = replace(
            before[-1],
            action="Delete",
            path=CONTROLLER,
            data=None,
            znode_version=None,
            session_id=events[at].session_id,
        )
        yield Corrupted(renumbered([*events[:at], told, *events[at:]]), events[at])


def without_roles_told(events: Events) -> Iterator[Corrupted]:
    """No line tells of which brokers there are, to a broker that takes a role."""
    for event in events:
        if event.action not in (Action.BECOME_LEADER, Action.BECOME_FOLLOWER):
            continue
        start = event.node, event.incarnation
        kept = [
            line
            for line in events
            if line.action != Action.UPDATE_METADATA
            or line.partition is not None
            or (line.node, line.incarnation) != start
        ]
        yield Corrupted(renumbered(kept), event)


def told_again(events: Events) -> Iterator[Corrupted]:
    """A broker tells clients what it told them before it took something newer."""
    last: dict[tuple[object, ...], TraceEvent] = {}
    for at, event in enumerate(events):
        if event.action != Action.UPDATE_METADATA or event.partition is None:
            continue
        replica = event.topic, event.partition, event.partition_incarnation
        place = event.node, event.incarnation, *replica
        if (old := last.get(place)) is not None and old.znode_version != event.znode_version:
            again = replace(old, seq=event.seq, mono_ns=event.mono_ns)
            found = [*events[: at + 1], again, *events[at + 1 :]]
            yield Corrupted(renumbered(found), event)
        last[place] = event


def request_never_forwarded(events: Events) -> Iterator[Corrupted]:
    """What was done as forwarded is in no line of the broker that forwarded it."""
    for event in events:
        if event.action == Action.APPLY_MUTATION and event.forwarded_request is not None:
            kept = [
                line
                for line in events
                if line.action != Action.FORWARD_REQUEST
                or line.forwarded_request != event.forwarded_request
            ]
            yield Corrupted(renumbered(kept), event)


def metadata_never_sent(events: Events) -> Iterator[Corrupted]:
    """What a broker took is in no line of a controller that sent it."""
    for event in events:
        if event.action == Action.UPDATE_METADATA and event.partition is None:
            kept = [
                line
                for line in events
                if line.action != Action.SEND_UPDATE_METADATA
                or (line.peer, line.controller_epoch, line.metadata_version)
                != (event.node, event.controller_epoch, event.metadata_version)
            ]
            yield Corrupted(renumbered(kept), event)


def of_other_registration(event: TraceEvent) -> TraceEvent | None:
    """The first broker is told under an epoch that it never had."""
    epochs = event.broker_epochs
    return replace(event, broker_epochs=[epochs[0] + 1, *epochs[1:]]) if epochs else None


def done_by_another(event: TraceEvent) -> TraceEvent | None:
    """Another broker says the same of the request."""
    if event.forwarded_request is None or event.broker_id is None:
        return None
    other = event.broker_id % 3 + 1
    return replace(event, node=f"broker-{other}", broker_id=other)


def answered(outcome: Outcome, otherwise: Outcome) -> Corruption:
    """A client is told something else about its change of the configuration."""
    code = None if otherwise is Outcome.OK else ErrorCode.NOT_CONTROLLER
    return changed(
        ALTER_CONFIGS,
        as_other(outcome=otherwise, error_code=code),
        is_(lambda event: event.outcome is outcome and event.error_code != "REQUEST_TIMED_OUT"),
    )


is_of_partition = is_(lambda event: event.partition is not None)
is_of_brokers = is_(lambda event: event.partition is None)
has_values = is_(lambda event: bool(event.values) and event.outcome in (None, Outcome.OK))

OF_LEVEL_3: Mapping[str, Corruption] = {
    "consent to a registration that is over": changed(
        Action.OBEY_SHUTDOWN, moved("broker_epoch", -1)
    ),
    "consent to a broker that is not there": changed(
        Action.OBEY_SHUTDOWN, as_other(peer="broker-9")
    ),
    "INIT that leaves a partition out": changed(Action.SEND_INIT, without_last("partitions")),
}
OF_LEVEL_4: Mapping[str, Corruption] = {
    "command for incarnations up to an earlier one": changed(
        Action.BECOME_FOLLOWER, as_other(max_broker_epoch=1)
    ),
    "command for incarnations up to a later one": changed(
        Action.BECOME_FOLLOWER, moved("max_broker_epoch", 1)
    ),
    "metadata of another version": changed(
        Action.UPDATE_METADATA, moved("znode_version", 1), is_of_partition
    ),
    "metadata of another leader epoch": changed(
        Action.UPDATE_METADATA, moved("leader_epoch", 1), is_of_partition
    ),
    "metadata with another leader": changed(
        Action.UPDATE_METADATA, led_by_another, is_of_partition
    ),
    "metadata with a smaller ISR": changed(
        Action.UPDATE_METADATA, without_last("isr"), is_of_partition
    ),
    "metadata of another incarnation": changed(
        Action.UPDATE_METADATA, moved("partition_incarnation", 1), is_of_partition
    ),
    "metadata that were overtaken": told_again,
    "role before metadata": without_roles_told,
    "metadata with a broker under another epoch": changed(
        Action.UPDATE_METADATA, of_other_registration
    ),
    "metadata that no controller sent": metadata_never_sent,
    "metadata of another controller epoch": changed(
        Action.UPDATE_METADATA, moved("controller_epoch", 1), is_of_brokers
    ),
}
OF_LEVEL_5: Mapping[str, Corruption] = {
    "drop a write of the configuration": dropped("SetData", is_told_as_made),
    "change of the configuration by another session": written_by(1),
    "change of the configuration after the office ended": office_that_ended,
    "drop the znode of the controller": dropped("Create", is_used_office),
    "entry that is lost": changed("SetData", without_an_entry, is_config_write),
    "value that no client has set": changed("SetData", with_a_strange_value, is_config_write),
    "value that is set again": written_again,
    "refused change that is told as made": answered(Outcome.DEFINITE_ERROR, Outcome.OK),
    "change that is told as refused": answered(Outcome.OK, Outcome.DEFINITE_ERROR),
    "described value that was never set": changed(
        DESCRIBE_CONFIGS, as_other(values=[f"color={STRANGER}"]), has_values
    ),
    "older value described after a newer one": described_as_before,
    "change for another client": changed(
        Action.APPLY_MUTATION, as_other(principal="User:client-9")
    ),
    "request forwarded for another client": changed(
        Action.FORWARD_REQUEST, as_other(principal="User:client-9"), is_done
    ),
    "request forwarded twice": inserted(Action.FORWARD_REQUEST, done_by_another),
    "request done twice": inserted(Action.APPLY_MUTATION, done_by_another),
    "request that was never forwarded": request_never_forwarded,
}
