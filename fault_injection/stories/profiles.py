"""Draws schedules for tests on real processes, from all kinds that fit any cluster.

`generate` draws fewer, and always the same ones; this is for profiles that name more. Left out is
what may lose a whole log or disk, what takes an ensemble or a certain topic, what is a schedule of
its own (`proc.rolling`), and what waits for a moment that may not come (`proc.crash_at`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType

from fencepost.fault_injection.faults.admin_faults import KickController
from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL
from fencepost.fault_injection.faults.clock_faults import DriftClock, JumpClock, StrobeClock
from fencepost.fault_injection.faults.disk_faults import SlowDisk, StaleCheckpoint
from fencepost.fault_injection.faults.fault import Fault, LinkFault
from fencepost.fault_injection.faults.load_faults import BurstLoad
from fencepost.fault_injection.faults.network_faults import (
    BridgeBrokers,
    CutOneWay,
    DelayLink,
    FlapBroker,
    IsolateBroker,
    NarrowLink,
    PartitionBrokers,
    ResetStreams,
    RingOfMajorities,
    SwizzleBrokers,
)
from fencepost.fault_injection.faults.process_faults import (
    BounceBroker,
    KillBroker,
    PauseBroker,
    StarveBroker,
    StopBroker,
    StutterBroker,
)
from fencepost.fault_injection.faults.request_faults import (
    DelayRequest,
    RefuseRequest,
    ReorderRequests,
    RpcFault,
)
from fencepost.fault_injection.faults.targets import CONTROLLER, FaultError, Target, broker
from fencepost.fault_injection.faults.zookeeper_faults import (
    CutZooKeeper,
    DelayZooKeeper,
    DropConnection,
    ExpireSession,
    HurtZooKeeperLink,
    LoseZooKeeperReplies,
)
from fencepost.fault_injection.stories.drawn_story import QUIET_TAIL, WARM_UP, generate
from fencepost.fault_injection.stories.story import Story, StoryAction

RATES = (0, 500, 2_000, 5_000)
"""Of a drifting clock, in thousandths of the true one."""

TRIES_MAX = 8
"""Faults that are drawn until one is short enough for the time that is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """Where the parameters of a fault come from."""

    random: Random
    brokers: tuple[int, ...]
    session_timeout_ms: int

    def between(self, low: int, high: int) -> int:
        """A whole number of the range, both ends included."""
        return self.random.randint(low, max(low, high))

    def victim(self) -> Target:
        """A broker, at times whichever is the controller."""
        return CONTROLLER if self.random.random() < 0.25 else broker(self.one())

    def one(self) -> int:
        """A broker."""
        return self.random.choice(self.brokers)

    def some(self) -> tuple[int, ...]:
        """Some brokers in some order, not all."""
        size = self.between(1, len(self.brokers) - 1)
        return tuple(self.random.sample(self.brokers, size))

    def pair(self) -> dict[str, Target]:
        """A sender and a receiver."""
        sender, receiver = self.random.sample(self.brokers, 2)
        return {"sender": broker(sender), "receiver": broker(receiver)}

    def request(self) -> dict[str, Target | str | int]:
        """Requests of some method from one broker."""
        method = self.random.choice(("LeaderAndIsr", "Fetch", "Fetch"))
        sender = CONTROLLER if method == "LeaderAndIsr" else broker(self.one())
        return {"method": method, "sender": sender, "count": 0, "for_ms": self.for_ms()}

    def for_ms(self) -> int:
        """From a moment to well above a session."""
        return self.between(self.session_timeout_ms // 4, 2 * self.session_timeout_ms)


def _swizzle(chance: Chance) -> Fault:
    cut = chance.some()
    back = tuple(chance.random.sample(cut, len(cut)))
    return SwizzleBrokers(cut=cut, back=back, gap_ms=chance.between(100, 600))


_MAKERS: Mapping[str, Callable[[Chance], Fault]] = MappingProxyType(
    {
        KillBroker.kind: lambda c: KillBroker(target=c.victim(), restart_after_ms=c.for_ms()),
        PauseBroker.kind: lambda c: PauseBroker(target=c.victim(), for_ms=c.for_ms()),
        StopBroker.kind: lambda c: StopBroker(target=c.victim(), restart_after_ms=c.for_ms()),
        BounceBroker.kind: lambda c: BounceBroker(target=c.victim()),
        StutterBroker.kind: lambda c: StutterBroker(
            target=c.victim(),
            for_ms=c.for_ms(),
            stands_ms=c.between(50, 400),
            runs_ms=c.between(50, 400),
        ),
        StarveBroker.kind: lambda c: StarveBroker(
            target=c.victim(), for_ms=c.for_ms(), quota_percent=c.between(5, 50)
        ),
        ExpireSession.kind: lambda c: ExpireSession(target=c.victim()),
        CutZooKeeper.kind: lambda c: CutZooKeeper(target=c.victim(), for_ms=c.for_ms()),
        HurtZooKeeperLink.kind: lambda c: HurtZooKeeperLink(
            target=c.victim(), for_ms=c.for_ms(), direction=c.random.choice(("c2s", "s2c"))
        ),
        DropConnection.kind: lambda c: DropConnection(
            target=c.victim(), for_ms=c.for_ms(), every_ms=c.between(200, 600)
        ),
        DelayZooKeeper.kind: lambda c: DelayZooKeeper(
            target=c.victim(),
            for_ms=c.for_ms(),
            delay_ms=c.between(5, c.session_timeout_ms // 4),
        ),
        LoseZooKeeperReplies.kind: lambda c: LoseZooKeeperReplies(
            target=CONTROLLER, for_ms=c.for_ms()
        ),
        DelayRequest.kind: lambda c: DelayRequest(**c.request(), delay_ms=c.between(5, 500)),  # type: ignore[arg-type]
        ReorderRequests.kind: lambda c: ReorderRequests(**c.request()),  # type: ignore[arg-type]
        RefuseRequest.kind: lambda c: RefuseRequest(**c.request()),  # type: ignore[arg-type]
        IsolateBroker.kind: lambda c: IsolateBroker(target=c.victim(), for_ms=c.for_ms()),
        PartitionBrokers.kind: lambda c: PartitionBrokers(side=c.some(), for_ms=c.for_ms()),
        CutOneWay.kind: lambda c: CutOneWay(**c.pair(), for_ms=c.for_ms()),
        BridgeBrokers.kind: lambda c: BridgeBrokers(target=c.victim(), for_ms=c.for_ms()),
        RingOfMajorities.kind: lambda c: RingOfMajorities(for_ms=c.for_ms()),
        SwizzleBrokers.kind: _swizzle,
        FlapBroker.kind: lambda c: FlapBroker(
            target=c.victim(),
            for_ms=2 * c.session_timeout_ms,
            cut_ms=c.between(100, 500),
            open_ms=c.between(100, 500),
        ),
        DelayLink.kind: lambda c: DelayLink(
            **c.pair(),
            for_ms=c.for_ms(),
            delay_ms=c.between(5, 500),
            jitter_ms=c.between(0, 100),
        ),
        NarrowLink.kind: lambda c: NarrowLink(
            **c.pair(), for_ms=c.for_ms(), kb_per_s=c.between(1, 50)
        ),
        ResetStreams.kind: lambda c: ResetStreams(
            **c.pair(), for_ms=c.for_ms(), every_ms=c.between(100, 500)
        ),
        SlowDisk.kind: lambda c: SlowDisk(
            target=c.victim(), for_ms=c.for_ms(), delay_ms=c.between(5, 200)
        ),
        StaleCheckpoint.kind: lambda c: StaleCheckpoint(target=c.victim(), for_ms=c.for_ms()),
        DriftClock.kind: lambda c: DriftClock(
            target=c.victim(), for_ms=c.for_ms(), rate=c.random.choice(RATES)
        ),
        JumpClock.kind: lambda c: JumpClock(
            target=c.victim(), by_ms=c.between(100, 2 * c.session_timeout_ms)
        ),
        StrobeClock.kind: lambda c: StrobeClock(
            target=c.victim(),
            for_ms=c.for_ms(),
            by_ms=c.between(100, 1_000),
            every_ms=c.between(50, 500),
        ),
        KickController.kind: lambda _: KickController(),
        BurstLoad.kind: lambda c: BurstLoad(producers=c.between(2, 8), for_ms=c.for_ms()),
    }
)
PROFILE_KINDS = tuple(sorted({*_MAKERS, *DRAWN_FOR_REAL}))
"""What a profile may name."""


def draw(
    seed: int,
    *,
    brokers: Sequence[int],
    duration_ms: int,
    session_timeout_ms: int,
    kinds: Iterable[str],
) -> Story:
    """Draw a schedule from `PROFILE_KINDS`; equal arguments give an equal schedule.

    What `generate` can draw alone, it draws. Else one fault is active at a time, with some calm
    between two; the requests of `generate` may overlap them. Raises `FaultError` when nothing
    fits: for an unknown kind, and for fewer than two brokers.
    """
    chosen = set(kinds)
    if unknown := sorted(chosen - set(PROFILE_KINDS)):
        raise FaultError(f"unknown fault {unknown[0]!r}; choose among {', '.join(PROFILE_KINDS)}")
    overlapping = chosen if chosen <= set(DRAWN_FOR_REAL) else chosen - set(_MAKERS)
    base = Story(seed=seed)
    if overlapping:
        base = generate(
            seed,
            brokers=brokers,
            duration_ms=duration_ms,
            session_timeout_ms=session_timeout_ms,
            kinds=overlapping,
        )
    if overlapping == chosen:
        return base
    if len(brokers) < 2:
        raise FaultError("some of these faults come between brokers; give at least two")
    chance = Chance(
        random=Random(seed),
        brokers=tuple(sorted(brokers)),
        session_timeout_ms=session_timeout_ms,
    )
    bounds_ms = int(duration_ms * WARM_UP), int(duration_ms * (1 - QUIET_TAIL))
    alone = _one_by_one(chance, sorted(chosen & set(_MAKERS)), *bounds_ms)
    return _merged(base, alone)


def _one_by_one(
    chance: Chance, kinds: Sequence[str], from_ms: int, to_ms: int
) -> Iterable[StoryAction]:
    """Faults one after the other, each followed by some calm."""
    session_ms = chance.session_timeout_ms
    at_ms = from_ms + chance.between(0, session_ms // 2)
    while True:
        drawn = (_MAKERS[chance.random.choice(kinds)](chance) for _ in range(TRIES_MAX))
        fault = next((one for one in drawn if at_ms + (one.active_ms or 0) <= to_ms), None)
        if fault is None:
            return
        is_luck = isinstance(fault, LinkFault | RpcFault | LoseZooKeeperReplies)
        yield StoryAction.at(action_id="", at_ms=at_ms, fault=fault, must_take_effect=not is_luck)
        calm_ms = chance.between(session_ms // 2, 2 * session_ms)
        at_ms += (fault.active_ms or 0) + calm_ms


def _merged(base: Story, others: Iterable[StoryAction]) -> Story:
    """All faults in order of time, numbered; of equal times those of `base` are first."""
    ordered = sorted((*base.actions, *others), key=lambda timed: timed.at_ms)
    named = (
        replace(timed, action_id=f"fault-{number}") for number, timed in enumerate(ordered, start=1)
    )
    return Story(seed=base.seed, actions=tuple(named))
