"""States as tables of functions, named as the variables and fields of the TLA+ modules.

`replicas[b].role` of the specs is `replicas.role(b)` here, `[replicas EXCEPT ![b].role = r]` is
`replicas.at(b, role=r)`. Tables of history (ghosts) say what happened; no guard reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import Any, Self, TypeVar, dataclass_transform, get_type_hints

import z3

from fencepost.spec.proofs.logic import Function, Sort, Term, Universe, choose


class ReplicaRole(IntEnum):
    """`replicas[b].role`."""

    DOWN = 0
    STARTING = 1
    IDLE = 2
    FOLLOWER = 3
    LEADER = 4
    FENCED = 5


class OfficeStatus(IntEnum):
    """`controllers[c].status`."""

    STANDING = 0
    CREATED = 1
    ACTIVE = 2


NO_EPOCH = -1
NO_VERSION = -1
UNKNOWN = -1


def of(*sorts: Sort, gives: Sort) -> Any:  # noqa: ANN401  as dataclasses.field itself
    """A field that is a function of `sorts`; of none, a term."""
    return field(metadata={"sorts": sorts, "gives": gives})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field, of))
def table(cls: type) -> type:
    """A frozen dataclass with fields made by `of`."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


class Table:
    """Functions of one key, or terms."""

    __slots__ = ()

    def at(self, key: Term, **changes: Term | Function) -> Self:
        """The table with other values at one key: a term, or a function of the other arguments."""
        changed = {name: _at(getattr(self, name), key, new) for name, new in changes.items()}
        return replace(self, **changed)  # type: ignore[type-var]

    def but(self, **changes: Term | Function) -> Self:
        """The table with other fields."""
        return replace(self, **changes)  # type: ignore[type-var]


def _at(function: Function, key: Term, new: Term | Function) -> Function:
    def changed(first: Term, *rest: Term) -> Term:
        value = new(*rest) if callable(new) else new
        return choose(first == key, value, function(first, *rest))

    return changed


@table
class ZnodeTable(Table):
    """The tree, with every version that the state ever had; the last is what is there."""

    office: Term = of(gives=Sort.CONTROLLER_OR_NONE)
    """Owner of /controller."""
    controller_epoch: Term = of(gives=Sort.NUMBER)
    """Of /controller_epoch: content and version alike."""
    topic_exists: Term = of(gives=Sort.BOOLEAN)
    registered: Function = of(Sort.BROKER, gives=Sort.BOOLEAN)
    version: Term = of(gives=Sort.VERSION)
    leader: Function = of(Sort.VERSION, gives=Sort.BROKER_OR_NONE)
    leader_epoch: Function = of(Sort.VERSION, gives=Sort.EPOCH)
    isr: Function = of(Sort.VERSION, Sort.BROKER, gives=Sort.BOOLEAN)
    author_epoch: Function = of(Sort.VERSION, gives=Sort.NUMBER)
    """The `controller_epoch` in the state."""


@table
class ControllerTable(Table):
    """What each controller knows and has in flight."""

    status: Function = of(Sort.CONTROLLER, gives=Sort.NUMBER)
    controller_epoch: Function = of(Sort.CONTROLLER, gives=Sort.NUMBER)
    live_brokers: Function = of(Sort.CONTROLLER, Sort.BROKER, gives=Sort.BOOLEAN)
    is_watching: Function = of(Sort.CONTROLLER, gives=Sort.BOOLEAN)
    is_reply_lost: Function = of(Sort.CONTROLLER, gives=Sort.BOOLEAN)
    has_decision: Function = of(Sort.CONTROLLER, gives=Sort.BOOLEAN)
    decided_leader: Function = of(Sort.CONTROLLER, gives=Sort.BROKER_OR_NONE)
    decided_leader_epoch: Function = of(Sort.CONTROLLER, gives=Sort.EPOCH)
    decided_isr: Function = of(Sort.CONTROLLER, Sort.BROKER, gives=Sort.BOOLEAN)
    decided_author_epoch: Function = of(Sort.CONTROLLER, gives=Sort.NUMBER)
    expected_version: Function = of(Sort.CONTROLLER, gives=Sort.VERSION)
    has_to_send: Function = of(Sort.CONTROLLER, gives=Sort.BOOLEAN)
    sent_leader: Function = of(Sort.CONTROLLER, gives=Sort.BROKER_OR_NONE)
    sent_leader_epoch: Function = of(Sort.CONTROLLER, gives=Sort.EPOCH)
    sent_isr: Function = of(Sort.CONTROLLER, Sort.BROKER, gives=Sort.BOOLEAN)
    sent_version: Function = of(Sort.CONTROLLER, gives=Sort.VERSION)


@table
class ReplicaTable(Table):
    """What each broker believes about the partition."""

    role: Function = of(Sort.BROKER, gives=Sort.NUMBER)
    leader: Function = of(Sort.BROKER, gives=Sort.BROKER_OR_NONE)
    leader_epoch: Function = of(Sort.BROKER, gives=Sort.EPOCH)
    isr: Function = of(Sort.BROKER, Sort.BROKER, gives=Sort.BOOLEAN)
    has_pending_isr: Function = of(Sort.BROKER, gives=Sort.BOOLEAN)
    pending_isr: Function = of(Sort.BROKER, Sort.BROKER, gives=Sort.BOOLEAN)
    is_reply_lost: Function = of(Sort.BROKER, gives=Sort.BOOLEAN)
    znode_version: Function = of(Sort.BROKER, gives=Sort.VERSION)
    controller_epoch: Function = of(Sort.BROKER, gives=Sort.NUMBER)


