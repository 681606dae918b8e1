"""A module of the specs, as what is proved of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.spec.proofs.actions import ProofAction
from fencepost.spec.proofs.clauses import Clause
from fencepost.spec.proofs.logic import Sort, Term
from fencepost.spec.proofs.small import SMALL, Size
from fencepost.spec.proofs.state import Shape, SpecState

Defined = tuple[SpecState, tuple[Clause, ...]]
"""A state with symbols for what is defined apart, and the clauses that define them."""
Pool = Mapping[Sort, Sequence[Term]]
"""Terms by sort."""


class ProofError(ValueError):
    """What cannot be proved, for it does not exist; the message is one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrongRule:
    """A rule of a module, replaced by the wrong one."""

    name: str
    """Of the wrong rule in the specs."""
    hazard: str
    """Of the list of hazards; a requirement where the list has none."""
    breaks: str
    """The clause to which it has a countermodel: a property, where it breaks one in a step."""
    actions: tuple[ProofAction, ...]
    """In which the rule is wrong."""
    size: Size = SMALL
    """Of the universe in which its countermodel is looked for."""


def _as_it_is(state: SpecState) -> Defined:
    return state, ()


def _no_terms(_state: SpecState, _choices: Pool) -> Pool:
    return {}


def _no_pools(_state: SpecState, _choices: Pool) -> Sequence[Pool]:
    return ()


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
    steps: tuple[Clause, ...] = ()
    """What holds of every step: of a state and the next."""
    is_small: Callable[..., Term]
    """That a state fits into a universe of some size, with room for one step."""
    wrong_rules: tuple[WrongRule, ...]
    part: "ProvedModule | None" = None
    """A module that this one composes: its actions are parts of these, so its invariant is kept."""
    given: tuple[Clause, ...] = ()
    """Of the clauses of that module those that are used here in any state."""
    joints: Mapping[str, Callable[..., Term]] = field(default_factory=dict)
    """What the invariant of that module says at an action, by the way to take it."""
    lemmas: Mapping[str, Clause] = field(default_factory=dict)
    """What the invariant says at an action, by the way to take it; of the choices, then of terms.

    The sorts are those of the terms.
    """
    define: Callable[..., Defined] = _as_it_is
    terms: Callable[..., Pool] = _no_terms
    """Terms that matter at an action, made of its choices."""
    anchors: Callable[..., Sequence[Pool]] = _no_pools
    """Few of them, and then a few more."""
    counts: Callable[..., Pool] = _no_terms
    """Terms that matter for any goal, made of its terms."""
    has_hints: bool = False
    """Patterns alone do not find its proofs."""

    @property
    def whole(self) -> tuple[Clause, ...]:
        """Every clause that holds."""
        return (*(self.part.whole if self.part else ()), *self.clauses)

    @property
    def claimed(self) -> tuple[Clause, ...]:
        """Every clause that is proved of it: of its own, and what follows from them."""
        return (*self.implied, *self.clauses, *self.steps)


def select(modules: Iterable[ProvedModule], names: Iterable[str]) -> tuple[ProvedModule, ...]:
    """The named modules, or all; raises `ProofError` for a name that none has."""
    by_name = {module.name: module for module in modules}
    wanted = tuple(dict.fromkeys(names)) or tuple(by_name)
    for name in wanted:
        if name not in by_name:
            known = ", ".join(by_name)
            raise ProofError(f"no proof is of a module {name!r}; there are those of {known}")
    return tuple(by_name[name] for name in wanted)
