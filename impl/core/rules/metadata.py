"""Metadata of the cluster: where they come from, in which order, what a broker takes (UMD).

Below level 4 a broker reads them in ZooKeeper when it is asked. Rules of
`spec/tla/MetadataPropagation.tla`.
"""

from fencepost.spec.vocabulary import NO_CONTROLLER_EPOCH, ControllerEpoch

MetadataVersion = tuple[ControllerEpoch, int]
"""Controller epoch, and the number of a body in it."""


def is_newer_metadata(given: MetadataVersion, known: MetadataVersion) -> bool:
    """True of a body that a controller made later; what was overtaken changes nothing (UMD-002)."""
    return given > known


def is_told_by(known: MetadataVersion, controller_epoch: ControllerEpoch) -> bool:
    """True when that controller, or a later one, has told all since the broker started.

    One that speaks a level below 4 tells nothing: what its predecessor told grows old (UMD-003).
    """
    return NO_CONTROLLER_EPOCH != known[0] >= controller_epoch


def metadata_go_first(has_new_brokers: bool, has_roles: bool) -> bool:  # noqa: FBT001
    """Which brokers there are is told before roles, so that none names an unknown one (KAFKA-4443).

    Other metadata wait until the roles are told: no leader waits for what clients are told.
    """
    return has_new_brokers or not has_roles
