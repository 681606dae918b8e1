"""Sessions of the simulated ZooKeeper that end while their brokers live."""

from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.impl.sim.injectors.injector import InstantInjector, nothing_to_act_on
from fencepost.impl.trace_lines import Line


class SimulatedSessionExpiry(InstantInjector[ExpireSession]):
    """`zk.expire`."""

    _session_id: int = 0

    def inject(self) -> None:
        """End the session at ZooKeeper, or let its owner take it for lost."""
        session_id = self.process.zookeeper.session_id
        if not session_id:
            raise nothing_to_act_on()
        self._session_id = session_id
        if self.fault.mode == "local_only":
            self.process.zookeeper.forget_session()
        else:
            self.cluster.zookeeper.end_session(session_id)

    def undo(self) -> Line:
        """Nothing to undo; the session that ended."""
        return {"session_id": self._session_id}
