"""Logic that is read three ways: of any size, of a small size, and of known values.

A guard or an invariant is written once, with the connectives below and the quantifiers of a
`Universe`. Over symbols it becomes a formula of z3; over plain values it is simply true or false.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from itertools import product
from typing import Any, Protocol

import z3

Term = Any
"""A z3 expression, or a plain value."""
Function = Callable[..., Any]
"""From terms to a term."""


class Sort(Enum):
    """What a term stands for."""

    BROKER = auto()
    BROKER_OR_NONE = auto()
    CONTROLLER = auto()
    CONTROLLER_OR_NONE = auto()
    MESSAGE = auto()
    ANSWER = auto()
    RECORD = auto()
    VERSION = auto()
    EPOCH = auto()
    OFFSET = auto()
    COUNT = auto()
    NUMBER = auto()
    BOOLEAN = auto()


def both(*claims: Term) -> Term:
    """Conjunction."""
    if any(claim is False for claim in claims):
        return False
    open_ones = [claim for claim in claims if claim is not True]
    if not open_ones:
        return True
    return open_ones[0] if len(open_ones) == 1 else z3.And(*open_ones)


def either(*claims: Term) -> Term:
    """Disjunction."""
    if any(claim is True for claim in claims):
        return True
    open_ones = [claim for claim in claims if claim is not False]
    if not open_ones:
        return False
    return open_ones[0] if len(open_ones) == 1 else z3.Or(*open_ones)


def no(claim: Term) -> Term:
    """Negation."""
    return not claim if isinstance(claim, bool) else z3.Not(claim)


def implies(condition: Term, claim: Term) -> Term:
    """Implication."""
    if isinstance(condition, bool):
        return claim if condition else True
    return True if claim is True else z3.Implies(condition, claim)


def choose(condition: Term, then: Term, otherwise: Term) -> Term:
    """IF condition THEN then ELSE otherwise."""
    if isinstance(condition, bool):
        return then if condition else otherwise
    return then if then is otherwise else z3.If(condition, then, otherwise)


def minimum(one: Term, other: Term) -> Term:
    """The smaller of two numbers."""
    return choose(one <= other, one, other)


def maximum(one: Term, other: Term) -> Term:
    """The larger of two numbers."""
    return choose(one <= other, other, one)


class Universe(Protocol):
    """What quantifiers range over, and how symbols are made."""

    def every(self, sorts: Sequence[Sort], claim: Function) -> Term:
        """That `claim` holds of all terms of `sorts`."""
        ...

    def some(self, sorts: Sequence[Sort], claim: Function) -> Term:
        """That `claim` holds of some terms of `sorts`."""
        ...

    def is_enough(self, is_member: Function) -> Term:
        """That a set of brokers has as many as `min.insync.replicas` asks for."""
        ...

    def sort(self, sort: Sort) -> z3.SortRef:
        """The sort of z3."""
        ...

    def none(self, sort: Sort) -> Term:
        """The term of a sort that stands for none."""
        ...


NAMES = {
    Sort.BROKER: "Broker",
    Sort.BROKER_OR_NONE: "Broker",
    Sort.CONTROLLER: "Controller",
    Sort.CONTROLLER_OR_NONE: "Controller",
    Sort.MESSAGE: "Message",
    Sort.ANSWER: "Answer",
    Sort.RECORD: "Record",
}
"""Sorts without arithmetic; the others are integers and booleans."""


@cache
def uninterpreted(name: str) -> z3.SortRef:
    """A sort of any size."""
    return z3.DeclareSort(name)


class Unbounded:
    """Any number of brokers, controllers, messages and records; all integers."""

    def __init__(self) -> None:
        self.depth = 0

    def is_enough(self, is_member: Function) -> Term:
        """It contains one of a family of sets, of which nothing is known.

        Every property of sets that larger sets share is of this form; how many brokers are asked
        for makes no difference.
        """
        quorum, broker = uninterpreted("Quorum"), self.sort(Sort.BROKER)
        is_quorum = z3.Function("is_quorum", quorum, z3.BoolSort())
        is_of = z3.Function("is_of_quorum", quorum, broker, z3.BoolSort())
        one = z3.Const(f"quorum_{self.depth + 1}", quorum)
        is_contained = self.every((Sort.BROKER,), lambda b: either(no(is_of(one, b)), is_member(b)))
        return z3.Exists([one], both(is_quorum(one), is_contained))

    def sort(self, sort: Sort) -> z3.SortRef:
        """Uninterpreted, or integers, or booleans."""
        if sort in NAMES:
            return uninterpreted(NAMES[sort])
        return z3.BoolSort() if sort is Sort.BOOLEAN else z3.IntSort()

    def none(self, sort: Sort) -> Term:
        """A constant, of which nothing is known."""
        return z3.Const(f"no_{sort.name.lower()}", self.sort(sort))

    def every(self, sorts: Sequence[Sort], claim: Function) -> Term:
        """A quantifier; equal formulas are built of equal names."""
        return self.quantified(z3.ForAll, sorts, claim)

    def some(self, sorts: Sequence[Sort], claim: Function) -> Term:
        """As `every`."""
        return self.quantified(z3.Exists, sorts, claim)

    def quantified(self, quantifier: Function, sorts: Sequence[Sort], claim: Function) -> Term:
        """Bound names carry the depth, so that none is captured."""
        self.depth += 1
        try:
            bound = [
                z3.Const(f"{sort.name.lower()}_{self.depth}_{place}", self.sort(sort))
                for place, sort in enumerate(sorts)
            ]
            body = claim(*bound)
        finally:
            self.depth -= 1
        return body if isinstance(body, bool) else quantifier(bound, body)


@dataclass(frozen=True, slots=True)
class Listed:
    """All terms are listed: quantifiers are conjunctions and disjunctions."""

    values: Mapping[Sort, Sequence[Term]]
    nones: Mapping[Sort, Term]
    min_insync_replicas: int = 1

    def none(self, sort: Sort) -> Term:
        """A value that no quantifier ranges over."""
        return self.nones[sort]

    def every(self, sorts: Sequence[Sort], claim: Function) -> Term:
        """A conjunction, decided early where it can be."""
        claims: list[Term] = []
        for terms in self.choices(sorts):
            claims.append(claim(*terms))
            if claims[-1] is False:
                return False
        return both(*claims)

    def some(self, sorts: Sequence[Sort], claim: Function) -> Term:
        """A disjunction, decided early where it can be."""
        claims: list[Term] = []
        for terms in self.choices(sorts):
            claims.append(claim(*terms))
            if claims[-1] is True:
                return True
        return either(*claims)

    def choices(self, sorts: Sequence[Sort]) -> Iterator[tuple[Term, ...]]:
        """All combinations of terms."""
        return product(*(self.values[sort] for sort in sorts))

    def is_enough(self, is_member: Function) -> Term:
        """Its members are counted."""
        claims = [is_member(b) for b in self.values[Sort.BROKER]]
        known = sum(1 for claim in claims if claim is True)
        open_ones = [(claim, 1) for claim in claims if not isinstance(claim, bool)]
        lacking = self.min_insync_replicas - known
        if lacking <= 0 or lacking > len(open_ones):
            return lacking <= 0
        return z3.PbGe(open_ones, lacking)

    def sort(self, sort: Sort) -> z3.SortRef:
        """Of the listed values."""
        if sort in NAMES:
            return self.values[sort][0].sort()
        return z3.BoolSort() if sort is Sort.BOOLEAN else z3.IntSort()
