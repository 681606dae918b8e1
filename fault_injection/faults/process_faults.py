"""Faults on processes: they stand still, die, or both again and again."""

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from fencepost.fault_injection.faults.fault import (
    BrokerFault,
    Fault,
    LastingBrokerFault,
    RestartedBrokerFault,
)
from fencepost.fault_injection.faults.fault_kind import RESTARTS, fault_kind
from fencepost.fault_injection.faults.parameters import milliseconds, number
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.spec.vocabulary import HOLD_POINTS, BrokerVersion, CrashPoint

WIPED_REPLICAS_FORGET = (
    "with wipe an acknowledged record may be lost when no replica that holds it outlives the "
    "fault in sync; a broker that has flushed its records refuses a log that is gone (START-003), "
    "and its replica stays offline"
)


class DownBrokerFault(BrokerFault, frozen=True, kw_only=True):
    """What the faults that end a process for a while have in common."""

    starts_anew: ClassVar[bool] = True
    restart_after_ms: Annotated[
        Annotated[int, milliseconds("", ge=0)] | None,
        Meta(description="when it starts again; none: when the faults of the run are healed"),
    ]

    @property
    def active_ms(self) -> int | None:
        """How long the fault lasts before it is healed; None: to the end of the schedule."""
        return self.restart_after_ms


@fault_kind(
    injector="processes:PauseInjector",
    evidence="the process is in state T; a long pause also ends its session",
    undo="SIGCONT, and the broker is registered",
    requirements=("ISR-001", "CTL-008", "FAIL-008"),
)
class PauseBroker(LastingBrokerFault, frozen=True, kw_only=True, tag="proc.pause"):
    """The process stands still and goes on later, as in a long garbage collection."""


@fault_kind(
    injector="processes:KillInjector",
    evidence="the process has ended; with wipe, what of its data is gone",
    undo="a new process on the data that is left, registered anew",
    requirements=("FAIL-001", "FAIL-005", "FAIL-008", "START-003"),
    spec_actions=RESTARTS,
    relaxes=WIPED_REPLICAS_FORGET,
)
class KillBroker(DownBrokerFault, frozen=True, kw_only=True, tag="proc.kill"):
    """The process dies at once; after a while it starts again, on what it finds of its data."""

    wipe: Annotated[
        Literal["none", "log", "all"],
        Meta(
            description="what is gone by then: none: nothing; log: the files of records, while "
            "checkpoints stay; all: whatever its data folder held"
        ),
    ] = "none"
    left_out: ClassVar[tuple[str, ...]] = ("wipe",)


@fault_kind(
    injector="processes:PauseCycleInjector",
    evidence="how often the process stood still, and for which part of the time",
    undo="the process goes on",
    requirements=("ISR-001", "ISR-005"),
)
class StutterBroker(LastingBrokerFault, frozen=True, kw_only=True, tag="proc.stutter"):
    """The process stands still again and again, each time for less than its session lasts."""

    stands_ms: Annotated[int, milliseconds("how long it stands still each time", ge=1)]
    runs_ms: Annotated[int, milliseconds("how long it runs in between", ge=1)]


