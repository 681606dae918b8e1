"""Sessions that end while their brokers live: at ZooKeeper, or in the mind of the broker alone."""

from fencepost.fault_injection.engine import rpc_rules
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.injectors.injection import (
    ProcessInjector,
    Registration,
    registered,
)
from fencepost.fault_injection.injectors.injector import InjectionError


class SessionExpiryInjector(ProcessInjector[ExpireSession]):
    """`zk.expire`: closed by the server or from elsewhere, or forgotten by its owner."""

    _outlived: str = ""
    """Of a forgotten session: what shows that ZooKeeper kept it."""

    def inject(self) -> None:
        """The session has ended at ZooKeeper, or its owner takes it for lost."""
        target, broker_id = self.target, self.broker_id
        before = target.registration(broker_id)
        if before is None:
            raise InjectionError(f"broker {broker_id} has no session to expire")
        self.before = before
        if self.fault.mode == "local_only":
            rpc_rules.forget_session(self.control_of(before))
            return
        if self.fault.mode == "server":
            target.end_session(before.session_id)
            return
        session = rpc_rules.get_session(self.control_of(before))
        target.expire_session(session.session_id, session.password, broker_id)

    def evidence(self) -> str | None:
        """The old registration is gone, or it is there while the broker has another session."""
        if self.before is None:
            return None
        if self.fault.mode == "local_only":
            return self._outlived or self._look_at_both(self.before)
        if self._is_old(self.registration()):
            return None
        return f"session {self.before.session_id:#x} ended"

    def healed(self) -> str | None:
        """Registered by another session."""
        now = self.registration()
        return None if now is None or self._is_old(now) else registered(now)

    def _look_at_both(self, before: Registration) -> str | None:
        session = rpc_rules.get_session(self.control_of(before))
        if session.session_id in (0, before.session_id):
            return None
        # Asked second: what was registered then still is, though its owner has another session now.
        if self._is_old(self.registration()):
            self._outlived = (
                f"the broker has session {session.session_id:#x}, "
                f"and {before.session_id:#x} owns its registration still"
            )
        return self._outlived or None

    def _is_old(self, now: Registration | None) -> bool:
        return bool(now and self.before and now.session_id == self.before.session_id)
