"""What a broker knows of the configuration, and how it hears of changes (FWD-008)."""

import msgspec
import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.types.zookeeper import Create, SetData, WriteOp
from fencepost.spec.config_store import (
    CONFIG_CHANGES,
    ConfigChangesDocument,
    ConfigEntity,
    EntityKind,
    config_bytes,
    folders_above,
)
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId, ProtocolLevel
from tests.impl.core.driver import Driver

USER = ConfigEntity(EntityKind.USER, ("u",))
CLIENT = ConfigEntity(EntityKind.USER_CLIENT, ("u", "c"))
RATE = "controller_mutation_rate"


def written(driver: Driver, *changes: list[str]) -> WriteOp:
    """What tells of these changes, the newest last."""
    data = msgspec.json.encode(ConfigChangesDocument(changes=[*changes]))
    if driver.zookeeper.peek(CONFIG_CHANGES).stat is None:
        return Create(path=CONFIG_CHANGES, data=data)
    return SetData(path=CONFIG_CHANGES, data=data, expected_version=ANY_VERSION)


def put(driver: Driver, entity: ConfigEntity, rate: str, *more: list[str]) -> None:
    """Others have written the rate of the entity; `more` changes are told to have been before."""
    peek = driver.zookeeper.peek
    above = [one for one in folders_above(entity.path) if peek(one).stat is None]
    ops: list[WriteOp] = [Create(path=one, data=b"") for one in above]
    data = config_bytes({RATE: rate})
    if peek(entity.path).stat is None:
        ops.append(Create(path=entity.path, data=data))
    else:
        ops.append(SetData(path=entity.path, data=data, expected_version=ANY_VERSION))
    driver.write(*ops, written(driver, *more, [entity.path]))
    driver.tick()


@pytest.fixture
def begun(driver: Driver) -> Driver:
    driver.start()
    driver.node.configs.begin()
    driver.tick()
    return driver


def test_what_stands_is_read_at_first(driver: Driver) -> None:
    driver.start()
    put(driver, USER, "5")
    put(driver, CLIENT, "7")

    driver.node.configs.begin()
    driver.tick()

    assert driver.node.configs.entries(USER) == {RATE: "5"}
    assert driver.node.configs.entries(CLIENT) == {RATE: "7"}
    assert driver.node.configs.version == 1


def test_below_level_5_nothing_is_read_before_it_begins() -> None:
    rules = LEVELS[ProtocolLevel.MAX_BROKER_EPOCH]
    driver = Driver(Config(broker_id=BrokerId(1), rules=rules))
    driver.start()
    put(driver, USER, "5")

    assert not driver.node.configs.entities(EntityKind.USER)


def test_every_change_is_heard(begun: Driver) -> None:
    for rate in ("5", "6", "7"):
        put(begun, USER, rate)

        assert begun.node.configs.entries(USER) == {RATE: rate}


def test_change_that_names_another_znode_reads_that_alone(begun: Driver) -> None:
    put(begun, USER, "5")
    put(begun, CLIENT, "7", [USER.path])

    assert begun.node.configs.entries(CLIENT) == {RATE: "7"}
    assert begun.node.configs.entries(USER) == {RATE: "5"}


def test_more_changes_than_are_told_read_all(begun: Driver) -> None:
    put(begun, USER, "5")
    begun.lose_session()
    put(begun, USER, "6")
    put(begun, CLIENT, "7")

    begun.start()

    assert begun.node.configs.entries(USER) == {RATE: "6"}
    assert begun.node.configs.entries(CLIENT) == {RATE: "7"}


def test_malformed_document_is_told_and_has_no_entries(begun: Driver) -> None:
    put(begun, USER, "5")
    bad = SetData(path=USER.path, data=b"{", expected_version=ANY_VERSION)
    begun.write(bad, written(begun, [USER.path]))
    begun.tick()

    assert begun.malformed == [USER.path]
    assert begun.node.configs.entries(USER) == {}
