"""`fencepost configs`: the entries of topics, brokers, users and clients."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from fencepost.ci.client_process import answers, call
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.options import BootstrapServers, ClusterFolder, JsonOption
from fencepost.ci.screens.console import show_json, show_table, tell
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from fencepost.spec.config_store import DEFAULT, ConfigEntity, EntityKind

app = typer.Typer(no_args_is_help=True)

Topic = Annotated[str | None, typer.Option(help="Of this topic.")]
Broker = Annotated[str | None, typer.Option(help="Of this broker; empty: of any without its own.")]
User = Annotated[str | None, typer.Option(help="Of this user; empty: of any without its own.")]
ClientId = Annotated[
    str | None, typer.Option(help="Of this client-id, with --user of both; empty: of any.")
]
KINDS = (
    EntityKind.TOPIC,
    EntityKind.BROKER,
    EntityKind.USER,
    EntityKind.CLIENT,
    EntityKind.USER_CLIENT,
)
COLUMNS = ("of", "name", "value")


class Chosen(NamedTuple):
    """The options that say of what the entries are."""

    topic: str | None
    broker: str | None
    user: str | None
    client_id: str | None

    def entity(self) -> ConfigEntity | None:
        """The one that is meant, or None; raises `UsageError` where there are two."""
        topic, broker, user, client_id = self
        both = user is not None, client_id is not None
        if sum((topic is not None, broker is not None, any(both))) > 1:
            raise UsageError("give one of --topic, --broker, or --user and --client-id")
        if topic is not None:
            return ConfigEntity(EntityKind.TOPIC, (topic,))
        if broker is not None:
            return ConfigEntity(EntityKind.BROKER, (broker,))
        if all(both):
            return ConfigEntity(EntityKind.USER_CLIENT, (user or "", client_id or ""))
        if any(both):
            kind = EntityKind.CLIENT if user is None else EntityKind.USER
            return ConfigEntity(kind, (client_id or user or "",))
        return None

    def required(self) -> ConfigEntity:
        """The one that is meant; raises `UsageError` without one."""
        found = self.entity()
        if found is None:
            raise UsageError("say of what: give --topic, --broker, --user or --client-id")
        return found


@app.command("set")
def set_entries(
    entries: Annotated[list[str], typer.Argument(metavar="NAME=VALUE ...", help="The entries.")],
    topic: Topic = None,
    broker: Broker = None,
    user: User = None,
    client_id: ClientId = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Set entries of one entity, together or not at all; others stay."""
    entity = Chosen(topic, broker, user, client_id).required()
    changes = dict(map(parse_entry, entries))
    if len(changes) < len(entries):
        raise UsageError("an entry is named twice")
    call(
        "alter_configs",
        bootstrap_server,
        cluster,
        kind=entity.kind,
        names=entity.names,
        changes=changes,
    )
    told = ", ".join(f"{name}={value}" for name, value in changes.items())
    document = {"kind": entity.kind, "names": entity.names, "set": changes}
    tell(document, f"{_named(entity.kind, entity.names)}: {told}.", as_json=as_json)
    return 0


@app.command("delete")
def delete(
    names: Annotated[list[str], typer.Argument(metavar="NAME ...", help="Names of entries.")],
    topic: Topic = None,
    broker: Broker = None,
    user: User = None,
    client_id: ClientId = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Take entries of one entity away; one that is not there is no error."""
    entity = Chosen(topic, broker, user, client_id).required()
    call(
        "alter_configs",
        bootstrap_server,
        cluster,
        kind=entity.kind,
        names=entity.names,
        changes=dict.fromkeys(names),
    )
    document = {"kind": entity.kind, "names": entity.names, "deleted": names}
    tell(document, f"{_named(entity.kind, entity.names)}: no {', '.join(names)}.", as_json=as_json)
    return 0


@app.command("describe")
def describe(
    topic: Topic = None,
    broker: Broker = None,
    user: User = None,
    client_id: ClientId = None,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show the entries of one entity, or of all, as a broker has read them."""
    entity = Chosen(topic, broker, user, client_id).entity()
    kinds, names = (KINDS, ()) if entity is None else ((entity.kind,), entity.names)
    found = list(answers("describe_configs", bootstrap_server, cluster, kinds=kinds, names=names))
    if as_json:
        show_json(found)
        return 0
    rows = [
        [_named(one["kind"], one["names"]), name, value]
        for one in found
        for name, value in sorted(one["entries"].items())
    ]
    show_table("Configurations", COLUMNS, rows)
    return 0


def parse_entry(text: str) -> tuple[str, str]:
    """The name and the value; raises `UsageError` for what has none."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{text!r} is no entry; give NAME=VALUE")
    return name, value


def _named(kind: str, names: Sequence[str]) -> str:
    words = {EntityKind.USER_CLIENT: ("user", "client-id"), EntityKind.CLIENT: ("client-id",)}
    parts = zip(words.get(EntityKind(kind), (kind,)), names, strict=True)
    return ", ".join(f"{word} {name or DEFAULT}" for word, name in parts)
