"""How long the control plane takes: `make bench`, or `python -m ci.bench.control_plane [NAME ...]`.

Real broker processes and a real ZooKeeper. Times are read where the protocol leaves them: in the
brokers' traces, which share one monotonic clock, and in ZooKeeper. README.md has the figures.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, monotonic_ns

import msgspec

from ci.bench.cluster_load import (
    Pace,
    assignment_of,
    create_topics,
    plant_partitions,
    resident_megabytes,
)
from ci.console import say, show_table
from conformance.adapter import ClusterSettings, Folders
from conformance.cluster import Cluster, running_cluster, zookeeper_for
from fault_injection.supervisor import Supervisor
from spec.vocabulary import Action

RUN_ID = "bench"
NS_PER_S = 1e9
PATIENT = (
    *("--replica-lag-ms", "30000"),
    *("--fetch-wait-ms", "10000"),
    *("--request-timeout-ms", "60000"),
    *("--start-timeout-ms", "60000"),
)
"""Kafka's own lag limit; an idle follower then asks for each partition every ten seconds."""
SESSION_MS = 6000
DEADLINE_S = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One line of the table."""

    what: str
    size: str
    figure: float
    target: float
    unit: str = "s"
    parts: str = ""
    """Where the time went."""

    @property
    def ratio(self) -> float:
        """The part of the target that it took."""
        return self.figure / self.target


class Step(msgspec.Struct, frozen=True):
    """What is looked at of a trace line."""

    mono_ns: int
    action: str
    kind: str = ""
    node: str = ""


def nothing(_address: str) -> None:
    """There is nothing to prepare."""


@contextmanager
def bench_cluster(brokers: int, before: Callable[[str], None] = nothing) -> Iterator[Cluster]:
    """A cluster of its own, gone afterwards; `before` gets ZooKeeper's address before it starts."""
    with tempfile.TemporaryDirectory(prefix="fencepost-bench-") as name:
        folder = Path(name)
        settings = ClusterSettings(
            brokers=brokers, session_timeout_ms=SESSION_MS, replica_lag_ms=30_000, extra=PATIENT
        )
        with (
            Supervisor(Folders(root=folder).processes, RUN_ID) as supervisor,
            zookeeper_for(RUN_ID, supervisor=supervisor, folder=folder) as (address, _),
        ):
            before(address)
            with running_cluster(
                settings, folder=folder, run_id=RUN_ID, supervisor=supervisor, zookeeper=address
            ) as cluster:
                yield cluster


def steps_since(folder: Path, since_ns: int, nodes: set[str]) -> list[Step]:
    """The trace lines of the nodes from then on, in order of time."""
    decoder = msgspec.json.Decoder(Step)
    found = []
    for path in sorted(folder.glob("*.ndjson")):
        for line in path.read_bytes().splitlines():
            if line.endswith(b"}"):
                step = decoder.decode(line)
                if step.mono_ns >= since_ns and step.node in nodes:
                    found.append(step)
    return sorted(found, key=lambda step: step.mono_ns)


def last_of(steps: list[Step], action: Action, since_ns: int) -> float:
    """Seconds from `since_ns` to the last such action; raises `SystemExit` without one."""
    times = [step.mono_ns for step in steps if step.action == action.value]
    if not times:
        raise SystemExit(f"the bench saw no {action.value}")
    return (times[-1] - since_ns) / NS_PER_S


PARTS = (
    ("brokers read", Action.DETECT_BROKER_CHANGE),
    ("last decided", Action.ELECT_LEADER),
    ("last written", Action.PUBLISH_DECISION),
    ("last told", Action.SEND_LEADER_AND_ISR),
    ("last leads", Action.BECOME_LEADER),
)


def breakdown(steps: list[Step], since_ns: int) -> str:
    """When each step of a failover was done, in seconds."""
    return ", ".join(f"{name} {last_of(steps, action, since_ns):.2f}" for name, action in PARTS)


def failover(partition_count: int, *, leads_all: bool) -> Iterator[Measured]:
    """The broker that leads a part or all is killed; the others lead what it led."""
    with bench_cluster(3) as cluster:
        controller = cluster.controller()
        assert controller is not None
        victim = next(b for b in cluster.settings.broker_ids if b != controller)
        rest = [b for b in cluster.settings.broker_ids if b != victim]
        orders = [(victim, *rest), (*rest, victim), (*rest[::-1], victim)]
        if leads_all:
            orders = orders[:1]
        assignment = [orders[n % len(orders)] for n in range(partition_count)]
        nodes = {f"broker-{b}" for b in cluster.settings.broker_ids}
        begun_ns = monotonic_ns()
        create_topics(cluster, {"bench": assignment}, DEADLINE_S)
        await_count(cluster.folder, begun_ns, nodes, ROLES, 3 * partition_count)
        led = sum(replicas[0] == victim for replicas in assignment)
        megabytes = resident_megabytes(cluster, rest[0])
        gone_ns = kill(cluster, victim)
        steps = await_count(cluster.folder, gone_ns, nodes, LEADERS, led)
        yield Measured(
            what=f"failover of a broker that leads {'all' if leads_all else 'a third'}",
            size=f"{partition_count:,} partitions, 3 brokers, {led:,} led",
            figure=last_of(steps, Action.BECOME_LEADER, gone_ns),
            target=2.0,
            parts=breakdown(steps, gone_ns),
        )
        if not leads_all:
            yield Measured(
                what="memory of a broker",
                size=f"{partition_count:,} partitions, no records",
                figure=megabytes,
                target=400,
                unit="MB",
            )


