"""Draws faults that only the simulator can do; those for real processes are drawn by `generate`."""

from collections.abc import Sequence
from random import Random

from fencepost.fault_injection.faults.clock_faults import DriftClock, JumpClock
from fencepost.fault_injection.faults.disk_faults import (
    BreakDisk,
    FillDisk,
    LosePower,
    StaleCheckpoint,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.network_faults import (
    CutOneWay,
    IsolateBroker,
    PartitionBrokers,
    ReorderLink,
)
from fencepost.fault_injection.faults.process_faults import CrashAt, StutterBroker
from fencepost.fault_injection.faults.request_faults import RpcMethod
from fencepost.fault_injection.faults.targets import CONTROLLER, Target, broker
from fencepost.fault_injection.faults.zookeeper_faults import (
    CutZooKeeper,
    DelayZooKeeper,
    FailOverZooKeeper,
    LoseZooKeeperReplies,
)
from fencepost.fault_injection.stories.drawn_story import QUIET_TAIL, WARM_UP
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.spec.vocabulary import CRASH_POINTS, CrashPoint

FAULT_EVERY_MS = 1_200
"""A run holds one of these faults per this time, and at least one."""
RATES = (0, 500, 900, 1_100, 2_000, 5_000)
"""Of a drifting clock, in thousandths of the true one."""

COMMANDS: RpcMethod = "LeaderAndIsr"
FETCHES: tuple[RpcMethod, ...] = ("Fetch", "OffsetForLeaderEpoch")
LATE_REQUESTS: tuple[RpcMethod, ...] = ("Fetch", "Fetch", "OffsetForLeaderEpoch", "")
CUTS: tuple[CrashPoint, ...] = (
    "before_write",
    "before_write",
    "before_send",
    "after_write",
    "after_send",
    "before_reply",
)
HOLDS: tuple[CrashPoint, ...] = (
    "before_write",
    "before_write",
    "before_send",
    "before_reply",
    "before_append",
)


class FaultDraw:
    """Draws faults for one run of these brokers."""

    def __init__(self, random: Random, brokers: Sequence[int], session_timeout_ms: int) -> None:
        self._random = random
        self._brokers = tuple(brokers)
        self._session_timeout_ms = session_timeout_ms

    def schedule(self, base: Story, kinds: Sequence[str], duration_ms: int, *, name: str) -> Story:
        """`base`, and faults of the given kinds beside it, `name-1` and so on; they may overlap."""
        from_ms, to_ms = int(duration_ms * WARM_UP), int(duration_ms * (1 - QUIET_TAIL))
        count = 1 + self._random.randrange(1 + (to_ms - from_ms) // FAULT_EVERY_MS)
        added = [
            StoryAction.at(
                action_id=f"{name}-{number}",
                at_ms=self._random.randint(from_ms, to_ms),
                fault=self.fault(self._random.choice(kinds)),
                must_take_effect=False,
            )
            for number in range(1, count + 1)
        ]
        faults = sorted((*base.actions, *added), key=lambda timed: timed.at_ms)
        return Story(seed=base.seed, actions=tuple(faults))

    def fault(self, kind: str) -> Fault:
        """One fault of that kind."""
        family = kind.partition(".")[0]
        if family == "net":
            return self._on_links(kind)
        return self._on_zookeeper(kind) if family == "zk" else self._on_process(kind)

    def _on_process(self, kind: str) -> Fault:
        target, for_ms = self._victim(), self._between(100, 2 * self._session_timeout_ms)
        match kind:
            case StutterBroker.kind:
                return StutterBroker(
                    target=target,
                    for_ms=2 * for_ms,
                    stands_ms=self._between(20, self._session_timeout_ms // 2),
                    runs_ms=self._between(1, 100),
                )
            case CrashAt.kind:
                point = self._random.choice(CRASH_POINTS)
                return CrashAt(target=target, for_ms=for_ms, point=point, nth=self._between(1, 8))
            case LosePower.kind:
                return LosePower(target=target, for_ms=for_ms)
            case StaleCheckpoint.kind:
                return StaleCheckpoint(target=target, for_ms=for_ms)
            case FillDisk.kind:
                return FillDisk(target=target, for_ms=for_ms)
            case BreakDisk.kind:
                return BreakDisk(target=target, for_ms=for_ms)
            case DriftClock.kind:
                return DriftClock(target=target, for_ms=for_ms, rate=self._random.choice(RATES))
            case _:
                return JumpClock(target=target, by_ms=self._between(100, 60_000))

    def _on_links(self, kind: str) -> Fault:
        for_ms = self._between(100, 2 * self._session_timeout_ms)
        match kind:
            case IsolateBroker.kind:
                return IsolateBroker(target=self._victim(), for_ms=for_ms)
            case PartitionBrokers.kind:
                size = self._between(1, len(self._brokers) - 1)
                side = tuple(sorted(self._random.sample(self._brokers, size)))
                return PartitionBrokers(side=side, for_ms=for_ms)
            case _:
                return self._on_one_link(kind, for_ms)

    def _on_one_link(self, kind: str, for_ms: int) -> Fault:
        sender, receiver = map(broker, self._random.sample(self._brokers, 2))
        if kind == CutOneWay.kind:
            return CutOneWay(sender=sender, receiver=receiver, for_ms=for_ms)
        delay_ms = self._between(1, 500)
        return ReorderLink(sender=sender, receiver=receiver, for_ms=for_ms, delay_ms=delay_ms)

    def _on_zookeeper(self, kind: str) -> Fault:
        target, for_ms = self._victim(), self._between(10, 2 * self._session_timeout_ms)
        match kind:
            case CutZooKeeper.kind:
                return CutZooKeeper(target=target, for_ms=for_ms)
            case DelayZooKeeper.kind:
                delay_ms = self._between(5, self._session_timeout_ms)
                return DelayZooKeeper(target=target, for_ms=for_ms, delay_ms=delay_ms)
            case LoseZooKeeperReplies.kind:
                count = self._between(1, 2)
                return LoseZooKeeperReplies(target=target, for_ms=for_ms, count=count)
            case _:
                return FailOverZooKeeper(for_ms=self._between(10, self._session_timeout_ms))

    def _victim(self) -> Target:
        return CONTROLLER if self._random.random() < 0.3 else broker(self._one_broker())

    def _one_broker(self) -> int:
        return self._random.choice(self._brokers)

    def _between(self, low: int, high: int) -> int:
        return self._random.randint(low, max(low, high))
