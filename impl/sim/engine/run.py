"""One simulated run from start to final read."""

import json
from collections.abc import Iterable
from functools import partial

from fencepost.impl.sim.engine.liveness_state import is_converged, unhealed
from fencepost.impl.sim.engine.options import TOPIC, RunOptions
from fencepost.impl.sim.engine.recorder import NodeTrace
from fencepost.impl.sim.injectors.injector import Injector
from fencepost.impl.sim.world.clients import (
    FinalReader,
    SimulatedClient,
    SimulatedConsumer,
    SimulatedProducer,
    TopicCreator,
)
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.sim.world.reassignment_workload import Mover
from fencepost.impl.sim.world.topic_workload import Founder
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import TRACE_VERSION, Kind, TraceEvent
from fencepost.spec.vocabulary import Liveness
from fencepost.spec.znodes import TopicPartition

START_MS = 8_000
"""At the latest, every partition has its first leader after this time."""
FINAL_READ_MS = 10_000


def run(options: RunOptions, run_id: str) -> list[TraceEvent]:
    """Play the run; the same options give the same events, byte for byte."""
    cluster = VirtualCluster(options, run_id)
    harness = cluster.recorder.node("harness")
    harness.write(run_line("RunStarted", _describe(options)))
    keys = [TopicPartition(TOPIC, partition) for partition in range(options.partitions)]
    create_topic(cluster, TOPIC, len(keys))
    clients = start_clients(cluster, keys)
    injector = Injector(cluster, harness, clients)
    injector.plan(cluster.scheduler.now_ms)
    break_connections(cluster)
    cluster.scheduler.run_until(cluster.scheduler.now_ms + options.duration_ms)
    converged = heal(cluster, injector, clients)
    end_run(cluster, harness, () if converged else unhealed(cluster))
    return cluster.recorder.events


def end_run(cluster: VirtualCluster, harness: NodeTrace, owed: Iterable[Liveness]) -> None:
    """All partitions are read to their end, and the trace ends; `owed` has not come to hold."""
    names = sorted(set(owed))
    ending: Line = {"converged": not names}
    if names:
        ending["unhealed"] = names
    reader = FinalReader(cluster, sorted(cluster.assignments()))
    reader.read_all()
    limit_ms = cluster.scheduler.now_ms + FINAL_READ_MS
    read = cluster.scheduler.run_until(limit_ms, lambda: reader.is_done)
    harness.write(run_line("RunEnded", {**ending, "final_read": read}))


def heal(cluster: VirtualCluster, injector: Injector, clients: list[SimulatedClient]) -> bool:
    """All faults are over; where the options say so, the survivors have healed before."""
    if cluster.move_recorder is not None:
        cluster.move_recorder.settles = True
    if cluster.options.survivors_first:
        cluster.absent = frozenset(b for b, p in cluster.processes.items() if not p.is_alive)
        if not _settles(cluster, clients):
            return False
        cluster.absent = frozenset()
    injector.heal_all()
    return _settles(cluster, clients)


def _settles(cluster: VirtualCluster, clients: list[SimulatedClient]) -> bool:
    cluster.network.calm()
    for client in clients:
        client.is_stopped = True
    limit_ms = cluster.scheduler.now_ms + cluster.options.settle_ms
    return cluster.scheduler.run_until(limit_ms, partial(is_converged, cluster))


def create_topic(cluster: VirtualCluster, topic: str, partitions: int) -> None:
    """The topic exists on all brokers, and each partition has its first leader, if it can."""
    TopicCreator(cluster, topic, partitions).create()
    cluster.scheduler.run_until(START_MS, partial(is_converged, cluster))


def start_clients(cluster: VirtualCluster, keys: list[TopicPartition]) -> list[SimulatedClient]:
    """All clients of the options work until they are stopped."""
    options = cluster.options
    founders = [Founder(cluster)] if options.founds else []
    for founder in founders:
        keys.extend(key for key in founder.keys if key not in keys)
        founder.begin_founding()
    producers = [
        SimulatedProducer(cluster, f"client-{n}", keys) for n in range(1, options.producers + 1)
    ]
    first = options.producers + 1
    consumers = [
        SimulatedConsumer(cluster, f"client-{n}", keys)
        for n in range(first, first + options.consumers)
    ]
    for producer in producers:
        producer.later(producer.produce)
    for consumer in consumers:
        consumer.later(consumer.consume)
    creators = _late_creators(cluster, keys)
    movers = [Mover(cluster, keys)] if options.moves else []
    for mover in movers:
        mover.begin_moving()
    return [*producers, *consumers, *creators, *movers, *founders]


def _late_creators(cluster: VirtualCluster, keys: list[TopicPartition]) -> list[SimulatedClient]:
    """Topics will be created; producers and consumers, who have `keys`, do not wait for them."""
    options, random = cluster.options, cluster.random("late topics")
    creators: list[SimulatedClient] = []
    for n in range(options.late_topics):
        name = f"client-admin-{n + 1}"
        creator = TopicCreator(cluster, f"{TOPIC}{n + 1}", random.choice((1, 1, 3)), name)
        delay_ms = random.randrange(1 + options.duration_ms * 2 // 3)
        cluster.scheduler.after_ms(delay_ms, creator.create)
        cluster.scheduler.after_ms(delay_ms, partial(keys.extend, creator.keys))
        creators.append(creator)
    return creators


def break_connections(cluster: VirtualCluster) -> None:
    """Connections to ZooKeeper will break as often as the options say, for their duration."""
    options = cluster.options
    random = cluster.random("connections")
    for second in range(options.duration_ms // 1000):
        for broker_id in sorted(cluster.disks):
            if random.random() < options.connection_breaks:
                delay_ms = second * 1000 + random.randrange(1000)
                cluster.scheduler.after_ms(delay_ms, partial(cluster.break_connection, broker_id))


def _describe(options: RunOptions) -> Line:
    mutant = f" --mutant {options.mutant}" if options.mutant else ""
    return {
        "trace_version": TRACE_VERSION,
        "backend": "sim",
        "level": int(options.level),
        "seed": options.seed,
        "brokers": options.brokers,
        "scenario": "swarm",
        "mutant": options.mutant,
        "reproduce": f"fencepost simulate --seed {options.seed} --level {options.level:d}{mutant}",
    }


def run_line(action: str, detail: Line) -> Line:
    """What the harness writes about a run."""
    text = json.dumps(detail, sort_keys=True)
    return {"kind": Kind.RUN, "action": action, "detail": text}
