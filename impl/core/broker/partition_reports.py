"""What a broker tells the controller of its partitions, until the controller has taken it in.

Logs that failed, when no command is there to answer (KIP-589 does it so for KIP-112's failed log
directories); and ISRs that a leader has changed, which the controller tells to all (level 4; Kafka
writes a znode instead).
"""

from collections.abc import Callable

from fencepost.impl.core.config import Config
from fencepost.impl.core.types.broker_reports import (
    IsrChangedRequest,
    IsrChangedResponse,
    LogsFailedRequest,
    LogsFailedResponse,
    PartitionId,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import NO_BROKER, BrokerEpoch, BrokerId, ControllerEpoch, ErrorCode
from fencepost.spec.znodes import TopicPartition


class PartitionReports:
    """The partitions with something that no controller knows of yet."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        kind: type[LogsFailedRequest | IsrChangedRequest],
        is_told: Callable[[TopicPartition], bool],
    ) -> None:
        """`is_told` says of a partition whether there is still something to report."""
        self._config = config
        self._outbox = outbox
        self._kind = kind
        self._is_told = is_told
        self._untold: set[TopicPartition] = set()
        self._untold_since: set[TopicPartition] = set()
        """The part of them that was added after the request that is out."""
        self._is_asked = False
        self._next_ms = 0

    def add(self, key: TopicPartition) -> None:
        """Report the partition to the controller."""
        self._untold.add(key)
        self._untold_since.add(key)

    def tick(self, controller_id: BrokerId, broker_epoch: BrokerEpoch) -> None:
        """Report all of them in one request at a time, while a controller is known."""
        is_waiting = self._is_asked or self._outbox.now_ms < self._next_ms
        if not self._untold or is_waiting or controller_id == NO_BROKER:
            return
        self._untold = {key for key in self._untold if self._is_told(key)}
        if not self._untold:
            return
        request = self._kind(
            broker_id=self._config.broker_id,
            broker_epoch=broker_epoch,
            partitions=tuple(
                PartitionId(topic=key.topic, partition=key.partition)
                for key in sorted(self._untold)
            ),
        )
        self._untold_since.clear()
        timeout_ms = self._config.request_timeout_ms
        self._outbox.send(controller_id, request, timeout_ms)
        self._is_asked = True

    def on_answer(
        self,
        request: LogsFailedRequest | IsrChangedRequest,
        response: LogsFailedResponse | IsrChangedResponse,
        controller_epoch: ControllerEpoch,
    ) -> None:
        """What a controller took in need not be told again, unless it was added again since.

        Not when it is older than one that was obeyed, of `controller_epoch`: that one
        may have been answered before the log failed, and the older one decides nothing any more.
        """
        is_current = response.controller_epoch >= controller_epoch
        if response.error_code is ErrorCode.NONE and is_current:
            self._untold -= {one.key for one in request.partitions} - self._untold_since
        self.on_failure()

    def on_failure(self) -> None:
        """Report again after a pause, if anything is left."""
        self._is_asked = False
        self._next_ms = self._config.retry_at_ms(self._outbox.now_ms)