@table
class MessageTable(Table):
    """LeaderAndISR commands are values: only whether one is in flight changes."""

    in_flight: Function = of(Sort.MESSAGE, gives=Sort.BOOLEAN)
    sender: Function = of(Sort.MESSAGE, gives=Sort.CONTROLLER)
    to: Function = of(Sort.MESSAGE, gives=Sort.BROKER)
    copy: Function = of(Sort.MESSAGE, gives=Sort.NUMBER)
    leader: Function = of(Sort.MESSAGE, gives=Sort.BROKER_OR_NONE)
    leader_epoch: Function = of(Sort.MESSAGE, gives=Sort.EPOCH)
    isr: Function = of(Sort.MESSAGE, Sort.BROKER, gives=Sort.BOOLEAN)
    znode_version: Function = of(Sort.MESSAGE, gives=Sort.VERSION)
    controller_epoch: Function = of(Sort.MESSAGE, gives=Sort.NUMBER)


@table
class ObedienceTable(Table):
    """History: what each broker has obeyed."""

    leader_epoch: Function = of(Sort.BROKER, gives=Sort.EPOCH)
    """The largest ever, restarts or not."""
    controller_epoch: Function = of(Sort.BROKER, gives=Sort.NUMBER)
    """The largest that it read or obeyed since it started."""


@table
class EpochTable(Table):
    """History: what each leader epoch was."""

    leader: Function = of(Sort.EPOCH, gives=Sort.BROKER_OR_NONE)
    isr: Function = of(Sort.EPOCH, Sort.BROKER, gives=Sort.BOOLEAN)
    """The last that was written in this epoch."""
    maximal_isr: Function = of(Sort.EPOCH, Sort.BROKER, gives=Sort.BOOLEAN)
    """What its leader waits for, or waited for when it stopped leading."""
    is_started: Function = of(Sort.EPOCH, gives=Sort.BOOLEAN)
    """Its leader has led."""


@table
class HistoryTable(Table):
    """History: acts that no rule allows, and the newest epoch that was written."""

    stale_controller: Term = of(gives=Sort.BOOLEAN)
    """A deposed controller wrote, or was obeyed by a broker that knew of its successor."""
    write_out_of_office: Term = of(gives=Sort.BOOLEAN)
    """A controller wrote that did not hold /controller, whether another did or not."""
    unauthorised_write: Term = of(gives=Sort.BOOLEAN)
    """A leader wrote that the znode did not name."""
    newest_epoch: Term = of(gives=Sort.EPOCH)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecState:
    """A state of `LeaderAndIsr` with its history."""

    universe: Universe
    no_broker: Term
    no_controller: Term
    znodes: ZnodeTable
    controllers: ControllerTable
    replicas: ReplicaTable
    messages: MessageTable
    obedience: ObedienceTable
    epochs: EpochTable
    history: HistoryTable

    def every(self, *sorts_and_claim: Sort | Function) -> Term:
        """That a claim, the last argument, holds of all terms of the sorts before it."""
        *sorts, claim = sorts_and_claim
        return self.universe.every(sorts, claim)  # type: ignore[arg-type]

    def some(self, *sorts_and_claim: Sort | Function) -> Term:
        """That a claim, the last argument, holds of some terms of the sorts before it."""
        *sorts, claim = sorts_and_claim
        return self.universe.some(sorts, claim)  # type: ignore[arg-type]


StateT = TypeVar("StateT", bound=SpecState)


def symbols(cls: type[Table], name: str, universe: Universe) -> Any:  # noqa: ANN401  of that type
    """A table of symbols of z3."""
    made: dict[str, Term] = {}
    for one in fields(cls):  # type: ignore[arg-type]
        gives = universe.sort(one.metadata["gives"])
        sorts = [universe.sort(sort) for sort in one.metadata["sorts"]]
        symbol = f"{name}.{one.name}"
        made[one.name] = z3.Function(symbol, *sorts, gives) if sorts else z3.Const(symbol, gives)
    return cls(**made)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a state is made of."""

    cls: type[SpecState]

    @property
    def tables(self) -> Mapping[str, type[Table]]:
        """Its fields that are tables, by name."""
        hints = get_type_hints(self.cls)
        return {
            one.name: hints[one.name]
            for one in fields(self.cls)
            if isinstance(hints[one.name], type) and issubclass(hints[one.name], Table)
        }

    def symbolic(self, universe: Universe) -> Any:  # noqa: ANN401  a state of that type
        """A state of symbols: any state of that universe."""
        return self.cls(
            universe=universe,
            no_broker=universe.none(Sort.BROKER),
            no_controller=universe.none(Sort.CONTROLLER),
            **{name: symbols(table, name, universe) for name, table in self.tables.items()},
        )
