"""Wrong rules of level 4: one epoch for all brokers, metadata of the controller (BEP, UMD)."""

from collections.abc import Sequence
from dataclasses import replace

from fencepost.impl.core.rules.incarnations import all_that_was_read
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant


def _one_by_one(paths: Sequence[str]) -> Sequence[tuple[str, ...]]:
    return [(path,) for path in paths]


@mutant(
    110,
    "BEP-004",
    {Invariant.STALE_INCARNATION_HARMLESS},
    shows="StaleIncarnationHarmless",
)
def max_epoch_from_separate_reads(rules: Rules) -> Rules:
    """The registrations are read one by one, and the largest of their epochs is sent with all."""
    return replace(rules, reads_in_parts=_one_by_one, known_registrations=all_that_was_read)
