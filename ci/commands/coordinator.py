"""`fencepost coordinator`: which broker coordinates a group or a transaction."""

from typing import Annotated

import typer

from fencepost.ci.client_process import call
from fencepost.ci.options import BootstrapServers, ClusterFolder, JsonOption
from fencepost.ci.screens.console import tell
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from fencepost.spec.vocabulary import CoordinatorKind

Key = Annotated[str, typer.Argument(help="The name of the group, or of the transaction.")]
Transaction = Annotated[bool, typer.Option("--transaction", help="It is a transaction's name.")]


def coordinator(
    key: Key,
    transaction: Transaction = False,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show the broker that coordinates a group or a transaction.

    The first use creates the internal topic.
    """
    kind = CoordinatorKind.TRANSACTION if transaction else CoordinatorKind.GROUP
    found = call("find_coordinator", bootstrap_server, cluster, key=key, kind=kind)
    sentence = f"{kind} {key}: broker {found['broker_id']} at {found['address']}"
    tell({"key": key, "kind": kind, **found}, sentence, as_json=as_json)
    return 0
