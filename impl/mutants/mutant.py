"""What a mutant is: one deliberately wrong rule of the core, and what must see it.

A mutant is declared once, by a function that makes wrong rules from right ones: its name is the
function's, the rule that it breaks is the function's docstring. It has effect only in a `Config`
that was given its rules. Nothing reads the environment, and a broker process takes one only beside
`--fault-control`, and says so on stderr and in its trace.
"""

from collections.abc import Callable, Set as AbstractSet
from dataclasses import dataclass, replace
from typing import NewType

from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.tables import WriteKind, Writer, ZnodeKind
from fencepost.spec.vocabulary import Ending, Invariant, Liveness, ProtocolLevel

MutantName = NewType("MutantName", str)
"""One that exists: `mutants.mutant_name` makes it of a text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """The declaration of a mutant."""

    name: MutantName
    number: int
    """Its place in the kill table; 0 for one of the conformance suite."""
    rule: str
    """The rule that it breaks, in one sentence."""
    requirement: str
    """Id in the catalogue."""
    caught_by: frozenset[Invariant | Liveness | Ending]
    """At least one of these must fail, in a random schedule that shows the mutant.

    A check of the trace, or what should have come to hold after the last fault of the run.
    """
    seed: int
    """Of a random schedule that shows it, tried before the others: most show it seldom."""
    level: ProtocolLevel
    """At which it is hunted, or at the newest if that is later: below it the rule has no say."""
    shows: str
    """The property that the counterexample of the specs' switch of the same name violates.

    Set where random schedules seldom or never show the mutant: it is then hunted along that
    counterexample, `impl/sim/schedules/<mutant>.json`, or along a scenario of its own,
    `impl/sim/schedules/<mutant>.yaml`.
    """
    change: Callable[[Rules], Rules]
    """The rules of a level -> the same with this one wrong, for one node and one start of it."""
    upgrade_from: ProtocolLevel | None = None
    """It is hunted in runs that begin at this level, and upgrade all brokers to `level`."""
    hunted_at: ProtocolLevel | None = None
    """The level of its seed, where random runs of the newest one show it too seldom."""

    @property
    def family(self) -> str:
        """The part of the protocol that its rule is of: the module that declares it."""
        return self.change.__module__.rpartition(".")[2]


def mutant(
    number: int,
    requirement: str,
    caught_by: AbstractSet[Invariant | Liveness | Ending] = frozenset(),
    *,
    seed: int = 0,
    shows: str = "",
    level: ProtocolLevel = ProtocolLevel.DRAFT_V3,
) -> Callable[[Callable[[Rules], Rules]], Mutant]:
    """Declare the mutant that the decorated function makes; arguments as the fields of `Mutant`."""

    def declare(change: Callable[[Rules], Rules]) -> Mutant:
        return Mutant(
            name=MutantName(change.__name__),
            number=number,
            rule=change.__doc__ or "",
            requirement=requirement,
            caught_by=frozenset(caught_by),
            seed=seed,
            level=level,
            shows=shows,
            change=change,
        )

    return declare


def during_upgrade(first: ProtocolLevel) -> Callable[[Mutant], Mutant]:
    """Declare that a mutant is hunted while brokers are upgraded from this level."""
    return lambda declared: replace(declared, upgrade_from=first)


def hunted_at(level: ProtocolLevel) -> Callable[[Mutant], Mutant]:
    """Declare that a mutant is hunted at this level, and not at the newest."""
    return lambda declared: replace(declared, hunted_at=level)


def suite_mutant(requirement: str) -> Callable[[Callable[[Rules], Rules]], Mutant]:
    """Declare a mutant that a case of the conformance suite has to see, and nothing else.

    Random runs and schedules are not hunted for it: often a client alone can tell that it is
    answered wrongly. The case names it in `kills`.
    """
    return mutant(0, requirement)


def allowing(rules: Rules, writer: Writer, znode: ZnodeKind, kind: WriteKind) -> Rules:
    """The same rules, with one more permission to write."""
    permissions = rules.may_write[writer]
    wider = {**permissions, znode: {*permissions.get(znode, ()), kind}}
    return replace(rules, may_write={**rules.may_write, writer: wider})
