"""What is asked about configurations, ACLs and quotas, as values like `messages.py` (FWD-002).

Each mutation exists in an old version, which any broker takes, and a new one, for the controller.
"""

from enum import StrEnum

from msgspec import Struct

from fencepost.impl.core.types.topic_messages import AdminResponse
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, ErrorCode


class EntryOperation(StrEnum):
    """What a change does to an entry, as Kafka names it (KIP-339)."""

    SET = "set"
    DELETE = "delete"
    APPEND = "append"
    """The value is one more of a list with commas."""
    SUBTRACT = "subtract"


class EntryChange(Struct, frozen=True, kw_only=True):
    """One entry of an entity is to change."""

    operation: EntryOperation = EntryOperation.SET
    name: str
    value: str = ""


class EntityChange(Struct, frozen=True, kw_only=True):
    """Entries of one entity are to change, together or not at all."""

    kind: EntityKind
    names: tuple[str, ...]
    """As in `ConfigEntity`."""
    changes: tuple[EntryChange, ...]

    @property
    def entity(self) -> ConfigEntity:
        """Of which the entries are."""
        return ConfigEntity(self.kind, self.names)


class EntityResult(Struct, frozen=True, kw_only=True):
    """What became of one entity of a request."""

    kind: EntityKind
    names: tuple[str, ...]
    error_code: ErrorCode = ErrorCode.NONE
    message: str = ""


class MutationResponse(AdminResponse, frozen=True, kw_only=True):
    """`NONE` when ZooKeeper holds the change; one result per entity, in the order of the request.

    What is refused alone leaves the others as they are asked.
    """

    results: tuple[EntityResult, ...] = ()
    config_version: int = -1
    """Of the configuration that has the change: a broker with it, or a larger one, knows it."""


class ConfigEntry(Struct, frozen=True, kw_only=True):
    """An entry as it stands."""

    name: str
    value: str


class EntityConfig(Struct, frozen=True, kw_only=True):
    """An entity as it stands; entries by name, ascending."""

    kind: EntityKind
    names: tuple[str, ...]
    entries: tuple[ConfigEntry, ...]


class DescribeConfigsRequest(Struct, frozen=True, kw_only=True):
    """Of these kinds and names is asked; without names, of all of the kind."""

    kind: EntityKind
    names: tuple[str, ...] = ()


class DescribeConfigsResponse(AdminResponse, frozen=True, kw_only=True):
    """What the broker has read; entities without entries are left out."""

    broker_id: BrokerId = NO_BROKER
    config_version: int = -1
    """Of what was read: the number of changes so far, or more; -1 before the first."""
    entities: tuple[EntityConfig, ...] = ()
