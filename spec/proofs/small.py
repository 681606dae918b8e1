"""Universes of a few brokers and a few epochs, where the solver always finds a model if one is.

What a model says is read back as plain values, in which guard and claims are evaluated again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from string import digits
from typing import Any

import z3

from fencepost.spec.proofs.logic import NAMES, Listed, Sort, Term, both
from fencepost.spec.proofs.state import Shape, SpecState, Table

NONE = -1
"""The plain value of none; the others are counted from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is in a small universe, none aside."""

    brokers: int = 3
    controllers: int = 2
    messages: int = 2
    answers: int = 2
    records: int = 2
    newest: int = 1
    """The largest version and epoch of a state."""
    log_end: int = 1
    """The largest log end of a state."""
    min_insync_replicas: int = 2
    """Of three, one may lag."""

    @property
    def names(self) -> Mapping[str, int]:
        """How many there are of each sort without arithmetic."""
        return {
            "Broker": self.brokers,
            "Controller": self.controllers,
            "Message": self.messages,
            "Answer": self.answers,
            "Record": self.records,
        }

    @property
    def numbers(self) -> Mapping[Sort, Sequence[Any]]:
        """What quantifiers over numbers range over: one more than a state may hold."""
        return {
            Sort.VERSION: range(-1, self.newest + 2),
            Sort.EPOCH: range(-1, self.newest + 2),
            Sort.OFFSET: range(-1, self.log_end + 2),
            Sort.COUNT: range(1, self.log_end + 2),
            Sort.NUMBER: range(6),
            Sort.BOOLEAN: (False, True),
        }


SMALL = Size()
"""Enough for most: a leader, two followers, and an epoch that follows another."""


@cache
def enumerated(name: str, count: int) -> tuple[Term, ...]:
    """The values of a sort, the one that stands for none first."""
    names = [f"{name.lower()}_{number}" for number in range(count)]
    _, values = z3.EnumSort(f"Small{name}{count}", [f"no_{name.lower()}", *names])
    return tuple(values)


@cache
def small_universe(size: Size) -> Listed:
    """Symbols for a few of everything."""
    values: dict[Sort, Sequence[Term]] = dict(size.numbers)
    named = {sort: enumerated(name, size.names[name]) for sort, name in NAMES.items()}
    for sort, terms in named.items():
        values[sort] = terms[1:]
    for sort in (Sort.BROKER_OR_NONE, Sort.CONTROLLER_OR_NONE):
        values[sort] = named[sort]
    nones = {sort: terms[0] for sort, terms in named.items()}
    return Listed(values, nones, size.min_insync_replicas)


@cache
def plain_universe(size: Size) -> Listed:
    """The same in plain values."""
    values: dict[Sort, Sequence[Term]] = dict(size.numbers)
    for sort, name in NAMES.items():
        values[sort] = range(size.names[name])
    for sort in (Sort.BROKER_OR_NONE, Sort.CONTROLLER_OR_NONE):
        values[sort] = range(NONE, size.names[NAMES[sort]])
    return Listed(values, dict.fromkeys(NAMES, NONE), size.min_insync_replicas)


def within(universe: Listed, sort: Sort, term: Term) -> Term:
    """That a term is one of the listed values."""
    if sort is Sort.BOOLEAN or sort in {Sort.BROKER_OR_NONE, Sort.CONTROLLER_OR_NONE}:
        return True
    if sort in NAMES:
        return term != universe.none(sort)
    numbers = universe.values[sort]
    return both(min(numbers) <= term, term <= max(numbers))


def constants(universe: Listed, prefix: str, sorts: Sequence[Sort]) -> list[Term]:
    """A fresh constant for each sort."""
    return [
        z3.Const(f"{prefix}_{place}_{sort.name.lower()}", universe.sort(sort))
        for place, sort in enumerate(sorts)
    ]


def is_closed(universe: Listed, shape: Shape, state: SpecState) -> Term:
    """That every function leads from listed values to listed values."""
    claims: list[Term] = []
    for name, kind in shape.tables.items():
        table = getattr(state, name)
        for one in fields(kind):  # type: ignore[arg-type]
            told, gives = getattr(table, one.name), one.metadata["gives"]
            if not one.metadata["sorts"]:
                claims.append(within(universe, gives, told))
                continue
            keys = universe.choices(one.metadata["sorts"])
            claims.extend(within(universe, gives, told(*terms)) for terms in keys)
    return both(*claims)


@dataclass(frozen=True, slots=True)
class ModelReading:
    """What a model says, as plain values."""

    model: z3.ModelRef
    size: Size

    def value(self, term: Term) -> Any:  # noqa: ANN401  a number, a truth, or a name's number
        """The plain value of a term."""
        found = self.model.eval(term, model_completion=True)
        if z3.is_bool(found):
            return z3.is_true(found)
        if z3.is_int(found):
            return found.as_long()
        name = found.sort().name().removeprefix("Small").rstrip(digits)
        return enumerated(name, self.size.names[name]).index(found) + NONE

    def state(self, shape: Shape, symbolic: SpecState) -> SpecState:
        """The state of the model."""
        tables: dict[str, Any] = {
            name: self.table(kind, getattr(symbolic, name)) for name, kind in shape.tables.items()
        }
        return shape.cls(
            universe=plain_universe(self.size), no_broker=NONE, no_controller=NONE, **tables
        )

    def table(self, kind: type[Table], symbolic: Table) -> Table:
        """One table of it."""
        made: dict[str, Any] = {}
        for one in fields(kind):  # type: ignore[arg-type]
            told = getattr(symbolic, one.name)
            sorts: tuple[Sort, ...] = one.metadata["sorts"]
            made[one.name] = self.function(told, sorts) if sorts else self.value(told)
        return kind(**made)

    def function(self, symbol: Callable[..., Term], sorts: Sequence[Sort]) -> Callable[..., Any]:
        """A function of plain values, read when it is asked."""
        known: dict[tuple[Any, ...], Any] = {}

        def read(*arguments: Any) -> Any:  # noqa: ANN401  as `value`
            if arguments not in known:
                terms = [self.symbol(sort, one) for sort, one in zip(sorts, arguments, strict=True)]
                known[arguments] = self.value(symbol(*terms))
            return known[arguments]

        return read

    def symbol(self, sort: Sort, value: Any) -> Term:  # noqa: ANN401  a plain value
        """The term of a plain value."""
        if sort not in NAMES:
            return value
        return enumerated(NAMES[sort], self.size.names[NAMES[sort]])[value - NONE]
