"""The simulated cluster of a plan, which begins as one of real processes does.

One broker starts first and is elected, the topic has the replicas that it has there, and a process
takes a while to come up. How long that is, and how long a message is under way, is the host's.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import partial

from fencepost.impl.core.types.topic_messages import ReplicaList
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import START_MS
from fencepost.impl.sim.world.clients import TopicCreator
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.network import Weather
from fencepost.impl.sim.world.process import Process
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import TopicPartition, broker_path

TOPIC = "orders"
ASSIGNMENT = tuple(tuple(map(BrokerId, one)) for one in ((1, 2, 3), (2, 3, 1), (3, 1, 2)))
"""Of the topic's partitions, as on real processes."""


class Host(StrEnum):
    """How fast processes and messages are."""

    QUICK = "quick"
    BUSY = "busy"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpeed:
    """What the host makes of a run; times in virtual time."""

    weather: Weather
    boot_ms: int
    """From the start of a process to its first step."""


HOST_SPEEDS = {
    Host.QUICK: HostSpeed(weather=Weather(delay_us=(200, 3_000)), boot_ms=300),
    Host.BUSY: HostSpeed(weather=Weather(delay_us=(3_000, 30_000)), boot_ms=1_500),
}
"""An idle machine, and one that several runs share."""


class PlanCluster(VirtualCluster):
    """A cluster whose processes take their time to come up when they start again."""

    def __init__(
        self, options: RunOptions, run_id: str, *, first: BrokerId | None, boot_ms: int
    ) -> None:
        """With a `first`, only that broker starts."""
        super().__init__(options, run_id, first=first)
        self._boot_ms = boot_ms

    def restart(self, dead: Process) -> bool:
        """The broker will start again, unless another fault has seen to it before."""
        dead.die()
        is_last = self.processes[dead.broker_id] is dead
        if is_last:
            self.scheduler.after_ms(self._boot_ms, partial(self._start_anew, dead))
        return is_last

    def _start_anew(self, dead: Process) -> None:
        if self.processes[dead.broker_id] is dead:
            self.start(dead.broker_id)

    def start_all(self) -> None:
        """The first broker is the controller, then the others start, and all are registered."""
        started = set(self.processes)
        if len(started) == 1:
            self.scheduler.run_until(START_MS, lambda: self.view().controller_id in started)
        for broker_id in sorted(self.disks.keys() - started):
            self.start(broker_id)
        self.scheduler.run_until(START_MS, self._is_registered)

    def create_topic(self) -> list[TopicPartition]:
        """The topic exists, all replicas in sync; of fewer brokers it has what they can hold."""
        replicas = [tuple(b for b in one if b in self.disks) for one in ASSIGNMENT]
        creator = TopicCreator(self, TOPIC, len(replicas))
        creator.assign(ReplicaList(replicas=one) for one in replicas if one)
        creator.create()
        self.scheduler.run_until(self.scheduler.now_ms + START_MS, partial(is_converged, self))
        return creator.keys

    def _is_registered(self) -> bool:
        return all(self.zookeeper.peek(broker_path(b)).stat is not None for b in self.disks)
