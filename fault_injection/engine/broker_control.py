"""What a broker with `--fault-control` does to itself: crash points, a failing disk, a wrong clock.

The client of `spec/wire/fault_control.proto`, but for the rules on requests (`rpc_rules.py`).
Every function raises `InjectionError` when the broker does not answer, or refuses.
"""

from dataclasses import dataclass

from fencepost.fault_injection.engine.rpc_rules import call_broker
from fencepost.fault_injection.injectors.injection import ControlAddress
from fencepost.spec.wire import fault_control_pb2 as wire


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskStatus:
    """What disk faults have done to a broker so far."""

    matched: int
    """Calls that were refused or slowed."""
    failed_logs: tuple[str, ...]
    """`topic/partition: reason` of each log that is offline."""
    older_files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a broker takes for the time, and CLOCK_MONOTONIC of the same moment."""

    now_ms: int
    true_ms: int

    @property
    def ahead_ms(self) -> int:
        """Only the change of this tells anything: both count from any moment."""
        return self.now_ms - self.true_ms


def set_crash_point(address: ControlAddress, point: str, nth: int, *, holds: bool = False) -> None:
    """The broker will die there, or stand still; without a point it is spared."""
    call_broker(address, "SetCrashPoint", wire.CrashPoint(point=point, nth=nth, holds=holds))


def set_disk(address: ControlAddress, verb: str, delay_ms: int = 0) -> DiskStatus:
    """The disk is well (no verb), `full`, `broken` or `slow`."""
    return _disk(call_broker(address, "SetDiskFault", wire.DiskFault(verb=verb, delay_ms=delay_ms)))


def get_disk(address: ControlAddress) -> DiskStatus:
    """What the disk has refused so far."""
    return _disk(call_broker(address, "GetDisk", wire.DiskRequest()))


def keep_older_files(address: ControlAddress) -> DiskStatus:
    """Older versions of small files are in the data folder, to be put back."""
    return _disk(call_broker(address, "KeepOlderFiles", wire.DiskRequest()))


def set_clock(address: ControlAddress, *, jump_ms: int = 0, rate: int | None = None) -> Reading:
    """The clock jumps, and runs at that rate from now on, if one is given."""
    return _reading(call_broker(address, "SetClock", wire.ClockFault(jump_ms=jump_ms, rate=rate)))


def get_clock(address: ControlAddress) -> Reading:
    """What the broker takes for the time."""
    return _reading(call_broker(address, "GetClock", wire.ClockRequest()))


def _disk(status: wire.DiskStatus) -> DiskStatus:
    failed = (f"{one.topic}/{one.partition}: {one.reason}" for one in status.failed_logs)
    return DiskStatus(
        matched=status.matched, failed_logs=tuple(failed), older_files=status.older_files
    )


def _reading(status: wire.ClockStatus) -> Reading:
    return Reading(now_ms=status.now_ms, true_ms=status.true_ms)
