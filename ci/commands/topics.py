"""`fencepost topics`: create, delete, list and describe topics."""

from collections.abc import Container, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fencepost.ci.client_process import call
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.options import (
    BootstrapServers,
    ClusterFolder,
    JsonOption,
    TopicName,
    require_text,
)
from fencepost.ci.screens.console import say, show_json, tell
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from fencepost.reports.page.words import count

app = typer.Typer(no_args_is_help=True)

Partitions = Annotated[int | None, typer.Option(min=1, help="Number of partitions; 1 by default.")]
ReplicationFactor = Annotated[
    int | None,
    typer.Option(
        "--replication-factor",
        "--replicas",
        min=1,
        help="Replicas of each partition; 1 by default.",
    ),
]
Assignment = Annotated[
    str | None,
    typer.Option(
        metavar="1:2:3,2:3:1",
        help="Brokers of each partition, the preferred leader first; instead of both counts.",
    ),
]
OptionalTopic = Annotated[str | None, typer.Argument(metavar="[TOPIC]", callback=require_text)]
Partition = dict[str, Any]
"""A partition as the client tells it, by the names of the protocol."""


@app.command("create")
def create(
    topic: TopicName,
    partitions: Partitions = None,
    replication_factor: ReplicationFactor = None,
    replica_assignment: Assignment = None,
    if_not_exists: Annotated[
        bool,
        typer.Option(
            "--if-not-exists", help="An existing topic is no error, and is left as it is."
        ),
    ] = False,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Create a topic, and wait until each partition has a leader."""
    assignment = parse_assignment(replica_assignment)
    if assignment and (partitions or replication_factor):
        raise UsageError("--replica-assignment says how many: leave the counts out")
    answer = call(
        "create_topic",
        bootstrap_server,
        cluster,
        topic=topic,
        partitions=partitions or 1,
        replication_factor=replication_factor or 1,
        assignment=assignment,
        if_not_exists=if_not_exists,
    )
    sentence = f"Created topic {topic}."
    if not answer["is_done"]:
        found = described(bootstrap_server, cluster)["topics"].get(topic, ())
        otherwise = _otherwise(found, partitions, replication_factor)
        sentence = f"Topic {topic} exists already{otherwise}."
    tell({"topic": topic, "created": answer["is_done"]}, sentence, as_json=as_json)
    return 0


def _otherwise(
    found: Sequence[Partition], partitions: int | None, replication_factor: int | None
) -> str:
    """What an existing topic has that was asked for otherwise; empty when nothing."""
    if not found:
        return ""
    factor = len(found[0]["assigned_replicas"])
    differs = []
    if partitions not in (None, len(found)):
        differs.append(f"{count(len(found), 'partition')}, not {partitions}")
    if replication_factor not in (None, factor):
        differs.append(f"replication factor {factor}, not {replication_factor}")
    return f", with {' and '.join(differs)}" if differs else ""


def parse_assignment(text: str | None) -> list[list[int]]:
    """`1:2,2:1` as lists of brokers; raises `UsageError`."""
    if text is None:
        return []
    words = [part.split(":") for part in text.split(",")]
    if not all(word.isdecimal() for part in words for word in part):
        raise UsageError(
            f"{text!r} is not an assignment: give the brokers of each partition as in 1:2:3,2:3:1"
        )
    return [[int(word) for word in part] for part in words]


@app.command("delete")
def delete(
    topic: TopicName,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="A missing topic is no error.")
    ] = False,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Delete a topic with all its records, and wait until it is gone."""
    answer = call("delete_topic", bootstrap_server, cluster, topic=topic, if_exists=if_exists)
    is_done = answer["is_done"]
    sentence = f"Deleted topic {topic}." if is_done else f"There is no topic {topic}."
    tell({"topic": topic, "deleted": is_done}, sentence, as_json=as_json)
    return 0


@app.command("list")
def list_topics(
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """List the topics; with --json also their numbers of partitions."""
    topics = described(bootstrap_server, cluster)["topics"]
    if as_json:
        show_json({name: len(partitions) for name, partitions in topics.items()})
        return 0
    for name in topics:
        say(name)
    return 0


@app.command("describe")
def describe(
    topic: OptionalTopic = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show leader, replicas and ISR of each partition, of one topic or of all."""
    topics = described(bootstrap_server, cluster)["topics"]
    require_topic(topic, topics)
    if as_json:
        show_json(topics if topic is None else topics[topic])
        return 0
    for name in topics if topic is None else [topic]:
        show_topic(name, topics[name])
    return 0


def described(servers: str | None, cluster: Path) -> dict[str, Any]:
    """Controller, brokers and topics as the cluster publishes them."""
    return call("describe_cluster", servers, cluster)


def require_topic(topic: str | None, known: Container[str]) -> None:
    """Raise `UsageError` for a topic that there is not."""
    if topic is not None and topic not in known:
        raise UsageError(f"there is no topic {topic}; see fencepost topics list")


def show_topic(name: str, partitions: Sequence[Partition]) -> None:
    """Print a topic as kafka-topics.sh --describe does."""
    factor = max(len(partition["assigned_replicas"]) for partition in partitions)
    topic_id = partitions[0]["topic_id"] or "none"
    counts = f"PartitionCount: {len(partitions)}\tReplicationFactor: {factor}"
    say(f"Topic: {name}\tTopicId: {topic_id}\t{counts}")
    for partition in partitions:
        leader = partition["leader"]
        say(
            f"\tTopic: {name}\tPartition: {partition['partition']}"
            f"\tLeader: {'none' if leader < 0 else leader}"
            f"\tReplicas: {joined(partition['assigned_replicas'])}"
            f"\tIsr: {joined(partition['isr'])}\tLeaderEpoch: {partition['leader_epoch']}"
        )


def joined(brokers: Sequence[int]) -> str:
    """`1,2,3`."""
    return ",".join(map(str, brokers))
