"""Faults on the disk of one broker."""

from typing import Annotated

from fencepost.fault_injection.faults.fault import LastingBrokerFault, RestartedBrokerFault
from fencepost.fault_injection.faults.fault_kind import RESTARTS, fault_kind
from fencepost.fault_injection.faults.parameters import milliseconds

DATA_LOSS_ALLOWED = (
    "an acknowledged record may be lost when every replica that holds it loses power before it is "
    "flushed; brokers that flush before they answer (--flush-records 1) lose none"
)
PARTITION_OFFLINE = "a partition without a sound replica is offline until it has one again"


@fault_kind(
    injector="disks:PowerLossInjector",
    evidence="the process has ended, and how many bytes were lost",
    undo="a new process on what was flushed",
    requirements=("START-003", "REPL-004"),
    spec_actions=RESTARTS,
    relaxes=DATA_LOSS_ALLOWED,
)
class LosePower(RestartedBrokerFault, frozen=True, kw_only=True, tag="disk.lose_unsynced"):
    """The host loses power and what was not flushed; the broker starts again afterwards."""


@fault_kind(
    injector="disks:StaleCheckpointInjector",
    evidence="the process has ended, and an older checkpoint is in place",
    undo="a new process on the older checkpoint",
    requirements=("START-003", "CMD-005"),
    spec_actions=RESTARTS,
)
class StaleCheckpoint(RestartedBrokerFault, frozen=True, kw_only=True, tag="disk.stale_checkpoint"):
    """The process dies, and finds an older checkpoint of its high watermarks at its next start."""


@fault_kind(
    injector="disks:DiskInjector",
    evidence="how many calls the disk refused, and which logs are offline",
    undo="there is room, and a new process on the same data",
    requirements=("START-006",),
    relaxes=PARTITION_OFFLINE,
)
class FillDisk(RestartedBrokerFault, frozen=True, kw_only=True, tag="disk.enospc"):
    """The disk takes no more writes; the broker starts again when there is room."""


@fault_kind(
    injector="disks:DiskInjector",
    evidence="how many calls the disk refused, and which logs are offline",
    undo="the disk works, and a new process on the same data",
    requirements=("START-006",),
    relaxes=PARTITION_OFFLINE,
)
class BreakDisk(RestartedBrokerFault, frozen=True, kw_only=True, tag="disk.eio"):
    """Nothing can be read from the disk or written; the broker starts again on a copy of it."""


@fault_kind(
    injector="disks:CorruptTailInjector",
    evidence="the process has ended, and which bytes were changed",
    undo="a new process on what is sound",
    requirements=("START-003",),
    spec_actions=RESTARTS,
    relaxes=DATA_LOSS_ALLOWED,
)
class CorruptTail(RestartedBrokerFault, frozen=True, kw_only=True, tag="disk.corrupt_tail"):
    """The host loses power in the middle of a write: what was not flushed is spoilt in places."""


@fault_kind(
    injector="disks:DiskInjector",
    evidence="how many calls took longer",
    undo="the disk is as fast as before",
    requirements=("ISR-001", "ISR-005"),
)
class SlowDisk(LastingBrokerFault, frozen=True, kw_only=True, tag="disk.slow"):
    """Each write of records takes longer, and the broker waits for it."""

    delay_ms: Annotated[int, milliseconds("how much longer", ge=1, le=10_000)]
