"""`fencepost topics`, `produce` and `consume`: a client of the local cluster."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ci.commands.options import DEFAULT_CLUSTER, ClusterFolder, JsonOption
from ci.failures import HarnessError, UsageError

if TYPE_CHECKING:
    from conformance.client import Answer, Client, PartitionView
    from spec.znodes import TopicPartition

app = typer.Typer(help="The topics of the local cluster.", no_args_is_help=True)


def require_text(given: str | list[str]) -> str | list[str]:
    """`given` as it is; raises `UsageError` when some of it is bytes that are no UTF-8."""
    for word in [given] if isinstance(given, str) else given:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{word!r} is no UTF-8 text; topics and records are") from error
    return given


TopicName = Annotated[str, typer.Argument(metavar="TOPIC", callback=require_text)]
PartitionNumber = Annotated[int, typer.Option(min=0)]
SETTLE_DEADLINE_S = 10.0
TRY_AGAIN_S = 0.1


@contextmanager
def connected(folder: Path) -> "Iterator[Client]":
    """A client of the cluster that lives in `folder`."""
    from conformance.client import Client, Connections
    from conformance.local_cluster import addresses

    connections = Connections()
    try:
        yield Client(lambda: addresses(folder), connections=connections)
    finally:
        connections.close()


@app.command("create")
def create(
    topic: TopicName,
    partitions: Annotated[int, typer.Option(min=1)] = 1,
    replicas: Annotated[int, typer.Option(min=1)] = 1,
    cluster: ClusterFolder = DEFAULT_CLUSTER,
) -> int:
    """Create a topic."""
    from ci.console import counted, say

    with connected(cluster) as client:
        error, message = client.create_topic(
            topic, partition_count=partitions, replication_factor=replicas
        )
    if error is not None:
        raise UsageError(f"topic {topic} was not created: {error} {message}")
    say(
        f"created {topic} with {counted(partitions, 'partition')} of {counted(replicas, 'replica')}"
    )
    return 0


@app.command("list")
def list_topics(cluster: ClusterFolder = DEFAULT_CLUSTER, as_json: JsonOption = False) -> int:
    """List the topics with their number of partitions."""
    from ci.console import show_json, show_table

    counts: dict[str, int] = {}
    for partition in published(cluster):
        counts[partition.topic] = counts.get(partition.topic, 0) + 1
    if as_json:
        show_json(counts)
    else:
        show_table("", ("topic", "partitions"), sorted(counts.items()))
    return 0


@app.command("describe")
def describe(
    topic: TopicName, cluster: ClusterFolder = DEFAULT_CLUSTER, as_json: JsonOption = False
) -> int:
    """Show leader, epoch, ISR and replicas."""
    from ci.console import show_json, show_table

    columns = ("partition", "leader", "leader_epoch", "isr", "assigned_replicas")
    rows = [
        (key.partition, view.leader, view.leader_epoch, view.isr, view.assigned_replicas)
        for key, view in sorted(published(cluster).items())
        if key.topic == topic
    ]
    if not rows:
        raise UsageError(f"there is no topic {topic}; see fencepost topics list")
    if as_json:
        show_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        show_table(topic, columns, rows)
    return 0


def published(cluster: Path) -> "dict[TopicPartition, PartitionView]":
    """The partitions that the cluster publishes."""
    with connected(cluster) as client:
        return client.refresh().partitions


def produce(
    topic: TopicName,
    value: Annotated[
        list[str], typer.Option(help="A record; may be given again.", callback=require_text)
    ],
    partition: PartitionNumber = 0,
    acks: Annotated[int, typer.Option(min=-1, max=1, help="-1 waits for the whole ISR.")] = -1,
    cluster: ClusterFolder = DEFAULT_CLUSTER,
    as_json: JsonOption = False,
) -> int:
    """Append records to a partition."""
    from ci.console import counted, say, show_json

    with connected(cluster) as client:
        key = known_partition(client, topic, partition)
        answer = settled(
            client, key, partial(client.produce, key, value, acks=acks), has_effect=True
        )
    if as_json:
        show_json({"offset": answer.offset, "leader": answer.broker_id})
    else:
        say(f"{topic}/{partition}: {counted(len(value), 'record')} from offset {answer.offset} on")
    return 0


def consume(
    topic: TopicName,
    partition: PartitionNumber = 0,
    offset: Annotated[int, typer.Option(min=0, help="Where to start.")] = 0,
    cluster: ClusterFolder = DEFAULT_CLUSTER,
    as_json: JsonOption = False,
) -> int:
    """Print the committed records of a partition.

    Control characters are shown as escapes; --json gives the exact values.
    """
    from ci.console import printable, say, show_json

    records: list[tuple[int, str]] = []
    with connected(cluster) as client:
        key = known_partition(client, topic, partition)
        end = settled(client, key, partial(client.list_offsets, key)).high_watermark or 0
        while offset < end and (values := read_from(client, key, offset)):
            records += enumerate(values, start=offset)
            offset += len(values)
    if as_json:
        show_json([{"offset": number, "value": value} for number, value in records])
        return 0
    for number, value in records:
        say(f"{number}\t{printable(value)}")
    return 0


def known_partition(client: "Client", topic: str, partition: int) -> "TopicPartition":
    """The partition, when the cluster publishes it; raises `UsageError` otherwise."""
    from spec.znodes import TopicPartition

    key = TopicPartition(topic, partition)
    if key not in client.refresh().partitions:
        raise UsageError(f"there is no partition {key}; see fencepost topics list")
    return key


def read_from(client: "Client", key: "TopicPartition", offset: int) -> tuple[str, ...]:
    """Committed records from `offset` on; none when the leader shows none yet."""
    return settled(client, key, partial(client.fetch, key, offset)).values


def settled(
    client: "Client",
    key: "TopicPartition",
    operation: "Callable[[], Answer]",
    *,
    has_effect: bool = False,
) -> "Answer":
    """The answer of the first try that succeeds, while a leader may still be moving.

    With `has_effect`, only what surely had none is tried again. Raises `HarnessError` when nobody
    knows whether it happened, and when no try succeeds within `SETTLE_DEADLINE_S`.
    """
    from spec.vocabulary import Outcome

    deadline = time.monotonic() + SETTLE_DEADLINE_S
    while not (answer := operation()).is_ok:
        if has_effect and answer.outcome is Outcome.INDEFINITE:
            raise HarnessError(
                f"{key}: {answer.error_code}, so it may or may not have happened; "
                "consume to see, then decide"
            )
        if time.monotonic() > deadline:
            raise HarnessError(
                f"{key}: {answer.error_code} for {SETTLE_DEADLINE_S:g} s; "
                "see fencepost cluster status"
            )
        time.sleep(TRY_AGAIN_S)
        client.forget(key)
    return answer
