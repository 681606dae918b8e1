"""Wrong rules of level 4: one epoch for all brokers, metadata of the controller (BEP, UMD)."""

from collections.abc import Sequence
from dataclasses import replace

from fencepost.impl.core.rules.incarnations import all_that_was_read
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import Invariant, Liveness


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


@mutant(111, "UMD-002", {Invariant.METADATA_IN_ORDER}, shows="MetadataInOrder")
def accept_older_metadata(rules: Rules) -> Rules:
    """A broker takes metadata that were overtaken, and tells clients of the leader before."""
    return replace(rules, is_newer_metadata=lambda _given, _known: True)


@mutant(
    112,
    "UMD-002",
    {Liveness.EVENTUALLY_METADATA_CONVERGES},
    shows="EventuallyMetadataConverges",
)
def metadata_sent_once(rules: Rules) -> Rules:
    """The controller sends each change of the metadata once, whether it is answered or not."""
    return replace(rules, sends_metadata_again=False)


@mutant(113, "UMD-002", {Invariant.METADATA_IN_ORDER}, shows="MetadataInOrder")
def roles_before_metadata(rules: Rules) -> Rules:
    """A broker is told its roles before it is told which brokers there are (KAFKA-4443)."""
    return replace(rules, metadata_go_first=lambda _has_new_brokers, has_roles: not has_roles)


@mutant(
    114,
    "UMD-002",
    {Liveness.EVENTUALLY_METADATA_CONVERGES},
    shows="EventuallyMetadataConverges",
)
def isr_changes_untold(rules: Rules) -> Rules:
    """A leader tells the controller nothing of the ISRs that it changes."""
    return replace(rules, reports_isr=False)
