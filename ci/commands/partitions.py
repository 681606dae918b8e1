"""`fencepost partitions`: a topic gets and loses partitions."""

from typing import Annotated

import typer

from fencepost.ci.client_process import call
from fencepost.ci.commands.topics import Assignment, parse_assignment
from fencepost.ci.options import (
    BootstrapServers,
    ClusterFolder,
    JsonOption,
    PartitionNumbers,
    TopicName,
)
from fencepost.ci.screens.console import tell
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from fencepost.reports.page.words import count

app = typer.Typer(no_args_is_help=True)

Total = Annotated[
    int, typer.Option(min=2, help="The new total, existing partitions included, as in Kafka.")
]


@app.command("add")
def add(
    topic: TopicName,
    partitions: Total,
    replica_assignment: Assignment = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Add partitions, and wait until each has a leader."""
    assignment = parse_assignment(replica_assignment)
    call(
        "create_partitions",
        bootstrap_server,
        cluster,
        topic=topic,
        total=partitions,
        assignment=assignment,
    )
    sentence = f"Topic {topic} has {partitions} partitions."
    tell({"topic": topic, "partitions": partitions}, sentence, as_json=as_json)
    return 0


@app.command("remove")
def remove(
    topic: TopicName,
    partition: PartitionNumbers,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Remove partitions with their records, and wait until they are gone."""
    numbers = sorted(set(partition))
    call("remove_partitions", bootstrap_server, cluster, topic=topic, partitions=numbers)
    sentence = f"Removed {count(len(numbers), 'partition')} of topic {topic}."
    tell({"topic": topic, "removed": numbers}, sentence, as_json=as_json)
    return 0
