"""Small simulated runs for the tests of the simulator."""

from functools import cache, partial

from fencepost.conformance.checks.registry import run_checks
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.impl.sim.adapter import simulate
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.engine.options import RunOptions
from fencepost.impl.sim.injectors.driver import SimulatedFaultDriver
from fencepost.impl.sim.world.clients import TopicCreator
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.trace import Kind, Phase, TraceEvent, encode_all
from fencepost.spec.vocabulary import Invariant, ProtocolLevel
from fencepost.spec.znodes import TopicPartition

T0 = TopicPartition("t", 0)
CONVERGES_MS = 8_000


def calm(*faults: tuple[int, Fault], seed: int = 7) -> RunOptions:
    """A run without weather; `faults` are (at_ms, fault)."""
    timed = tuple(
        StoryAction.at(action_id=f"f{number}", at_ms=at_ms, fault=fault)
        for number, (at_ms, fault) in enumerate(faults)
    )
    return RunOptions(
        seed=seed,
        level=ProtocolLevel.LEADER_EPOCH,
        story=Story(seed=seed, actions=timed),
    )


def topic(cluster: VirtualCluster, partitions: int = 1) -> None:
    """The topic `t` is being created."""
    TopicCreator(cluster, "t", partitions).begin_asking()


def settled(cluster: VirtualCluster) -> bool:
    """Let the cluster come to rest; true when it did in time."""
    limit_ms = cluster.scheduler.now_ms + CONVERGES_MS
    return cluster.scheduler.run_until(limit_ms, partial(is_converged, cluster))


def inject(cluster: VirtualCluster) -> SimulatedFaultDriver:
    """The faults of the cluster's options are planned from now on."""
    injector = SimulatedFaultDriver(cluster, [])
    injector.plan(cluster.scheduler.now_ms)
    return injector


def run_for(cluster: VirtualCluster, milliseconds: int) -> None:
    """Virtual time has passed."""
    cluster.scheduler.run_until(cluster.scheduler.now_ms + milliseconds)


def phases(cluster: VirtualCluster, fault_id: str = "f0") -> list[Phase]:
    """The phases of a fault as the trace tells them."""
    lines = (e for e in cluster.recorder.events if e.kind is Kind.FAULT and e.fault_id == fault_id)
    return [event.phase for event in lines if event.phase is not None]


def violated(events: list[TraceEvent]) -> set[Invariant]:
    """The invariants that the checks found broken."""
    return {r.invariant for r in run_checks(events) if r.verdict is Verdict.FAIL}


def trace_bytes(seed: int, level: int, mutant: str | None) -> bytes:
    """The whole trace of a run, as a file would hold it."""
    return b"".join(encode_all(simulate(seed, level=level, mutant=mutant)))


@cache
def quiet_run(seed: int) -> tuple[TraceEvent, ...]:
    """The run of a seed at the highest level; it is played once."""
    return tuple(simulate(seed, level=ProtocolLevel.LEADER_EPOCH))
