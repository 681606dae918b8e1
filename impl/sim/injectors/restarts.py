"""Brokers that end and start again in the simulated world: one in good order, one at once, or all.

As the deeds of `deeds.py`: each returns how it is undone, which tells evidence.
"""

from collections.abc import Callable

from fencepost.fault_injection.faults.process_faults import BounceBroker, RollBrokers, StopBroker
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.process import Process
from fencepost.impl.trace_lines import Line
from fencepost.spec.znodes import broker_path

LOOK_MS = 50
"""Between two looks whether the next broker may be restarted."""


def end_in_good_order(cluster: VirtualCluster, process: Process) -> None:
    """The process has flushed its logs and closed its session, and is gone."""
    session_id = process.zookeeper.session_id
    cluster.disks[process.broker_id].flush()
    process.die()
    if session_id:
        cluster.zookeeper.end_session(session_id)


def restart_one(
    fault: StopBroker | BounceBroker, cluster: VirtualCluster, process: Process
) -> Callable[[], Line] | None:
    """It ends, and starts again when the fault heals, or at once."""
    if isinstance(fault, StopBroker):
        end_in_good_order(cluster, process)

        def heal() -> Line:
            cluster.restart(process)
            return {}

        return heal
    session_id = process.zookeeper.session_id
    if not session_id:
        return None
    process.die()
    cluster.restart(process)
    return lambda: {"session_id": session_id}


class Roll:
    """`proc.rolling`: one broker after the other ends and starts again."""

    def __init__(self, fault: RollBrokers, cluster: VirtualCluster) -> None:
        self._fault = fault
        self._cluster = cluster
        self._left = sorted(cluster.processes)
        self._down: Process | None = None
        self._restarted = 0
        self._next()

    def heal(self) -> Line:
        """Nobody is ended any more, and who is down starts again."""
        self._left = []
        self._start_again()
        return {"matched": self._restarted}

    def _next(self) -> None:
        if not self._left:
            return
        self._down = self._cluster.processes[self._left.pop(0)]
        if self._fault.how == "kill":
            self._down.die()
        else:
            end_in_good_order(self._cluster, self._down)
        self._cluster.scheduler.after_ms(self._fault.gap_ms, self._start_again)

    def _start_again(self) -> None:
        if self._down is None:
            return
        process, self._down = self._down, None
        self._cluster.restart(process)
        self._restarted += 1
        self._look(process)

    def _look(self, process: Process) -> None:
        if self._is_ready(process):
            self._next()
        else:
            self._cluster.scheduler.after_ms(LOOK_MS, lambda: self._look(process))

    def _is_ready(self, process: Process) -> bool:
        match self._fault.wait:
            case "none":
                return True
            case "registered":
                stat = self._cluster.zookeeper.peek(broker_path(process.broker_id)).stat
                now = self._cluster.processes[process.broker_id].zookeeper.session_id
                return stat is not None and stat.ephemeral_owner == now
            case _:
                return is_converged(self._cluster)
