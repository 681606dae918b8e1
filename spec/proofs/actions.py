"""Actions as data: a name of the specs, what is chosen, and guard and next state as functions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from fencepost.spec.proofs.logic import Sort, Term


class ActionStep(NamedTuple):
    """When an action can be taken, and the state after it."""

    guard: Term
    next: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofAction:
    """One way to take an action of the specs; several ways may have its name."""

    name: str
    """Of the specs."""
    way: str
    """Of the function here."""
    choices: tuple[Sort, ...]
    step: Callable[..., ActionStep]
    """From a state and the choices."""
    is_generalised: bool = False
    """The specs have no such step: a proof with it shows more."""


def action(
    name: str, *choices: Sort, is_generalised: bool = False
) -> Callable[[Callable[..., ActionStep]], ProofAction]:
    """Make an action of a function from a state and `choices` to a step."""

    def made(step: Callable[..., ActionStep]) -> ProofAction:
        way = step.__name__
        return ProofAction(
            name=name, way=way, choices=choices, step=step, is_generalised=is_generalised
        )

    return made
