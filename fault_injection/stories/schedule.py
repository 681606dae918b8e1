"""Schedules: which fault is injected when, as data with one seed.

`generate` draws a schedule; scenarios write theirs by hand. The engine and the simulator execute
the same value, and its JSON form travels in the trace. No clock, no I/O.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from fencepost.fault_injection.faults.catalogue import DRAWN_FOR_REAL, kind_of
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_json import as_json, fault_from_json
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

SCHEMA_VERSION = 1

WARM_UP = 0.10
"""Share of a generated run before the first fault."""
QUIET_TAIL = 0.30
"""Share of a generated run after the last fault has ended."""
RPC_FAULT_EVERY_MS = 1500
"""A generated run holds one fault on requests per this time."""
RPC_FAULT_MS = (200, 1500)
DRAWN_METHODS: tuple[RpcMethod, ...] = ("LeaderAndIsr", "Fetch", "Fetch", "OffsetForLeaderEpoch")
"""Of the faults on requests; `Fetch` twice as often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedFault:
    """A fault and when it is injected, in milliseconds from the start of the schedule."""

    fault_id: str
    at_ms: int
    fault: Fault
    must_take_effect: bool = True
    """False for a fault that depends on luck, such as a rule for requests nobody may send."""

    @property
    def end_ms(self) -> int | None:
        """When it is healed; None: at the end of the schedule."""
        active_ms = self.fault.active_ms
        return None if active_ms is None else self.at_ms + active_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Timed faults in order of injection, and the seed that they were drawn from."""

    seed: int
    faults: tuple[TimedFault, ...] = ()

    def __post_init__(self) -> None:
        ids = [timed.fault_id for timed in self.faults]
        repeated = sorted({fault_id for fault_id in ids if ids.count(fault_id) > 1})
        if repeated:
            raise FaultError(f"schedule: the fault_id {repeated[0]!r} is used twice")
        negative = [timed.fault_id for timed in self.faults if timed.at_ms < 0]
        if negative:
            raise FaultError(f"schedule: {negative[0]} has a negative at_ms; start at 0")
        times = [timed.at_ms for timed in self.faults]
        if times != sorted(times):
            raise FaultError("schedule: faults are not in order of at_ms; sort them")

    @property
    def end_ms(self) -> int:
        """When the last fault that heals by itself has healed."""
        return max((timed.end_ms or timed.at_ms for timed in self.faults), default=0)

    def to_json(self) -> str:
        """The schedule as one line of JSON; equal schedules give equal text."""
        document = {
            "schema": SCHEMA_VERSION,
            "seed": self.seed,
            "faults": [_timed_as_json(timed) for timed in self.faults],
        }
        return json.dumps(document, separators=(",", ":"))


def schedule_from_json(text: str) -> Schedule:
    """The schedule that `to_json` wrote; raises `FaultError` with one clear sentence."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise FaultError(f"schedule: no valid JSON: {error}") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA_VERSION:
        raise FaultError(f'schedule: expected an object with "schema": {SCHEMA_VERSION}')
    seed, faults = document.get("seed"), document.get("faults")
    if not isinstance(seed, int) or not isinstance(faults, list):
        raise FaultError('schedule: "seed" must be a whole number and "faults" a list')
    timed = tuple(_timed_from_json(f"faults[{i}]", item) for i, item in enumerate(faults))
    return Schedule(seed=seed, faults=timed)


def generate(
    seed: int,
    *,
    brokers: Sequence[int],
    duration_ms: int,
    session_timeout_ms: int,
    kinds: Iterable[str] = DRAWN_FOR_REAL,
) -> Schedule:
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
    return Schedule(seed=seed, faults=_numbered(drawn))


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


def _numbered(drawn: list[tuple[int, Fault]]) -> tuple[TimedFault, ...]:
    ordered = sorted(drawn, key=lambda item: (item[0], str(as_json(item[1]))))
    return tuple(
        TimedFault(
            fault_id=f"fault-{number}",
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


def _timed_as_json(timed: TimedFault) -> dict[str, Any]:
    return {
        "fault_id": timed.fault_id,
        "at_ms": timed.at_ms,
        "must_take_effect": timed.must_take_effect,
        **as_json(timed.fault),
    }


def _timed_from_json(where: str, document: object) -> TimedFault:
    if not isinstance(document, dict):
        raise FaultError(f"{where}: expected a JSON object, found {document!r}")
    given = dict(document)
    fault_id, at_ms = given.pop("fault_id", None), given.pop("at_ms", None)
    must_take_effect = given.pop("must_take_effect", True)
    if not isinstance(fault_id, str) or not fault_id:
        raise FaultError(f"{where}: fault_id is {fault_id!r}; give a name")
    if not isinstance(at_ms, int):
        raise FaultError(f"{where}: at_ms is {at_ms!r}; give whole milliseconds")
    if not isinstance(must_take_effect, bool):
        raise FaultError(f"{where}: must_take_effect is {must_take_effect!r}; give true or false")
    return TimedFault(
        fault_id=fault_id,
        at_ms=at_ms,
        fault=fault_from_json(given, where=where),
        must_take_effect=must_take_effect,
    )
