"""`fencepost acls`: which users may do what with topics and the cluster (SEC-001)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from fencepost.ci.client_process import answers, call
from fencepost.ci.gate.failures import UsageError
from fencepost.ci.options import BootstrapServers, ClusterFolder, JsonOption
from fencepost.ci.screens.console import show_json, show_table, tell
from fencepost.conformance.adapters.local_cluster import DEFAULT_FOLDER
from fencepost.spec.config_store import Acl, EntityKind, PatternType, acl_of

app = typer.Typer(no_args_is_help=True)

Allow = Annotated[str | None, typer.Option("--allow-principal", help="Such as User:alice.")]
Deny = Annotated[str | None, typer.Option("--deny-principal", help="Denied, whatever allows it.")]
Operation = Annotated[str, typer.Option(help="Such as Read, Write, Describe, Alter or All.")]
Host = Annotated[str, typer.Option(help="From this address alone; *: from any.")]
Topic = Annotated[str | None, typer.Option(help="On this topic; *: on any.")]
Prefix = Annotated[str | None, typer.Option(help="On topics whose names begin so.")]
OnCluster = Annotated[bool, typer.Option("--on-cluster", help="On the cluster itself.")]
COLUMNS = ("resource", "principal", "permission", "operation", "host")
RESOURCE = ("pattern", "resource_type", "name")
CLUSTER_NAME = "kafka-cluster"


class AclOption(NamedTuple):
    """One permission or denial, and its resource as in `ConfigEntity`."""

    names: tuple[str, str, str]
    acl: Acl

    def __str__(self) -> str:
        return _sentence(self.names, self.acl)

    def document(self) -> dict[str, str]:
        """As `list` tells it."""
        return dict(zip(RESOURCE, self.names, strict=True)) | self.acl._asdict()


@app.command("add")
def add(
    operation: Operation,
    allow_principal: Allow = None,
    deny_principal: Deny = None,
    host: Host = "*",
    topic: Topic = None,
    prefix: Prefix = None,
    on_cluster: OnCluster = False,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Allow or deny a user one operation."""
    acl = _acl(allow_principal, deny_principal, operation, host)
    entry = AclOption(_resource(topic, prefix, on_cluster=on_cluster), acl)
    _alter(entry, {acl.text: ""}, bootstrap_server, cluster)
    tell({"added": entry.document()}, f"Added: {entry}.", as_json=as_json)
    return 0


@app.command("remove")
def remove(
    operation: Operation,
    allow_principal: Allow = None,
    deny_principal: Deny = None,
    host: Host = "*",
    topic: Topic = None,
    prefix: Prefix = None,
    on_cluster: OnCluster = False,
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Take back what was added with the same options; what is not there is no error."""
    acl = _acl(allow_principal, deny_principal, operation, host)
    entry = AclOption(_resource(topic, prefix, on_cluster=on_cluster), acl)
    _alter(entry, {acl.text: None}, bootstrap_server, cluster)
    tell({"removed": entry.document()}, f"No more: {entry}.", as_json=as_json)
    return 0


@app.command("list")
def list_acls(
    bootstrap_server: BootstrapServers = None,
    cluster: ClusterFolder = DEFAULT_FOLDER,
    as_json: JsonOption = False,
) -> int:
    """Show all permissions and denials, as a broker has read them."""
    found = answers("describe_configs", bootstrap_server, cluster, kinds=["acl"], names=[])
    rows = [
        AclOption(tuple(one["names"]), acl).document()
        for one in found
        for acl in map(acl_of, sorted(one["entries"]))
        if acl is not None
    ]
    if as_json:
        show_json(rows)
        return 0
    shown = [
        [_resource_words(one["pattern"], one["resource_type"], one["name"])]
        + [one[name] for name in COLUMNS[1:]]
        for one in rows
    ]
    show_table("ACLs", COLUMNS, shown)
    return 0


def _alter(
    entry: AclOption, changes: Mapping[str, str | None], servers: str | None, cluster: Path
) -> None:
    names = entry.names
    call("alter_configs", servers, cluster, kind=EntityKind.ACL, names=names, changes=changes)


def _acl(allowed: str | None, denied: str | None, operation: str, host: str) -> Acl:
    principal = denied if allowed is None else allowed
    if principal is None or (allowed is not None and denied is not None):
        raise UsageError("give one of --allow-principal and --deny-principal")
    kind, _, name = principal.partition(":")
    if kind != "User" or not name:
        raise UsageError(f"{principal!r} is no principal; give User:NAME")
    if any(not word or " " in word for word in (operation, host)):
        raise UsageError("an operation and a host are one word each")
    return Acl("DENY" if allowed is None else "ALLOW", operation, host, principal)


def _resource(topic: str | None, prefix: str | None, *, on_cluster: bool) -> tuple[str, str, str]:
    if sum((topic is not None, prefix is not None, on_cluster)) != 1:
        raise UsageError("give one of --topic, --prefix and --on-cluster")
    if on_cluster:
        return PatternType.LITERAL, "cluster", CLUSTER_NAME
    pattern = PatternType.PREFIXED if topic is None else PatternType.LITERAL
    return pattern, "topic", topic or prefix or ""


def _sentence(names: tuple[str, str, str], acl: Acl) -> str:
    verb = "may" if acl.permission == "ALLOW" else "may not"
    host = "" if acl.host == "*" else f" from {acl.host}"
    return f"{acl.principal} {verb} {acl.operation} {_resource_words(*names)}{host}"


def _resource_words(pattern: str, resource_type: str, name: str) -> str:
    if resource_type == "cluster":
        return "the cluster"
    return f"{resource_type} {name}{'...' if pattern == PatternType.PREFIXED else ''}"
