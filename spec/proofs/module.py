"""A module of the specs, as what is proved of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.spec.proofs.actions import ProofAction
from fencepost.spec.proofs.clauses import Clause
from fencepost.spec.proofs.logic import Sort, Term
from fencepost.spec.proofs.state import Shape, SpecState

Defined = tuple[SpecState, tuple[Clause, ...]]
"""A state with symbols for what is defined apart, and the clauses that define them."""
Pool = Mapping[Sort, Sequence[Term]]
"""Terms by sort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongRule:
    """A rule of a module, replaced by the wrong one."""

    name: str
    """Of the wrong rule in the specs."""
    hazard: str
    """Of the list of hazards; a requirement where the list has none."""
    actions: tuple[ProofAction, ...]
    """In which the rule is wrong."""


def _as_it_is(state: SpecState) -> Defined:
    return state, ()


def _no_terms(_state: SpecState, _choices: Pool) -> Pool:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvedModule:
    """An invariant, and all that may break it."""

    name: str
    shape: Shape
    starts: tuple[Callable[..., Term], ...]
    actions: tuple[ProofAction, ...]
    clauses: tuple[Clause, ...]
    implied: tuple[Clause, ...] = ()
    """What follows from the clauses in every state."""
    is_small: Callable[..., Term]
    """That a state fits into a small universe, with room for one step."""
    wrong_rules: tuple[WrongRule, ...]
    part: "ProvedModule | None" = None
    """A module that this one composes: its actions are parts of these, so its invariant is kept."""
    given: tuple[Clause, ...] = ()
    """Of the clauses of that module those that are used here in any state."""
    joints: Mapping[str, Callable[..., Term]] = field(default_factory=dict)
    """What the invariant of that module says at an action, by the way to take it."""
    define: Callable[..., Defined] = _as_it_is
    terms: Callable[..., Pool] = _no_terms
    """Terms that matter at an action, made of its choices."""
    anchors: Callable[..., Pool] = _no_terms
    """Few of them."""
    counts: Callable[..., Pool] = _no_terms
    """Terms that matter for any goal, made of its terms."""
    has_hints: bool = False
    """Patterns alone do not find its proofs."""

    @property
    def whole(self) -> tuple[Clause, ...]:
        """Every clause that holds."""
        return (*(self.part.whole if self.part else ()), *self.clauses)
