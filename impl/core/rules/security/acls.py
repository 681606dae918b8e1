"""What access control lists allow, as Kafka's authorizer decides (SEC-001).

Closed: what nothing allows is denied. A denial wins over every permission, and only a super user
is above both.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeVar

Word = TypeVar("Word", bound=StrEnum)

ANY = "*"
"""As a literal resource name, a host or the name of a user: all of them."""
USER = "User:"
ANY_USER = USER + ANY
CLUSTER = "kafka-cluster"
"""The name of the one resource of type cluster."""


class Operation(StrEnum):
    """What is done with a resource."""

    ALL = "All"
    READ = "Read"
    WRITE = "Write"
    CREATE = "Create"
    DELETE = "Delete"
    ALTER = "Alter"
    DESCRIBE = "Describe"
    ALTER_CONFIGS = "AlterConfigs"
    DESCRIBE_CONFIGS = "DescribeConfigs"
    IDEMPOTENT_WRITE = "IdempotentWrite"


class ResourceType(StrEnum):
    """What is protected."""

    TOPIC = "Topic"
    CLUSTER = "Cluster"


class Permission(StrEnum):
    """What an entry says of the operation."""

    ALLOW = "Allow"
    DENY = "Deny"


class Pattern(StrEnum):
    """How an entry's resource name is meant."""

    LITERAL = "literal"
    PREFIXED = "prefixed"


def member_of(kind: type[Word], text: str) -> Word | None:
    """The member that is written so, in any case and with or without underscores."""
    plain = text.replace("_", "").lower()
    return next((one for one in kind if one.value.lower() == plain), None)


class Resource(NamedTuple):
    """What an operation is about."""

    resource_type: ResourceType
    name: str


class AclEntry(NamedTuple):
    """One permission or denial."""

    resource_type: ResourceType
    pattern: Pattern
    name: str
    permission: Permission
    operation: Operation
    principal: str
    host: str = ANY


class Actor(NamedTuple):
    """The user for which something is done, and the host from which it is asked."""

    principal: str
    """`User:NAME`."""
    host: str


IMPLIES = {
    Operation.DESCRIBE: frozenset(
        {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.ALTER_CONFIGS}),
}
"""Operation -> those of which a permission is a permission for it too; a denial is not."""


def covers(entry: AclEntry, resource: Resource) -> bool:
    """True when the entry is about this resource."""
    if entry.resource_type is not resource.resource_type:
        return False
    if entry.pattern is Pattern.PREFIXED:
        return resource.name.startswith(entry.name)
    return entry.name in (ANY, resource.name)


def concerns(entry: AclEntry, actor: Actor) -> bool:
    """True when the entry is about this user at this host."""
    return entry.principal in (ANY_USER, actor.principal) and entry.host in (ANY, actor.host)


def permits(about: Sequence[AclEntry], operation: Operation) -> bool:
    """True when an entry about this user and resource allows the operation, and none denies it."""
    allowing = {operation, Operation.ALL} | IMPLIES.get(operation, frozenset())
    denying = {operation, Operation.ALL}
    if any(e.permission is Permission.DENY and e.operation in denying for e in about):
        return False
    return any(e.permission is Permission.ALLOW and e.operation in allowing for e in about)


@dataclass(frozen=True, slots=True, kw_only=True)
class AclRules:
    """The rules of the lists by name."""

    covers: Callable[[AclEntry, Resource], bool]
    concerns: Callable[[AclEntry, Actor], bool]
    permits: Callable[[Sequence[AclEntry], Operation], bool]


ACL_RULES = AclRules(covers=covers, concerns=concerns, permits=permits)


class Authorizer:
    """Decides by the entries and the super users given."""

    def __init__(
        self,
        entries: Iterable[AclEntry],
        super_users: Iterable[str] = (),
        acl_rules: AclRules = ACL_RULES,
    ) -> None:
        self._super_users = frozenset(super_users)
        self._entries = tuple(entries)
        self._rules = acl_rules

    def allows(self, actor: Actor, operation: Operation, resource: Resource) -> bool:
        """True when a super user asks, or an entry permits it and none denies it."""
        if actor.principal in self._super_users:
            return True
        covers, concerns = self._rules.covers, self._rules.concerns
        about = [e for e in self._entries if covers(e, resource) and concerns(e, actor)]
        return self._rules.permits(about, operation)
