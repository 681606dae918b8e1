"""One round of a multi-round run: its own weather, clients and faults, and healing after it.

The rounds are drawn by `draw/drawn_run.py`; a run of several goes through `run` one by one.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from fencepost.fault_injection.stories.story import Story
from fencepost.impl.sim.engine.liveness_state import ORPHANS, unhealed
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.engine.run import SimulatedRun, prepare_topic
from fencepost.impl.sim.world.admin_workload import (
    KEYS_OF_EVERYTHING,
    SimulatedAdministrator,
    delete_controller,
    everything,
    remove_bad_topic,
    write_bad_topic,
)
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.workload import break_connections, start_workers
from fencepost.spec.vocabulary import Liveness

LOOK_MS = 20
"""Between two looks whether the cluster has healed."""
SURVIVORS_MS = 20_000
"""Within this time the surviving brokers must heal."""
ORPHANS_MS = 3_000
"""Within this time replicas that are assigned to no broker may be deleted by themselves."""


def prepare_rounds(run: SimulatedRun) -> None:
    """Create the topic, and create it again whenever a request has deleted it.

    Disks forget logs that were never written, as those of real brokers do.
    """
    for disk in run.cluster.disks.values():
        disk.keeps_empty = False
    prepare_topic(run)
    SimulatedAdministrator(run.cluster, "client-founder", everything).keep_topic()


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultRound:
    """What happens between two times of calm."""

    options: RunOptions
    """As in all rounds, but for clients, weather and schedule."""
    administrator_ms: tuple[int, int] | None
    """Between two requests of the administrator; None: there is none."""
    has_bad_topic: bool
    """True when a znode beside the topics holds no topic for the length of the round."""

    def work(self, run: SimulatedRun, number: int) -> None:
        """Change the weather, start clients, plan the faults, and let the time pass."""
        cluster = run.cluster
        options = cluster.options = self.options
        cluster.network.weather = options.weather
        if self.has_bad_topic:
            write_bad_topic(cluster)
        keys = sorted(cluster.assignments())
        if self.administrator_ms:
            administrator = SimulatedAdministrator(
                cluster, f"client-admin-{number}", everything, between_ms=self.administrator_ms
            )
            keys = list(KEYS_OF_EVERYTHING)
            administrator.begin_work()
            run.clients.append(administrator)
        names = [f"client-{number}-{n}" for n in range(1, options.producers + 2)]
        run.clients += start_workers(cluster, names, options.producers, keys)
        run.injector.plan(cluster.scheduler.now_ms)
        break_connections(cluster)
        run.pass_time(options.duration_ms)

    def heal(self, run: SimulatedRun) -> set[Liveness]:
        """End all faults; returns what does not hold then, first without brokers that stay dead."""
        cluster = run.cluster
        run.calm()
        run.clients.clear()
        if self.options.survivors_first:
            run.injector.heal_all(keep=_for_good(self.options.story))
            run.leave_out_dead()
            owed = _of_survivors(cluster)
            if owed:
                return owed
            cluster.absent = frozenset()
        run.injector.heal_all()
        return _converge(cluster)


def _of_survivors(cluster: VirtualCluster) -> set[Liveness]:
    """What does not hold among the living brokers, while the others are dead.

    Where the whole ISR is dead nothing moves; nor is there a new controller before a session ends.
    """
    but: set[Liveness] = set()
    if cluster.options.session_timeout_ms >= SURVIVORS_MS:
        but = {Liveness.CONTROLLER_EVENTUALLY_EXISTS}
    states = [cluster.state(key) for key in cluster.assignments()]
    if any(state is None or state[0].isr <= cluster.absent for state in states):
        but |= {Liveness.REASSIGNMENT_COMPLETES, Liveness.EVENTUALLY_LEADER}
    return _wait(cluster, SURVIVORS_MS, but | ORPHANS) - but - ORPHANS


def _for_good(schedule: Story) -> set[str]:
    """The faults that end only when all are healed."""
    return {timed.action_id for timed in schedule.actions if timed.end_ms is None}


def _converge(cluster: VirtualCluster) -> set[Liveness]:
    """What does not hold in the end.

    What is left of topics that are gone is left to the next controller, see `ORPHANS`.
    """
    owed = _wait(cluster, cluster.options.settle_ms, but=ORPHANS)
    if owed - ORPHANS:
        return owed
    remove_bad_topic(cluster)
    if _wait(cluster, ORPHANS_MS) == ORPHANS:
        delete_controller(cluster)
    return _wait(cluster, cluster.options.settle_ms)


def _wait(
    cluster: VirtualCluster, most_ms: int, but: AbstractSet[Liveness] = frozenset()
) -> set[Liveness]:
    """What does not hold as soon as nothing else is owed than `but`, or after `most_ms`."""
    limit_ms = cluster.scheduler.now_ms + most_ms
    while (owed := set(unhealed(cluster))) - but and cluster.scheduler.now_ms < limit_ms:
        cluster.scheduler.run_until(cluster.scheduler.now_ms + LOOK_MS)
    return owed
