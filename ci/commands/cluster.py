"""`fencepost cluster`: brokers and a ZooKeeper on this machine that stay after the command."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.gate.failures import UsageError, as_usage
from fencepost.ci.gate.places import require_cluster_folder
from fencepost.ci.options import NEWEST_LEVEL, ClusterFolder, JsonOption, LevelOption
from fencepost.ci.screens.console import note, show_json, show_table, tell
from fencepost.conformance.adapters.by_hand import faults as by_hand
from fencepost.conformance.adapters.choices import PROXY
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.local_cluster import (
    DEFAULT_FOLDER,
    ClusterStatus,
    command,
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
BROKER_HELP = "A broker: its id, controller, leader(TOPIC/P) or follower(TOPIC/P,N)."
Broker = Annotated[str, typer.Argument(metavar="BROKER", help=BROKER_HELP, show_default=False)]
OneEnd = Annotated[
    str, typer.Argument(metavar="A", help=f"{BROKER_HELP} Or zookeeper.", show_default=False)
]
OtherEnd = Annotated[str, typer.Argument(metavar="B", help="The same.", show_default=False)]
NetworkOption = Annotated[
    str | None,
    typer.Option(metavar=PROXY, help="With it connections can be cut: they go through a proxy."),
]
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
INTERNAL_REPLICAS_MAX = 3
"""Of the topics of coordinators, as in Kafka."""
COLUMNS = ("broker_id", "pid", "is_paused", "address", "is_controller")


@app.command("up")
def up(
    brokers: Brokers = 3,
    level: LevelOption = NEWEST_LEVEL,
    zookeeper_port: Port = None,
    tls: TlsOption = False,
    authorizer: AuthorizerOption = False,
    mutation_quota: QuotaOption = False,
    network: NetworkOption = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Start a cluster that stays up."""
    require_cluster_folder(cluster)
    require_down(cluster)
    if authorizer and not tls:
        raise UsageError("--authorizer needs --tls: without it nothing proves the name of a user")
    if network not in (None, PROXY):
        raise UsageError(f"--network is {network!r}; give {PROXY}, or leave it out")
    if network and tls:
        raise UsageError(f"--network {PROXY} reads no TLS; leave out one of them")
    note(f"cluster: starting ZooKeeper and {count(brokers, 'broker')} in {cluster}")
    identities = cluster.absolute() / "tls" if tls else None
    settings = ClusterSettings(
        brokers=brokers,
        level=level,
        tls=identities,
        authorizer=authorizer,
        extra=(
            *("--internal-topic-replicas", str(min(brokers, INTERNAL_REPLICAS_MAX))),
            *(("--mutation-quota",) if mutation_quota else ()),
        ),
    )
    found = start(
        cluster, settings=settings, zookeeper_port=zookeeper_port, is_wired=network is not None
    )
    show(found, as_json)
    return 0


