"""Obligations, and what z3 says of them: proved, a countermodel, or unknown.

An obligation is a clause after an action: whatever state keeps the invariant and whatever is
chosen, the next state keeps the clause. Quantifiers are instantiated by their patterns only
(E-matching), so that what is not proved is unknown, soon and always the same way; the budget
counts the solver's own steps, no clock.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import z3

from fencepost.spec.proofs.actions import ProofAction
from fencepost.spec.proofs.clauses import Clause
from fencepost.spec.proofs.logic import Sort, Term, Universe, both, no
from fencepost.spec.proofs.state import SpecState

STEPS_MAX = 40_000_000
"""Of z3 for one conjunct; what takes more is unknown."""


class Stage(NamedTuple):
    """One try to prove a goal."""

    instances: Sequence[Term]
    """Of the facts."""
    steps: int
    """That z3 may take."""
    has_large: bool = True
    """Clauses of many terms are among the facts; else their instances alone are."""


class ProofAnswer(StrEnum):
    """What became of an obligation."""

    PROVED = "proved"
    UNTOUCHED = "untouched"
    """Proved: the clause says the same of the next state, word for word."""
    COUNTERMODEL = "countermodel"
    """Refuted: a state of a small universe keeps the invariant and loses the clause."""
    UNKNOWN = "unknown"
    """The budget did not suffice for a proof, nor a small universe for a countermodel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """A clause after an action, and what became of it."""

    module: str
    action: str
    way: str
    clause: str
    answer: ProofAnswer
    seconds: float

    @property
    def is_proved(self) -> bool:
        """Whether it holds, of any size."""
        return self.answer in {ProofAnswer.PROVED, ProofAnswer.UNTOUCHED}


def conjuncts(claim: Term, conditions: tuple[Term, ...] = ()) -> Iterator[Term]:
    """The conjuncts of a claim, each under its conditions: small goals, and small patterns."""
    if isinstance(claim, bool):
        if not claim:
            yield no(both(*conditions)) if conditions else z3.BoolVal(val=False)
    elif z3.is_and(claim):
        for one in claim.children():
            yield from conjuncts(one, conditions)
    elif z3.is_implies(claim):
        yield from conjuncts(claim.arg(1), (*conditions, claim.arg(0)))
    else:
        yield z3.Implies(both(*conditions), claim) if conditions else claim


def constants(universe: Universe, prefix: str, sorts: Sequence[Sort]) -> list[Term]:
    """A fresh constant for each sort."""
    return [
        z3.Const(f"{prefix}_{place}_{sort.name.lower()}", universe.sort(sort))
        for place, sort in enumerate(sorts)
    ]


def facts(state: SpecState, clause: Clause) -> Iterator[Term]:
    """A clause as quantified formulas, one for each conjunct, over the constants that are in it."""
    bound = constants(state.universe, "any", clause.sorts)
    for part in conjuncts(clause.claim(state, *bound)):
        used = [one for one in bound if _occurs(one, part)]
        yield z3.ForAll(used, part) if used else part


def _occurs(constant: Term, formula: Term) -> bool:
    seen: set[int] = set()
    waiting = [formula]
    while waiting:
        term = waiting.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if term.eq(constant):
            return True
        waiting += [term.body()] if z3.is_quantifier(term) else term.children()
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """An action with symbols for its choices."""

    guard: Term
    next: SpecState
    choices: list[Term]


def taken(state: SpecState, action: ProofAction) -> Taken:
    """An action with any choice of brokers, controllers and so on."""
    choices = constants(state.universe, "chosen", action.choices)
    nones = {Sort.BROKER: state.no_broker, Sort.CONTROLLER: state.no_controller}
    pairs = list(zip(action.choices, choices, strict=True))
    real = [one != nones[sort] for sort, one in pairs if sort in nones]
    step = action.step(state, *choices)
    return Taken(guard=both(*real, step.guard), next=step.next, choices=choices)


class Refuter:
    """Tries to refute goals under the same facts."""

    def __init__(self, facts: Sequence[Term]) -> None:
        self.solver = z3.SimpleSolver()
        self.solver.set(auto_config=False, mbqi=False, random_seed=0)
        self.solver.add(*facts)

    def is_refuted(self, goal: Term) -> bool:
        """Whether the facts alone leave no room for the negation of `goal`."""
        stage = Stage((), STEPS_MAX)
        return all(self.leaves_no_room(stage, part) for part in conjuncts(goal))

    def leaves_no_room(self, stage: Stage, goal: Term) -> bool:
        """Whether facts and instances contradict the negation of a goal, found in so many steps."""
        self.solver.push()
        self.solver.set(rlimit=stage.steps)
        self.solver.add(*stage.instances, no(goal))
        found = self.solver.check()
        self.solver.pop()
        return bool(found == z3.unsat)


@dataclass(frozen=True, slots=True)
class Refuters:
    """With all facts, and without those of many terms, which lead astray."""

    whole: Refuter
    small: Refuter

    def are_refuted(self, goal: Term, stages: Iterable[Stage]) -> bool:
        """Whether each conjunct of a goal is proved in one of the stages."""
        unproved = list(conjuncts(goal))
        for stage in stages:
            refuter = self.whole if stage.has_large else self.small
            unproved = [one for one in unproved if not refuter.leaves_no_room(stage, one)]
            if not unproved:
                return True
        return not unproved
