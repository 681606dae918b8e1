"""What a mutant of an upgrade does to one broker: the observations of the kill table."""

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.broker_reports import IsrChangedRequest
from fencepost.impl.core.types.messages import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LiveEndpoint,
    MetadataRequest,
    MetadataResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from fencepost.impl.mutants.mutants import mutant_name, version_rules
from fencepost.spec.vocabulary import (
    BrokerEpoch,
    BrokerId,
    BrokerVersion,
    ControllerEpoch,
    ErrorCode,
)
from tests.impl.core.driver import Driver
from tests.impl.core.roles import leading, started

SOON = BrokerEpoch(1 << 40)
"""No smaller than any epoch here."""
LAG_MS = 2_100


def _driver(mutant: str | None, code: int, protocol: int) -> Driver:
    name = mutant_name(mutant) if mutant else None
    rules = version_rules(BrokerVersion(code, protocol), name)
    return Driver(Config(broker_id=BrokerId(1), rules=rules))


def _order(epoch: int, largest: BrokerEpoch) -> LeaderAndIsrRequest:
    return LeaderAndIsrRequest(
        controller_id=BrokerId(3),
        controller_epoch=ControllerEpoch(epoch),
        partitions=(),
        max_broker_epoch=largest,
    )


def _tell(driver: Driver) -> None:
    """The controller of epoch 1 tells all metadata: brokers 1 and 3, and no partition."""
    live = (BrokerId(1), BrokerId(3))
    request = UpdateMetadataRequest(
        controller_id=BrokerId(3),
        controller_epoch=ControllerEpoch(1),
        max_broker_epoch=SOON,
        metadata_version=1,
        is_full=True,
        brokers=tuple(
            LiveEndpoint(broker_id=one, host="h", port=one, broker_epoch=SOON) for one in live
        ),
        partitions=(),
    )
    assert driver.deliver(request, UpdateMetadataResponse).error_code is ErrorCode.NONE


def answer_to_a_stale_command(mutant: str | None) -> ErrorCode:
    """It names the largest epoch that its sender knew, and that is an earlier start."""
    driver = started(_driver(mutant, 4, 4))
    return driver.deliver(_order(1, BrokerEpoch(1)), LeaderAndIsrResponse).error_code


def host_of_the_controller(mutant: str | None) -> str:
    """As a client hears it under a second controller that tells nothing; ZooKeeper has another."""
    driver = started(_driver(mutant, 4, 4))
    _tell(driver)
    driver.deliver(_order(2, SOON), LeaderAndIsrResponse)
    brokers = driver.deliver(MetadataRequest(), MetadataResponse).brokers
    return next(one.host for one in brokers if one.broker_id == 3)


def isrs_that_are_reported(mutant: str | None) -> int:
    """A leader of level 3 drops who does not fetch; its controller tells metadata."""
    driver = leading(_driver(mutant, 4, 3))
    _tell(driver)
    for _ in range(3):
        driver.tick(LAG_MS)
    return sum(isinstance(send.request, IsrChangedRequest) for send in driver.sent)


CASES = [
    (
        "accept_missing_epoch",
        answer_to_a_stale_command,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.NONE,
    ),
    ("tell_what_predecessor_told", host_of_the_controller, "127.0.0.1", "h"),
    ("report_to_own_level_only", isrs_that_are_reported, 1, 0),
]
