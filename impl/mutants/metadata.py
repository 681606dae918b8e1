"""Wrong rules of level 4: one epoch for all brokers, metadata of the controller (BEP, UMD)."""

from collections.abc import Sequence
from dataclasses import replace

from fencepost.impl.core.rules.incarnations import (
    all_that_was_read,
    named_largest,
    named_receiver,
    stamp_largest,
)
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.mutants.mutant import during_upgrade, hunted_at, mutant
from fencepost.spec.vocabulary import NO_CONTROLLER_EPOCH, Invariant, Liveness, ProtocolLevel


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


@mutant(160, "UMD-002", {Invariant.METADATA_IN_ORDER}, level=ProtocolLevel.MAX_BROKER_EPOCH)
def take_metadata_twice(rules: Rules) -> Rules:
    """A broker takes metadata again that it has taken."""
    return replace(rules, is_newer_metadata=lambda given, known: given >= known)


@mutant(
    112,
    "UMD-002",
    {Liveness.EVENTUALLY_METADATA_CONVERGES},
    shows="EventuallyMetadataConverges",
)
def send_metadata_once(rules: Rules) -> Rules:
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


@mutant(
    115,
    "UMD-003",
    {Invariant.STALE_INCARNATION_HARMLESS},
    seed=0,
    level=ProtocolLevel.MAX_BROKER_EPOCH,
)
def accept_missing_epoch(rules: Rules) -> Rules:
    """A broker looks for the old field alone, and where that is missing takes the command."""
    return replace(rules, stamp_of=named_receiver)


@during_upgrade(ProtocolLevel.BROKER_EPOCH)
@hunted_at(ProtocolLevel.MAX_BROKER_EPOCH)
@mutant(
    116,
    "UMD-003",
    {Liveness.EVENTUALLY_METADATA_CONVERGES},
    seed=55,
    level=ProtocolLevel.MAX_BROKER_EPOCH,
)
def tell_what_predecessor_told(rules: Rules) -> Rules:
    """A broker answers as an earlier controller told it, under one that tells nothing."""
    return replace(rules, is_told_by=lambda known, _epoch: known[0] != NO_CONTROLLER_EPOCH)


@during_upgrade(ProtocolLevel.BROKER_EPOCH)
@hunted_at(ProtocolLevel.MAX_BROKER_EPOCH)
@mutant(
    117,
    "UMD-003",
    {Liveness.EVENTUALLY_METADATA_CONVERGES},
    seed=6,
    level=ProtocolLevel.MAX_BROKER_EPOCH,
)
def report_to_own_level_only(rules: Rules) -> Rules:
    """A leader below level 4 tells its ISRs not even to a controller that tells all metadata."""
    return replace(rules, reports_isr=rules.tells_metadata)


@during_upgrade(ProtocolLevel.BROKER_EPOCH)
@mutant(
    118,
    "UMD-003",
    {Invariant.STALE_INCARNATION_HARMLESS},
    shows="StaleIncarnationHarmless",
    level=ProtocolLevel.MAX_BROKER_EPOCH,
)
def upgrade_in_one_step(rules: Rules) -> Rules:
    """A controller sends the one epoch of level 4 to brokers with code that does not know it."""
    if rules.stamp_of is not named_largest:
        return rules
    return replace(rules, stamp=stamp_largest, init_stamp=stamp_largest)
