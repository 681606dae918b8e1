"""One simulated run from start to final read."""

import json
from functools import partial

from impl.sim.clients import Client, Consumer, FinalReader, Producer, TopicCreator
from impl.sim.cluster import Cluster
from impl.sim.healing import unhealed
from impl.sim.injector import Injector
from impl.sim.options import TOPIC, Options
from impl.trace_lines import Line
from spec.trace import TRACE_VERSION, Kind, TraceEvent
from spec.znodes import TopicPartition

START_MS = 8_000
"""At the latest, every partition has its first leader after this time."""
FINAL_READ_MS = 10_000


def run(options: Options, run_id: str) -> list[TraceEvent]:
    """Play the run; the same options give the same events, byte for byte."""
    cluster = Cluster(options, run_id)
    harness = cluster.recorder.node("harness")
    harness.write(_detail("RunStarted", _describe(options)))
    keys = [TopicPartition(TOPIC, partition) for partition in range(options.partitions)]
    _create_topic(cluster, len(keys))
    clients = _start_clients(cluster, keys)
    injector = Injector(cluster, harness)
    injector.plan(cluster.scheduler.now_ms)
    _break_connections(cluster)
    cluster.scheduler.run_until(cluster.scheduler.now_ms + options.duration_ms)
    converged = _heal(cluster, injector, clients)
    ending: Line = {"converged": converged}
    if not converged:
        ending["unhealed"] = sorted(set(unhealed(cluster)))
    reader = FinalReader(cluster, keys)
    reader.read_all()
    read = cluster.scheduler.run_until(
        cluster.scheduler.now_ms + FINAL_READ_MS, lambda: reader.is_done
    )
    harness.write(_detail("RunEnded", {**ending, "final_read": read}))
    return cluster.recorder.events


def _heal(cluster: Cluster, injector: Injector, clients: list[Client]) -> bool:
    """All faults are over; where the options say so, the survivors have healed before."""
    if cluster.options.survivors_first:
        cluster.absent = frozenset(b for b, p in cluster.processes.items() if not p.is_alive)
        if not _settles(cluster, clients):
            return False
        cluster.absent = frozenset()
    injector.heal_all()
    return _settles(cluster, clients)


def _settles(cluster: Cluster, clients: list[Client]) -> bool:
    cluster.network.calm()
    for client in clients:
        client.is_stopped = True
    limit_ms = cluster.scheduler.now_ms + cluster.options.settle_ms
    return cluster.scheduler.run_until(limit_ms, cluster.is_converged)


def _create_topic(cluster: Cluster, partitions: int) -> None:
    TopicCreator(cluster, TOPIC, partitions).create()
    cluster.scheduler.run_until(START_MS, cluster.is_converged)


def _start_clients(cluster: Cluster, keys: list[TopicPartition]) -> list[Client]:
    options = cluster.options
    producers = [Producer(cluster, f"client-{n}", keys) for n in range(1, options.producers + 1)]
    first = options.producers + 1
    consumers = [
        Consumer(cluster, f"client-{n}", keys) for n in range(first, first + options.consumers)
    ]
    for producer in producers:
        producer.later(producer.produce)
    for consumer in consumers:
        consumer.later(consumer.consume)
    return [*producers, *consumers]


def _break_connections(cluster: Cluster) -> None:
    options = cluster.options
    random = cluster.random("connections")
    for second in range(options.duration_ms // 1000):
        for broker_id in sorted(cluster.disks):
            if random.random() < options.connection_breaks:
                delay_ms = second * 1000 + random.randrange(1000)
                cluster.scheduler.after_ms(delay_ms, partial(cluster.break_connection, broker_id))


def _describe(options: Options) -> Line:
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


def _detail(action: str, detail: Line) -> Line:
    text = json.dumps(detail, sort_keys=True)
    return {"kind": Kind.RUN, "action": action, "detail": text}
