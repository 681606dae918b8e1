"""The reference with one rule broken on purpose, by the rule's name."""

from dataclasses import replace

from fencepost.conformance.adapters.choices import EMBEDDED, PROXY
from fencepost.conformance.adapters.reference import REFERENCE, Reference
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.whitebox.simulate import REFERENCE_TARGET, Subject


def breaking(rule: str) -> Reference:
    """The reference with this rule broken in every broker; the reference itself without one."""
    return replace(REFERENCE, broken_rule=rule)


def settings_of(
    level: int, mutant: str = "", network: str = PROXY, zookeeper: str = EMBEDDED
) -> ClusterSettings:
    """A cluster of the reference; raises `ChoiceError` for an unknown level or mutant."""
    Subject(target=REFERENCE_TARGET, level=level, mutant=mutant or None).require_known()
    return ClusterSettings(
        implementation=breaking(mutant), level=level, network=network, zookeeper=zookeeper
    )
