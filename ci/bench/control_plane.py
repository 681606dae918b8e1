"""How long the control plane takes.

Run `make bench`, or `python -m fencepost.ci.bench.control_plane [NAME ...]`.

`NAME=COUNT` measures a row at another size: `third=3000`, `topics=500`, `controller=10000`. Real
broker processes and a real ZooKeeper. Times are read where the protocol leaves them: in the
brokers' traces, which share one monotonic clock. README.md has the figures.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic_ns

from fencepost.ci.bench.cluster_load import (
    BrokerStep,
    BrokerTraces,
    LookPace,
    assignment_of,
    cpu_seconds,
    create_topics,
    delete_topics,
    plant_partitions,
    resident_megabytes,
)
from fencepost.ci.bench.measured import Measured, show_measured
from fencepost.ci.screens.console import say
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.settings import NEWEST, ClusterSettings
from fencepost.conformance.adapters.zookeepers import zookeeper_for
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.vocabulary import Action

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


def nothing(_address: str) -> None:
    """There is nothing to prepare."""


@contextmanager
def bench_cluster(
    brokers: int,
    before: Callable[[str], None] = nothing,
    flags: tuple[str, ...] = (),
    first_controller: int = 0,
    level: int = NEWEST,
) -> Iterator[ClusterUnderTest]:
    """A cluster of its own, gone afterwards; `before` gets ZooKeeper's address before it starts."""
    with scratch_folder("bench") as folder:
        settings = ClusterSettings(
            brokers=brokers,
            level=level,
            first_controller=first_controller,
            session_timeout_ms=SESSION_MS,
            replica_lag_ms=30_000,
            extra=(*PATIENT, *flags),
        )
        with (
            Supervisor(Folders(root=folder).processes, RUN_ID) as supervisor,
            zookeeper_for(RUN_ID, supervisor=supervisor, folder=folder) as zookeeper,
        ):
            before(zookeeper.address)
            cluster = ClusterUnderTest(
                settings, folder=folder, run_id=RUN_ID, supervisor=supervisor, zookeeper=zookeeper
            )
            with cluster.running():
                yield cluster


def last_of(steps: list[BrokerStep], action: Action, since_ns: int) -> float:
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


def breakdown(steps: list[BrokerStep], since_ns: int) -> str:
    """When each step of a failover was done, in seconds."""
    return ", ".join(f"{name} {last_of(steps, action, since_ns):.2f}" for name, action in PARTS)


