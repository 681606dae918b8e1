"""A module of the specs, as what is proved of it."""

from collections.abc import Callable
from dataclasses import dataclass

from fencepost.spec.proofs.actions import ProofAction
from fencepost.spec.proofs.clauses import Clause
from fencepost.spec.proofs.logic import Term
from fencepost.spec.proofs.state import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongRule:
    """A rule of a module, replaced by the wrong one."""

    name: str
    """Of the wrong rule in the specs."""
    hazard: str
    """Of the list of hazards; a requirement where the list has none."""
    actions: tuple[ProofAction, ...]
    """In which the rule is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedModule:
    """An invariant, and all that may break it."""

    name: str
    shape: Shape
    starts: tuple[Callable[..., Term], ...]
    actions: tuple[ProofAction, ...]
    clauses: tuple[Clause, ...]
    is_small: Callable[..., Term]
    """That a state fits into a small universe, with room for one step."""
    wrong_rules: tuple[WrongRule, ...]
