"""What a broker reports to the controller, as values like those of `messages.py`."""

from msgspec import Struct

from fencepost.spec.vocabulary import (
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
)
from fencepost.spec.znodes import TopicPartition


class PartitionId(Struct, frozen=True, kw_only=True):
    """A partition by its name."""

    topic: str
    partition: int

    @property
    def key(self) -> TopicPartition:
        """The same, as the core has it."""
        return TopicPartition(self.topic, self.partition)


class LogsFailedRequest(Struct, frozen=True, kw_only=True):
    """A broker tells the controller which of its replicas are offline (KIP-589)."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    """Of the registration under which it says so: another start may find the logs well."""
    partitions: tuple[PartitionId, ...]


class LogsFailedResponse(Struct, frozen=True, kw_only=True):
    """`NONE` when the controller of this epoch has taken it in."""

    error_code: ErrorCode = ErrorCode.NONE
    controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH


class IsrChangedRequest(Struct, frozen=True, kw_only=True):
    """A leader tells the controller which ISRs it has changed in ZooKeeper (level 4)."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    partitions: tuple[PartitionId, ...]


class IsrChangedResponse(Struct, frozen=True, kw_only=True):
    """`NONE` when the controller of this epoch will read their states anew."""

    error_code: ErrorCode = ErrorCode.NONE
    controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH


class ControlledShutdownRequest(Struct, frozen=True, kw_only=True):
    """A broker that is about to end asks the controller to let others lead (KIP-380)."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    """Of the registration that ends: a late copy must not move the leaders of the next start."""


class ControlledShutdownResponse(Struct, frozen=True, kw_only=True):
    """`NONE` when the controller lets others lead; which partitions the broker still leads."""

    error_code: ErrorCode = ErrorCode.NONE
    remaining_partitions: tuple[PartitionId, ...] = ()
    """Those that another live member of the ISR could lead."""
