"""`fencepost quotas`: how many partitions a client may create and delete per second (KIP-599)."""

from pathlib import Path
from typing import Annotated

import typer

from fencepost.ci.client_process import answers, call
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.options import BootstrapServers, ClusterFolder, JsonOption
from fencepost.ci.screens.console import show_json, show_table, tell
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER

app = typer.Typer(no_args_is_help=True)

User = Annotated[
    str | None, typer.Option(help="Of this user; an empty name is any without a quota of its own.")
]
ClientId = Annotated[
    str | None, typer.Option(help="Of this client-id; an empty one is any without its own.")
]
COLUMNS = ("user", "client_id", "rate")
COUNTED = ("rate", "tokens", "throttle_time_ms")
DEFAULT = "<default>"


@app.command("set")
def set_quota(
    rate: Annotated[float, typer.Argument(help="Partitions per second, above 0.")],
    user: User = None,
    client_id: ClientId = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Limit the partitions that are created and deleted per second, of a user or a client-id."""
    _alter(user, client_id, rate, bootstrap_server, cluster)
    sentence = f"{_named(user, client_id)}: {rate:g} partitions per second."
    tell({"user": user, "client_id": client_id, "rate": rate}, sentence, as_json=as_json)
    return 0


@app.command("remove")
def remove(
    user: User = None,
    client_id: ClientId = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Take a quota away."""
    _alter(user, client_id, None, bootstrap_server, cluster)
    document = {"user": user, "client_id": client_id, "rate": None}
    tell(document, f"{_named(user, client_id)}: no quota.", as_json=as_json)
    return 0


@app.command("describe")
def describe(
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show all quotas."""
    found = list(answers("describe_mutation_quotas", bootstrap_server, cluster))
    if as_json:
        show_json(found)
        return 0
    rows = [[_shown(one["user"]), _shown(one["client_id"]), f"{one['rate']:g}"] for one in found]
    show_table("Partitions per second", COLUMNS, rows)
    return 0


@app.command("metrics")
def metrics(
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show what the controller counts: tokens that are left, and how long a client is refused."""
    found = list(answers("mutation_metrics", bootstrap_server, cluster))
    if as_json:
        show_json(found)
        return 0
    rows = [
        [
            *(_shown(one[name]) for name in ("user", "client_id")),
            *(f"{one[name]:g}" for name in COUNTED),
        ]
        for one in found
    ]
    show_table("Mutations of topics", (*COLUMNS[:2], *COUNTED), rows)
    return 0


def _alter(
    user: str | None, client_id: str | None, rate: float | None, servers: str | None, cluster: Path
) -> None:
    if user is None and client_id is None:
        raise UsageError("a quota is for a user or a client-id: give --user or --client-id")
    if rate is not None and not 0 < rate < float("inf"):
        raise UsageError(f"{rate:g} is no rate; give a number above 0")
    call("alter_mutation_quota", servers, cluster, user=user, client_id=client_id, rate=rate)


def _named(user: str | None, client_id: str | None) -> str:
    parts = (("user", user), ("client-id", client_id))
    return ", ".join(f"{what} {_shown(name)}" for what, name in parts if name is not None)


def _shown(name: str | None) -> str:
    return "any" if name is None else name or DEFAULT
