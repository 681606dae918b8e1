"""What a controller concludes from the brokers and topics that it reads (V3 A.1, B, D)."""

from collections.abc import Mapping, Sequence, Set as AbstractSet

from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.vocabulary import BrokerEpoch, BrokerId
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition


def reads_broker_change(_undecided: Mapping[TopicPartition, LeaderAndIsr]) -> bool:
    """Every notice of a change is followed by a reading, whatever else is under way (ZK-004)."""
    return True


def read_together(paths: Sequence[str]) -> Sequence[tuple[str, ...]]:
    """All at once; ZooKeeper does not promise that they are of one moment."""
    return (tuple(paths),)


def changed_brokers(
    before: Mapping[BrokerId, BrokerEpoch], after: Mapping[BrokerId, BrokerEpoch]
) -> frozenset[BrokerId]:
    """Brokers that came, went or came back: known by their registration (BEP-006, H2)."""
    return frozenset(
        broker_id
        for broker_id in before.keys() | after.keys()
        if before.get(broker_id) != after.get(broker_id)
    )


def topics_to_learn(_known: AbstractSet[str], znodes: Sequence[Znode]) -> Sequence[Znode]:
    """All topics that were read, known or not: each stands for itself (ZK-002, TOP-003)."""
    return znodes


def read_at_fail_over(keys: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    """A new controller reads all states before it decides or tells anything (CTL-010)."""
    return keys


def told_at_fail_over(keys: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
    """A new controller tells all states, also those that it found decided (CTL-012)."""
    return keys
