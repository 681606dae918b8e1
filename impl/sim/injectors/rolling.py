"""All brokers of the simulated world are restarted, one after the other."""

from fencepost.fault_injection.faults.process_faults import RollBrokers
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.injectors.injector import InstantInjector
from fencepost.impl.sim.world.process import Process
from fencepost.impl.trace_lines import Line
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import broker_path

LOOK_MS = 50
"""Between two looks whether the next broker may be restarted."""


class SimulatedRollingRestart(InstantInjector[RollBrokers]):
    """`proc.rolling`."""

    _left: list[BrokerId]
    _down: Process | None = None
    _restarted = 0

    def inject(self) -> None:
        """End the first broker."""
        cluster = self.cluster
        if why := self.fault.refusal({one: cluster.version_of(one) for one in cluster.disks}):
            raise InjectionError(why)
        self._left = sorted(self.cluster.processes)
        self._next()

    def undo(self) -> Line:
        """End no further broker, and start the one that is down; how many were restarted."""
        self._left = []
        self._start_again()
        return {"matched": self._restarted}

    def _next(self) -> None:
        if not self._left:
            return
        self._down = self.cluster.processes[self._left.pop(0)]
        self.on_broker(self._down.broker_id)
        if self.fault.how == "kill":
            self._down.die()
        else:
            self._down.ask_to_end()
        self.cluster.scheduler.after_ms(self.fault.gap_ms, self._start_again)

    def _start_again(self) -> None:
        if self._down is None:
            return
        if self._left and self._down.is_alive:
            self.cluster.scheduler.after_ms(LOOK_MS, self._start_again)
            return
        process, self._down = self._down, None
        broker_id = process.broker_id
        if self.cluster.processes[broker_id] is not process:
            # It died meanwhile, and started again as what it was.
            self._left = [broker_id, *self._left] if self._left else []
            self._next()
            return
        versions = self.cluster.versions
        versions[broker_id] = self.fault.after(versions[broker_id])
        self.cluster.restart(process)
        self._restarted += 1
        self._look(process)

    def _look(self, process: Process) -> None:
        if self._is_ready(process):
            self._next()
        else:
            self.cluster.scheduler.after_ms(LOOK_MS, lambda: self._look(process))

    def _is_ready(self, process: Process) -> bool:
        match self.fault.wait:
            case "none":
                return True
            case "registered":
                stat = self.cluster.zookeeper.peek(broker_path(process.broker_id)).stat
                now = self.cluster.processes[process.broker_id].zookeeper.session_id
                return stat is not None and stat.ephemeral_owner == now
            case _:
                return is_converged(self.cluster)
