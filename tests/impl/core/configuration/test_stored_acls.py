"""From the znodes of ACLs to the authorizer that holds now."""

from fencepost.impl.core.configuration.stored_acls import StoredAuthorizer, entries_of
from fencepost.impl.core.rules.security.acls import (
    Actor,
    Operation,
    Pattern,
    Permission,
    Resource,
    ResourceType,
)
from fencepost.impl.core.types.zookeeper import Create
from fencepost.spec.config_store import (
    CONFIG_CHANGES,
    ConfigEntity,
    EntityKind,
    config_bytes,
    folders_above,
)
from tests.impl.core.driver import Driver

ORDERS = ConfigEntity(EntityKind.ACL, ("prefixed", "topic", "ord"))
ALICE = Actor("User:alice", "127.0.0.1")
READ_ORDERS = (ALICE, Operation.READ, Resource(ResourceType.TOPIC, "orders"))


def test_an_entry_is_read_in_any_case() -> None:
    (entry,) = entries_of(ORDERS, "ALLOW DESCRIBE_CONFIGS * User:a b")

    assert entry.pattern is Pattern.PREFIXED
    assert entry.permission is Permission.ALLOW
    assert entry.operation is Operation.DESCRIBE_CONFIGS
    assert entry.principal == "User:a b"


def test_what_cannot_be_read_denies_all() -> None:
    for text in ("DENY Raed * User:alice", "DENY", "PERHAPS READ * User:alice"):
        (entry,) = entries_of(ORDERS, text)

        assert (entry.permission, entry.operation) == (Permission.DENY, Operation.ALL)
        assert entry.principal == "User:*"


def test_nothing_is_allowed_before_the_lists_are_read(driver: Driver) -> None:
    configs = driver.node.configs
    stored = StoredAuthorizer(configs, frozenset({"User:admin"}))
    assert not stored.now().allows(*READ_ORDERS)
    assert stored.now().allows(Actor("User:admin", ""), *READ_ORDERS[1:])

    paths = list(folders_above(ORDERS.path))
    above = [Create(path=one, data=b"") for one in [*paths, "/config"]]
    data = config_bytes({"ALLOW READ * User:alice": ""})
    driver.start()
    driver.write(*above, Create(path=ORDERS.path, data=data))
    driver.write(Create(path=CONFIG_CHANGES, data=b'{"version":1,"changes":[]}'))
    configs.begin()
    driver.tick()

    assert stored.now().allows(*READ_ORDERS)
    assert not stored.now().allows(ALICE, Operation.WRITE, READ_ORDERS[2])
