"""Faults that clients are, against clients that do as they are told."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from fencepost.fault_injection.faults.load_faults import BurstLoad, CrashClient
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.injectors.load import BurstInjector, ClientCrashInjector
from tests.fault_injection.engine.test_engine import deed
from tests.fault_injection.fakes import FakeTarget


@dataclass
class FakeBurst:
    acknowledged: int = 0
    is_over: bool = False

    def end(self) -> None:
        self.is_over = True


@dataclass
class FakeLoad:
    bursts: list[tuple[int, FakeBurst]] = field(default_factory=list)
    fate: str | None = None

    def burst(self, producers: int) -> FakeBurst:
        self.bursts.append((producers, FakeBurst()))
        return self.bursts[-1][1]

    def crash_producer(self) -> Callable[[], str | None]:
        return lambda: self.fate


class BusyTarget(FakeTarget):
    clients: FakeLoad

    @property
    def load(self) -> FakeLoad:  # type: ignore[override]
        return self.clients


def test_a_burst_is_proved_by_what_was_acknowledged_and_ends() -> None:
    target = BusyTarget()
    target.clients = FakeLoad()
    burst = BurstInjector(deed(target, BurstLoad(producers=4, for_ms=9), 1))  # type: ignore[arg-type]
    burst.inject()
    ((producers, fake),) = target.clients.bursts
    before = burst.evidence()
    fake.acknowledged = 7
    proof = burst.evidence()
    burst.heal()

    assert (producers, before, fake.is_over) == (4, None, True)
    assert proof == "7 requests of 4 more producers"
    assert burst.healed() == "7 of their requests were acknowledged"


def test_a_crash_is_proved_by_the_end_of_a_producer() -> None:
    target = BusyTarget()
    target.clients = FakeLoad()
    crash = ClientCrashInjector(deed(target, CrashClient(), 1))  # type: ignore[arg-type]
    crash.inject()
    before = crash.evidence()
    target.clients.fate = "client-1 ended"
    crash.heal()

    assert (before, crash.evidence(), crash.healed()) == (None, "client-1 ended", "client-1 ended")


def test_without_clients_there_is_nothing_to_hurt() -> None:
    crash = ClientCrashInjector(deed(FakeTarget(), CrashClient(), 1))  # type: ignore[arg-type]
    with pytest.raises(InjectionError, match="no clients are at work here"):
        crash.inject()
