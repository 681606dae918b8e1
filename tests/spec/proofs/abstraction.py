"""States of TLC as states of the proofs: plain values, named alike, over what there is of each."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from fencepost.spec.proofs.logic import Listed, Sort
from fencepost.spec.proofs.replication.tables import AcknowledgementTable, CommitTable, LogTable
from fencepost.spec.proofs.state import (
    NO_EPOCH,
    ControllerTable,
    EpochTable,
    HistoryTable,
    MessageTable,
    ObedienceTable,
    OfficeStatus,
    ReplicaRole,
    ReplicaTable,
    SpecState,
    Table,
    ZnodeTable,
)
from fencepost.spec.tlc.values import Value

NONE = -1
MARGIN = 2
"""Versions and epochs beyond those that a state has: one step adds one."""
MESSAGE_FIELDS = (
    *("sender", "to", "copy", "leader", "leader_epoch", "isr", "znode_version"),
    "controller_epoch",
)


class Message(NamedTuple):
    """A command as TLC has it."""

    sender: int
    to: int
    copy: int
    leader: int
    leader_epoch: int
    isr: frozenset[int]
    znode_version: int
    controller_epoch: int


def by_key(value: Value) -> dict[Any, Any]:
    """A function; TLC prints one of 1..n as a sequence."""
    if isinstance(value, list):
        return dict(enumerate(value, 1))
    assert isinstance(value, dict)
    return {int(key) if key.lstrip("-").isdigit() else key: one for key, one in value.items()}


def record(value: Value) -> dict[str, Any]:
    """A record."""
    assert isinstance(value, dict)
    return value


def only(value: Value) -> dict[str, Any]:
    """The record in a sequence of one; empty for a sequence of none."""
    assert isinstance(value, list)
    return record(value[0]) if value else {}


def message_of(value: Value) -> Message:
    """One command in flight."""
    told = record(value)
    named = {name: told[name] for name in MESSAGE_FIELDS if name not in {"sender", "isr"}}
    return Message(sender=told["from"], isr=frozenset(told["isr"]), **named)


def looked_up(known: Mapping[Any, Any], default: object) -> Callable[..., Any]:
    """A function of plain values; what is not known has a value all the same."""

    def function(*key: object) -> object:
        return known.get(key[0] if len(key) == 1 else key, default)

    return function


def members(sets: Mapping[Any, Iterable[int]]) -> Callable[..., bool]:
    """Membership in the sets of keys."""
    known = {key: frozenset(one) for key, one in sets.items()}
    return lambda key, b: b in known.get(key, frozenset())


def znodes_of(value: Value, before: ZnodeTable | None) -> ZnodeTable:
    """The tree; older versions of the state are those of the state before."""
    tree = record(value)
    held = tree["/brokers/topics/t/0/leaderAndISR"]
    version = held["version"]
    state: dict[str, Any] = held["data"] if version >= 0 else {}

    def at(name: str, then: Callable[..., Any], default: object) -> Callable[..., Any]:
        old = getattr(before, name) if before is not None else lambda *_: default
        return lambda v, *rest: then(*rest) if v == version and state else old(v, *rest)

    return ZnodeTable(
        office=tree["/controller"]["ephemeral_owner"] or NONE,
        controller_epoch=tree["/controller_epoch"]["data"],
        topic_exists=tree["/brokers/topics/t"]["version"] >= 0,
        registered=lambda b: b != NONE and tree[f"/brokers/ids/{b}"]["version"] >= 0,
        version=version,
        leader=at("leader", lambda: state["leader"], NONE),
        leader_epoch=at("leader_epoch", lambda: state["leader_epoch"], NO_EPOCH),
        isr=at("isr", lambda b: b in state["isr"], False),
        author_epoch=at("author_epoch", lambda: state["controller_epoch"], 0),
    )


def controllers_of(value: Value) -> ControllerTable:
    """What controllers know."""
    told = by_key(value)
    decided = {c: only(one["decision"]) for c, one in told.items()}
    states = {c: one.get("state", {}) for c, one in decided.items()}
    sent = {c: only(one["to_send"]) for c, one in told.items()}
    tells = {c: one.get("state", {}) for c, one in sent.items()}

    def each(name: str, of: Mapping[int, Mapping[str, Any]]) -> Callable[..., Any]:
        return looked_up({c: one.get(name, NONE) for c, one in of.items()}, NONE)

    return ControllerTable(
        status=looked_up({c: OfficeStatus[one["status"].upper()] for c, one in told.items()}, 0),
        controller_epoch=each("controller_epoch", told),
        live_brokers=members({c: one["live_brokers"] for c, one in told.items()}),
        is_watching=each("is_watching", told),
        is_reply_lost=each("is_reply_lost", told),
        has_decision=looked_up({c: bool(one) for c, one in decided.items()}, False),
        decided_leader=each("leader", states),
        decided_leader_epoch=each("leader_epoch", states),
        decided_isr=members({c: one.get("isr", ()) for c, one in states.items()}),
        decided_author_epoch=each("controller_epoch", states),
        expected_version=each("expected_version", decided),
        has_to_send=looked_up({c: bool(one) for c, one in sent.items()}, False),
        sent_leader=each("leader", tells),
        sent_leader_epoch=each("leader_epoch", tells),
        sent_isr=members({c: one.get("isr", ()) for c, one in tells.items()}),
        sent_version=each("znode_version", sent),
    )


def replicas_of(value: Value) -> ReplicaTable:
    """What brokers believe."""
    told = by_key(value)
    pending = {b: one["pending_isr"] for b, one in told.items()}

    def each(name: str) -> Callable[..., Any]:
        return looked_up({b: one[name] for b, one in told.items()}, NONE)

    return ReplicaTable(
        role=looked_up({b: ReplicaRole[one["role"].upper()] for b, one in told.items()}, 0),
        leader=each("leader"),
        leader_epoch=each("leader_epoch"),
        isr=members({b: one["isr"] for b, one in told.items()}),
        has_pending_isr=looked_up({b: bool(one) for b, one in pending.items()}, False),
        pending_isr=members({b: one[0] if one else () for b, one in pending.items()}),
        is_reply_lost=each("is_reply_lost"),
        znode_version=each("znode_version"),
        controller_epoch=each("controller_epoch"),
    )


def messages_of(in_flight: Iterable[Message]) -> MessageTable:
    """Commands are values: their fields are themselves."""
    known = frozenset(in_flight)
    own = {name: field_of(name) for name in MESSAGE_FIELDS if name != "isr"}
    return MessageTable(in_flight=lambda m: m in known, isr=lambda m, b: b in m.isr, **own)


def field_of(name: str) -> Callable[[Any], Any]:
    """The field of a value."""
    return lambda value: getattr(value, name)


def to_be_sent(values: Mapping[str, Value], brokers: Iterable[int]) -> set[Message]:
    """What controllers may send next."""
    told = by_key(values["controllers"])
    found: set[Message] = set()
    for c, one in told.items():
        if sent := only(one["to_send"]):
            state = sent["state"]
            found |= {
                Message(
                    sender=c,
                    to=b,
                    copy=1,
                    leader=state["leader"],
                    leader_epoch=state["leader_epoch"],
                    isr=frozenset(state["isr"]),
                    znode_version=sent["znode_version"],
                    controller_epoch=one["controller_epoch"],
                )
                for b in brokers
            }
    return found


def universe_of(values: Mapping[str, Value]) -> Listed:
    """What there is in a state, and may be in the next."""
    brokers = sorted(by_key(values["replicas"]))
    flying = {message_of(one) for one in items(values["messages"])}
    messages = flying | {m._replace(copy=2) for m in flying} | to_be_sent(values, brokers)
    held = record(values["znodes"])["/brokers/topics/t/0/leaderAndISR"]
    versions = range(held["version"] + MARGIN)
    controllers = sorted(by_key(values["controllers"]))
    return Listed(
        {
            Sort.BROKER: brokers,
            Sort.BROKER_OR_NONE: [NONE, *brokers],
            Sort.CONTROLLER: controllers,
            Sort.CONTROLLER_OR_NONE: [NONE, *controllers],
            Sort.MESSAGE: sorted(messages, key=repr),
            Sort.VERSION: versions,
            Sort.EPOCH: range(NO_EPOCH, len(versions) + 1),
            Sort.BOOLEAN: (False, True),
        },
        {Sort.BROKER: NONE, Sort.CONTROLLER: NONE},
    )


def items(value: Value) -> list[Value]:
    """A set or a sequence."""
    assert isinstance(value, list)
    return value


def observed_state(values: Mapping[str, Value], before: SpecState | None = None) -> dict[str, Any]:
    """The tables that TLC shows; older versions of the state are those of `before`."""
    return {
        "universe": universe_of(values),
        "no_broker": NONE,
        "no_controller": NONE,
        "znodes": znodes_of(values["znodes"], before.znodes if before else None),
        "controllers": controllers_of(values["controllers"]),
        "replicas": replicas_of(values["replicas"]),
        "messages": messages_of(message_of(one) for one in items(values["messages"])),
    }


def initial_history(tables: Mapping[str, Any]) -> dict[str, Any]:
    """What has happened when nothing has."""
    znodes, replicas = tables["znodes"], tables["replicas"]
    newest = znodes.leader_epoch(znodes.version)
    return {
        "obedience": ObedienceTable(
            leader_epoch=replicas.leader_epoch, controller_epoch=replicas.controller_epoch
        ),
        "epochs": EpochTable(
            leader=lambda e: znodes.leader(znodes.version) if e == newest >= 0 else NONE,
            isr=lambda e, b: e == newest >= 0 and znodes.isr(znodes.version, b),
            maximal_isr=lambda e, b: e == newest >= 0 and znodes.isr(znodes.version, b),
            is_started=lambda e: e == newest >= 0,
        ),
        "history": HistoryTable(
            stale_controller=False,
            write_out_of_office=False,
            unauthorised_write=False,
            newest_epoch=newest,
        ),
    }


def initial_state(values: Mapping[str, Value]) -> SpecState:
    """An initial state of TLC with its history."""
    tables = observed_state(values)
    return SpecState(**tables, **initial_history(tables))


UNSEEN = frozenset({"obedience", "epochs", "history", "epoch_logs", "records"})
"""Tables that TLC has not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How states of TLC are read for one module of the proofs."""

    universe_of: Callable[[Mapping[str, Value]], Listed]
    observed_state: Callable[[Mapping[str, Value], Any], dict[str, Any]]
    initial_state: Callable[[Mapping[str, Value]], SpecState]
    unseen: frozenset[str] = UNSEEN


METADATA = Reading(
    universe_of=universe_of, observed_state=observed_state, initial_state=initial_state
)
VALUES = frozenset({Sort.MESSAGE, Sort.ANSWER, Sort.RECORD})
"""Of which there are more than a state shows."""
ONLY_IF = {
    "decided_": "has_decision",
    "expected_": "has_decision",
    "sent_": "has_to_send",
    "pending_": "has_pending_isr",
}
"""Fields that mean something only where another is true."""
LAST_COMMIT = ("commits", "epoch")
"""TLC does not tell it."""
ONLY_THE_LAST = frozenset({"leader", "leader_epoch", "isr", "author_epoch"})
"""Of the versions of the state TLC has the last."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A state as TLC would show it, to compare."""

    tables: tuple[tuple[str, Any], ...]


