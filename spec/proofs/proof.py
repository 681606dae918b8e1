"""The proof of a module: its invariant holds at the start and is kept by every action."""

import time
from collections.abc import Iterator, Sequence

from fencepost.spec.proofs.actions import ProofAction
from fencepost.spec.proofs.clauses import Clause
from fencepost.spec.proofs.logic import Term, Unbounded
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.proofs.solver import (
    Obligation,
    ProofAnswer,
    Refuter,
    chosen,
    constants,
    facts,
)
from fencepost.spec.proofs.state import SpecState

START = "Init"


def prove(module: ProvedModule) -> Iterator[Obligation]:
    """Every obligation of a module, in the order of its actions and clauses."""
    state = module.shape.symbolic(Unbounded())
    for start in module.starts:
        refuter = Refuter([start(state)])
        yield from (_begun(module, start.__name__, refuter, state, one) for one in module.clauses)
    invariant = [fact for clause in module.clauses for fact in facts(state, clause)]
    for action in module.actions:
        yield from kept(module, action, state, invariant)


def kept(
    module: ProvedModule, action: ProofAction, state: SpecState, invariant: Sequence[Term]
) -> Iterator[Obligation]:
    """That each clause is kept by one way to take an action."""
    guard, after = chosen(state, action)
    refuter = Refuter([*invariant, guard])
    for clause in module.clauses:
        started = time.monotonic()
        answer = _kept(refuter, clause, state, after)
        yield Obligation(
            module=module.name,
            action=action.name,
            way=action.way,
            clause=clause.name,
            answer=answer,
            seconds=time.monotonic() - started,
        )


def _kept(refuter: Refuter, clause: Clause, before: SpecState, after: SpecState) -> ProofAnswer:
    universe = before.universe
    assert isinstance(universe, Unbounded)
    some = constants(universe, "some", clause.sorts)
    goal, known = clause.claim(after, *some), clause.claim(before, *some)
    if not isinstance(goal, bool) and goal.eq(known):
        return ProofAnswer.UNTOUCHED
    return ProofAnswer.PROVED if refuter.is_refuted(goal) else ProofAnswer.UNKNOWN


def _begun(
    module: ProvedModule, start: str, refuter: Refuter, state: SpecState, clause: Clause
) -> Obligation:
    started = time.monotonic()
    universe = state.universe
    assert isinstance(universe, Unbounded)
    goal = clause.claim(state, *constants(universe, "some", clause.sorts))
    answer = ProofAnswer.PROVED if refuter.is_refuted(goal) else ProofAnswer.UNKNOWN
    return Obligation(
        module=module.name,
        action=START,
        way=start,
        clause=clause.name,
        answer=answer,
        seconds=time.monotonic() - started,
    )
