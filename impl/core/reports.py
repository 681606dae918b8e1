"""What a broker reports to the controller, as values like those of `messages.py`."""

from dataclasses import dataclass

from spec.vocabulary import (
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
)
from spec.znodes import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionId:
    """A partition by its name."""

    topic: str
    partition: int

    @property
    def key(self) -> TopicPartition:
        """The same, as the core has it."""
        return TopicPartition(self.topic, self.partition)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsFailedRequest:
    """A broker tells the controller which of its replicas are offline (KIP-589)."""

    broker_id: BrokerId
    broker_epoch: BrokerEpoch
    """Of the registration under which it says so: another start may find the logs well."""
    partitions: tuple[PartitionId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsFailedResponse:
    """`NONE` when the controller of this epoch has taken it in."""

    error_code: ErrorCode = ErrorCode.NONE
    controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
