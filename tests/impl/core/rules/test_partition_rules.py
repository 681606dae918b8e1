"""What administrators may ask for, as ZooKeeper was read."""

import pytest

from fencepost.impl.core.rules.controller.partition_rules import View, refuse_election
from fencepost.spec.vocabulary import (
    BrokerId,
    ControllerEpoch,
    ElectionKind,
    ErrorCode,
    LeaderEpoch,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicDocument, TopicPartition

KEY = TopicPartition("t", 0)


def view(*live: int) -> View:
    """Broker 2 of 2 and 3 leads, with both in the ISR."""
    state = LeaderAndIsr(
        leader=BrokerId(2),
        leader_epoch=LeaderEpoch(1),
        isr=frozenset({BrokerId(2), BrokerId(3)}),
        controller_epoch=ControllerEpoch(1),
    )
    return View(
        live=frozenset(map(BrokerId, live)),
        documents={"t": TopicDocument(partitions={"0": [2, 3]})},
        states={KEY: state},
    )


@pytest.mark.parametrize(
    ("kind", "live", "error"),
    [
        (ElectionKind.PREFERRED, (2, 3), ErrorCode.ELECTION_NOT_NEEDED),
        (ElectionKind.PREFERRED, (3,), ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE),
        (ElectionKind.UNCLEAN, (2, 3), ErrorCode.ELECTION_NOT_NEEDED),
        (ElectionKind.UNCLEAN, (4,), ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE),
        (ElectionKind.UNCLEAN, (3,), None),
    ],
)
def test_a_leader_that_is_dead_does_not_lead_already(
    kind: ElectionKind, live: tuple[int, ...], error: ErrorCode | None
) -> None:
    refusal = refuse_election(view(*live), kind, KEY)

    assert (refusal.error_code if refusal is not None else None) is error
