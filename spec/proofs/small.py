"""Universes of a few brokers and a few epochs, where the solver always finds a model if one is.

What a model says is read back as plain values, in which guard and claims are evaluated again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import z3

from fencepost.spec.proofs.logic import NAMES, Listed, Sort, Term, both
from fencepost.spec.proofs.state import Shape, SpecState, Table

SIZES = {"Broker": 3, "Controller": 2, "Message": 2, "Answer": 2, "Record": 2}
"""How many there are, none aside."""
NONE = -1
"""The plain value of none; the others are counted from 0."""
NUMBERS = {
    Sort.VERSION: range(-1, 3),
    Sort.EPOCH: range(-1, 3),
    Sort.OFFSET: range(-1, 3),
    Sort.COUNT: range(1, 3),
    Sort.NUMBER: range(6),
    Sort.BOOLEAN: (False, True),
}
"""What quantifiers over numbers range over: one more than a state may hold."""


@cache
def enumerated(name: str) -> tuple[Term, ...]:
    """The values of a sort, the one that stands for none first."""
    names = [f"{name.lower()}_{number}" for number in range(SIZES[name])]
    _, values = z3.EnumSort(f"Small{name}", [f"no_{name.lower()}", *names])
    return tuple(values)


@cache
def small_universe() -> Listed:
    """Symbols for a few of everything."""
    values: dict[Sort, Sequence[Term]] = dict(NUMBERS)
    for sort, name in NAMES.items():
        values[sort] = enumerated(name)[1:]
    for sort in (Sort.BROKER_OR_NONE, Sort.CONTROLLER_OR_NONE):
        values[sort] = enumerated(NAMES[sort])
    return Listed(values, {sort: enumerated(name)[0] for sort, name in NAMES.items()})


@cache
def plain_universe() -> Listed:
    """The same in plain values."""
    values: dict[Sort, Sequence[Term]] = dict(NUMBERS)
    for sort, name in NAMES.items():
        values[sort] = range(SIZES[name])
    for sort in (Sort.BROKER_OR_NONE, Sort.CONTROLLER_OR_NONE):
        values[sort] = range(NONE, SIZES[NAMES[sort]])
    return Listed(values, dict.fromkeys(NAMES, NONE))


def within(universe: Listed, sort: Sort, term: Term) -> Term:
    """That a term is one of the listed values."""
    if sort is Sort.BOOLEAN or sort in {Sort.BROKER_OR_NONE, Sort.CONTROLLER_OR_NONE}:
        return True
    if sort in NAMES:
        return term != universe.none(sort)
    numbers = NUMBERS[sort]
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

    def value(self, term: Term) -> Any:  # noqa: ANN401  a number, a truth, or a name's number
        """The plain value of a term."""
        found = self.model.eval(term, model_completion=True)
        if z3.is_bool(found):
            return z3.is_true(found)
        if z3.is_int(found):
            return found.as_long()
        return enumerated(found.sort().name().removeprefix("Small")).index(found) + NONE

    def state(self, shape: Shape, symbolic: SpecState) -> SpecState:
        """The state of the model."""
        tables: dict[str, Any] = {
            name: self.table(kind, getattr(symbolic, name)) for name, kind in shape.tables.items()
        }
        return shape.cls(universe=plain_universe(), no_broker=NONE, no_controller=NONE, **tables)

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
                terms = [_symbol(sort, one) for sort, one in zip(sorts, arguments, strict=True)]
                known[arguments] = self.value(symbol(*terms))
            return known[arguments]

        return read


def _symbol(sort: Sort, value: Any) -> Term:  # noqa: ANN401  a plain value
    return enumerated(NAMES[sort])[value - NONE] if sort in NAMES else value
