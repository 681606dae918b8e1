"""How each kind of fault is done, proved and undone on real processes.

An injection knows one fault and its resolved target. The engine calls `inject`, then asks for
`evidence` until there is some, then calls `heal` and asks `healed` until that is proved.
No method waits: all but `inject` and `heal` only look.
"""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from fault_injection import rpc_rules
from fault_injection.faults import (
    ClusterView,
    ExpireSession,
    KillBroker,
    PauseBroker,
    RpcFault,
)
from fault_injection.process_identity import PROC, read_stat
from fault_injection.rpc_rules import InjectionError
from fault_injection.schedule import TimedFault

SESSION_MARGIN_MS = 300
"""A pause this much longer than the session timeout must end the session (ZooKeeper rounds up)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A broker's ephemeral znode `/brokers/ids/<id>` as it is now."""

    session_id: int
    zxid: int
    """Of its creation: the broker epoch."""
    address: str


class BrokerProcess(Protocol):
    """One run of a broker; signals reach this process and no other."""

    @property
    def pid(self) -> int:
        """Its process id."""

    @property
    def is_running(self) -> bool:
        """False once it has ended; a zombie has ended."""

    def pause(self) -> None:
        """The process stands still."""

    def resume(self) -> None:
        """The process goes on."""

    def kill(self) -> object:
        """The process has ended."""


class FaultTarget(Protocol):
    """What the engine must know of a cluster to hurt it."""

    @property
    def session_timeout_ms(self) -> int:
        """Of the brokers' ZooKeeper sessions."""

    def view(self) -> ClusterView:
        """Who plays which role now."""

    def process(self, broker_id: int) -> BrokerProcess:
        """The current process of a broker."""

    def restart(self, broker_id: int) -> None:
        """A killed broker is starting again on its data."""

    def registration(self, broker_id: int) -> Registration | None:
        """The broker's registration now; None when there is none."""

    def expire_session(self, session_id: int, password: bytes, broker_id: int) -> None:
        """The session has ended at ZooKeeper."""


class Injection(Protocol):
    """One fault on its way from injection to healing."""

    def inject(self) -> None:
        """The fault has been done."""

    def evidence(self) -> str | None:
        """What proves that it took effect; None: nothing yet."""

    def heal(self) -> None:
        """The fault has been undone; may be called again."""

    def healed(self) -> str | None:
        """What proves that the target is well again; None: not yet."""


@dataclass(slots=True, kw_only=True)
class Pause:
    """`proc.pause`: SIGSTOP, and SIGCONT at the end."""

    target: FaultTarget
    broker_id: int
    fault: PauseBroker
    _process: BrokerProcess | None = field(init=False, default=None)
    _before: Registration | None = field(init=False, default=None)

    def inject(self) -> None:
        """The process stands still."""
        self._process = self.target.process(self.broker_id)
        self._before = self.target.registration(self.broker_id)
        self._process.pause()

    def evidence(self) -> str | None:
        """State T and, for a pause longer than the session, a registration that is gone."""
        if self._process is None or process_state(self._process.pid) != "T":
            return None
        stopped = f"process {self._process.pid} in state T"
        if self.fault.for_ms < self.target.session_timeout_ms + SESSION_MARGIN_MS:
            return stopped
        if self._before is None or self.target.registration(self.broker_id) is not None:
            return None
        return f"{stopped}, session {self._before.session_id:#x} ended"

    def heal(self) -> None:
        """The process goes on."""
        if self._process is not None:
            self._process.resume()

    def healed(self) -> str | None:
        """Running and registered."""
        if self._process is not None and process_state(self._process.pid) == "T":
            return None
        now = self.target.registration(self.broker_id)
        return _registered(now) if now else None


@dataclass(slots=True, kw_only=True)
class Kill:
    """`proc.kill`: SIGKILL, and a new process on the same data at the end."""

    target: FaultTarget
    broker_id: int
    _process: BrokerProcess | None = field(init=False, default=None)
    _before: Registration | None = field(init=False, default=None)
    _is_restarted: bool = field(init=False, default=False)

    def inject(self) -> None:
        """The process has ended."""
        self._process = self.target.process(self.broker_id)
        self._before = self.target.registration(self.broker_id)
        self._process.kill()

    def evidence(self) -> str | None:
        """The process is no more."""
        if self._process is None or self._process.is_running:
            return None
        return f"process {self._process.pid} killed"

    def heal(self) -> None:
        """A new process starts on the same data."""
        if self._process is not None and not self._is_restarted:
            self._is_restarted = True
            self.target.restart(self.broker_id)

    def healed(self) -> str | None:
        """Registered anew: under a zxid that the killed process did not have."""
        now = self.target.registration(self.broker_id)
        if now is None or (self._before and now.zxid == self._before.zxid):
            return None
        return _registered(now)


