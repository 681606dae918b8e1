"""What a change makes of entries, and which are refused (FWD-001)."""

import pytest

from fencepost.impl.core.rules.configuration.entries import changed, refuse_change
from fencepost.impl.core.rules.configuration.mutation import judged_changes
from fencepost.impl.core.types.config_messages import (
    EntityChange,
    EntryChange,
    EntryOperation,
    IncrementalAlterConfigsRequest,
)
from fencepost.spec.config_store import Acl, ConfigEntity, EntityKind, entity_at
from fencepost.spec.vocabulary import ErrorCode

SET, DELETE = EntryOperation.SET, EntryOperation.DELETE
APPEND, SUBTRACT = EntryOperation.APPEND, EntryOperation.SUBTRACT


@pytest.mark.parametrize(
    ("operation", "value", "after"),
    [
        (SET, "c", {"a": "c", "b": "2"}),
        (DELETE, "", {"b": "2"}),
        (APPEND, "x,z", {"a": "x,y,z", "b": "2"}),
        (SUBTRACT, "x,z", {"a": "y", "b": "2"}),
    ],
)
def test_operation_changes_one_entry(
    operation: EntryOperation, value: str, after: dict[str, str]
) -> None:
    change = EntryChange(operation=operation, name="a", value=value)

    assert changed({"a": "x,y", "b": "2"}, [change], is_whole=False) == after


def test_whole_change_leaves_nothing_else() -> None:
    assert changed({"b": "2"}, [EntryChange(name="a", value="1")], is_whole=True) == {"a": "1"}


@pytest.mark.parametrize(
    ("kind", "names", "name", "value", "error_code"),
    [
        (EntityKind.TOPIC, ("t",), "retention.ms", "5", None),
        (EntityKind.TOPIC, ("a/b",), "retention.ms", "5", ErrorCode.INVALID_TOPIC),
        (EntityKind.TOPIC, ("t", "u"), "retention.ms", "5", ErrorCode.INVALID_REQUEST),
        (EntityKind.TOPIC, ("t",), "", "5", ErrorCode.INVALID_CONFIG),
        (EntityKind.TOPIC, ("t",), "min.insync.replicas", "0", ErrorCode.INVALID_CONFIG),
        (EntityKind.BROKER, ("",), "min.insync.replicas", "2", None),
        (EntityKind.BROKER, ("one",), "min.insync.replicas", "2", ErrorCode.INVALID_REQUEST),
        (EntityKind.USER_CLIENT, ("", ""), "controller_mutation_rate", "0.5", None),
        (EntityKind.USER, ("u",), "controller_mutation_rate", "nan", ErrorCode.INVALID_CONFIG),
        (EntityKind.CLIENT, ("c",), "color", "5", ErrorCode.INVALID_CONFIG),
        (EntityKind.ACL, ("literal", "topic", "t"), "ALLOW READ * User:a b", "", None),
        (EntityKind.ACL, ("literal", "topic", "t"), "MAYBE READ *", "", ErrorCode.INVALID_CONFIG),
        (
            EntityKind.ACL,
            ("literal", "topic", "t"),
            "ALLOW RAD * User:a",
            "",
            ErrorCode.INVALID_CONFIG,
        ),
        (
            EntityKind.ACL,
            ("like", "topic", "t"),
            "ALLOW READ * User:a",
            "",
            ErrorCode.INVALID_REQUEST,
        ),
    ],
)
def test_change_that_no_broker_could_use_is_refused(
    kind: EntityKind, names: tuple[str, ...], name: str, value: str, error_code: ErrorCode | None
) -> None:
    change = EntityChange(kind=kind, names=names, changes=(EntryChange(name=name, value=value),))

    refusal = refuse_change(change)

    assert (refusal and refusal.error_code) == error_code


def test_entry_named_twice_is_refused() -> None:
    twice = (EntryChange(name="a", value="1"), EntryChange(name="a", value="2"))

    refusal = refuse_change(EntityChange(kind=EntityKind.TOPIC, names=("t",), changes=twice))

    assert refusal is not None


def test_entity_named_twice_is_refused_both_times_and_others_are_not() -> None:
    change = (EntryChange(name="a", value="1"),)
    entities = tuple(
        EntityChange(kind=EntityKind.TOPIC, names=(name,), changes=change) for name in "tut"
    )

    judged = judged_changes(IncrementalAlterConfigsRequest(entities=entities))

    assert [refusal is None for _, refusal in judged] == [False, True, False]


@pytest.mark.parametrize(
    ("entity", "path"),
    [
        (ConfigEntity(EntityKind.TOPIC, ("t",)), "/config/topics/t"),
        (ConfigEntity(EntityKind.BROKER, ("",)), "/config/brokers/<default>"),
        (ConfigEntity(EntityKind.USER, ("a/b",)), "/config/users/a%2Fb"),
        (ConfigEntity(EntityKind.USER, ("<default>",)), "/config/users/%3Cdefault%3E"),
        (ConfigEntity(EntityKind.CLIENT, ("..",)), "/config/clients/%2E%2E"),
        (ConfigEntity(EntityKind.USER_CLIENT, ("u", "")), "/config/users/u/clients/<default>"),
        (ConfigEntity(EntityKind.ACL, ("literal", "topic", "*")), "/kafka-acl/literal/topic/*"),
        (ConfigEntity(EntityKind.TOKEN, ("7",)), "/delegation_token/tokens/7"),
    ],
)
def test_entity_has_one_znode(entity: ConfigEntity, path: str) -> None:
    assert entity.path == path
    assert entity_at(path) == entity


def test_folder_is_no_entity() -> None:
    assert entity_at("/config/topics") is None
    assert entity_at("/config/users/u/clients") is None


def test_acl_is_its_text() -> None:
    assert Acl("DENY", "WRITE", "10.0.0.1", "User:CN=a, O=b").text == (
        "DENY WRITE 10.0.0.1 User:CN=a, O=b"
    )
