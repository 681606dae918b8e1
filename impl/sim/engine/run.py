"""One simulated run from start to final read, whatever is played: `run(description, run_id)`.

A description is drawn from a seed (`draw/`) or made of a story (`story_run.py`). A story drives
the same `SimulatedRun` step by step (`stories/simulated_steps.py`).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from fencepost.impl.sim.engine.liveness_state import ORPHANS, unhealed, unserved
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.options import TOPIC, RunOptions
from fencepost.impl.sim.injectors.driver import SimulatedFaultDriver
from fencepost.impl.sim.requests.last_quotas import LastQuotas
from fencepost.impl.sim.requests.last_requests import LastRequests
from fencepost.impl.sim.world.admin_workload import delete_controller, remove_bad_topic
from fencepost.impl.sim.world.clients import FinalReader, SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.workload import break_connections, create_topic, start_clients
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import TRACE_VERSION, TraceEvent
from fencepost.spec.vocabulary import BrokerId, Liveness, ProtocolLevel
from fencepost.spec.znodes import TopicPartition

FINAL_READ_MS = 10_000
LAST_REQUESTS_MS = 120_000
DIES_MS = 100
"""A broker is dead at most this long after it was killed."""

IsEnough = Callable[[Sequence[TraceEvent]], bool]
"""Given the trace so far: true when the run may end after this part."""


def never(_: Sequence[TraceEvent]) -> bool:
    """The run is played to the end of its description."""
    return False


class SimulatedRun:
    """A run under way: its cluster, its clients and faults, the beginning and end of its trace."""

    def __init__(self, cluster: VirtualCluster, begins: Line) -> None:
        """`begins` is the detail of the line `RunStarted`."""
        self.cluster = cluster
        least = cluster.options.min_insync_replicas
        cluster.tell_run("RunStarted", begins, min_insync_replicas=least)
        self.clients: list[SimulatedClient] = []
        """At work until they are stopped; faults may add to them."""
        self.injector = SimulatedFaultDriver(cluster, self.clients)
        self.wrong_answers: list[str] = []
        """What an administrator of the healed cluster was not answered or given as it must be."""

    def pass_time(self, for_ms: int, is_done: Callable[[], bool] | None = None) -> bool:
        """Let virtual time pass, at most until `is_done`; returns whether it is done."""
        return self.cluster.scheduler.run_until(self.cluster.scheduler.now_ms + for_ms, is_done)

    def calm(self) -> None:
        """Stop all clients and all chance: from now on what must come to hold has its time."""
        if self.cluster.move_recorder is not None:
            self.cluster.move_recorder.settles = True
        self.cluster.network.calm()
        for client in self.clients:
            client.is_stopped = True

    def leave_out_dead(self) -> None:
        """What must hold must without the brokers that are dead, or were killed just now."""
        self.pass_time(DIES_MS)
        processes = self.cluster.processes
        self.cluster.absent = frozenset(b for b, p in processes.items() if not p.is_alive)

    def heal(self) -> set[Liveness]:
        """End all faults; returns what does not hold when the time for it is over.

        Where the options say so, the surviving brokers must converge before the dead ones return,
        and partitions must be served before a broker is healed that is hurt alone.
        """
        cluster = self.cluster
        if cluster.options.hurt_last and (lasting := self.injector.lasting):
            self.injector.heal_all(keep=lasting)
            if owed := self._converge(unserved):
                return owed
        if cluster.options.survivors_first:
            self.calm()
            self.leave_out_dead()
            if owed := self._converge():
                return owed
            cluster.absent = frozenset()
        self.injector.heal_all()
        if cluster.options.bad_topic:
            remove_bad_topic(cluster)
        owed = self._converge()
        if owed == ORPHANS and cluster.options.level == ProtocolLevel.DRAFT_V3:
            # Its controllers have no epochs: the first INIT of a later one cannot be told from one
            # that comes twice, and deletes nothing.
            return set()
        if owed == ORPHANS and (
            cluster.options.asks or cluster.options.bad_topic or cluster.options.asks_by_hand
        ):
            delete_controller(cluster)
            owed = self._converge()
        return owed

    def _converge(
        self, owed: Callable[[VirtualCluster], Iterator[Liveness]] = unhealed
    ) -> set[Liveness]:
        """Wait in calm until nothing is owed; returns what is when the time is over."""
        self.calm()
        converged = self.pass_time(
            self.cluster.options.settle_ms, lambda: next(owed(self.cluster), None) is None
        )
        return set() if converged else {*owed(self.cluster)}

    def heal_and_ask(self) -> set[Liveness]:
        """As `heal`; what is healed is asked for everything, where the options say so."""
        options, owed = self.cluster.options, self.heal()
        if owed or options.level < ProtocolLevel.LEADER_EPOCH:
            return owed
        if options.mutation_quota:
            return self.ask_last(LastQuotas(self.cluster, self.injector))
        if options.asks_last:
            return self.ask_last(LastRequests(self.cluster, self.injector))
        return owed

    def ask_last(self, asking: LastQuotas | LastRequests) -> set[Liveness]:
        """Ask the healed cluster for everything; returns what does not hold when that is done."""
        asking.begin_work(asking.script())
        if not self.pass_time(LAST_REQUESTS_MS, lambda: asking.is_done):
            asking.wrong.append("the last requests have not ended")
        self.wrong_answers += asking.wrong
        return self._converge()

    def end(self, owed: Iterable[Liveness]) -> list[TraceEvent]:
        """Read all partitions to their end, and close the trace; `owed` has not come to hold."""
        names = sorted(set(owed))
        ending: Line = {"converged": not names}
        if names:
            ending["unhealed"] = names
        if self.wrong_answers:
            ending["wrong_answers"] = self.wrong_answers
        if hasty := self.cluster.hasty_retries():
            ending["hasty_retries"] = hasty
        reader = FinalReader(self.cluster, sorted(self.cluster.assignments()))
        reader.go_on()
        read = self.pass_time(FINAL_READ_MS, lambda: reader.is_done)
        self.cluster.tell_run("RunEnded", {**ending, "final_read": read})
        return self.cluster.recorder.events


class RunPart(Protocol):
    """What happens between two times at which the cluster must be healthy."""

    def work(self, run: SimulatedRun, number: int) -> None:
        """Clients work while faults come and go; `number` counts the parts of the run, from 1."""

    def heal(self, run: SimulatedRun) -> set[Liveness]:
        """End all faults; returns what does not hold in the end."""


Part_co = TypeVar("Part_co", bound=RunPart, covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDescription(Generic[Part_co]):
    """Everything that decides a run, but for the name of its trace."""

    options: RunOptions
    begins: Line
    """The detail of the line `RunStarted`; see `run_details`."""
    prepare: Callable[[SimulatedRun], None]
    """Creates the topic, before the first part."""
    parts: tuple[Part_co, ...]
    first: BrokerId | None = None
    """The broker that starts alone, before `prepare` starts the rest; None: all start at once."""
    boot_ms: int = 0
    """From the restart of a process to its first step."""


def run_details(options: RunOptions, scenario: str, **more: object) -> Line:
    """What the trace of a run of these options begins with."""
    return {
        "backend": "sim",
        "level": int(options.level),
        **({} if options.judged_level is None else {"judged_level": int(options.judged_level)}),
        "seed": options.seed,
        "scenario": scenario,
        "mutant": options.mutant,
        "writes_by_hand": options.is_by_hand,
        **more,
    }


def drawn_details(options: RunOptions, scenario: str, reproduce: str) -> Line:
    """The same of a run that is played again by what `reproduce` says."""
    return run_details(
        options,
        scenario,
        trace_version=TRACE_VERSION,
        brokers=options.brokers,
        reproduce=reproduce,
    )


def run(
    description: RunDescription[RunPart],
    run_id: str,
    move_recorder: MoveRecorder | None = None,
    is_enough: IsEnough = never,
) -> list[TraceEvent]:
    """The trace of the run; the same description gives the same events, byte for byte.

    It ends after the first part that did not heal, or that is enough.
    """
    cluster = VirtualCluster(
        description.options,
        run_id,
        move_recorder,
        first=description.first,
        boot_ms=description.boot_ms,
    )
    under_way = SimulatedRun(cluster, description.begins)
    description.prepare(under_way)
    owed: set[Liveness] = set()
    for number, part in enumerate(description.parts, start=1):
        part.work(under_way, number)
        owed = part.heal(under_way)
        if owed or is_enough(cluster.recorder.events):
            break
    return under_way.end(owed)


def prepare_topic(run: SimulatedRun) -> None:
    """Create the topic of the options."""
    create_topic(run.cluster, TOPIC, run.cluster.options.partitions)


@dataclass(frozen=True, slots=True)
class OptionsPart:
    """The clients and the schedule of faults of the options, for their duration."""

    def work(self, run: SimulatedRun, _: int) -> None:
        """Start the clients, and plan the faults."""
        count = run.cluster.options.partitions
        keys = [TopicPartition(TOPIC, partition) for partition in range(count)]
        run.clients += start_clients(run.cluster, keys)
        run.injector.plan(run.cluster.scheduler.now_ms)
        break_connections(run.cluster)
        run.pass_time(run.cluster.options.duration_ms)

    def heal(self, run: SimulatedRun) -> set[Liveness]:
        """End all faults; returns what does not hold in the end."""
        return run.heal_and_ask()


def described(options: RunOptions) -> RunDescription[OptionsPart]:
    """The run of these options: one part, with their clients and faults."""
    last = options.newest_level
    upgrade = f" --upgrade-from {options.level:d}" if last > options.level else ""
    mutant = f" --mutant {options.mutant}" if options.mutant else ""
    again = f"fencepost simulate --seed {options.seed} --level {last}{upgrade}{mutant}"
    return RunDescription(
        options=options,
        begins=drawn_details(options, "swarm", again),
        prepare=prepare_topic,
        parts=(OptionsPart(),),
    )
