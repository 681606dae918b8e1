"""Faults that only the simulator can do: disks, clocks, links, connections to ZooKeeper.

They are values like all others, and their JSON travels in the trace; the engine refuses them.
"""

from dataclasses import dataclass
from typing import ClassVar

from fault_injection.targets import ANY_BROKER, FaultError, Target, require, require_victim

CRASH_POINTS = tuple(
    f"{when}_{what}"
    for what in ("append", "checkpoint", "reply", "send", "truncate", "write")
    for when in ("before", "after")
)
"""Where a step of the core can be cut in two: around each kind of effect."""
TRUE_RATE = 1_000
"""Of a clock, in thousandths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFault:
    """What the faults on one broker have in common."""

    kind: ClassVar[str]
    target: Target
    for_ms: int

    def __post_init__(self) -> None:
        require_victim(self.kind, self.target)
        require(self.kind, "for_ms", self.for_ms, at_least=1)

    @property
    def active_ms(self) -> int:
        """How long the fault lasts before it is healed."""
        return self.for_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class StutterBroker(BrokerFault):
    """The process stands still again and again, each time for less than its session lasts."""

    kind: ClassVar[str] = "proc.stutter"
    stands_ms: int
    runs_ms: int

    def __post_init__(self) -> None:
        BrokerFault.__post_init__(self)
        require(self.kind, "stands_ms", self.stands_ms, at_least=1)
        require(self.kind, "runs_ms", self.runs_ms, at_least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashAt(BrokerFault):
    """The process dies at a named point of a step, and starts again when the fault is healed."""

    kind: ClassVar[str] = "proc.crash_at"
    point: str
    nth: int = 1
    """At which passage of the point, counted from the injection."""

    def __post_init__(self) -> None:
        BrokerFault.__post_init__(self)
        require(self.kind, "nth", self.nth, at_least=1)
        if self.point not in CRASH_POINTS:
            raise FaultError(
                f"{self.kind}: point {self.point!r} is none; choose one of "
                f"{', '.join(CRASH_POINTS)}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LosePower(BrokerFault):
    """The host loses power and what was not flushed; the broker starts again afterwards."""

    kind: ClassVar[str] = "disk.lose_unsynced"


@dataclass(frozen=True, slots=True, kw_only=True)
class StaleCheckpoint(BrokerFault):
    """The process dies, and finds an older checkpoint of its high watermarks at its next start."""

    kind: ClassVar[str] = "disk.stale_checkpoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class FillDisk(BrokerFault):
    """The disk takes no more writes; the broker starts again when there is room."""

    kind: ClassVar[str] = "disk.enospc"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakDisk(BrokerFault):
    """Nothing can be read from the disk or written; the broker starts again on a copy of it."""

    kind: ClassVar[str] = "disk.eio"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftClock(BrokerFault):
    """The broker's clock runs too fast or too slow, and keeps what it gained or lost."""

    kind: ClassVar[str] = "clock.drift"
    rate: int
    """In thousandths of the true one: 0 stands still, 2000 is twice as fast."""

    def __post_init__(self) -> None:
        BrokerFault.__post_init__(self)
        require(self.kind, "rate", self.rate, at_least=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class JumpClock:
    """The broker's clock jumps forward, as after a suspended virtual machine; never back."""

    kind: ClassVar[str] = "clock.jump"
    target: Target
    by_ms: int

    def __post_init__(self) -> None:
        require_victim(self.kind, self.target)
        require(self.kind, "by_ms", self.by_ms, at_least=1)

    @property
    def active_ms(self) -> int:
        """Zero: it jumps once."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class IsolateBroker(BrokerFault):
    """Nothing passes between the broker and other brokers or clients; ZooKeeper stays in reach."""

    kind: ClassVar[str] = "net.isolate"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBrokers:
    """Nothing passes between the brokers of one side and all others; clients reach both sides."""

    kind: ClassVar[str] = "net.partition"
    target: ClassVar[Target] = ANY_BROKER
    side: tuple[int, ...]
    for_ms: int

    def __post_init__(self) -> None:
        require(self.kind, "for_ms", self.for_ms, at_least=1)
        require(self.kind, "the number of brokers in side", len(self.side), at_least=1)

    @property
    def active_ms(self) -> int:
        """How long the fault lasts before it is healed."""
        return self.for_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFault:
    """What the faults on the way from one broker to another have in common."""

    kind: ClassVar[str]
    sender: Target
    receiver: Target = ANY_BROKER
    for_ms: int

    def __post_init__(self) -> None:
        require_victim(self.kind, self.sender)
        require(self.kind, "for_ms", self.for_ms, at_least=1)

    @property
    def active_ms(self) -> int:
        """How long the fault lasts before it is healed."""
        return self.for_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class CutOneWay(LinkFault):
    """Neither requests nor answers get from the sender to the receiver; the way back is open."""

    kind: ClassVar[str] = "net.oneway"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReorderLink(LinkFault):
    """Each message to the receiver takes its own time, so that later ones overtake earlier ones."""

    kind: ClassVar[str] = "net.reorder"
    delay_ms: int
    """At most this much more than usual."""

    def __post_init__(self) -> None:
        LinkFault.__post_init__(self)
        require(self.kind, "delay_ms", self.delay_ms, at_least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutZooKeeper(BrokerFault):
    """The broker does not reach ZooKeeper; if that is long, its session ends unheard of."""

    kind: ClassVar[str] = "zk.cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayZooKeeper(BrokerFault):
    """What ZooKeeper answers and which watches fired reaches the broker late, in order."""

    kind: ClassVar[str] = "zk.delay"
    delay_ms: int

    def __post_init__(self) -> None:
        BrokerFault.__post_init__(self)
        require(self.kind, "delay_ms", self.delay_ms, at_least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseZooKeeperReplies(BrokerFault):
    """ZooKeeper does the broker's next writes; their answers are lost with the connection."""

    kind: ClassVar[str] = "zk.lose_reply"
    count: int = 1

    def __post_init__(self) -> None:
        BrokerFault.__post_init__(self)
        require(self.kind, "count", self.count, at_least=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailOverZooKeeper:
    """ZooKeeper elects a leader: all connections break, sessions live on, and nobody is served."""

    kind: ClassVar[str] = "zk.failover"
    target: ClassVar[Target] = ANY_BROKER
    for_ms: int

    def __post_init__(self) -> None:
        require(self.kind, "for_ms", self.for_ms, at_least=1)

    @property
    def active_ms(self) -> int:
        """How long the election takes."""
        return self.for_ms


SimulatedFault = (
    StutterBroker
    | CrashAt
    | LosePower
    | StaleCheckpoint
    | FillDisk
    | BreakDisk
    | DriftClock
    | JumpClock
    | IsolateBroker
    | PartitionBrokers
    | CutOneWay
    | ReorderLink
    | CutZooKeeper
    | DelayZooKeeper
    | LoseZooKeeperReplies
    | FailOverZooKeeper
)