@fault_kind(
    injector="processes:CrashPointInjector",
    evidence="the process ended or is in state T, and said at which point",
    undo="a new process on the same data; SIGCONT for one that holds",
    requirements=("FAIL-006", "START-003", "CTL-012"),
    spec_actions=RESTARTS,
)
class CrashAt(RestartedBrokerFault, frozen=True, kw_only=True, tag="proc.crash_at"):
    """The process dies or stands still at a named point of a step, and goes on when healed."""

    point: Annotated[CrashPoint, Meta(description="where in a step it dies")]
    nth: Annotated[
        int,
        number("at which passage of the point, counted from the injection", ge=1),
    ] = 1
    action: Annotated[
        Literal["die", "hold"],
        Meta(
            description="what becomes of it there: it dies, or stands still until the fault is "
            "healed"
        ),
    ] = "die"
    left_out: ClassVar[tuple[str, ...]] = ("action",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action == "hold" and self.point not in HOLD_POINTS:
            raise FaultError(
                f"{self.kind}: what a process sends leaves it later, so it cannot hold "
                f"{self.point}; choose one of {', '.join(HOLD_POINTS)}"
            )


@fault_kind(
    injector="processes:StopInjector",
    evidence="the process has ended by itself, with exit code 0",
    undo="a new process on the same data, registered anew",
    requirements=("FAIL-001", "FAIL-005", "START-002"),
    spec_actions=RESTARTS,
)
class StopBroker(DownBrokerFault, frozen=True, kw_only=True, tag="proc.term"):
    """The process is told to end and does so in good order; after a while it starts again."""


@fault_kind(
    injector="processes:BounceInjector",
    evidence="the new process waits for the session of the old one to end",
    undo="nothing: the new process registers when the old session is over",
    requirements=("BEP-004", "FAIL-005", "ZK-006"),
    spec_actions=RESTARTS,
)
class BounceBroker(BrokerFault, frozen=True, kw_only=True, tag="proc.bounce_fast"):
    """The process dies and starts again at once, so that its old session is not over yet."""

    starts_anew: ClassVar[bool] = True


@fault_kind(
    injector="rolling:RollingRestartInjector",
    evidence="every broker has ended and started again, in order",
    undo="brokers that are down start again, and all are registered",
    requirements=("FAIL-001", "FAIL-005", "START-002", "CTL-002", "UMD-003", "FWD-007"),
    spec_actions=RESTARTS,
)
class RollBrokers(Fault, frozen=True, kw_only=True, tag="proc.rolling"):
    """All brokers are restarted one after the other, as for a new version."""

    how: Annotated[Literal["term", "kill"], Meta(description="how each one ends")] = "term"
    wait: Annotated[
        Literal["isr_full", "registered", "none"],
        Meta(
            description="what must be so before the next one: all replicas in sync, this broker "
            "registered"
        ),
    ] = "isr_full"
    gap_ms: Annotated[int, milliseconds("how long each one stays down", ge=0, le=600_000)] = 0
    for_ms: Annotated[int, milliseconds("how long all of it may take", ge=1, le=3_600_000)] = 60_000

    code_level: Annotated[
        Annotated[int, number("a protocol level", ge=2, le=5)] | None,
        Meta(description="what each one understands from then on; null: as before"),
    ] = None
    inter_broker_protocol: Annotated[
        Annotated[int, number("a protocol level", ge=2, le=5)] | None,
        Meta(
            description="what each one speaks from then on, in a pass after that of the code; "
            "null: as before"
        ),
    ] = None

    @property
    def is_upgrade(self) -> bool:
        """Brokers are of another version afterwards."""
        return self.code_level is not None or self.inter_broker_protocol is not None

    def after(self, before: BrokerVersion) -> BrokerVersion:
        """The version of which a broker of that one starts again."""
        code, protocol = self.code_level, self.inter_broker_protocol
        return BrokerVersion(
            before.code_level if code is None else code,
            before.inter_broker_protocol if protocol is None else protocol,
        )

    def refusal(self, versions: Mapping[int, BrokerVersion]) -> str:
        """Why brokers of these versions must not be restarted so; empty: they may.

        What one broker says is foreign to the others until the first pass is over (UMD-003).
        """
        for broker_id, version in sorted(versions.items()):
            after = self.after(version)
            if not after.is_possible:
                return (
                    f"broker {broker_id} would speak level {after.inter_broker_protocol} with code "
                    f"of level {after.code_level}"
                )
            if version.code_level < after.inter_broker_protocol:
                return (
                    f"broker {broker_id} still has code of level {version.code_level}, which does "
                    f"not understand level {after.inter_broker_protocol}"
                )
        return ""

    @property
    def is_over_when_seen(self) -> bool:
        """All brokers have been restarted."""
        return True


@fault_kind(
    injector="processes:PauseCycleInjector",
    evidence="for which part of the time the process stood still, and what it used",
    undo="the process goes on",
    requirements=("ISR-001", "ISR-005"),
)
class StarveBroker(LastingBrokerFault, frozen=True, kw_only=True, tag="cpu.starve"):
    """The process gets only a small part of a processor's time."""

    quota_percent: Annotated[int, number("of each period, so much", unit="percent", ge=1, le=90)]
    period_ms: Annotated[int, milliseconds("of its running", ge=10)] = 50

    @property
    def runs_ms(self) -> int:
        """In each period."""
        return max(1, self.period_ms * self.quota_percent // 100)

    @property
    def stands_ms(self) -> int:
        """In each period."""
        return self.period_ms - self.runs_ms
