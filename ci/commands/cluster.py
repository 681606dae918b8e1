"""`fencepost cluster`: brokers and a ZooKeeper on this machine that stay after the command."""

from dataclasses import asdict
from typing import Annotated

import typer

from fencepost.ci.gate.failures import UsageError
from fencepost.ci.gate.places import require_cluster_folder
from fencepost.ci.options import NEWEST_LEVEL, ClusterFolder, JsonOption, LevelOption
from fencepost.ci.screens.console import note, say, show_json, show_table
from fencepost.conformance.adapters.local_cluster import (
    DEFAULT_FOLDER,
    ClusterStatus,
    down as stop,
    require_down,
    start_broker as start_again,
    status as look,
    stop_broker as end,
    up as start,
)
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.verdict import ExitCode
from fencepost.reports.page.words import count

app = typer.Typer(no_args_is_help=True)

Brokers = Annotated[int, typer.Option(min=1, max=50, help="Number of brokers.")]
Port = Annotated[
    int | None, typer.Option(min=1, max=65535, help="Port of ZooKeeper.  [default: a free one]")
]
BrokerId = Annotated[int, typer.Argument(min=0, help="Id of a broker.", show_default=False)]
TlsOption = Annotated[
    bool, typer.Option("--tls", help="Connections by mutual TLS; certificates are made for it.")
]
AuthorizerOption = Annotated[
    bool, typer.Option("--authorizer", help="With --tls: users but `admin` need ACLs.")
]
QuotaOption = Annotated[
    bool,
    typer.Option("--mutation-quota", help="Quotas limit the creation and deletion of partitions."),
]
COLUMNS = ("broker_id", "pid", "address", "is_controller")


@app.command("up")
def up(
    brokers: Brokers = 3,
    level: LevelOption = NEWEST_LEVEL,
    zookeeper_port: Port = None,
    tls: TlsOption = False,
    authorizer: AuthorizerOption = False,
    mutation_quota: QuotaOption = False,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Start a cluster that stays up."""
    require_cluster_folder(cluster)
    require_down(cluster)
    if authorizer and not tls:
        raise UsageError("--authorizer needs --tls: without it nothing proves the name of a user")
    note(f"cluster: starting ZooKeeper and {count(brokers, 'broker')} in {cluster}")
    identities = cluster.absolute() / "tls" if tls else None
    settings = ClusterSettings(
        brokers=brokers,
        level=level,
        tls=identities,
        authorizer=authorizer,
        extra=("--mutation-quota",) if mutation_quota else (),
    )
    show(start(cluster, settings=settings, zookeeper_port=zookeeper_port), as_json)
    return 0


@app.command("down")
def down(cluster: ClusterFolder = DEFAULT_FOLDER) -> int:
    """Stop the cluster; its data stays."""
    stop(cluster)
    say(f"the cluster in {cluster} is down; its data is still there")
    return 0


@app.command("status")
def status(cluster: ClusterFolder = DEFAULT_FOLDER, as_json: JsonOption = False) -> int:
    """Show the brokers that run, and the controller among them."""
    found = look(cluster)
    show(found, as_json)
    missing = [broker for broker in found.brokers if broker.pid is None or broker.address is None]
    return ExitCode.INCOMPLETE if missing else ExitCode.FINE


@app.command("stop-broker")
def stop_broker(broker_id: BrokerId, cluster: ClusterFolder = DEFAULT_FOLDER) -> int:
    """Stop one broker, once others lead what it led."""
    require_cluster_folder(cluster)
    end(cluster, broker_id)
    say(f"Broker {broker_id} has ended.")
    return 0


@app.command("start-broker")
def start_broker(broker_id: BrokerId, cluster: ClusterFolder = DEFAULT_FOLDER) -> int:
    """Start a broker that was stopped, on its data."""
    require_cluster_folder(cluster)
    start_again(cluster, broker_id)
    say(f"Broker {broker_id} is registered.")
    return 0


def show(found: ClusterStatus, as_json: bool) -> None:
    """Print a cluster as a table, or as JSON."""
    if as_json:
        show_json(asdict(found))
        return
    rows = [[getattr(broker, column) for column in COLUMNS] for broker in found.brokers]
    show_table(f"ZooKeeper {found.zookeeper}, protocol level {found.level}", COLUMNS, rows)