def seen(state: SpecState, universe: Listed, unseen: frozenset[str]) -> Seen:
    """What there is to see of a state."""
    tables = []
    for one in fields(state):
        table = getattr(state, one.name)
        if isinstance(table, Table) and one.name not in unseen:
            is_of_commits = isinstance(table, AcknowledgementTable)
            found = _told(state) if is_of_commits else _seen_table(one.name, table, universe)
            tables.append((one.name, found))
    return Seen(tuple(tables))


def _told(state: Any) -> tuple[bool, ...]:  # noqa: ANN401  of `Replication`
    """Whether it is acknowledged, of each record that is committed: no other is."""
    commits, was_told = state.commits, state.acknowledgements.was_told
    return tuple(was_told(i, commits.record(i)) for i in range(commits.end))


def _seen_table(name: str, table: Table, universe: Listed) -> tuple[Any, ...]:
    found: list[tuple[Any, ...]] = []
    for one in fields(table):  # type: ignore[arg-type]
        sorts: tuple[Sort, ...] = one.metadata["sorts"]
        told = getattr(table, one.name)
        if not sorts:
            found += [] if (name, one.name) == LAST_COMMIT else [(one.name, told)]
            continue
        found.extend(
            (one.name, key, told(*key))
            for key in universe.choices(sorts)
            if _is_meant(name, table, one.name, key)
        )
    return tuple(found)


