"""All mutants, in the order of the kill table, and the rules of a level with one of them."""

from collections.abc import Mapping

from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants import (
    clients,
    cluster_changes,
    commands,
    controller_election,
    isr,
    leader_election,
    partition_changes,
    replication,
    startup,
)
from fencepost.impl.mutants.mutant import Mutant, MutantName

_MODULES = (
    clients,
    cluster_changes,
    commands,
    controller_election,
    isr,
    leader_election,
    partition_changes,
    replication,
    startup,
)

_ALL = [one for module in _MODULES for one in vars(module).values() if isinstance(one, Mutant)]
MUTANTS: Mapping[MutantName, Mutant] = {
    one.name: one for one in sorted(_ALL, key=lambda one: one.number)
}


def mutant_name(text: str) -> MutantName:
    """The name of a mutant that exists; raises `ValueError` otherwise."""
    name = MutantName(text)
    if name not in MUTANTS:
        raise ValueError(f"there is no mutant {text!r}")
    return name


def rules_of(level: int, mutant: MutantName | None = None) -> Rules:
    """The rules of a level, with one of them wrong if a mutant is named."""
    rules = LEVELS[level]
    return rules if mutant is None else with_mutant(rules, mutant)


def with_mutant(rules: Rules, mutant: MutantName) -> Rules:
    """The rules with one of them wrong."""
    return MUTANTS[mutant].change(rules)
