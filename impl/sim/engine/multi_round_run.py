"""Plays a dense run (`dense.py`): round after round of faults, and healing after each.

It ends after the first round that did not heal, or after which its caller has seen enough.
"""

from collections.abc import Callable, Sequence, Set as AbstractSet

from fencepost.fault_injection.stories.schedule import Schedule
from fencepost.impl.sim.draw.multi_round_draw import FaultRound, MultiRoundRun
from fencepost.impl.sim.engine.liveness_state import unhealed
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.options import TOPIC
from fencepost.impl.sim.engine.run import break_connections, create_topic, end_run, run_line
from fencepost.impl.sim.injectors.injector import Injector
from fencepost.impl.sim.injectors.znodes import kick
from fencepost.impl.sim.world.admin_workload import Administrator, remove_nonsense, write_nonsense
from fencepost.impl.sim.world.clients import SimulatedClient, SimulatedConsumer, SimulatedProducer
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import TRACE_VERSION, TraceEvent
from fencepost.spec.vocabulary import Liveness

LOOK_MS = 20
"""Between two looks whether the cluster has healed."""
DIES_MS = 100
"""So long after it was killed a broker is dead."""

SURVIVORS_MS = 20_000
"""So long those who live may take to heal."""
ORPHANS = frozenset({Liveness.DELETION_COMPLETES})
ORPHANS_MS = 3_000
"""So long replicas that nobody wants may take to go by themselves."""

IsEnough = Callable[[Sequence[TraceEvent]], bool]
"""Told what has happened so far: true when the run may end here."""


def play_rounds(
    dense: MultiRoundRun, run_id: str, move_recorder: MoveRecorder, is_enough: IsEnough
) -> list[TraceEvent]:
    """The trace of the run; the same number gives the same events, byte for byte, to its end.

    Its moves are in the move recorder, which has the end of the last round at most.
    """
    cluster = VirtualCluster(dense.options, run_id, move_recorder)
    for disk in cluster.disks.values():
        disk.keeps_empty = False
    harness = cluster.recorder.node("harness")
    harness.write(run_line("RunStarted", _describe(dense)))
    create_topic(cluster, TOPIC, dense.options.partitions)
    founder = Administrator(cluster, "client-founder", (0, 0))
    founder.found_again()
    clients: list[SimulatedClient] = []
    injector = Injector(cluster, harness, clients)
    owed: set[Liveness] = set()
    for number, one in enumerate(dense.rounds, start=1):
        _begin(cluster, injector, clients, one, number)
        cluster.scheduler.run_until(cluster.scheduler.now_ms + one.options.duration_ms)
        owed = _heal(cluster, injector, clients)
        if owed or is_enough(cluster.recorder.events):
            break
    move_recorder.settles = True
    end_run(cluster, harness, owed)
    return cluster.recorder.events


def _begin(
    cluster: VirtualCluster,
    injector: Injector,
    clients: list[SimulatedClient],
    one: FaultRound,
    number: int,
) -> None:
    """The weather changes, clients begin, and faults are planned."""
    options = cluster.options = one.options
    cluster.network.weather = options.weather
    if one.has_nonsense:
        write_nonsense(cluster)
    keys = sorted(cluster.assignments())
    if one.administrator_ms:
        administrator = Administrator(cluster, f"client-admin-{number}", one.administrator_ms)
        keys = administrator.keys
        administrator.begin_work()
        clients.append(administrator)
    for n in range(options.producers):
        producer = SimulatedProducer(cluster, f"client-{number}-{n + 1}", keys)
        producer.later(producer.produce)
        clients.append(producer)
    consumer = SimulatedConsumer(cluster, f"client-{number}-{options.producers + 1}", keys)
    consumer.later(consumer.consume)
    clients.append(consumer)
    injector.plan(cluster.scheduler.now_ms)
    break_connections(cluster)


def _heal(
    cluster: VirtualCluster, injector: Injector, clients: list[SimulatedClient]
) -> set[Liveness]:
    """All faults are over; what does not hold then, first without those who stay dead."""
    cluster.network.calm()
    for client in clients:
        client.is_stopped = True
    clients.clear()
    if cluster.options.survivors_first:
        injector.heal_all(keep=_for_good(cluster.options.schedule))
        cluster.scheduler.run_until(cluster.scheduler.now_ms + DIES_MS)
        cluster.absent = frozenset(b for b, p in cluster.processes.items() if not p.is_alive)
        owed = _of_survivors(cluster)
        if owed:
            return owed
        cluster.absent = frozenset()
    injector.heal_all()
    return _settle(cluster)


def _of_survivors(cluster: VirtualCluster) -> set[Liveness]:
    """What does not hold among those who live, while the others are dead.

    Where the whole ISR is dead nothing moves; nor is there a new controller before a session ends.
    """
    but: set[Liveness] = set()
    if cluster.options.session_timeout_ms >= SURVIVORS_MS:
        but = {Liveness.CONTROLLER_EVENTUALLY_EXISTS}
    states = [cluster.state(key) for key in cluster.assignments()]
    if any(state is None or state[0].isr <= cluster.absent for state in states):
        but |= {Liveness.REASSIGNMENT_COMPLETES, Liveness.EVENTUALLY_LEADER}
    return _wait(cluster, SURVIVORS_MS, but | ORPHANS) - but - ORPHANS


def _for_good(schedule: Schedule) -> set[str]:
    """The faults that end only when all are healed."""
    return {timed.fault_id for timed in schedule.faults if timed.end_ms is None}


def _settle(cluster: VirtualCluster) -> set[Liveness]:
    """What does not hold in the end.

    Replicas that nobody wants may outlive their topic: those of whom their broker is not told, and
    all while a znode is unreadable. The next controller tells everybody what there is (CMD-007).
    """
    owed = _wait(cluster, cluster.options.settle_ms, but=ORPHANS)
    if owed - ORPHANS:
        return owed
    remove_nonsense(cluster)
    if _wait(cluster, ORPHANS_MS) == ORPHANS:
        kick(cluster)
    return _wait(cluster, cluster.options.settle_ms)


def _wait(
    cluster: VirtualCluster, most_ms: int, but: AbstractSet[Liveness] = frozenset()
) -> set[Liveness]:
    """What does not hold as soon as nothing else is owed than `but`, or after `most_ms`."""
    limit_ms = cluster.scheduler.now_ms + most_ms
    while (owed := set(unhealed(cluster))) - but and cluster.scheduler.now_ms < limit_ms:
        cluster.scheduler.run_until(cluster.scheduler.now_ms + LOOK_MS)
    return owed


def _describe(dense: MultiRoundRun) -> Line:
    options = dense.options
    return {
        "trace_version": TRACE_VERSION,
        "backend": "sim",
        "level": int(options.level),
        "seed": dense.number,
        "brokers": options.brokers,
        "scenario": "dense",
        "mutant": options.mutant,
        "reproduce": f"the dense run {dense.number} at level {options.level:d}",
    }
