"""Stories that are drawn from a seed: faults at times, with quiet before and after them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL, kind_of
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_json import as_json
from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.request_faults import RpcFault, RpcMethod
from fencepost.fault_injection.faults.targets import (
    ANY_BROKER,
    CONTROLLER,
    FaultError,
    Target,
    broker,
)
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.stories.story import Story, StoryAction

WARM_UP = 0.10
"""Share of a generated run before the first fault."""
QUIET_TAIL = 0.30
"""Share of a generated run after the last fault has ended."""
RPC_FAULT_EVERY_MS = 1500
"""A generated run holds one fault on requests per this time."""
RPC_FAULT_MS = (200, 1500)
DRAWN_METHODS: tuple[RpcMethod, ...] = ("LeaderAndIsr", "Fetch", "Fetch", "OffsetForLeaderEpoch")
"""Of the faults on requests; `Fetch` twice as often."""


def generate(
    seed: int,
    *,
    brokers: Sequence[int],
    duration_ms: int,
    session_timeout_ms: int,
    kinds: Iterable[str] = DRAWN_FOR_REAL,
) -> Story:
    """Draw a schedule; equal arguments give an equal schedule.

    At most one fault on a process or session is active at a time, with some calm
    between two; faults on requests may overlap them. The first tenth and the last third of
    `duration_ms` hold no fault. Other kinds than those of `DRAWN_FOR_REAL` are not drawn here.
    Raises `FaultError` for unknown kinds or when nothing fits.
    """
    chosen = sorted(set(kinds))
    _check_request(chosen, brokers, duration_ms)
    draw = _Draw(
        random=Random(seed),
        brokers=tuple(sorted(brokers)),
        session_timeout_ms=session_timeout_ms,
        from_ms=int(duration_ms * WARM_UP),
        to_ms=int(duration_ms * (1 - QUIET_TAIL)),
    )
    rpc_kinds = [kind for kind in chosen if issubclass(kind_of(kind).fault_class, RpcFault)]
    process_kinds = [kind for kind in chosen if kind not in rpc_kinds]
    drawn = [*draw.process_faults(process_kinds), *draw.rpc_faults(rpc_kinds)]
    return Story(seed=seed, actions=_numbered(drawn))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draw:
    """One drawing: its chance and its bounds."""

    random: Random
    brokers: tuple[int, ...]
    session_timeout_ms: int
    from_ms: int
    to_ms: int

    def process_faults(self, kinds: list[str]) -> Iterable[tuple[int, Fault]]:
        """Faults one after the other, each followed by some calm."""
        at_ms = self.from_ms + self._between(0, self.session_timeout_ms)
        while kinds:
            fault = self._process_fault(self.random.choice(kinds))
            end_ms = at_ms + (fault.active_ms or 0)
            if end_ms > self.to_ms:
                return
            yield at_ms, fault
            calm_ms = self._between(self.session_timeout_ms // 4, 2 * self.session_timeout_ms)
            at_ms = end_ms + calm_ms

    def rpc_faults(self, kinds: list[str]) -> Iterable[tuple[int, Fault]]:
        """Faults anywhere between the bounds; they may overlap."""
        room_ms = self.to_ms - self.from_ms - RPC_FAULT_MS[1]
        if not kinds or room_ms <= 0:
            return
        for _ in range(1 + room_ms // RPC_FAULT_EVERY_MS):
            yield self.from_ms + self._between(0, room_ms), self._rpc_fault(kinds)

    def _process_fault(self, kind: str) -> Fault:
        target = self._victim()
        if kind == ExpireSession.kind:
            return ExpireSession(target=target)
        if kind == KillBroker.kind:
            down_ms = self._between(self.session_timeout_ms // 4, 2 * self.session_timeout_ms)
            return KillBroker(target=target, restart_after_ms=down_ms)
        return PauseBroker(target=target, for_ms=self._pause_ms())

    def _rpc_fault(self, kinds: list[str]) -> RpcFault:
        fault_class = kind_of(self.random.choice(kinds)).fault_class
        assert issubclass(fault_class, RpcFault)
        method = self.random.choice(DRAWN_METHODS)
        sender_id = self._one_broker()
        others = [broker(other) for other in self.brokers if other != sender_id]
        return fault_class(
            method=method,
            sender=CONTROLLER if method == "LeaderAndIsr" else broker(sender_id),
            receiver=self.random.choice([ANY_BROKER, *others]),
            count=self._between(0, 3),
            for_ms=self._between(*RPC_FAULT_MS),
        )

    def _victim(self) -> Target:
        return CONTROLLER if self.random.random() < 0.25 else broker(self._one_broker())

    def _pause_ms(self) -> int:
        if self.random.random() < 0.25:
            return self._between(self.session_timeout_ms // 8, self.session_timeout_ms // 2)
        return self._between(self.session_timeout_ms * 3 // 2, self.session_timeout_ms * 5 // 2)

    def _one_broker(self) -> int:
        return self.random.choice(self.brokers)

    def _between(self, low: int, high: int) -> int:
        return self.random.randint(low, max(low, high))


def _numbered(drawn: list[tuple[int, Fault]]) -> tuple[StoryAction, ...]:
    ordered = sorted(drawn, key=lambda item: (item[0], str(as_json(item[1]))))
    return tuple(
        StoryAction.at(
            action_id=f"fault-{number}",
            at_ms=at_ms,
            fault=fault,
            must_take_effect=not isinstance(fault, RpcFault),
        )
        for number, (at_ms, fault) in enumerate(ordered, start=1)
    )


def _check_request(kinds: list[str], brokers: Sequence[int], duration_ms: int) -> None:
    unknown = sorted(set(kinds) - set(DRAWN_FOR_REAL))
    if unknown:
        raise FaultError(f"unknown fault {unknown[0]!r}; choose among {', '.join(DRAWN_FOR_REAL)}")
    if not brokers:
        raise FaultError("a schedule needs brokers to hurt; give at least one broker id")
    if duration_ms < 1:
        raise FaultError(f"duration_ms is {duration_ms}; give 1 or more")