def _is_meant(name: str, table: Table, field: str, key: tuple[object, ...]) -> bool:
    if isinstance(table, ZnodeTable) and field in ONLY_THE_LAST:
        return bool(key[0] == table.version)
    if name in {"messages", "answers"}:
        return field == "in_flight"
    if isinstance(table, LogTable) and field == "record":
        return bool(key[1] < table.end(key[0]))
    if isinstance(table, CommitTable):
        return bool(key[0] < table.end)
    for prefix, condition in ONLY_IF.items():
        if field.startswith(prefix):
            return bool(getattr(table, condition)(key[0]))
    return True


def frozen(state: SpecState, universe: Listed) -> SpecState:
    """The state with its functions written down, over what there is in a universe."""
    tables: dict[str, Any] = {"universe": universe}
    for one in fields(state):
        table = getattr(state, one.name)
        if isinstance(table, Table):
            tables[one.name] = _frozen_table(table, universe)
    return replace(state, **tables)


def _frozen_table(table: Table, universe: Listed) -> Table:
    changes: dict[str, Any] = {}
    for one in fields(table):  # type: ignore[arg-type]
        sorts: tuple[Sort, ...] = one.metadata["sorts"]
        told = getattr(table, one.name)
        is_of_value = not VALUES.isdisjoint(sorts) and one.name != "in_flight"
        if not sorts or is_of_value:
            continue
        known = {key[0] if len(key) == 1 else key: told(*key) for key in universe.choices(sorts)}
        default = False if one.metadata["gives"] is Sort.BOOLEAN else NONE
        changes[one.name] = looked_up(known, default)
    return table.but(**changes)
