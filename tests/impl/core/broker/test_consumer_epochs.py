"""A consumer that names a leader epoch is served in that epoch and in no other (REPL-006)."""

import pytest
from msgspec import structs

from fencepost.impl.core.types.messages import FetchResponse
from fencepost.spec.vocabulary import ErrorCode, LeaderEpoch
from tests.impl.core.driver import Driver
from tests.impl.core.roles import consumer_fetch, leading


@pytest.mark.parametrize(
    ("epoch", "error"),
    [
        (-1, ErrorCode.NONE),
        (3, ErrorCode.FENCED_LEADER_EPOCH),
        (4, ErrorCode.NONE),
        (5, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_consumer_that_names_a_leader_epoch_is_fenced_by_it(
    driver: Driver, epoch: int, error: ErrorCode
) -> None:
    leading(driver, epoch=4)

    request = structs.replace(consumer_fetch(0), leader_epoch=LeaderEpoch(epoch))

    assert driver.deliver(request, FetchResponse).error_code is error
