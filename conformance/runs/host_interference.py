"""What the host did to a run, told apart from what the cluster did.

A heartbeat thread of the harness measures when the host ran no process. A broker that lost its
session while no fault was on it is interference too. What did not come in time beside interference
decides nothing; a violated invariant is never excused by it.
"""

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.spec.trace import Kind, Phase, TraceEvent
from fencepost.spec.vocabulary import Action

HOST_STALLED = "HostStalled"
SESSION_LOST = "SessionLost"
BEAT_S = 0.05
STALL_NS = 300_000_000
"""A beat that is later than this was not late by itself; brokers beat to ZooKeeper every 500 ms."""
INTERFERENCE_SHARE = 0.1
"""A wait of which the host took this much, or more, says nothing about the cluster."""
AFTERMATH_NS = 1_000_000_000
"""How long, beyond a session's timeout, a healed fault may still end a session."""
PRESSURE = Path("/proc/pressure")
RESOURCES = ("cpu", "io", "memory")
_SECOND_NS = 1_000_000_000

WIDE = ("net.", "zk.")
"""Kinds of faults that may reach brokers other than their own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stall:
    """From when to when the harness could not run; CLOCK_MONOTONIC."""

    since_ns: int
    until_ns: int
    pressure_ms: Mapping[str, int] = field(default_factory=dict)
    """By resource, how long some process waited for it meanwhile, where the kernel tells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostSession:
    """A broker registered anew although no fault had been on it."""

    broker_id: int
    at_ns: int
    """When it was registered again."""


