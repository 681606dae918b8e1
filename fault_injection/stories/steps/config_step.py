"""Steps that change the configuration: of topics, quotas of clients, ACLs and delegation tokens.

Each is one request, asked once and traced: a client that does not know whether it was heard must
not ask again. Brokers forward it (FWD-002).
"""

from typing import Annotated

from msgspec import Meta

from fencepost.fault_injection.faults.parameters import milliseconds
from fencepost.fault_injection.stories.steps.fields import Claimed, Entries, TopicName
from fencepost.fault_injection.stories.steps.story_step import AdminStep
from fencepost.fault_injection.workload.config_operations import (
    CREATE_ACLS,
    DELETE_ACLS,
    ENTRIES_METHOD,
    MUTATION_RATE,
    QUOTAS_METHOD,
    ConfigChange,
)
from fencepost.spec.config_store import ConfigEntity, EntityKind, PatternType

TOPIC_RESOURCE = "Topic"
Renewer = Annotated[str, Meta(description="that principal, as in User:ann")]
Acls = Annotated[
    tuple[str, ...], Meta(description="permissions, as in ALLOW Read * User:ann", min_length=1)
]


class ChangeStep(AdminStep, frozen=True, kw_only=True):
    """A change of the configuration."""

    claims: Claimed = ""


class AlterConfigStep(ChangeStep, frozen=True, kw_only=True):
    """Set entries in the configuration of a topic, in a request that brokers forward."""

    alter_config: TopicName
    entries: Entries


class AlterQuotaStep(ChangeStep, frozen=True, kw_only=True):
    """Limit the partitions that a user creates and deletes, all its clients or one of them."""

    alter_quota: Annotated[str | None, Meta(description="a user; null: the client-id counts alone")]
    client: Annotated[str, Meta(description="a client-id; empty: each of the user's")] = ""
    rate: Annotated[int, Meta(description="partitions per second, once in a run", ge=1)]


class CreateAclsStep(ChangeStep, frozen=True, kw_only=True):
    """Add permissions to a topic."""

    create_acls: TopicName
    acls: Acls


class DeleteAclsStep(ChangeStep, frozen=True, kw_only=True):
    """Take permissions from a topic."""

    delete_acls: TopicName
    acls: Acls


class TokenStep(ChangeStep, frozen=True, kw_only=True):
    """A request about a delegation token of the client."""


class CreateTokenStep(TokenStep, frozen=True, kw_only=True):
    """Make a delegation token of the client, which another principal may renew."""

    create_token: Renewer
    life_ms: Annotated[int, milliseconds("its longest life; -1: the longest that is", ge=-1)] = -1


class RenewTokenStep(TokenStep, frozen=True, kw_only=True):
    """Let the token live on that was made last for a principal."""

    renew_token: Renewer
    life_ms: Annotated[int, milliseconds("from now on; -1: the usual time", ge=-1)] = -1


class ExpireTokenStep(TokenStep, frozen=True, kw_only=True):
    """End the token that was made last for a principal."""

    expire_token: Renewer
    life_ms: Annotated[int, milliseconds("from now on; 0: it is gone at once", ge=0)] = 0


class DescribeTokenStep(TokenStep, frozen=True, kw_only=True):
    """Print what a broker tells of the token that was made last for a principal."""

    describe_token: Renewer


def change_of(step: ChangeStep) -> ConfigChange:
    """What the step changes; of a token nothing is known before it is made."""
    match step:
        case AlterConfigStep(alter_config=topic, entries=entries):
            return ConfigChange(ENTRIES_METHOD, ConfigEntity(EntityKind.TOPIC, (topic,)), entries)
        case AlterQuotaStep(rate=rate):
            return ConfigChange(QUOTAS_METHOD, _counted_by(step), {MUTATION_RATE: str(rate)})
        case CreateAclsStep(create_acls=topic, acls=acls):
            return ConfigChange(CREATE_ACLS, _acls_of(topic), dict.fromkeys(acls, ""))
        case DeleteAclsStep(delete_acls=topic, acls=acls):
            return ConfigChange(DELETE_ACLS, _acls_of(topic), dict.fromkeys(acls, ""))
        case _:
            raise AssertionError(step)


def _counted_by(step: AlterQuotaStep) -> ConfigEntity:
    if step.alter_quota is None:
        return ConfigEntity(EntityKind.CLIENT, (step.client,))
    if step.client:
        return ConfigEntity(EntityKind.USER_CLIENT, (step.alter_quota, step.client))
    return ConfigEntity(EntityKind.USER, (step.alter_quota,))


def _acls_of(topic: str) -> ConfigEntity:
    return ConfigEntity(EntityKind.ACL, (PatternType.LITERAL, TOPIC_RESOURCE, topic))
