"""The simulated ZooKeeper: one server that does not serve for a while, or is slow."""

from fencepost.fault_injection.faults.zookeeper_faults import FailOverZooKeeper, SlowSync
from fencepost.impl.sim.engine.scheduler import US_PER_MS
from fencepost.impl.sim.injectors.injector import InstantInjector
from fencepost.impl.sim.world.slow_sync import SlowSyncQueue
from fencepost.impl.trace_lines import Line


class SimulatedFailOver(InstantInjector[FailOverZooKeeper]):
    """`zk.failover`."""

    def inject(self) -> None:
        """Stop serving, and break all connections."""
        self.cluster.zookeeper.stop_serving()
        for broker_id in sorted(self.cluster.processes):
            self.cluster.break_connection(broker_id)

    def undo(self) -> Line:
        """Serve again."""
        self.cluster.zookeeper.serve()
        return {}


class SimulatedSlowSync(InstantInjector[SlowSync]):
    """`zk.slow_fsync`."""

    _disk: SlowSyncQueue
    _before: int

    def inject(self) -> None:
        """Delay each write from now on."""
        server = self.cluster.zookeeper
        disk = server.slow_sync = server.slow_sync or SlowSyncQueue(self.cluster.scheduler)
        disk.delay_us += self.fault.delay_ms * US_PER_MS
        self._disk, self._before = disk, disk.writes

    def undo(self) -> Line:
        """Delay writes no more; how many waited."""
        self._disk.delay_us -= self.fault.delay_ms * US_PER_MS
        return {"matched": self._disk.writes - self._before}
