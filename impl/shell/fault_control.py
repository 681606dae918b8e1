"""Service FaultControl of a broker that was started with `--fault-control`.

One method per call of `spec/wire/fault_control.proto`. A wrong request is answered with one
sentence in `error`; no method raises.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from time import monotonic_ns

from google.protobuf.message import Message

from fencepost.impl.shell.clock import NS_PER_MS, NodeClock
from fencepost.impl.shell.crashes import CrashPoints
from fencepost.impl.shell.rpc.rpc_faults import FaultRules
from fencepost.impl.shell.storage.files import StorageError
from fencepost.impl.shell.storage.watched_files import DiskState, WatchedFiles
from fencepost.spec.vocabulary import SessionId
from fencepost.spec.wire import fault_control_pb2 as wire
from fencepost.spec.znodes import TopicPartition

Identity = Callable[[], tuple[SessionId, bytes]]
"""ZooKeeper session id and password."""
Method = tuple[Callable[..., Awaitable[Message]], type[Message]]
"""The function of a call and the type of its request."""
DELAY_MS_MAX = 10_000
RATE_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultControl:
    """The parts of a broker that faults act on."""

    rules: FaultRules
    identity: Identity
    forget_session: Callable[[], None]
    crashes: CrashPoints
    disk: WatchedFiles
    failed_logs: Callable[[], Mapping[TopicPartition, StorageError]]
    clock: NodeClock

    def methods(self) -> Mapping[str, Method]:
        """The methods by name of the call."""
        return {
            "AddRule": (self.add_rule, wire.RpcRule),
            "RemoveRule": (self.remove_rule, wire.RuleName),
            "GetRule": (self.get_rule, wire.RuleName),
            "GetSession": (self.get_session, wire.SessionRequest),
            "ForgetSession": (self.forget, wire.SessionRequest),
            "SetCrashPoint": (self.set_crash_point, wire.CrashPoint),
            "SetDiskFault": (self.set_disk_fault, wire.DiskFault),
            "GetDisk": (self.get_disk, wire.DiskRequest),
            "KeepOlderFiles": (self.keep_older_files, wire.DiskRequest),
            "SetClock": (self.set_clock, wire.ClockFault),
            "GetClock": (self.get_clock, wire.ClockRequest),
        }

    async def add_rule(self, rule: wire.RpcRule) -> wire.RuleStatus:
        """Put a rule in force."""
        return self.rules.add(rule)

    async def remove_rule(self, name: wire.RuleName) -> wire.RuleStatus:
        """Remove a rule and deliver the requests that it held."""
        return await self.rules.remove(name.rule_id)

    async def get_rule(self, name: wire.RuleName) -> wire.RuleStatus:
        """The counters of a rule."""
        return self.rules.get(name.rule_id)

    async def get_session(self, _: wire.SessionRequest) -> wire.Session:
        """Id and password of the current session."""
        session_id, password = self.identity()
        return wire.Session(session_id=session_id, password=password)

    async def forget(self, request: wire.SessionRequest) -> wire.Session:
        """Give up the current session; ZooKeeper keeps it until its timeout."""
        forgotten = await self.get_session(request)
        self.forget_session()
        return forgotten

    async def set_crash_point(self, wanted: wire.CrashPoint) -> wire.CrashPointStatus:
        """Plan or cancel a crash point."""
        error = self.crashes.plan(wanted.point, wanted.nth, holds=wanted.holds)
        return wire.CrashPointStatus(error=error)

    async def set_disk_fault(self, fault: wire.DiskFault) -> wire.DiskStatus:
        """Set the state of the disk; logs that have failed stay offline."""
        if fault.verb not in list(DiskState):
            verbs = ", ".join(filter(None, DiskState))
            return wire.DiskStatus(
                error=f"{fault.verb!r} is no verb; choose one of {verbs}, or none"
            )
        lowest_ms = 1 if fault.verb == DiskState.SLOW else 0
        if not lowest_ms <= fault.delay_ms <= DELAY_MS_MAX:
            return wire.DiskStatus(
                error=f"delay_ms is {fault.delay_ms}; give {lowest_ms} to {DELAY_MS_MAX}"
            )
        self.disk.set_state(DiskState(fault.verb), fault.delay_ms)
        return self._disk_status()

    async def get_disk(self, _: wire.DiskRequest) -> wire.DiskStatus:
        """The counters of disk faults."""
        return self._disk_status()

    async def keep_older_files(self, _: wire.DiskRequest) -> wire.DiskStatus:
        """Write older checkpoints below `.fault-control/older`."""
        try:
            return self._disk_status(self.disk.keep_older_files())
        except OSError as error:
            return wire.DiskStatus(error=f"older checkpoints cannot be kept: {error.strerror}")

    async def set_clock(self, fault: wire.ClockFault) -> wire.ClockStatus:
        """Advance the clock of the core or change its rate."""
        rate = fault.rate if fault.HasField("rate") else None
        if fault.jump_ms < 0:
            return wire.ClockStatus(error=f"jump_ms is {fault.jump_ms}; a clock never goes back")
        if rate is not None and not 0 <= rate <= RATE_MAX:
            return wire.ClockStatus(error=f"rate is {rate}; give 0 to {RATE_MAX} thousandths")
        self.clock.jump(fault.jump_ms)
        if rate is not None:
            self.clock.run_at(rate)
        return self._clock_status()

    async def get_clock(self, _: wire.ClockRequest) -> wire.ClockStatus:
        """The time of the core and the true one, in ms."""
        return self._clock_status()

    def _disk_status(self, older_files: int = 0) -> wire.DiskStatus:
        failed = [
            wire.FailedLog(topic=key.topic, partition=key.partition, reason=str(error))
            for key, error in self.failed_logs().items()
        ]
        return wire.DiskStatus(
            matched=self.disk.matched, failed_logs=failed, older_files=older_files
        )

    def _clock_status(self) -> wire.ClockStatus:
        return wire.ClockStatus(now_ms=self.clock.now_ms(), true_ms=monotonic_ns() // NS_PER_MS)
