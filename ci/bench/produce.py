"""How fast records are produced: `python -m fencepost.ci.bench.produce [RECORDS_PER_BATCH ...]`.

Three brokers, acks=all, replication factor 3, records of 1 KiB, the reference's own idempotent
client, which shares the machine with the brokers. Full load: each partition always has one batch
under way. Half load: batches are due at even intervals, and each counts from when it was due.
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from fencepost.ci.bench.cluster_load import BrokerTraces, assignment_of, cpu_seconds, create_topics
from fencepost.ci.bench.control_plane import DEADLINE_S, ROLES, bench_cluster
from fencepost.ci.bench.measured import Measured, quantile, show_measured
from fencepost.ci.screens.console import say
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.settings import NEWEST

TOPIC = "bench"
PARTITIONS = 6
RECORD = "x" * 1024
BATCHES = (1, 10, 100)
SECONDS = 6.0
"""Of full load, and of half load, with each batch size."""
P99_TARGET_MS = 50.0


async def full_load(producer: Any, values: list[str]) -> float:  # noqa: ANN401  known by name alone
    """Records per second."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    sent = 0

    async def fill(partition: int) -> None:
        nonlocal sent
        while loop.time() < begun + SECONDS:
            await producer.send(TOPIC, values, partition=partition)
            sent += len(values)

    await asyncio.gather(*map(fill, range(PARTITIONS)))
    return sent / (loop.time() - begun)


async def paced_load(
    producer: Any,  # noqa: ANN401  as above
    values: list[str],
    rate: float,
) -> list[float]:
    """The latency of each batch in ms, at so many records per second."""
    loop = asyncio.get_running_loop()
    begun, pause_s = loop.time(), len(values) / rate
    latencies_ms: list[float] = []

    async def send(due: float, partition: int) -> None:
        await producer.send(TOPIC, values, partition=partition)
        latencies_ms.append((loop.time() - due) * 1000)

    async with asyncio.TaskGroup() as group:
        for number in range(int(SECONDS / pause_s)):
            due = begun + number * pause_s
            await asyncio.sleep(max(0.0, due - loop.time()))
            group.create_task(send(due, number % PARTITIONS))
    return sorted(latencies_ms)


async def measure(cluster: ClusterUnderTest, batch: int) -> Measured:
    """Find full load, then offer half of it; the figure is the p99 of the latter."""
    values = [RECORD] * batch
    async with import_module("fencepost.impl.client").Producer(cluster.addresses()) as producer:
        for partition in range(PARTITIONS):  # connections and producer ids
            await producer.send(TOPIC, RECORD, partition=partition)
        begun_cpu = cpu_seconds(cluster)
        full = await full_load(producer, values)
        cores = (cpu_seconds(cluster) - begun_cpu) / SECONDS
        latencies_ms = await paced_load(producer, values, full / 2)
    return Measured(
        what=f"produce, {batch} per batch",
        size=f"full load {full:,.0f} records/s on {cores:.2f} cores of the brokers",
        figure=quantile(latencies_ms, 0.99),
        target=P99_TARGET_MS,
        unit="ms",
        parts=f"p50 at half load {quantile(latencies_ms, 0.5):.1f} ms",
    )


def measured(batches: Sequence[int], level: int = NEWEST) -> Iterator[Measured]:
    """One line per batch size; raises `SystemExit` for one that brokers do not take."""
    refused = import_module("fencepost.impl.client.errors").DefiniteError
    with bench_cluster(3, level=level) as cluster:
        traces = BrokerTraces(cluster.folder)
        create_topics(cluster, {TOPIC: assignment_of(0, PARTITIONS, cluster.settings.broker_ids)})
        traces.until(ROLES, 3 * PARTITIONS, DEADLINE_S)
        for batch in batches:
            try:
                line = asyncio.run(measure(cluster, batch))
            except refused as error:
                raise SystemExit(f"{batch} records per batch: {error}; try fewer") from error
            yield line


def main(arguments: list[str]) -> None:
    """Measure each batch size."""
    if wrong := [text for text in arguments if not text.isdecimal() or not int(text)]:
        raise SystemExit(f"{wrong[0]} is no number of records")
    show_measured("produce", measured([int(text) for text in arguments] or BATCHES))
    say("the figure is the p99 at half load")


if __name__ == "__main__":
    main(sys.argv[1:])
