"""Tokens that are over: which broker removes them, when, and which it leaves (SEC-003)."""

from collections.abc import Callable

import pytest
from msgspec import structs

from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.stored_tokens import stored_tokens
from fencepost.impl.core.levels import level_4, level_5
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.security.token_changes import entries_of, token_entity
from fencepost.impl.core.rules.security.tokens import DelegationToken
from fencepost.impl.core.types.zookeeper import Create, SetData
from fencepost.spec.config_store import (
    CONFIG_CHANGES,
    ConfigChangesDocument,
    config_bytes,
    folders_above,
)
from fencepost.spec.vocabulary import ANY_VERSION, Action, BrokerId
from fencepost.spec.znodes import document_bytes
from tests.impl.core.driver import Driver
from tests.impl.core.roles import elect_other

Drive = Callable[[Config], Driver]
CHECK_MS = 1_000
OVER_MS = 2_000_000
SHORT = DelegationToken(
    token_id="short",  # noqa: S106  an id, which is no secret
    owner="User:alice",
    renewers=frozenset(),
    issued_ms=1_000_000,
    expires_ms=OVER_MS,
    max_ms=9_000_000,
)
LONG = structs.replace(SHORT, token_id="long", expires_ms=8_000_000)  # noqa: S106  as above
PATH = token_entity(SHORT.token_id).path


def node(drive: Drive, rules: Rules = level_5.RULES, controller_id: int = 1) -> Driver:
    """Broker 1 has read two tokens; the other broker is controller, unless it is itself."""
    driver = drive(Config(broker_id=BrokerId(1), rules=rules, token_check_ms=CHECK_MS))
    if controller_id != 1:
        elect_other(driver, controller_id)
    made = {token_entity(one.token_id).path: entries_of(one) for one in (SHORT, LONG)}
    changes = document_bytes(ConfigChangesDocument(changes=[[*made]]))
    folders = *folders_above(PATH), *folders_above(CONFIG_CHANGES)
    driver.write(
        *(Create(path=path, data=b"") for path in folders),
        *(Create(path=path, data=config_bytes(entries)) for path, entries in made.items()),
        Create(path=CONFIG_CHANGES, data=changes),
    )
    driver.start()
    driver.node.configs.begin()
    driver.tick()
    return driver


def known(driver: Driver) -> list[str]:
    """The ids of the tokens that the node knows."""
    return [one.token_id for one in stored_tokens(driver.node.configs)]


def test_the_controller_removes_what_is_over_and_tells_when(drive: Drive) -> None:
    driver = node(drive)
    driver.tick(CHECK_MS, OVER_MS - 1)
    before = known(driver)
    driver.tick(CHECK_MS, OVER_MS)

    (line,) = driver.took(Action.APPLY_MUTATION)
    assert (before, known(driver)) == (["long", "short"], ["long"])
    assert driver.zookeeper.peek(PATH).stat is None
    assert (line.path, line.values, line.clock_ms) == (PATH, (), OVER_MS)
    assert (line.principal, line.forwarded_request) == ("User:broker-1", None)


def test_it_looks_once_in_a_while(drive: Drive) -> None:
    driver = node(drive)
    driver.tick(CHECK_MS, OVER_MS - 1)
    driver.tick(CHECK_MS - 1, OVER_MS)
    early = known(driver)
    driver.tick(1, OVER_MS)

    assert (early, known(driver)) == (["long", "short"], ["long"])


def test_all_that_are_over_go_one_after_the_other(drive: Drive) -> None:
    driver = node(drive)
    driver.tick(CHECK_MS, LONG.max_ms)

    assert known(driver) == []
    assert len(driver.took(Action.APPLY_MUTATION)) == 2


def test_a_new_controller_looks_at_once(drive: Drive) -> None:
    driver = node(drive)
    driver.tick(CHECK_MS, OVER_MS - 1)
    driver.lose_session()
    driver.start()
    driver.tick(0, OVER_MS)

    assert known(driver) == ["long"]


def test_one_that_was_renewed_meanwhile_stays(drive: Drive) -> None:
    driver = node(drive)
    renewed = config_bytes(entries_of(structs.replace(SHORT, expires_ms=OVER_MS + 1)))
    driver.write(SetData(path=PATH, data=renewed, expected_version=ANY_VERSION))
    driver.tick(CHECK_MS, OVER_MS)

    assert driver.zookeeper.peek(PATH).data == renewed
    assert driver.took(Action.APPLY_MUTATION) == []


@pytest.mark.parametrize("wall_ms", [0, SHORT.issued_ms - 1])
def test_a_clock_that_is_slow_or_not_told_ends_nothing(drive: Drive, wall_ms: int) -> None:
    driver = node(drive)
    driver.tick(CHECK_MS, wall_ms)

    assert known(driver) == ["long", "short"]


@pytest.mark.parametrize(("rules", "controller_id"), [(level_5.RULES, 3), (level_4.RULES, 1)])
def test_no_other_broker_and_none_below_level_5_removes_any(
    drive: Drive, rules: Rules, controller_id: int
) -> None:
    driver = node(drive, rules, controller_id)
    driver.tick(CHECK_MS, OVER_MS)

    assert known(driver) == ["long", "short"]
    assert driver.took(Action.APPLY_MUTATION) == []
