"""Brokers that understand a higher level than they speak, between the passes of an upgrade."""

import pytest

from fencepost.impl.core.levels import LEVELS, rules_of_version
from fencepost.impl.core.rules.configuration.redirection import RedirectingNode, Redirection
from fencepost.impl.core.types.messages import LeaderAndIsrRequest
from fencepost.impl.core.types.request_header import RequestHeader
from fencepost.spec.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerVersion,
    ControllerEpoch,
    ProtocolLevel,
)

OWN = BrokerEpoch(10)
CONTROLLER = RedirectingNode(is_controller=True, knows_controller=False)
OTHER = RedirectingNode(is_controller=False, knows_controller=True)


def command(*, broker_epoch: int = 0, max_broker_epoch: int = 0) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(
        controller_id=BrokerId(3),
        controller_epoch=ControllerEpoch(1),
        partitions=(),
        broker_epoch=BrokerEpoch(broker_epoch),
        max_broker_epoch=BrokerEpoch(max_broker_epoch),
    )


def is_refused(version: BrokerVersion, request: LeaderAndIsrRequest) -> bool:
    rules = rules_of_version(version)
    return rules.is_stale_broker_epoch(OWN, rules.stamp_of(request))


@pytest.mark.parametrize("level", list(ProtocolLevel))
def test_without_an_upgrade_the_rules_are_those_of_the_level(level: ProtocolLevel) -> None:
    assert rules_of_version(BrokerVersion(level, level)) == LEVELS[level]


@pytest.mark.parametrize(
    ("code", "protocol", "expected"),
    [(2, 2, True), (0, 0, True), (3, 2, True), (5, 2, True), (2, 3, False), (2, 1, False)],
)
def test_code_speaks_what_it_understands_from_level_2_on(
    code: int, protocol: int, expected: bool
) -> None:
    assert BrokerVersion(code, protocol).is_possible is expected


@pytest.mark.parametrize(
    ("code", "by_own", "by_largest"),
    [(2, False, False), (3, True, False), (4, True, True), (5, True, True)],
)
def test_a_broker_refuses_what_is_stale_by_all_that_its_code_understands(
    code: int, by_own: bool, by_largest: bool
) -> None:
    version = BrokerVersion(code, 2)

    assert is_refused(version, command(broker_epoch=9)) is by_own
    assert is_refused(version, command(max_broker_epoch=9)) is by_largest
    assert not is_refused(version, command(broker_epoch=10))
    assert not is_refused(version, command(max_broker_epoch=11))


@pytest.mark.parametrize("code", [3, 4, 5])
def test_what_it_says_is_of_the_level_that_it_speaks(code: int) -> None:
    rules, live = rules_of_version(BrokerVersion(code, 2)), {BrokerId(1): OWN}

    assert rules.stamp(OWN, live) == (0, 0)
    assert rules.named_broker_epoch(OWN) == 0
    assert not rules.tells_metadata
    assert not rules.has_controlled_shutdown
    assert rules.heard_broker_epoch(OWN) == OWN, "the line of a command tells what it named"


def test_a_leader_tells_a_controller_of_level_4_of_isrs_before_it_speaks_that_level() -> None:
    told = [rules_of_version(BrokerVersion(code, 2)).reports_isr for code in (2, 3, 4, 5)]

    assert told == [False, False, True, True]


@pytest.mark.parametrize(
    ("forwards", "node", "expected"),
    [
        (0, CONTROLLER, Redirection.HERE),
        (0, OTHER, Redirection.HERE),
        (1, CONTROLLER, Redirection.HERE),
        (1, OTHER, Redirection.NOT_CONTROLLER),
    ],
)
def test_what_is_forwarded_is_done_by_the_controller_alone(
    forwards: int, node: RedirectingNode, expected: Redirection
) -> None:
    """A broker of an older protocol makes the changes that clients ask it for (FWD-007)."""
    rules = rules_of_version(BrokerVersion(5, 4))

    assert rules.redirect(RequestHeader(forwards=forwards), node) is expected
