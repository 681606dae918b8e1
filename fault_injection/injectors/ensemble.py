"""Members of a ZooKeeper ensemble that stand still, die, restart, and lose the lead."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fencepost.fault_injection.faults.zookeeper_faults import FailOverZooKeeper, HurtServer
from fencepost.fault_injection.injectors.injection import (
    AnyFault,
    FaultTarget,
    ProcessInjector,
)
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.zookeeper.members import ZooKeeperMembers
from fencepost.fault_injection.zookeeper.status import MemberState, Mode

ELECTION_MARGIN_MS = 1_000
"""A leader that stands still this much longer than the others' patience must be replaced."""


class MemberAwayInjector(ProcessInjector[AnyFault]):
    """What the faults by which a member is away for a while have in common."""

    _absence: "MemberAbsence | None" = None

    def evidence(self) -> str | None:
        """The state of the member, and the leader in its place."""
        return self._absence.evidence() if self._absence else None

    def heal(self) -> None:
        """It goes on, or starts again."""
        if self._absence:
            self._absence.end()

    def healed(self) -> str | None:
        """All members serve, one of them as leader."""
        return self._absence.ended() if self._absence else "no server was hurt"


class ServerInjector(MemberAwayInjector[HurtServer]):
    """`zk.server`: SIGSTOP, SIGKILL or SIGTERM of one member, and SIGCONT or a new start."""

    def inject(self) -> None:
        """The member stands still or has ended."""
        fault, servers = self.fault, self.target.servers
        absence = self._absence = MemberAbsence.of(self.target, number_of(fault.member, servers))
        if fault.deed in ("pause", "disconnect"):
            long_enough = fault.for_ms >= servers.silence_ms + ELECTION_MARGIN_MS
            absence.must_elect = absence.was_leader and long_enough
            begin = servers.pause if fault.deed == "pause" else servers.cut_off
            begin(absence.number)
        else:
            end = servers.kill if fault.deed == "kill" else servers.stop
            end(absence.number)
            servers.prepare(absence.number)


class FailOverInjector(MemberAwayInjector[FailOverZooKeeper]):
    """`zk.failover`: the leader is killed, and the others elect one of them."""

    def inject(self) -> None:
        """The leader has ended."""
        servers = self.target.servers
        self._absence = MemberAbsence.of(self.target, number_of("leader", servers))
        servers.kill(self._absence.number)
        servers.prepare(self._absence.number)


@dataclass(slots=True, kw_only=True)
class MemberAbsence:
    """A member that does not serve, and the ensemble and sessions as they were before."""

    target: FaultTarget
    number: int
    was_leader: bool
    must_elect: bool
    """True when the others must have another leader before the absence counts."""
    epoch: int
    sessions: Mapping[int, int]
    """Broker id -> its session."""

    @classmethod
    def of(cls, target: FaultTarget, number: int) -> "MemberAbsence":
        """Of a member that serves; raises `InjectionError` when it does not."""
        status = target.servers.status()
        if number not in status:
            raise InjectionError(f"server {number} of the ensemble does not serve")
        was_leader = status[number].mode is Mode.LEADER
        return cls(
            target=target,
            number=number,
            was_leader=was_leader,
            must_elect=was_leader,
            epoch=max(one.epoch for one in status.values()),
            sessions=_sessions(target),
        )

    def evidence(self) -> str | None:
        """The state of the member, and the leader in its place."""
        servers = self.target.servers
        state = servers.state(self.number)
        if state is MemberState.RUNNING:
            return None
        role = "leader" if self.was_leader else "follower"
        gone = f"server {self.number}, {role} in epoch {self.epoch}, is {state}"
        if not self.must_elect:
            return gone
        leader = servers.leader()
        if leader is None:
            return None
        status = servers.status().get(leader)
        if status is None or status.epoch <= self.epoch:
            return None
        return f"{gone}; server {leader} leads epoch {status.epoch}"

    def end(self) -> None:
        """It goes on, or starts again; may be called again."""
        servers = self.target.servers
        state = servers.state(self.number)
        if state is MemberState.PAUSED:
            servers.resume(self.number)
        elif state is MemberState.CUT_OFF:
            servers.join(self.number)
        elif state is MemberState.ENDED:
            servers.restart(self.number)

    def ended(self) -> str | None:
        """All members serve under one leader; tells which sessions lived on."""
        servers = self.target.servers
        modes = [status.mode for status in servers.status().values()]
        if len(modes) < len(servers.numbers()) or modes.count(Mode.LEADER) != 1:
            return None
        now = _sessions(self.target)
        if set(now) < set(self.sessions):
            return None  # a broker may be on its way to a new session
        kept = sum(now.get(broker) == session for broker, session in self.sessions.items())
        return (
            f"server {servers.leader()} leads {len(modes)} servers; "
            f"{kept} of {len(self.sessions)} brokers kept their sessions"
        )


def number_of(member: str, servers: ZooKeeperMembers) -> int:
    """The member that plays a role now, or has that number; raises `InjectionError`."""
    if member.isdecimal():
        return int(member)
    status: Mapping[int, Any] = servers.status()
    wanted = Mode(member)
    found = [number for number, one in sorted(status.items()) if one.mode is wanted]
    if not found:
        raise InjectionError(f"no server of the ensemble is {member} now")
    return found[0]


def _sessions(target: FaultTarget) -> dict[int, int]:
    found = {broker_id: target.registration(broker_id) for broker_id in target.state.live_brokers()}
    return {broker_id: one.session_id for broker_id, one in found.items() if one}
