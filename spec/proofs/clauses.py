"""Clauses of an invariant as data: a name, what is quantified, and the claim as a function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fencepost.spec.proofs.logic import Function, Sort, Term


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """A conjunct of an invariant."""

    name: str
    sorts: tuple[Sort, ...]
    claim: Function
    """From a state and terms of `sorts`."""
    is_property: bool = False
    """A property of the specs, by its name there; else what its proof needs."""


def clause(
    name: str, *sorts: Sort, is_property: bool = False
) -> Callable[[Callable[..., Term]], Clause]:
    """Make a clause of a function from a state and terms to a claim."""

    def made(claim: Callable[..., Term]) -> Clause:
        return Clause(name=name, sorts=sorts, claim=claim, is_property=is_property)

    return made


def at(lemma: Clause, choices: Sequence[Term]) -> Clause:
    """A clause about the choices of an action, its first terms, as one about the others."""

    def claim(state: object, *terms: Term) -> Term:
        return lemma.claim(state, *choices, *terms)

    return replace(lemma, claim=claim)