@dataclass(slots=True, kw_only=True)
class HostInterference:
    """All that was seen in one run."""

    stalls: list[Stall] = field(default_factory=list)
    lost: list[LostSession] = field(default_factory=list)

    def beside(self, since_ns: int, until_ns: int) -> str:
        """Why a wait from `since_ns` to `until_ns` says nothing; empty when it does."""
        lost = [one for one in self.lost if since_ns <= one.at_ns <= until_ns]
        if lost:
            return f"broker {lost[0].broker_id} lost its session while no fault was on it"
        taken = sum(
            max(0, min(stall.until_ns, until_ns) - max(stall.since_ns, since_ns))
            for stall in self.stalls
        )
        if taken < INTERFERENCE_SHARE * (until_ns - since_ns):
            return ""
        return (
            f"the host stood still for {taken / _SECOND_NS:.1f} of these "
            f"{(until_ns - since_ns) / _SECOND_NS:.1f} s"
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a person is told; nothing for a quiet host."""
        told = [
            f"broker {one.broker_id} lost its session while no fault was on it" for one in self.lost
        ]
        if self.stalls:
            longest = max(stall.until_ns - stall.since_ns for stall in self.stalls)
            times = "once" if len(self.stalls) == 1 else f"{len(self.stalls)} times"
            told.append(f"the host stood still {times}, for {longest // 1_000_000} ms at most")
        return tuple(dict.fromkeys(told))


def read_pressure() -> dict[str, int]:
    """By resource, for how many ms some process has waited for it since the start of the host."""
    found: dict[str, int] = {}
    for name in RESOURCES:
        try:
            first = (PRESSURE / name).read_text().splitlines()[0]
        except (OSError, IndexError):
            continue  # an older kernel, or one that does not tell
        total = first.rpartition("total=")[2]
        if total.isdecimal():
            found[name] = int(total) // 1000
    return found


class Heartbeat:
    """A thread that wakes up again and again, and tells when it came late.

    Use as a context manager.
    """

    def __init__(
        self,
        tell: Callable[[Stall], None],
        *,
        now_ns: Callable[[], int] = time.monotonic_ns,
        pressure: Callable[[], dict[str, int]] = read_pressure,
    ) -> None:
        self._tell = tell
        self._now_ns = now_ns
        self._pressure = pressure
        self._last_ns = now_ns()
        self._pressed = pressure()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def beat(self) -> None:
        """One look at the clock."""
        before_ns, self._last_ns = self._last_ns, self._now_ns()
        before, self._pressed = self._pressed, self._pressure()
        if self._last_ns - before_ns < STALL_NS:
            return
        waited = {name: self._pressed[name] - before.get(name, 0) for name in self._pressed}
        self._tell(Stall(since_ns=before_ns, until_ns=self._last_ns, pressure_ms=waited))

    def _run(self) -> None:
        while not self._stop.wait(BEAT_S):
            self.beat()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._thread.join()


def lost_sessions(
    events: Iterable[TraceEvent], faults: Iterable[TraceEvent], *, session_timeout_ms: int
) -> list[LostSession]:
    """Registrations that one start of a broker made again without a fault that explains it."""
    after_ns = session_timeout_ms * 1_000_000 + AFTERMATH_NS
    windows = fault_windows(faults)
    seen: set[tuple[str, int]] = set()
    lost: list[LostSession] = []
    registered = (event for event in events if event.action == Action.REGISTER_BROKER)
    for event in sorted(registered, key=lambda event: event.mono_ns):
        life, broker_id = (event.node, event.incarnation), event.broker_id
        if life in seen and broker_id is not None:
            reasons = (window.explains(broker_id, event.mono_ns, after_ns) for window in windows)
            if not any(reasons):
                lost.append(LostSession(broker_id=broker_id, at_ns=event.mono_ns))
        seen.add(life)
    return lost


@dataclass(slots=True, kw_only=True)
class FaultWindow:
    """From when to when a fault was on a broker, or on all."""

    since_ns: int
    until_ns: int | None = None
    broker_id: int | None = None
    """None: on all of them."""

    def explains(self, broker_id: int, at_ns: int, after_ns: int) -> bool:
        """True when the fault may have ended the session of that broker."""
        reaches = self.broker_id in (None, broker_id)
        over = self.until_ns is not None and at_ns > self.until_ns + after_ns
        return reaches and self.since_ns <= at_ns and not over


def fault_windows(events: Iterable[TraceEvent]) -> Sequence[FaultWindow]:
    """By the phases of faults in the trace of the harness."""
    windows: dict[str, FaultWindow] = {}
    for event in sorted(events, key=lambda event: event.mono_ns):
        if event.kind is not Kind.FAULT or event.fault_id is None:
            continue
        if event.phase is Phase.INJECTING:
            is_wide = (event.fault or "").startswith(WIDE) and event.fault != "zk.expire"
            broker_id = None if is_wide else event.broker_id
            begun = FaultWindow(since_ns=event.mono_ns, broker_id=broker_id)
            windows.setdefault(event.fault_id, begun)  # later lines: brokers hurt in turn
        elif event.phase in (Phase.HEALED, Phase.INEFFECTIVE, Phase.FAILED):
            window = windows.get(event.fault_id)
            if window is not None:
                window.until_ns = event.mono_ns
    return tuple(windows.values())


def read_interference(events: Iterable[TraceEvent]) -> HostInterference:
    """The interference that `write_stall` and `write_lost` traced in one run."""
    interference = HostInterference()
    for event in sorted(events, key=lambda event: event.mono_ns):
        if event.kind is not Kind.RUN or event.action not in (HOST_STALLED, SESSION_LOST):
            continue
        told = json.loads(event.detail or "{}")
        if event.action == HOST_STALLED:
            until_ns = told["since_ns"] + told["stalled_ms"] * 1_000_000
            stall = Stall(
                since_ns=told["since_ns"], until_ns=until_ns, pressure_ms=told["pressure_ms"]
            )
            interference.stalls.append(stall)
        elif event.broker_id is not None:
            lost = LostSession(broker_id=event.broker_id, at_ns=told["registered_ns"])
            interference.lost.append(lost)
    return interference


def write_stall(harness: TraceWriter, stall: Stall) -> None:
    """The trace tells of it: `HostStalled`."""
    told = {
        "since_ns": stall.since_ns,
        "stalled_ms": (stall.until_ns - stall.since_ns) // 1_000_000,
        "pressure_ms": dict(stall.pressure_ms),
    }
    harness.write(Kind.RUN, HOST_STALLED, detail=json.dumps(told))


def write_lost(harness: TraceWriter, lost: LostSession) -> None:
    """The trace tells of it: `SessionLost`."""
    harness.write(
        Kind.RUN,
        SESSION_LOST,
        broker_id=lost.broker_id,
        detail=json.dumps({"registered_ns": lost.at_ns}),
    )
