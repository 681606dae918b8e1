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