def failover(partition_count: int, *, leads_all: bool, level: int = NEWEST) -> Iterator[Measured]:
    """The broker that leads a part or all is killed; the others lead what it led."""
    with bench_cluster(3, level=level) as cluster:
        controller = cluster.state.controller()
        assert controller is not None
        victim = next(b for b in cluster.settings.broker_ids if b != controller)
        rest = [b for b in cluster.settings.broker_ids if b != victim]
        orders = [(victim, *rest), (*rest, victim), (*rest[::-1], victim)]
        if leads_all:
            orders = orders[:1]
        assignment = [orders[n % len(orders)] for n in range(partition_count)]
        traces = BrokerTraces(cluster.folder)
        begun_ns, begun_cpu = monotonic_ns(), cpu_seconds(cluster)
        create_topics(cluster, {"bench": assignment})
        steps = traces.until(ROLES, 3 * partition_count, DEADLINE_S)
        size = f"{partition_count:,} partitions, 3 brokers"
        what = "all" if leads_all else "a third"
        yield Measured(
            what=f"begin all replicas, {what} led by one",
            size=size,
            figure=last_role(steps, begun_ns),
            target=60.0,
            parts=f"processor {cpu_seconds(cluster) - begun_cpu:.1f}",
        )
        led = {n for n, replicas in enumerate(assignment) if replicas[0] == victim}
        looked_at: set[int | None] = {None, *led}
        megabytes = resident_megabytes(cluster, rest[0])
        traces.more()
        gone_ns = kill(cluster, victim)
        begun_cpu = cpu_seconds(cluster)
        steps = traces.until(
            LEADERS, len(led), DEADLINE_S, lambda step: step.partition in looked_at
        )
        processor = cpu_seconds(cluster) - begun_cpu
        yield Measured(
            what=f"failover of a broker that leads {what}",
            size=f"{size}, {len(led):,} led",
            figure=last_of(steps, Action.BECOME_LEADER, gone_ns),
            target=0.7 if leads_all else 0.3,
            parts=f"{breakdown(steps, gone_ns)}; processor {processor:.1f}",
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
STOPS = frozenset({Action.STOP_REPLICA.value})


def last_role(steps: list[BrokerStep], since_ns: int) -> float:
    """Seconds until the last replica had its role."""
    return (max(step.mono_ns for step in steps if step.action in ROLES) - since_ns) / NS_PER_S


def kill(cluster: ClusterUnderTest, broker_id: int) -> int:
    """The process is killed and its session over; the monotonic time of the latter, in ns.

    It is a look too early rather than too late: the time before the last look that saw it alive.
    The answer of that may have come much later.
    """
    cluster.process(broker_id).kill()
    pace = LookPace(DEADLINE_S, f"the end of broker {broker_id}'s session", poll_s=0.005)
    began_ns = alive_ns = monotonic_ns()
    while broker_id in cluster.state.live_brokers():
        alive_ns = began_ns
        pace.wait()
        began_ns = monotonic_ns()
    return alive_ns


def topics(topic_count: int, brokers: int) -> Iterator[Measured]:
    """Topics of four partitions and three replicas: all are created, then all are deleted."""
    with bench_cluster(brokers) as cluster:
        wanted = {
            f"topic-{number:05d}": assignment_of(number, 4, cluster.settings.broker_ids)
            for number in range(topic_count)
        }
        traces = BrokerTraces(cluster.folder)
        size = f"{topic_count:,} topics x 4 partitions x RF 3, {brokers} brokers"
        begun_ns, begun_cpu = monotonic_ns(), cpu_seconds(cluster)
        create_topics(cluster, wanted)
        steps = traces.until(ROLES, 12 * topic_count, DEADLINE_S)
        created = last_of(steps, Action.CREATE_TOPIC, begun_ns)
        written = last_of(steps, Action.PUBLISH_DECISION, begun_ns)
        processor = cpu_seconds(cluster) - begun_cpu
        yield Measured(
            what="create topics",
            size=size,
            figure=last_role(steps, begun_ns),
            target=4.0,
            parts=f"last topic znode {created:.2f}, last leader written {written:.2f}, "
            f"last leader {last_of(steps, Action.BECOME_LEADER, begun_ns):.2f}; "
            f"processor {processor:.1f}",
        )
        traces.more()
        begun_ns, begun_cpu = monotonic_ns(), cpu_seconds(cluster)
        delete_topics(cluster, list(wanted))
        steps = traces.until(STOPS, 12 * topic_count, DEADLINE_S)
        gone = last_of(steps, Action.DELETE_TOPIC, begun_ns)
        yield Measured(
            what="delete topics",
            size=size,
            figure=last_of(steps, Action.STOP_REPLICA, begun_ns),
            target=2.0,
            parts=f"last topic znode {gone:.2f}; processor {cpu_seconds(cluster) - begun_cpu:.1f}",
        )


def controller_failover(partition_count: int) -> Iterator[Measured]:
    """The controller is killed; its successor has read every state.

    No replica of the partitions is live: what is measured is reading, not hosting.
    """
    with bench_cluster(2, lambda address: plant_partitions(address, partition_count)) as cluster:
        controller = cluster.state.controller()
        assert controller is not None
        successor = next(b for b in cluster.settings.broker_ids if b != controller)
        traces = BrokerTraces(cluster.folder)
        traces.more()
        gone_ns, begun_cpu = kill(cluster, controller), cpu_seconds(cluster)
        # Each state is a question and an answer in the trace.
        read = traces.until({"ReadLeaderAndIsr"}, 2 * partition_count, DEADLINE_S)
        states = [step for step in read if step.action == "ReadLeaderAndIsr"]
        assert {step.node for step in states} == {f"broker-{successor}"}
        yield Measured(
            what="controller failover",
            size=f"{partition_count:,} partitions",
            figure=(states[-1].mono_ns - gone_ns) / NS_PER_S,
            target=10.0,
            parts=f"first state {(states[0].mono_ns - gone_ns) / NS_PER_S:.2f}; "
            f"processor {cpu_seconds(cluster) - begun_cpu:.1f}",
        )


BENCHES: dict[str, tuple[Callable[[int], Iterator[Measured]], int]] = {
    "third": (lambda count: failover(count, leads_all=False), 10_000),
    "all": (lambda count: failover(count, leads_all=True), 10_000),
    "topics": (lambda count: topics(count, 9), 5000),
    "controller": (controller_failover, 100_000),
    "small": (lambda count: failover(count, leads_all=False), 1000),
    "few_topics": (lambda count: topics(count, 3), 200),
}
"""Name -> how it is measured, and at which size."""
DEFAULT = ("third", "all", "topics", "controller")


def measured(wanted: str) -> Iterator[Measured]:
    """The lines of `NAME` or `NAME=COUNT`; raises `SystemExit` when there is no such."""
    name, _, count = wanted.partition("=")
    if name not in BENCHES or (count and not count.isdecimal()):
        raise SystemExit(f"there is no bench {wanted}; known are {', '.join(BENCHES)}")
    bench, usual = BENCHES[name]
    return bench(int(count or usual))


def main(names: list[str]) -> None:
    """Measure what is named, or all."""
    lines = (line for name in names or DEFAULT for line in measured(name))
    show_measured("control plane", lines)
    say("processor is the seconds that all brokers used; ZooKeeper and the bench need more")


if __name__ == "__main__":
    main(sys.argv[1:])
