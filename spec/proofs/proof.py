"""The proof of a module: its invariant holds at the start and is kept by every action."""

import time
from collections.abc import Callable, Iterator
from typing import Self

from fencepost.spec.proofs.actions import ProofAction
from fencepost.spec.proofs.clauses import Clause, at
from fencepost.spec.proofs.hints import SMALL, Hints, by_sort
from fencepost.spec.proofs.logic import Term, Unbounded
from fencepost.spec.proofs.module import Pool, ProvedModule
from fencepost.spec.proofs.solver import (
    Obligation,
    ProofAnswer,
    Refuter,
    Refuters,
    constants,
    facts,
    taken,
)
from fencepost.spec.proofs.state import SpecState

START = "Init"
ALWAYS = "every state"
"""What is proved of no action, for it follows from the other clauses."""
JOINT = "Joint"
"""What the invariant of the part says at an action."""


def prove(module: ProvedModule) -> Iterator[Obligation]:
    """Every obligation of a module, in the order of its actions and clauses."""
    proof = _Proof(module)
    for start in module.starts:
        yield from proof.begun(start)
    yield from proof.implied()
    for action in module.actions:
        yield from proof.kept(action)


def count_obligations(module: ProvedModule) -> int:
    """How many `prove` yields."""
    ways = {one.way for one in module.actions}
    joints = sum(1 for way in (*module.joints, *module.lemmas) if way in ways)
    kept = len(module.clauses) * (len(module.starts) + len(module.actions))
    kept += len(module.steps) * len(module.actions)
    return kept + len(module.implied) + joints


class _Proof:
    """What the obligations of a module have in common: any state that keeps its invariant."""

    def __init__(self, module: ProvedModule) -> None:
        self.module = module
        self.state: SpecState = module.shape.symbolic(Unbounded())
        known, definitions = module.define(self.state)
        clauses = (*definitions, *module.given, *module.clauses)
        self.invariant = [fact for clause in clauses for fact in facts(known, clause)]
        small = [clause for clause in clauses if len(clause.sorts) <= SMALL]
        self.small = [fact for clause in small for fact in facts(known, clause)]
        self.hints = Hints(module, known, clauses)
        part = module.part.whole if module.part else ()
        self.invariant_of_part = [fact for clause in part for fact in facts(self.state, clause)]

    def begun(self, start: Callable[..., Term]) -> Iterator[Obligation]:
        """That each clause holds in an initial state."""
        refuter = Refuter([start(self.state)])
        for clause in self.module.clauses:
            with _Timed(self.module, START, start.__name__, clause.name) as obligation:
                goal = clause.claim(self.state, *self.terms_of(clause))
                obligation.answer = _answer(refuter.is_refuted(goal))
            yield obligation.made

    def implied(self) -> Iterator[Obligation]:
        """What follows from the clauses."""
        refuters = self.refuters()
        for clause in self.module.implied:
            with _Timed(self.module, ALWAYS, "implied", clause.name) as obligation:
                obligation.answer = self.judged(refuters, clause, self.state, {})
            yield obligation.made

    def kept(self, action: ProofAction) -> Iterator[Obligation]:
        """That each clause is kept by one way to take an action."""
        one = taken(self.state, action)
        known = [one.guard]
        if (joint := self.module.joints.get(action.way)) is not None:
            claim = joint(self.state, *one.choices)
            with _Timed(self.module, action.name, action.way, JOINT) as obligation:
                refuter = Refuter([*self.invariant_of_part, one.guard])
                obligation.answer = _answer(refuter.is_refuted(claim))
            yield obligation.made
            known.append(claim)
        chosen = by_sort(action.choices, one.choices)
        if (lemma := self.module.lemmas.get(action.way)) is not None:
            at_action = at(lemma, one.choices)
            with _Timed(self.module, action.name, action.way, lemma.name) as obligation:
                refuters = self.refuters(*known)
                obligation.answer = self.judged(refuters, at_action, self.state, chosen)
            yield obligation.made
            known += facts(self.state, at_action)
        refuters = self.refuters(*known)
        for step in self.module.steps:
            with _Timed(self.module, action.name, action.way, step.name) as obligation:
                goal = step.after(self.state, one.next)(*self.terms_of(step))
                obligation.answer = _answer(refuters.whole.is_refuted(goal))
            yield obligation.made
        for clause in self.module.clauses:
            with _Timed(self.module, action.name, action.way, clause.name) as obligation:
                obligation.answer = self.kept_by(refuters, clause, one.next, chosen)
            yield obligation.made

    def refuters(self, *known: Term) -> Refuters:
        """What is known in any state, and more."""
        return Refuters(Refuter([*self.invariant, *known]), Refuter([*self.small, *known]))

    def kept_by(
        self, refuters: Refuters, clause: Clause, after: SpecState, chosen: Pool
    ) -> ProofAnswer:
        """What becomes of a clause in a state that follows."""
        terms = self.terms_of(clause)
        goal = clause.claim(after, *terms)
        if not isinstance(goal, bool) and goal.eq(clause.claim(self.state, *terms)):
            return ProofAnswer.UNTOUCHED
        return self.judged(refuters, clause, after, chosen)

    def judged(
        self, refuters: Refuters, clause: Clause, state: SpecState, chosen: Pool
    ) -> ProofAnswer:
        """Whether a clause holds in a state of which so much is known."""
        terms = self.terms_of(clause)
        goal = clause.claim(state, *terms)
        if not self.module.has_hints:
            return _answer(refuters.whole.is_refuted(goal))
        stages = self.hints.stages(by_sort(clause.sorts, terms), chosen)
        return _answer(refuters.are_refuted(goal, stages))

    def terms_of(self, clause: Clause) -> list[Term]:
        """Any terms."""
        return constants(self.state.universe, "some", clause.sorts)


def _answer(is_proved: bool) -> ProofAnswer:  # noqa: FBT001  what the solver said
    return ProofAnswer.PROVED if is_proved else ProofAnswer.UNKNOWN


class _Timed:
    """An obligation that is being judged, in seconds of this process: others may be busy too."""

    def __init__(self, module: ProvedModule, action: str, way: str, clause: str) -> None:
        self.names = (module.name, action, way, clause)
        self.answer = ProofAnswer.UNKNOWN
        self.started = self.seconds = time.process_time()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self.started

    @property
    def made(self) -> Obligation:
        module, action, way, clause = self.names
        return Obligation(
            module=module,
            action=action,
            way=way,
            clause=clause,
            answer=self.answer,
            seconds=self.seconds,
        )
