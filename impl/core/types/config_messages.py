"""What is asked about configurations, ACLs and quotas, as values like `messages.py` (FWD-002).

Each mutation exists in an old version, which any broker takes, and a new one, for the controller.
"""

from collections.abc import Mapping, Set as AbstractSet
from enum import StrEnum

from msgspec import Struct

from fencepost.impl.core.types.request_header import RequestHeader
from fencepost.impl.core.types.topic_messages import AdminResponse
from fencepost.spec.config_store import QUOTA_KINDS, ConfigEntity, EntityKind
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


class MutationRequest(Struct, frozen=True, kw_only=True):
    """Entities are to change; each that is refused alone leaves the others as they are asked."""

    header: RequestHeader = RequestHeader()
    entities: tuple[EntityChange, ...]
    validate_only: bool = False


class AlterConfigsRequest(MutationRequest, frozen=True, kw_only=True):
    """Topics and brokers get these entries and no others (KIP-133)."""


class IncrementalAlterConfigsRequest(MutationRequest, frozen=True, kw_only=True):
    """Entries of topics and brokers change, and the others stay (KIP-339)."""


class AlterClientQuotasRequest(MutationRequest, frozen=True, kw_only=True):
    """The same of users and clients (KIP-546)."""


class CreateAclsRequest(MutationRequest, frozen=True, kw_only=True):
    """Resources get these ACLs beside those that they have (KIP-140)."""


class DeleteAclsRequest(MutationRequest, frozen=True, kw_only=True):
    """Resources lose these ACLs."""


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


class AlterConfigsResponse(MutationResponse, frozen=True, kw_only=True):
    """As above."""


class IncrementalAlterConfigsResponse(MutationResponse, frozen=True, kw_only=True):
    """As above."""


class AlterClientQuotasResponse(MutationResponse, frozen=True, kw_only=True):
    """As above."""


class CreateAclsResponse(MutationResponse, frozen=True, kw_only=True):
    """As above."""


class DeleteAclsResponse(MutationResponse, frozen=True, kw_only=True):
    """As above."""


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


ConfigRequest = (
    AlterConfigsRequest
    | IncrementalAlterConfigsRequest
    | AlterClientQuotasRequest
    | CreateAclsRequest
    | DeleteAclsRequest
)
"""What the controller, or below level 5 any broker, does to the configuration."""
ConfigResponse = (
    AlterConfigsResponse
    | IncrementalAlterConfigsResponse
    | AlterClientQuotasResponse
    | CreateAclsResponse
    | DeleteAclsResponse
)
RESPONSES: Mapping[type[ConfigRequest], type[ConfigResponse]] = {
    AlterConfigsRequest: AlterConfigsResponse,
    IncrementalAlterConfigsRequest: IncrementalAlterConfigsResponse,
    AlterClientQuotasRequest: AlterClientQuotasResponse,
    CreateAclsRequest: CreateAclsResponse,
    DeleteAclsRequest: DeleteAclsResponse,
}
_CONFIGS = frozenset({EntityKind.TOPIC, EntityKind.BROKER})
_ACLS = frozenset({EntityKind.ACL})
_ANY = frozenset(EntryOperation)
_PLAIN = frozenset({EntryOperation.SET, EntryOperation.DELETE})
TAKEN: Mapping[type[ConfigRequest], tuple[AbstractSet[EntityKind], AbstractSet[EntryOperation]]] = {
    AlterConfigsRequest: (_CONFIGS, frozenset({EntryOperation.SET})),
    IncrementalAlterConfigsRequest: (_CONFIGS, _ANY),
    AlterClientQuotasRequest: (QUOTA_KINDS, _PLAIN),
    CreateAclsRequest: (_ACLS, frozenset({EntryOperation.SET})),
    DeleteAclsRequest: (_ACLS, frozenset({EntryOperation.DELETE})),
}
"""Which kinds of entities a request may name, and which changes it may ask for."""
