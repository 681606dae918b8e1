"""The reference with one rule broken on purpose, by the rule's name."""

from dataclasses import replace

from fencepost.conformance.adapters.reference import REFERENCE, Reference
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.whitebox.simulate import Subject


def breaking(rule: str) -> Reference:
    """The reference with this rule broken in every broker; the reference itself without one."""
    return replace(REFERENCE, broken_rule=rule)


def require_rule(settings: ClusterSettings) -> None:
    """Raise `ChoiceError` when the settings break a rule that there is not."""
    rule = settings.implementation.broken_rule or None
    Subject(level=settings.level, mutant=rule).require_known()
