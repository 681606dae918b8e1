"""Faults on the disk of one broker."""

from dataclasses import dataclass
from typing import ClassVar

from fault_injection.fault import LastingBrokerFault
from fault_injection.fault_kind import Backend, FaultKind
from spec.vocabulary import EnvironmentAction


@dataclass(frozen=True, slots=True, kw_only=True)
class LosePower(LastingBrokerFault):
    """The host loses power and what was not flushed; the broker starts again afterwards."""

    kind: ClassVar[str] = "disk.lose_unsynced"


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleCheckpoint(LastingBrokerFault):
    """The process dies, and finds an older checkpoint of its high watermarks at its next start."""

    kind: ClassVar[str] = "disk.stale_checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class FillDisk(LastingBrokerFault):
    """The disk takes no more writes; the broker starts again when there is room."""

    kind: ClassVar[str] = "disk.enospc"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakDisk(LastingBrokerFault):
    """Nothing can be read from the disk or written; the broker starts again on a copy of it."""

    kind: ClassVar[str] = "disk.eio"


NEEDS_STORAGE = "a broker's storage refuses nothing on command yet"

KINDS = (
    FaultKind(
        fault_class=LosePower,
        missing={Backend.REAL: NEEDS_STORAGE},
        evidence="the process has ended, and how many bytes were lost",
        undo="a new process on what was flushed",
        requirements=("START-003", "REPL-004"),
        spec_actions=(EnvironmentAction.CRASH_BROKER, EnvironmentAction.RESTART_BROKER),
    ),
    FaultKind(
        fault_class=StaleCheckpoint,
        missing={Backend.REAL: NEEDS_STORAGE},
        evidence="the process has ended, and an older checkpoint is in place",
        undo="a new process on the older checkpoint",
        requirements=("START-003", "CMD-005"),
        spec_actions=(EnvironmentAction.CRASH_BROKER, EnvironmentAction.RESTART_BROKER),
    ),
    FaultKind(
        fault_class=FillDisk,
        missing={Backend.REAL: NEEDS_STORAGE},
        evidence="how many logs are offline",
        undo="there is room, and a new process on the same data",
        requirements=("START-006",),
    ),
    FaultKind(
        fault_class=BreakDisk,
        missing={Backend.REAL: NEEDS_STORAGE},
        evidence="how many logs are offline",
        undo="the disk works, and a new process on the same data",
        requirements=("START-006",),
    ),
)
