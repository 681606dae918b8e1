"""`fencepost describe`: the whole cluster as it publishes itself."""

from typing import Annotated

import typer

from fencepost.ci.commands.topics import described, show_topic
from fencepost.ci.options import BootstrapServers, ClusterFolder, JsonOption
from fencepost.ci.screens.console import say, show_json
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER

UnderReplicated = Annotated[
    bool,
    typer.Option("--under-replicated-partitions", help="Only those with replicas outside the ISR."),
]
Unavailable = Annotated[
    bool, typer.Option("--unavailable-partitions", help="Only those without a live leader.")
]


def describe(
    under_replicated: UnderReplicated = False,
    unavailable: Unavailable = False,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show brokers, controller and topics."""
    found = described(bootstrap_server, cluster)
    live = {broker["broker_id"] for broker in found["brokers"]}
    topics = {
        name: left
        for name, partitions in found["topics"].items()
        if (
            left := [
                one
                for one in partitions
                if (not under_replicated or len(one["isr"]) < len(one["assigned_replicas"]))
                and (not unavailable or one["leader"] not in live)
            ]
        )
    }
    if as_json:
        show_json({**found, "topics": topics})
        return 0
    controller = found["controller_id"]
    epoch = found["controller_epoch"]
    say(f"Controller: {'none' if controller < 0 else controller}\tControllerEpoch: {epoch}")
    for broker in found["brokers"]:
        say(f"Broker: {broker['broker_id']}\tAddress: {broker['address']}")
    for name, partitions in topics.items():
        show_topic(name, partitions)
    return 0
