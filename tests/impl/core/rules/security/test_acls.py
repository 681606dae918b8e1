"""What access control lists allow: Kafka's examples, and laws over all lists."""

from hypothesis import given, strategies as st

from fencepost.impl.core.rules.security.acls import (
    ANY,
    ANY_USER,
    AclEntry,
    Actor,
    Authorizer,
    Operation,
    Pattern,
    Permission,
    Resource,
    ResourceType,
)

TOPICS = ("orders", "orders-eu", "order", "*")
PRINCIPALS = ("User:alice", "User:bob", ANY_USER)
HOSTS = ("10.0.0.1", "10.0.0.2", ANY)
ENTRIES = st.builds(
    AclEntry,
    resource_type=st.sampled_from(ResourceType),
    pattern=st.sampled_from(Pattern),
    name=st.sampled_from(TOPICS),
    permission=st.sampled_from(Permission),
    operation=st.sampled_from(Operation),
    principal=st.sampled_from(PRINCIPALS),
    host=st.sampled_from(HOSTS),
)
ASKED = st.tuples(
    st.builds(Actor, st.sampled_from(PRINCIPALS[:2]), st.sampled_from(HOSTS[:2])),
    st.sampled_from([one for one in Operation if one is not Operation.ALL]),
    st.builds(Resource, st.sampled_from(ResourceType), st.sampled_from(TOPICS[:3])),
)
ALICE = Actor("User:alice", "10.0.0.1")
ORDERS = Resource(ResourceType.TOPIC, "orders")
READ_ORDERS = AclEntry(
    ResourceType.TOPIC, Pattern.LITERAL, "orders", Permission.ALLOW, Operation.READ, "User:alice"
)


def is_allowed(*entries: AclEntry, actor: Actor = ALICE, operation: str = "Read") -> bool:
    return Authorizer(entries).allows(actor, Operation(operation), ORDERS)


def test_what_no_entry_allows_is_denied() -> None:
    assert not is_allowed()
    assert not is_allowed(READ_ORDERS, operation="Write")
    assert not is_allowed(READ_ORDERS, actor=Actor("User:bob", "10.0.0.1"))
    assert not is_allowed(READ_ORDERS._replace(host="10.0.0.2"))
    assert not is_allowed(READ_ORDERS._replace(name="order"))
    assert not is_allowed(READ_ORDERS._replace(resource_type=ResourceType.CLUSTER))


def test_literal_names_prefixes_and_stars_allow() -> None:
    assert is_allowed(READ_ORDERS)
    assert is_allowed(READ_ORDERS._replace(name="*"))
    assert is_allowed(READ_ORDERS._replace(name="ord", pattern=Pattern.PREFIXED))
    assert is_allowed(READ_ORDERS._replace(principal=ANY_USER))
    assert is_allowed(READ_ORDERS._replace(operation=Operation.ALL))
    assert not is_allowed(READ_ORDERS._replace(name="*", pattern=Pattern.PREFIXED))


def test_a_permission_to_read_lets_describe_and_a_denial_does_not_forbid_it() -> None:
    deny_read = READ_ORDERS._replace(permission=Permission.DENY)
    describe = READ_ORDERS._replace(operation=Operation.DESCRIBE)

    assert is_allowed(READ_ORDERS, operation="Describe")
    assert is_allowed(describe, deny_read, operation="Describe")
    assert not is_allowed(READ_ORDERS, deny_read)


@given(st.lists(ENTRIES, max_size=6), ENTRIES, ASKED)
def test_a_denial_takes_and_a_permission_gives(
    entries: list[AclEntry], more: AclEntry, asked: tuple[Actor, Operation, Resource]
) -> None:
    before, after = Authorizer(entries).allows(*asked), Authorizer([*entries, more]).allows(*asked)

    assert after in (before, more.permission is Permission.ALLOW)


@given(st.lists(ENTRIES, max_size=6), ASKED)
def test_order_and_repetition_mean_nothing_and_a_super_user_may_all(
    entries: list[AclEntry], asked: tuple[Actor, Operation, Resource]
) -> None:
    actor, operation, resource = asked
    shuffled = [*reversed(entries), *entries]

    assert Authorizer(entries).allows(*asked) == Authorizer(shuffled).allows(*asked)
    assert Authorizer(entries, [actor.principal]).allows(actor, operation, resource)
