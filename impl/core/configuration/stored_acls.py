"""The access control lists in ZooKeeper, as the authorizer takes them (SEC-001)."""

from collections.abc import Iterator

from fencepost.impl.core.configuration.config_store import ConfigStore
from fencepost.impl.core.rules.security.acls import (
    ANY,
    ANY_USER,
    AclEntry,
    Authorizer,
    Operation,
    Pattern,
    Permission,
    ResourceType,
    member_of,
)
from fencepost.spec.config_store import ConfigEntity, EntityKind, acl_of


class StoredAuthorizer:
    """The authorizer by the lists that the broker has read; closed before it has."""

    def __init__(self, configs: ConfigStore, super_users: frozenset[str]) -> None:
        self._configs = configs
        self._super_users = super_users
        self._revision = -1
        self._authorizer = Authorizer((), super_users)

    def now(self) -> Authorizer:
        """The one that holds now."""
        if self._revision != self._configs.revision:
            self._revision = self._configs.revision
            self._authorizer = Authorizer(stored_acls(self._configs), self._super_users)
        return self._authorizer


def stored_acls(configs: ConfigStore) -> Iterator[AclEntry]:
    """The entries of all resources."""
    for entity in configs.entities(EntityKind.ACL):
        for text in sorted(configs.entries(entity)):
            yield from entries_of(entity, text)


def entries_of(entity: ConfigEntity, text: str) -> tuple[AclEntry, ...]:
    """The entry with that text; what cannot be read denies all, as it may have been a denial."""
    pattern_word, type_word, name = entity.names
    pattern, kind = member_of(Pattern, pattern_word), member_of(ResourceType, type_word)
    if pattern is None or kind is None:
        return ()
    denial = (Permission.DENY, Operation.ALL, ANY_USER, ANY)
    return (AclEntry(kind, pattern, name, *(_acl_in(text) or denial)),)


def _acl_in(text: str) -> tuple[Permission, Operation, str, str] | None:
    acl = acl_of(text)
    if acl is None:
        return None
    permission = member_of(Permission, acl.permission)
    operation = member_of(Operation, acl.operation)
    if permission is None or operation is None:
        return None
    return permission, operation, acl.principal, acl.host
