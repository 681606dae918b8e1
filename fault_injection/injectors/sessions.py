"""Sessions at ZooKeeper that end while their brokers live."""

from dataclasses import dataclass, field

from fault_injection import rpc_rules
from fault_injection.injectors.injection import Deed, Registration, registered
from fault_injection.rpc_rules import InjectionError
from fault_injection.zookeeper_faults import ExpireSession


@dataclass(slots=True)
class Expiry:
    """`zk.expire`: a second connection with the broker's session id and password closes it."""

    deed: Deed[ExpireSession]
    _before: Registration | None = field(init=False, default=None)

    def inject(self) -> None:
        """The session has ended at ZooKeeper."""
        before = self.deed.target.registration(self.deed.broker_id)
        if before is None:
            raise InjectionError(f"broker {self.deed.broker_id} has no session to expire")
        self._before = before
        session = rpc_rules.get_session(before.address)
        self.deed.target.expire_session(session.session_id, session.password, self.deed.broker_id)

    def evidence(self) -> str | None:
        """The registration of the old session is gone."""
        if self._before is None or self._is_old(self.deed.target.registration(self.deed.broker_id)):
            return None
        return f"session {self._before.session_id:#x} ended"

    def heal(self) -> None:
        """Nothing: the broker opens a new session by itself."""

    def healed(self) -> str | None:
        """Registered by another session."""
        now = self.deed.target.registration(self.deed.broker_id)
        return None if now is None or self._is_old(now) else registered(now)

    def _is_old(self, now: Registration | None) -> bool:
        return bool(now and self._before and now.session_id == self._before.session_id)