@dataclass(slots=True, kw_only=True)
class Expiry:
    """`zk.expire`: a second connection with the broker's session id and password closes it."""

    target: FaultTarget
    broker_id: int
    _before: Registration | None = field(init=False, default=None)

    def inject(self) -> None:
        """The session has ended at ZooKeeper."""
        before = self.target.registration(self.broker_id)
        if before is None:
            raise InjectionError(f"broker {self.broker_id} has no session to expire")
        self._before = before
        session = rpc_rules.get_session(before.address)
        self.target.expire_session(session.session_id, session.password, self.broker_id)

    def evidence(self) -> str | None:
        """The registration of the old session is gone."""
        if self._before is None or self._is_old(self.target.registration(self.broker_id)):
            return None
        return f"session {self._before.session_id:#x} ended"

    def heal(self) -> None:
        """Nothing: the broker opens a new session by itself."""

    def healed(self) -> str | None:
        """Registered by another session."""
        now = self.target.registration(self.broker_id)
        return None if now is None or self._is_old(now) else _registered(now)

    def _is_old(self, now: Registration | None) -> bool:
        return bool(now and self._before and now.session_id == self._before.session_id)


@dataclass(slots=True, kw_only=True)
class Rule:
    """`rpc.*`: a rule in the sender, which counts what it applied to."""

    target: FaultTarget
    broker_id: int
    receiver_id: int | None
    fault: RpcFault
    rule_id: str
    _process: BrokerProcess | None = field(init=False, default=None)
    _last: rpc_rules.RuleStatus | None = field(init=False, default=None)

    def inject(self) -> None:
        """The sender applies the rule from now on."""
        self._process = self.target.process(self.broker_id)
        rpc_rules.add_rule(self._address(), self.rule_id, self.fault, self.receiver_id)

    def evidence(self) -> str | None:
        """The rule applied to at least one request."""
        if self._has_process():
            self._last = rpc_rules.rule_status(self._address(), self.rule_id)
        if self._last is None or not self._last.matched:
            return None
        return f"{self._last.matched} requests matched"

    def heal(self) -> None:
        """The rule applies no more; what it held is delivered."""
        if self._has_process():
            with suppress(rpc_rules.RuleRefusedError):  # it was never added
                self._last = rpc_rules.remove_rule(self._address(), self.rule_id)

    def healed(self) -> str | None:
        """The rule is gone, or the process that had it."""
        if self._last is None:
            return "no rule is left"
        return f"{self._last.matched} requests matched, {self._last.released} delivered late"

    def _has_process(self) -> bool:
        """False when the rule has ended with the process that had it."""
        return self._process is not None and self._process.is_running

    def _address(self) -> str:
        registration = self.target.registration(self.broker_id)
        if registration is None:
            raise InjectionError(f"broker {self.broker_id} is not registered")
        return registration.address


def injection_of(
    timed: TimedFault, target: FaultTarget, broker_id: int, receiver_id: int | None
) -> Injection:
    """How the fault is done to the broker that its target resolved to."""
    fault = timed.fault
    match fault:
        case PauseBroker():
            return Pause(target=target, broker_id=broker_id, fault=fault)
        case KillBroker():
            return Kill(target=target, broker_id=broker_id)
        case ExpireSession():
            return Expiry(target=target, broker_id=broker_id)
        case RpcFault():
            return Rule(
                target=target,
                broker_id=broker_id,
                receiver_id=receiver_id,
                fault=fault,
                rule_id=timed.fault_id,
            )
        case _:
            raise AssertionError(f"{fault.kind} can only be simulated: the engine lets none pass")


def process_state(pid: int) -> str:
    """The state letter of a process; empty when it is gone."""
    stat = read_stat(PROC / str(pid))
    return stat.state if stat else ""


def _registered(registration: Registration) -> str:
    return f"registered at zxid {registration.zxid} by session {registration.session_id:#x}"
