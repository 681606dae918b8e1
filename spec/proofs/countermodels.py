"""States that keep an invariant and lose it in one step: what a wrong rule must have.

They are looked for in a small universe, where the solver always decides, and a state that is
found is evaluated again in plain values.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product

import z3

from fencepost.spec.proofs.actions import ProofAction
from fencepost.spec.proofs.clauses import Clause
from fencepost.spec.proofs.logic import Function, Term, both, no
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.proofs.small import (
    SMALL,
    ModelReading,
    Size,
    constants,
    is_closed,
    plain_universe,
    small_universe,
    within,
)
from fencepost.spec.proofs.solver import Taken
from fencepost.spec.proofs.state import SpecState


@dataclass(frozen=True, slots=True, kw_only=True)
class Countermodel:
    """The clause that an action breaks."""

    clause: str
    is_property: bool
    """False when it is one that the proof of a property needs."""
    action: str
    way: str
    is_confirmed: bool
    """The plain values of the state say so too."""


class Search:
    """Looks for states of a small universe that keep the invariant of a module."""

    def __init__(self, module: ProvedModule, size: Size = SMALL) -> None:
        self.module = module
        self.size = size
        self.universe = small_universe(size)
        self.state: SpecState = module.shape.symbolic(self.universe)
        self.solver = z3.Solver()
        self.solver.set(random_seed=0)
        self.solver.add(
            module.is_small(self.state, size),
            is_closed(self.universe, module.shape, self.state),
            *self.held(self.state),
        )

    def held(self, state: SpecState) -> Iterator[Term]:
        """The invariant and what it implies, instance by instance."""
        for clause in (*self.module.whole, *self.module.implied):
            yield state.universe.every(clause.sorts, _of(clause, state))

    @contextmanager
    def assuming(self, *claims: Term) -> Iterator[None]:
        """For a while, something more is known."""
        self.solver.push()
        self.solver.add(*claims)
        try:
            yield
        finally:
            self.solver.pop()

    def taken(self, action: ProofAction) -> Taken:
        """An action in the state of symbols."""
        choices = constants(self.universe, "chosen", action.choices)
        bounds = map(within, [self.universe] * len(choices), action.choices, choices)
        step = action.step(self.state, *choices)
        return Taken(guard=both(*bounds, step.guard), next=step.next, choices=choices)

    def never_taken(self) -> Iterator[str]:
        """Ways to take an action that no state allows, of those that keep the invariant.

        A state that is found for one is asked for the others.
        """
        waiting = list(self.module.actions)
        while waiting:
            action = waiting.pop(0)
            with self.assuming(self.taken(action).guard):
                if self.solver.check() != z3.sat:
                    yield action.way
                    continue
                reading = ModelReading(self.solver.model(), self.size)
            state = reading.state(self.module.shape, self.state)
            waiting = [one for one in waiting if not self.allows(state, one)]

    def allows(self, state: SpecState, action: ProofAction) -> bool:
        """Whether the action can be taken in a state of plain values."""
        choices = plain_universe(self.size).choices(action.choices)
        return any(action.step(state, *chosen).guard is True for chosen in choices)

    def against(self, actions: Iterable[ProofAction], name: str) -> Countermodel | None:
        """To the clause of that name, after one of the actions."""
        named = [one for one in self.module.claimed if one.name == name]
        for action, clause in product(actions, named):
            taken = self.taken(action)
            with self.assuming(taken.guard):
                if found := self.broken(action, taken, clause):
                    return found
        return None

    def broken(self, action: ProofAction, taken: Taken, clause: Clause) -> Countermodel | None:
        """To one clause after one action."""
        terms = constants(self.universe, "some", clause.sorts)
        bounds = map(within, [self.universe] * len(terms), clause.sorts, terms)
        with self.assuming(*bounds, no(clause.after(self.state, taken.next)(*terms))):
            if self.solver.check() != z3.sat:
                return None
            reading = ModelReading(self.solver.model(), self.size)
        return Countermodel(
            clause=clause.name,
            is_property=clause.is_property,
            action=action.name,
            way=action.way,
            is_confirmed=self.is_confirmed(reading, action, taken, clause, terms),
        )

    def is_confirmed(
        self,
        reading: ModelReading,
        action: ProofAction,
        taken: Taken,
        clause: Clause,
        terms: list[Term],
    ) -> bool:
        """Whether the plain values keep the invariant, allow the step, and break the clause."""
        before = reading.state(self.module.shape, self.state)
        step = action.step(before, *map(reading.value, taken.choices))
        return (
            all(claim is True for claim in self.held(before))
            and step.guard is True
            and clause.after(before, step.next)(*map(reading.value, terms)) is False
        )


def _of(clause: Clause, state: SpecState) -> Function:
    def claim(*terms: Term) -> Term:
        return clause.claim(state, *terms)

    return claim
