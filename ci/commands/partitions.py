"""`fencepost partitions`: a topic gets and loses partitions."""

from typing import Annotated

import typer

from fencepost.ci.commands.topics import Assignment, parse_assignment
from fencepost.ci.options import (
    DEFAULT_CLUSTER,
    BootstrapServers,
    ClusterFolder,
    PartitionNumbers,
    TopicName,
)

app = typer.Typer(help="Add and remove partitions of a topic.", no_args_is_help=True)

Total = Annotated[
    int, typer.Option(min=2, help="How many in all, those that exist included, as in Kafka.")
]


@app.command("add")
def add(
    topic: TopicName,
    partitions: Total,
    replica_assignment: Assignment = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_CLUSTER,
) -> int:
    """Add partitions, and wait until each has a leader."""
    from fencepost.ci.client_process import bootstrap_servers, call
    from fencepost.ci.screens.console import say

    assignment = parse_assignment(replica_assignment)
    servers = bootstrap_servers(bootstrap_server, cluster)
    call("create_partitions", servers, topic=topic, total=partitions, assignment=assignment)
    say(f"Topic {topic} has {partitions} partitions.")
    return 0


@app.command("remove")
def remove(
    topic: TopicName,
    partition: PartitionNumbers,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_CLUSTER,
) -> int:
    """Remove partitions with their records, and wait until they are gone."""
    from fencepost.ci.client_process import bootstrap_servers, call
    from fencepost.ci.screens.console import say
    from fencepost.reports.page.words import count

    numbers = sorted(set(partition))
    servers = bootstrap_servers(bootstrap_server, cluster)
    call("remove_partitions", servers, topic=topic, partitions=numbers)
    say(f"Removed {count(len(numbers), 'partition')} of topic {topic}.")
    return 0
