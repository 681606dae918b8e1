"""Instances of the clauses at terms that matter: what patterns alone would not find."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import z3

from fencepost.spec.proofs import solver
from fencepost.spec.proofs.clauses import Clause
from fencepost.spec.proofs.logic import Sort, Term
from fencepost.spec.proofs.module import Pool, ProvedModule
from fencepost.spec.proofs.solver import Stage, constants
from fencepost.spec.proofs.state import SpecState

SMALL = 3
"""Terms of a clause that is instantiated widely."""


def together(*pools: Pool) -> dict[Sort, list[Term]]:
    """The terms of all pools, each once."""
    found: dict[Sort, list[Term]] = {}
    for pool in pools:
        for sort, terms in pool.items():
            known = found.setdefault(sort, [])
            known += [one for one in terms if not any(one.eq(other) for other in known)]
    return found


def by_sort(sorts: Sequence[Sort], terms: Sequence[Term]) -> dict[Sort, list[Term]]:
    """Terms as a pool."""
    pool: dict[Sort, list[Term]] = {}
    for sort, one in zip(sorts, terms, strict=True):
        pool.setdefault(sort, []).append(one)
    return pool


class Hints:
    """Instances of the clauses that hold in a state."""

    def __init__(self, module: ProvedModule, state: SpecState, clauses: Sequence[Clause]) -> None:
        self.module = module
        self.state = state
        self.bodies = []
        for clause in clauses:
            bound = constants(state.universe, "any", clause.sorts)
            body = clause.claim(state, *bound)
            self.bodies.append((clause.sorts, bound, z3.BoolVal(body) if body is True else body))

    def stages(self, some: Pool, chosen: Pool) -> Iterator[Stage]:
        """Instances at the terms of a goal, then at some that matter, then at all that do.

        What matters is told by the module. Each is made when those before did not suffice, and is
        given up soon at first: where few instances do, more of them lead astray.
        """
        few = self.instances(self.counted(some))
        yield Stage(few, 1_000_000)
        anchored = some
        for pool in self.module.anchors(self.state, chosen):
            anchored = together(anchored, pool)
            yield Stage(self.instances(self.counted(anchored)), 1_000_000)
        many = self.counted(together(some, chosen, self.module.terms(self.state, chosen)))
        wide = self.instances(many, at_most=SMALL)
        rest = self.instances(self.counted(some), more_than=SMALL)
        yield Stage([*wide, *rest], 1_500_000, has_large=False)
        yield Stage(few, 4_000_000)
        yield Stage(self.instances(many), solver.STEPS_MAX, has_large=False)

    def counted(self, pool: Pool) -> Pool:
        """The pool, and the counts that its terms lead to."""
        return together(pool, self.module.counts(self.state, pool))

    def instances(
        self, pool: Mapping[Sort, Sequence[Term]], *, more_than: int = -1, at_most: int = 9
    ) -> list[Term]:
        """Of every clause of so many terms, at every combination of terms of the pool."""
        return [
            z3.substitute(body, *zip(bound, terms, strict=True)) if bound else body
            for sorts, bound, body in self.bodies
            if more_than < len(sorts) <= at_most
            for terms in product(*(pool.get(sort, ()) for sort in sorts))
        ]
