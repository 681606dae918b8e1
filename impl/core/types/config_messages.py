"""What is asked about configurations, ACLs, quotas and tokens, like `messages.py` (FWD-002).

Each mutation exists in an old version, which any broker takes, and a new one, for the controller.
"""

from collections.abc import Mapping, Set as AbstractSet
from enum import StrEnum

from msgspec import Struct

from fencepost.impl.core.types.request_header import RedirectedRequest
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


class RedirectedResponse(AdminResponse, frozen=True, kw_only=True):
    """`NONE` when ZooKeeper holds the change."""

    config_version: int = -1
    """Of the configuration that has the change: a broker with it, or a larger one, knows it."""


class MutationRequest(RedirectedRequest, frozen=True, kw_only=True):
    """Entities are to change; each that is refused alone leaves the others as they are asked."""

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


class MutationResponse(RedirectedResponse, frozen=True, kw_only=True):
    """`NONE` when ZooKeeper holds the change; one result per entity, in the order of the request.

    What is refused alone leaves the others as they are asked.
    """

    results: tuple[EntityResult, ...] = ()


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


class DescribeMutationQuotasRequest(Struct, frozen=True, kw_only=True):
    """What became of the quotas of this controller (QUOTA-007)."""


class QuotaMetrics(Struct, frozen=True, kw_only=True):
    """One bucket as it is now; rate and tokens in decimals."""

    kind: EntityKind
    names: tuple[str, ...]
    rate: str
    tokens: str
    throttle_time_ms: int
    """Until a mutation is admitted; 0: at once."""


class DescribeMutationQuotasResponse(AdminResponse, frozen=True, kw_only=True):
    """The buckets that were used."""

    buckets: tuple[QuotaMetrics, ...] = ()


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


# Delegation tokens (SEC-003, KIP-48): times are milliseconds since 1970. The secret of a token is
# added by the listener, never by a node.


class CreateDelegationTokenRequest(RedirectedRequest, frozen=True, kw_only=True):
    """A token for the one that asks."""

    renewers: tuple[str, ...] = ()
    """Principals that may renew and expire it, beside its owner."""
    max_lifetime_ms: int = -1
    """-1: the longest that there is."""


class CreateDelegationTokenResponse(RedirectedResponse, frozen=True, kw_only=True):
    """The token, and when it is over."""

    token_id: str = ""
    expires_ms: int = 0
    max_ms: int = 0
    hmac: bytes = b""
    """The secret, which only the one that asked is told."""


class RenewDelegationTokenRequest(RedirectedRequest, frozen=True, kw_only=True):
    """The token is to live on."""

    token_id: str
    renew_ms: int = -1
    """From now on; -1: the usual time."""


class RenewDelegationTokenResponse(RedirectedResponse, frozen=True, kw_only=True):
    """When the token is over now."""

    expires_ms: int = 0


class ExpireDelegationTokenRequest(RedirectedRequest, frozen=True, kw_only=True):
    """The token is to be over soon."""

    token_id: str
    after_ms: int = -1
    """From now on; negative: at once."""


class ExpireDelegationTokenResponse(RedirectedResponse, frozen=True, kw_only=True):
    """When the token is over now."""

    expires_ms: int = 0


class DescribeDelegationTokenRequest(Struct, frozen=True, kw_only=True):
    """The tokens of these owners, or of all."""

    owners: tuple[str, ...] = ()


class TokenDescription(Struct, frozen=True, kw_only=True):
    """A token as it stands, without its secret."""

    token_id: str
    owner: str
    renewers: tuple[str, ...]
    issued_ms: int
    expires_ms: int
    max_ms: int


class DescribeDelegationTokenResponse(AdminResponse, frozen=True, kw_only=True):
    """What the broker has read, by id."""

    tokens: tuple[TokenDescription, ...] = ()


TokenRequest = (
    CreateDelegationTokenRequest | RenewDelegationTokenRequest | ExpireDelegationTokenRequest
)
"""What the controller, or below level 5 any broker, does to tokens."""
TokenResponse = (
    CreateDelegationTokenResponse | RenewDelegationTokenResponse | ExpireDelegationTokenResponse
)
TOKEN_RESPONSES: Mapping[type[TokenRequest], type[TokenResponse]] = {
    CreateDelegationTokenRequest: CreateDelegationTokenResponse,
    RenewDelegationTokenRequest: RenewDelegationTokenResponse,
    ExpireDelegationTokenRequest: ExpireDelegationTokenResponse,
}
