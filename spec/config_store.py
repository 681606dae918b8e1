"""Znodes of the configuration: of topics, brokers, clients, resources and tokens (FWD-001).

Kafka's layout, and one form of document for all: named entries with text values. Each change also
writes `/config/changes`; its version counts them, and one watch tells a broker of all (FWD-008).
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import quote, unquote

import msgspec

from fencepost.spec.znodes import MalformedZnodeError, document_bytes

CONFIG = "/config"
CONFIG_CHANGES = "/config/changes"
DEFAULT = "<default>"
"""The znode of those that have none of their own; as a name it is empty."""
CHANGES_KEPT = 50
"""So many of the last changes stand in `/config/changes`; a broker that missed more reads all."""
CLIENTS = "clients"
"""The folder below a user for the two together."""
_SAFE = "*:=,@ "


class EntityKind(StrEnum):
    """What has a configuration."""

    TOPIC = "topic"
    BROKER = "broker"
    USER = "user"
    CLIENT = "client"
    USER_CLIENT = "user_client"
    """A user with one of its clients."""
    ACL = "acl"
    """A resource, of which the entries are permissions."""
    TOKEN = "token"  # noqa: S105  a kind of znode, not a password


FOLDERS: Mapping[EntityKind, tuple[str, ...]] = {
    EntityKind.TOPIC: ("config", "topics"),
    EntityKind.BROKER: ("config", "brokers"),
    EntityKind.USER: ("config", "users"),
    EntityKind.CLIENT: ("config", CLIENTS),
    EntityKind.ACL: ("kafka-acl",),
    EntityKind.TOKEN: ("delegation_token", "tokens"),
}
"""Where the entities are, one znode below the other per name; a user's clients are below it."""
QUOTA_KINDS = frozenset({EntityKind.USER, EntityKind.CLIENT, EntityKind.USER_CLIENT})


class PatternType(StrEnum):
    """How the name of a resource in an ACL is meant."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


class ConfigEntity(NamedTuple):
    """One that has a configuration, by its names; an empty name is the default.

    Of an ACL they are pattern type, resource type and resource name.
    """

    kind: EntityKind
    names: tuple[str, ...]

    @property
    def path(self) -> str:
        """Its znode."""
        parts = [_written(name) for name in self.names]
        if self.kind is EntityKind.USER_CLIENT:
            user, client = parts
            return "/" + "/".join((*FOLDERS[EntityKind.USER], user, CLIENTS, client))
        return "/" + "/".join((*FOLDERS[self.kind], *parts))

    def __str__(self) -> str:
        return f"{self.kind} {'/'.join(name or DEFAULT for name in self.names)}"


NAME_COUNTS: Mapping[EntityKind, int] = {
    kind: {EntityKind.USER_CLIENT: 2, EntityKind.ACL: 3}.get(kind, 1) for kind in EntityKind
}


class Acl(NamedTuple):
    """One entry of a resource's ACL: it allows or denies an operation (SEC)."""

    permission: str
    """`ALLOW` or `DENY`."""
    operation: str
    host: str
    principal: str

    @property
    def text(self) -> str:
        """The name of the entry; only the principal may have spaces."""
        return " ".join(self)


def acl_of(text: str) -> Acl | None:
    """The ACL with that `text`, or None."""
    parts = text.split(" ", 3)
    return Acl(*parts) if len(parts) == len(Acl._fields) else None


class ConfigDocument(msgspec.Struct, frozen=True, kw_only=True):
    """The znode of an entity."""

    version: int = 1
    config: dict[str, str]
    """Name of an entry -> its value; of an ACL the name says all."""


class ConfigChangesDocument(msgspec.Struct, frozen=True, kw_only=True):
    """`/config/changes`: what the last changes wrote, the newest last."""

    version: int = 1
    changes: list[list[str]]
    """Per change the paths that it wrote."""


def entity_at(path: str) -> ConfigEntity | None:
    """The entity with the znode at `path`, or None."""
    parts = tuple(path.split("/")[1:])
    users = FOLDERS[EntityKind.USER]
    if parts[:-3] == users and parts[-2] == CLIENTS:
        return ConfigEntity(EntityKind.USER_CLIENT, (_read(parts[-3]), _read(parts[-1])))
    for kind, folder in FOLDERS.items():
        names = parts[len(folder) :]
        if parts[: len(folder)] == folder and len(names) == NAME_COUNTS[kind]:
            return ConfigEntity(kind, tuple(map(_read, names)))
    return None


def folders_above(path: str) -> Iterator[str]:
    """The znodes that must be there before the one at `path`, the highest first."""
    parts = path.split("/")
    for end in range(2, len(parts)):
        yield "/".join(parts[:end])


def config_bytes(entries: Mapping[str, str]) -> bytes:
    """The bytes of an entity's znode; the same entries give the same bytes."""
    return document_bytes(ConfigDocument(config=dict(sorted(entries.items()))))


def parse_config(path: str, data: bytes) -> dict[str, str]:
    """Decode an entity's entries, none of an empty folder; raises `MalformedZnodeError`."""
    if not data:
        return {}
    try:
        return msgspec.json.decode(data, type=ConfigDocument).config
    except msgspec.MsgspecError as error:
        raise MalformedZnodeError(path, str(error)) from error


def parse_config_changes(path: str, data: bytes) -> list[list[str]]:
    """Decode `/config/changes`; raises `MalformedZnodeError`."""
    try:
        return msgspec.json.decode(data, type=ConfigChangesDocument).changes
    except msgspec.MsgspecError as error:
        raise MalformedZnodeError(path, str(error)) from error


def _written(name: str) -> str:
    if not name:
        return DEFAULT
    return quote(name, safe=_SAFE) if name.strip(".") else name.replace(".", "%2E")


def _read(part: str) -> str:
    return "" if part == DEFAULT else unquote(part)
