"""Injections that a broker does to itself, against one that does as it is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Semaphore
from typing import Literal

import pytest

from fencepost.fault_injection.faults.clock_faults import DriftClock, JumpClock, StrobeClock
from fencepost.fault_injection.faults.disk_faults import (
    BreakDisk,
    CorruptTail,
    LosePower,
    SlowDisk,
    StaleCheckpoint,
)
from fencepost.fault_injection.faults.process_faults import CrashAt, KillBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.spec.wire import fault_control_pb2 as wire
from tests.fault_injection.conftest import Sleeper
from tests.fault_injection.engine.test_engine import inject
from tests.fault_injection.fakes import FakeProcess, FakeTarget, registered
from tests.grpc_server import Method, serving

LOG = "t-0/00000000000000000000.log"


@dataclass
class Broker:
    """Its fault control."""

    points: list[tuple[str, int]] = field(default_factory=list)
    holds: list[bool] = field(default_factory=list)
    disk: wire.DiskStatus = field(default_factory=wire.DiskStatus)
    verbs: list[tuple[str, int]] = field(default_factory=list)
    ahead_ms: int = 7
    rate: int = 1000
    commands: Semaphore = field(default_factory=lambda: Semaphore(0))
    """One for each command to the clock."""

    def set_crash_point(self, point: wire.CrashPoint) -> wire.CrashPointStatus:
        self.points.append((point.point, point.nth))
        self.holds.append(point.holds)
        return wire.CrashPointStatus()

    def set_disk_fault(self, fault: wire.DiskFault) -> wire.DiskStatus:
        self.verbs.append((fault.verb, fault.delay_ms))
        return self.disk

    def set_clock(self, fault: wire.ClockFault) -> wire.ClockStatus:
        self.ahead_ms += fault.jump_ms
        self.rate = fault.rate if fault.HasField("rate") else self.rate
        self.commands.release()
        return self.clock()

    def clock(self) -> wire.ClockStatus:
        return wire.ClockStatus(now_ms=1000 + self.ahead_ms, true_ms=1000)

    def methods(self) -> dict[str, Method]:
        return {
            "SetCrashPoint": (self.set_crash_point, wire.CrashPoint),
            "SetDiskFault": (self.set_disk_fault, wire.DiskFault),
            "GetDisk": (lambda _: self.disk, wire.DiskRequest),
            "KeepOlderFiles": (lambda _: self.disk, wire.DiskRequest),
            "SetClock": (self.set_clock, wire.ClockFault),
            "GetClock": (lambda _: self.clock(), wire.ClockRequest),
        }


@contextmanager
def told(*, without: str = "") -> Iterator[tuple[Broker, FakeTarget, FakeProcess]]:
    fake = Broker()
    methods = {name: method for name, method in fake.methods().items() if name != without}
    with serving("FaultControl", methods) as address:
        target = FakeTarget(registrations={1: registered(9, 1, address)})
        process = target.processes[1] = FakeProcess(pid=5)
        yield fake, target, process


def test_a_crash_is_proved_by_last_words_and_healed_by_a_new_process() -> None:
    with told() as (fake, target, process):
        crash = inject(target, CrashAt(target=broker(1), for_ms=9, point="after_send", nth=3))
        while_alive = crash.evidence()
        process.is_running = False
        without_words = crash.evidence()
        process.words = "broker-1: dies after_send, as planned"
        proof = crash.evidence()
        crash.heal()
        target.registrations[1] = registered(10, 4)

        assert fake.points == [("after_send", 3)]
        assert (while_alive, without_words) == (None, None)
        assert proof == "process 5 died after_send"
        assert target.restarted == [1]
        assert crash.healed() == "registered at zxid 4 by session 0xa"


def test_a_process_that_does_not_come_to_the_point_is_spared() -> None:
    with told() as (fake, target, _):
        crash = inject(target, CrashAt(target=broker(1), for_ms=9, point="after_truncate"))
        crash.heal()

        assert fake.points[-1] == ("", 0)
        assert crash.evidence() is None
        assert target.restarted == []
        assert crash.healed() == "registered at zxid 1 by session 0x9"


def test_a_process_that_holds_is_proved_by_its_state_and_goes_on(sleeper: Sleeper) -> None:
    asleep = sleeper()
    with told() as (fake, target, process):
        process.pid = asleep.pid
        fault = CrashAt(target=broker(1), for_ms=9, point="before_append", action="hold")
        crash = inject(target, fault)
        asleep.pause()
        without_words = crash.evidence()
        process.words = "broker-1: stands still before_append, as planned"
        proof = crash.evidence()
        crash.heal()
        standing = crash.healed()
        asleep.resume()

        assert fake.points == [("before_append", 1)]
        assert fake.holds == [True]
        assert process.calls == ["expect stop", "resume"]
        assert without_words is None
        assert proof == f"process {asleep.pid} in state T before_append"
        assert standing is None
        assert crash.healed() == "registered at zxid 1 by session 0x9"
        assert target.restarted == []


def test_a_call_that_an_implementation_does_not_offer_is_not_supported() -> None:
    with (
        told(without="SetCrashPoint") as (_, target, _),
        pytest.raises(InjectionError, match="does not support this fault; its implementation"),
    ):
        inject(target, CrashAt(target=broker(1), for_ms=9, point="after_send"))


def test_a_failing_disk_is_proved_by_an_offline_log_and_healed_by_a_restart() -> None:
    with told() as (fake, target, process):
        fake.disk.matched = 2  # by a fault of before
        broken = inject(target, BreakDisk(target=broker(1), for_ms=9))
        nothing_new = broken.evidence()
        fake.disk.matched = 3
        nothing_offline = broken.evidence()
        fake.disk.failed_logs.add(topic="t", partition=4, reason="no more")
        ready_before = list(target.prepared)
        proof = broken.evidence()
        ready_meanwhile = list(target.prepared)
        broken.heal()
        broken.heal()
        before_registration = broken.healed()
        target.registrations[1] = registered(10, 8)

        assert (nothing_new, nothing_offline) == (None, None)
        assert proof == "1 calls refused, offline is t/4: no more"
        assert fake.verbs == [("broken", 0), ("", 0)]
        assert process.calls == ["kill"]
        assert (ready_before, ready_meanwhile) == ([], [1])
        assert target.restarted == [1]
        assert before_registration is None
        assert broken.healed() == "registered at zxid 8 by session 0xa"


def test_a_slow_disk_needs_no_restart() -> None:
    with told() as (fake, target, _):
        slow = inject(target, SlowDisk(target=broker(1), for_ms=9, delay_ms=40))
        fake.disk.matched = 6
        proof = slow.evidence()
        slow.heal()

        assert proof == "6 calls took longer"
        assert fake.verbs == [("slow", 40), ("", 0)]
        assert (target.prepared, target.restarted) == ([], [])
        assert slow.healed() == "registered at zxid 1 by session 0x9"


def test_a_disk_that_refused_nothing_has_no_effect() -> None:
    with told() as (_, target, _):
        assert inject(target, BreakDisk(target=broker(1), for_ms=9)).evidence() is None


def test_a_jump_is_proved_by_the_time_that_the_broker_tells() -> None:
    with told() as (fake, target, process):
        jump = inject(target, JumpClock(target=broker(1), by_ms=500))
        proof = jump.evidence()
        jump.heal()

        assert proof == jump.healed() == "the clock has gained 500 ms"
        assert (fake.ahead_ms, fake.rate) == (507, 1000)
        process.is_running = False
        assert jump.healed() == "the process that had the clock has ended"


def test_a_drift_ends_and_keeps_what_it_gained() -> None:
    with told() as (fake, target, _):
        drift = inject(target, DriftClock(target=broker(1), for_ms=9, rate=0))
        not_yet, rate = drift.evidence(), fake.rate
        fake.ahead_ms -= 40
        proof = drift.evidence()
        drift.heal()

        assert not_yet is None
        assert proof == drift.healed() == "the clock has gained -40 ms"
        assert (rate, fake.rate) == (0, 1000)


def test_a_strobe_jumps_until_it_is_healed() -> None:
    with told() as (fake, target, _):
        strobe = inject(target, StrobeClock(target=broker(1), for_ms=9, by_ms=100, every_ms=20))
        assert all(fake.commands.acquire(timeout=20) for _ in range(3))
        proof = strobe.evidence()
        strobe.heal()
        jumps, rest = divmod(fake.ahead_ms - 7, 100)

        assert proof is not None
        assert proof.startswith("the clock has gained ")
        assert strobe.healed() == f"the clock has gained {100 * jumps} ms in {jumps} jumps"
        assert (jumps >= 3, rest, fake.rate) == (True, 0, 1000)


def test_a_clock_that_jumped_once_is_no_strobe() -> None:
    with told() as (_, target, _):
        once = inject(target, StrobeClock(target=broker(1), for_ms=9, by_ms=9, every_ms=60_000))
        proof = once.evidence()
        once.heal()

        assert (proof, once.healed()) == (None, "the clock has gained 9 ms in 1 jumps")


@pytest.mark.parametrize(
    ("wipe", "left", "proof"),
    [
        ("none", [".fault-control/synced", LOG, "t-0/checkpoint"], "process 5 killed"),
        (
            "log",
            [".fault-control/synced", "t-0/checkpoint"],
            "process 5 killed, 1 files with 10 bytes wiped",
        ),
        ("all", [], "process 5 killed, 2 files with 13 bytes wiped"),
    ],
)
def test_what_a_killed_process_had_is_wiped(
    tmp_path: Path, wipe: Literal["log", "all"], left: list[str], proof: str
) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / ".fault-control").mkdir()
    (tmp_path / LOG).write_bytes(b"0123456789")
    (tmp_path / "t-0" / "checkpoint").write_text("abc")
    (tmp_path / ".fault-control" / "synced").write_text(f"4\t{LOG}\n")
    with told() as (_, target, _):
        target.folder = tmp_path
        kill = inject(target, KillBroker(target=broker(1), restart_after_ms=9, wipe=wipe))
        found = kill.evidence()
        kill.heal()

        there = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert sorted(str(path.relative_to(tmp_path)) for path in there) == sorted(left)
        assert found == proof
        assert target.restarted == [1]


def test_a_wipe_of_nothing_has_no_effect(tmp_path: Path) -> None:
    with told() as (_, target, _):
        target.folder = tmp_path
        kill = inject(target, KillBroker(target=broker(1), restart_after_ms=9, wipe="all"))

        assert kill.evidence() is None


@pytest.mark.parametrize("fault_class", [LosePower, CorruptTail])
def test_a_loss_of_power_is_proved_by_what_is_lost(
    tmp_path: Path, fault_class: type[LosePower | CorruptTail]
) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / ".fault-control").mkdir()
    (tmp_path / LOG).write_bytes(b"0123456789")
    record = tmp_path / ".fault-control" / "synced"
    record.write_text(f"10\t{LOG}\n")
    with told() as (_, target, process):
        target.folder = tmp_path
        fault = fault_class(target=broker(1), for_ms=9)
        all_was_flushed = inject(target, fault).evidence()
        record.write_text(f"4\t{LOG}\n")
        target.processes[1] = replace(process, is_running=True)
        spoilt = inject(target, fault)
        proof = spoilt.evidence()
        spoilt.heal()

        assert all_was_flushed is None
        assert proof is not None
        assert proof.startswith("process 5 killed, ")
        assert (tmp_path / LOG).read_bytes() != b"0123456789"
        assert (tmp_path / LOG).read_bytes()[:4] == b"0123"
        assert target.restarted == [1]


def test_nobody_is_killed_for_a_loss_that_cannot_be_done(tmp_path: Path) -> None:
    with told() as (_, target, process):
        target.folder = tmp_path
        for fault in (
            LosePower(target=broker(1), for_ms=9),
            StaleCheckpoint(target=broker(1), for_ms=9),
            KillBroker(target=broker(1), restart_after_ms=9, wipe="log"),
        ):
            with pytest.raises(InjectionError, match=r"no record|no older checkpoint yet"):
                inject(target, fault)
        assert process.calls == []


def test_a_stale_checkpoint_is_proved_by_what_was_put_back(tmp_path: Path) -> None:
    for folder, content in (("t-0", "new"), (".fault-control/older/t-0", "old")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "offset-checkpoint").write_text(content)
    with told() as (fake, target, process):
        target.folder = tmp_path
        fake.disk.older_files = 1
        stale = inject(target, StaleCheckpoint(target=broker(1), for_ms=9))

        assert stale.evidence() == "process 5 killed, 1 older checkpoints put back"
        assert (tmp_path / "t-0" / "offset-checkpoint").read_text() == "old"
        assert process.calls == ["kill"]


def test_a_broker_that_is_away_cannot_be_told() -> None:
    target = FakeTarget(registrations={})
    with pytest.raises(InjectionError, match="broker 1 is not registered"):
        inject(target, JumpClock(target=broker(1), by_ms=5))
