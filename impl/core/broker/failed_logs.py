"""How the controller hears of a log that failed: the broker tells it until it has taken it in.

A controller learns the same from the answer to a command; this is for logs that fail afterwards.
KIP-589 does it so for KIP-112's failed log directories.
"""

from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.types.broker_reports import (
    LogsFailedRequest,
    LogsFailedResponse,
    PartitionId,
)
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import NO_BROKER, BrokerEpoch, BrokerId, ControllerEpoch, ErrorCode
from fencepost.spec.znodes import TopicPartition


class FailedLogs:
    """The failed logs of a broker that no controller knows of yet."""

    def __init__(self, config: Config, outbox: Outbox, replicas: Replicas) -> None:
        self._config = config
        self._outbox = outbox
        self._replicas = replicas
        self._untold: set[TopicPartition] = set()
        self._is_asked = False
        self._next_ms = 0

    def add(self, key: TopicPartition) -> None:
        """Report the failed log to the controller."""
        self._untold.add(key)

    def tick(self, controller_id: BrokerId, broker_epoch: BrokerEpoch) -> None:
        """Report all of them in one request at a time, while a controller is known."""
        is_waiting = self._is_asked or self._outbox.now_ms < self._next_ms
        if is_waiting or controller_id == NO_BROKER:
            return
        self._untold = {key for key in self._untold if self._is_told(key)}
        if not self._untold:
            return
        request = LogsFailedRequest(
            broker_id=self._config.broker_id,
            broker_epoch=broker_epoch,
            partitions=tuple(
                PartitionId(topic=key.topic, partition=key.partition)
                for key in sorted(self._untold)
            ),
        )
        timeout_ms = self._config.request_timeout_ms
        self._outbox.send(controller_id, request, timeout_ms)
        self._is_asked = True

    def _is_told(self, key: TopicPartition) -> bool:
        replica = self._replicas.get(key)
        return replica is not None and self._config.rules.tells_failure(replica)

    def on_answer(
        self,
        request: LogsFailedRequest,
        response: LogsFailedResponse,
        controller_epoch: ControllerEpoch,
    ) -> None:
        """What a controller took in need not be told again.

        Not when it is older than one that was obeyed, of `controller_epoch`: that one
        may have been answered before the log failed, and the older one decides nothing any more.
        """
        is_current = response.controller_epoch >= controller_epoch
        if response.error_code is ErrorCode.NONE and is_current:
            self._untold -= {one.key for one in request.partitions}
        self.on_failure()

    def on_failure(self) -> None:
        """Report again after a pause, if anything is left."""
        self._is_asked = False
        self._next_ms = self._outbox.now_ms + self._config.retry_ms
