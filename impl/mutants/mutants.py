"""All mutants, in the order of the kill table, and the rules of a level with one of them."""

from collections.abc import Mapping

from fencepost.impl.core.levels import rules_of_version
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants import (
    clients,
    cluster_changes,
    commands,
    configuration,
    controller_election,
    incarnations,
    isr,
    leader_election,
    metadata,
    mutation_quota,
    partition_changes,
    replication,
    startup,
)
from fencepost.impl.mutants.mutant import Mutant, MutantName
from fencepost.spec.vocabulary import BrokerVersion

_MODULES = (
    clients,
    cluster_changes,
    commands,
    configuration,
    controller_election,
    incarnations,
    isr,
    leader_election,
    metadata,
    mutation_quota,
    partition_changes,
    replication,
    startup,
)

_ALL = [one for module in _MODULES for one in vars(module).values() if isinstance(one, Mutant)]
SUITE_MUTANTS: Mapping[MutantName, Mutant] = {one.name: one for one in _ALL if not one.number}
"""Those that cases of the conformance suite have to see, and nothing else."""
MUTANTS: Mapping[MutantName, Mutant] = {
    one.name: one for one in sorted(_ALL, key=lambda one: one.number) if one.number
}
"""Those of the kill table."""
_BY_NAME = {**MUTANTS, **SUITE_MUTANTS}


def mutant_name(text: str) -> MutantName:
    """The name of a mutant that exists; raises `ValueError` otherwise."""
    name = MutantName(text)
    if name not in _BY_NAME:
        raise ValueError(f"there is no mutant {text!r}")
    return name


def rules_of(level: int, mutant: MutantName | None = None) -> Rules:
    """The rules of a level, with one of them wrong if a mutant is named."""
    return version_rules(BrokerVersion(level, level), mutant)


def version_rules(version: BrokerVersion, mutant: MutantName | None = None) -> Rules:
    """As `rules_of`, of a broker that may understand more than it speaks."""
    rules = rules_of_version(version)
    return rules if mutant is None else with_mutant(rules, mutant)


def with_mutant(rules: Rules, mutant: MutantName) -> Rules:
    """The rules with one of them wrong."""
    return _BY_NAME[mutant].change(rules)