@app.command("down")
def down(
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Stop the cluster; its data stays."""
    stop(cluster)
    sentence = f"the cluster in {cluster} is down; its data is still there"
    tell({"cluster": str(cluster), "is_up": False}, sentence, as_json=as_json)
    return 0


@app.command("status")
def status(
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show the brokers that run, and the controller among them."""
    found = look(cluster)
    show(found, as_json)
    missing = [broker for broker in found.brokers if broker.pid is None or broker.address is None]
    return ExitCode.INCOMPLETE if missing else ExitCode.FINE


@app.command("stop")
def stop_broker(
    named: Broker, cluster: ClusterFolder = DEFAULT_FOLDER, as_json: JsonOption = False
) -> int:
    """Ask a broker to end, once others lead what it led."""
    with on(cluster):
        broker_id = by_hand.broker_named(cluster, named)
        end(cluster, broker_id)
    document = {"broker_id": broker_id, "is_running": False}
    tell(document, f"Broker {broker_id} has ended.", as_json=as_json)
    return 0


@app.command("start")
def start_broker(
    named: Broker, cluster: ClusterFolder = DEFAULT_FOLDER, as_json: JsonOption = False
) -> int:
    """Start a broker that was stopped or killed, on its data."""
    with on(cluster):
        broker_id = by_hand.broker_named(cluster, named)
        start_again(cluster, broker_id)
    document = {"broker_id": broker_id, "is_running": True}
    tell(document, f"Broker {broker_id} is registered.", as_json=as_json)
    return 0


@app.command("kill")
def kill(
    named: Broker, cluster: ClusterFolder = DEFAULT_FOLDER, as_json: JsonOption = False
) -> int:
    """Kill a broker at once (SIGKILL); others lead when its session is over."""
    with on(cluster):
        broker_id, proof = by_hand.kill(cluster, named)
    undo = command(f"start {broker_id}", cluster)
    tell(
        {"broker_id": broker_id, "proof": proof, "undo": undo},
        f"Broker {broker_id} is dead: {proof}. Its session ends later; then others lead.",
        f"To start it again: {undo}",
        as_json=as_json,
    )
    return 0


@app.command("pause")
def pause(
    named: Broker, cluster: ClusterFolder = DEFAULT_FOLDER, as_json: JsonOption = False
) -> int:
    """Let a broker stand still (SIGSTOP), as in a long garbage collection."""
    with on(cluster):
        broker_id, proof = by_hand.pause(cluster, named)
    undo = command(f"resume {broker_id}", cluster)
    tell(
        {"broker_id": broker_id, "proof": proof, "undo": undo},
        f"Broker {broker_id} stands still: {proof}.",
        f"To let it go on: {undo}",
        as_json=as_json,
    )
    return 0


@app.command("resume")
def resume(
    named: Broker, cluster: ClusterFolder = DEFAULT_FOLDER, as_json: JsonOption = False
) -> int:
    """Let a broker that stands still go on (SIGCONT)."""
    with on(cluster):
        broker_id, proof = by_hand.resume(cluster, named)
    document = {"broker_id": broker_id, "proof": proof}
    tell(document, f"Broker {broker_id} goes on: {proof}.", as_json=as_json)
    return 0


@app.command("expire")
def expire(
    named: Broker, cluster: ClusterFolder = DEFAULT_FOLDER, as_json: JsonOption = False
) -> int:
    """End the ZooKeeper session of a broker that lives; it registers anew by itself."""
    with on(cluster):
        broker_id, proof = by_hand.expire(cluster, named)
    sentence = f"The session of broker {broker_id} is over: {proof}. It registers anew by itself."
    tell({"broker_id": broker_id, "proof": proof}, sentence, as_json=as_json)
    return 0


@app.command("cut")
def cut(
    first: OneEnd,
    second: OtherEnd,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Let nothing pass between two brokers, or a broker and ZooKeeper."""
    with on(cluster):
        proof = by_hand.cut(cluster, first, second)
    undo = command(f"mend {first} {second}", cluster)
    tell(
        {"between": [first, second], "proof": proof, "undo": undo},
        f"Nothing passes between {first} and {second}: {proof}.",
        f"To open the way: {undo}",
        as_json=as_json,
    )
    return 0


@app.command("mend")
def mend(
    first: OneEnd,
    second: OtherEnd,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Open the way that was cut between the two."""
    with on(cluster):
        proof = by_hand.mend(cluster, first, second)
    sentence = f"The way between {first} and {second} is open: {proof}."
    tell({"between": [first, second], "proof": proof}, sentence, as_json=as_json)
    return 0


@contextmanager
def on(folder: Path) -> Iterator[None]:
    """The folder can be used, and a name that is none is a mistake of the command line."""
    require_cluster_folder(folder)
    with as_usage(ChoiceError):
        yield


def show(found: ClusterStatus, as_json: bool) -> None:
    """Print a cluster as a table, or as JSON."""
    if as_json:
        show_json(asdict(found))
        return
    rows = [[getattr(broker, column) for column in COLUMNS] for broker in found.brokers]
    show_table(f"ZooKeeper {found.zookeeper}, protocol level {found.level}", COLUMNS, rows)
