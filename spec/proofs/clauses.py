"""Clauses of an invariant as data: a name, what is quantified, and the claim as a function."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
    is_of_step: bool = False
    """It compares a state with the next: the claim is from both, and terms."""

    def after(self, before: Any, state: Any) -> Function:  # noqa: ANN401  of any module
        """What it says of a state that follows another, as a function of terms."""

        def claim(*terms: Term) -> Term:
            return (
                self.claim(before, state, *terms) if self.is_of_step else self.claim(state, *terms)
            )

        return claim


def clause(
    name: str, *sorts: Sort, is_property: bool = False, is_of_step: bool = False
) -> Callable[[Callable[..., Term]], Clause]:
    """Make a clause of a function from a state, or from two, and terms to a claim."""

    def made(claim: Callable[..., Term]) -> Clause:
        return Clause(
            name=name, sorts=sorts, claim=claim, is_property=is_property, is_of_step=is_of_step
        )

    return made


def at(lemma: Clause, choices: Sequence[Term]) -> Clause:
    """A clause about the choices of an action, its first terms, as one about the others."""

    def claim(state: object, *terms: Term) -> Term:
        return lemma.claim(state, *choices, *terms)

    return replace(lemma, claim=claim)