LEADERS = frozenset({Action.BECOME_LEADER.value})
ROLES = LEADERS | {Action.BECOME_FOLLOWER.value}


def await_count(
    folder: Path, since_ns: int, nodes: set[str], actions: frozenset[str], count: int
) -> list[Step]:
    """The steps, once so many of the actions were taken."""
    pace = Pace(DEADLINE_S, f"{count} of {', '.join(sorted(actions))}", poll_s=1.0)
    while True:
        steps = steps_since(folder, since_ns, nodes)
        if sum(step.action in actions for step in steps) >= count:
            return steps
        pace.wait()


def kill(cluster: Cluster, broker_id: int) -> int:
    """The process is killed and its session over; the monotonic time of the latter, in ns."""
    cluster.process(broker_id).kill()
    pace = Pace(DEADLINE_S, f"the end of broker {broker_id}'s session", poll_s=0.005)
    while broker_id in cluster.live_brokers():
        pace.wait()
    return monotonic_ns()


def topics(topic_count: int, brokers: int) -> Iterator[Measured]:
    """Topics of four partitions and three replicas are created, all of them at once."""
    with bench_cluster(brokers) as cluster:
        wanted = {
            f"topic-{number:05d}": assignment_of(number, 4, cluster.settings.broker_ids)
            for number in range(topic_count)
        }
        begun_ns = monotonic_ns()
        create_topics(cluster, wanted, DEADLINE_S)
        nodes = {f"broker-{b}" for b in cluster.settings.broker_ids}
        steps = await_count(cluster.folder, begun_ns, nodes, LEADERS, 4 * topic_count)
        created = last_of(steps, Action.CREATE_TOPIC, begun_ns)
        written = last_of(steps, Action.PUBLISH_DECISION, begun_ns)
        yield Measured(
            what="create topics",
            size=f"{topic_count:,} topics x 4 partitions x RF 3, {brokers} brokers",
            figure=last_of(steps, Action.BECOME_LEADER, begun_ns),
            target=10.0,
            parts=f"last topic znode {created:.2f}, last leader written {written:.2f}",
        )


def controller_failover(partition_count: int) -> Iterator[Measured]:
    """The controller is killed; its successor has read every state.

    Nobody of the partitions' replicas is live: what is measured is reading, not hosting.
    """
    with bench_cluster(2, lambda address: plant_partitions(address, partition_count)) as cluster:
        controller = cluster.controller()
        assert controller is not None
        successor = next(b for b in cluster.settings.broker_ids if b != controller)
        gone_ns = kill(cluster, controller)
        pace = Pace(DEADLINE_S, "all states read")
        states: list[Step] = []
        while len(states) < partition_count:
            pace.wait()
            steps = steps_since(cluster.folder, gone_ns, {f"broker-{successor}"})
            states = [s for s in steps if s.kind == "complete" and s.action == "ReadLeaderAndIsr"]
        yield Measured(
            what="controller failover",
            size=f"{partition_count:,} partitions",
            figure=(states[-1].mono_ns - gone_ns) / NS_PER_S,
            target=10.0,
            parts=f"first state {(states[0].mono_ns - gone_ns) / NS_PER_S:.2f}",
        )


BENCHES: dict[str, Callable[[], Iterator[Measured]]] = {
    "third": lambda: failover(10_000, leads_all=False),
    "all": lambda: failover(10_000, leads_all=True),
    "topics": lambda: topics(5000, 9),
    "controller": lambda: controller_failover(100_000),
    "small": lambda: failover(1000, leads_all=False),
    "few_topics": lambda: topics(200, 3),
    "small_controller": lambda: controller_failover(10_000),
}
DEFAULT = ("third", "all", "topics", "controller")


def main(names: list[str]) -> None:
    """Measure what is named, or all."""
    if unknown := [name for name in names if name not in BENCHES]:
        raise SystemExit(f"there is no bench {unknown[0]}; known are {', '.join(BENCHES)}")
    began = monotonic()
    lines = [one for name in names or DEFAULT for one in BENCHES[name]()]
    show_table(
        "control plane",
        ("what", "size", "figure", "target", "ratio"),
        [
            [m.what, m.size, f"{m.figure:.2f} {m.unit}", f"{m.target:g} {m.unit}", f"{m.ratio:.2f}"]
            for m in lines
        ],
    )
    for one in lines:
        if one.parts:
            say(f"{one.what}: {one.parts}")
    say(f"a ratio below 1 is within its target; measured in {monotonic() - began:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
