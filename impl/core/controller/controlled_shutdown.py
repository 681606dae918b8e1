"""How a broker leaves: others lead what it led before its session is closed (BEP-005).

It asks the controller until nothing remains that another could lead, or the time for that is
over. Its request names its registration: a late copy does nothing to the next start. From its first
request on it does not fetch where it is told that it has left the ISR: it stays out (KIP-841).
"""

from fencepost.impl.core.broker.broker import Broker
from fencepost.impl.core.config import Config
from fencepost.impl.core.types.broker_reports import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from fencepost.impl.core.types.effects import ShutDown
from fencepost.impl.core.types.node_session import NodeSession
from fencepost.impl.core.types.scripts import Outbox
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, ErrorCode
from fencepost.spec.znodes import TopicPartition


class ControlledShutdown:
    """Whether this broker is to end, and what it has to wait for."""

    def __init__(
        self, config: Config, outbox: Outbox, session: NodeSession, broker: Broker
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._session = session
        self._broker = broker
        self._until_ms: int | None = None
        """None while nothing was asked of this broker."""
        self._is_asked = False
        self._next_ms = 0
        self._remaining: tuple[TopicPartition, ...] = ()
        self._is_over = False

    def begin(self) -> None:
        """The broker ends as soon as it may; asked again, at once."""
        if self._until_ms is not None or not self._can_ask():
            self._end()
            return
        self._until_ms = self._outbox.now_ms + self._config.controlled_shutdown_ms

    def _can_ask(self) -> bool:
        return self._config.rules.has_controlled_shutdown and self._session.is_registered

    def tick(self, controller_id: BrokerId) -> None:
        """Ask the controller again, or end."""
        now_ms = self._outbox.now_ms
        if self._until_ms is None or self._is_over:
            return
        if self._until_ms <= now_ms or not self._can_ask():
            self._end()
        elif not self._is_asked and self._next_ms <= now_ms and controller_id != NO_BROKER:
            request = ControlledShutdownRequest(
                broker_id=self._config.broker_id, broker_epoch=self._broker.broker_epoch
            )
            self._outbox.send(controller_id, request, self._config.request_timeout_ms)
            self._is_asked = True
            self._broker.fetcher.begin_ending()

    def on_answer(self, response: ControlledShutdownResponse) -> None:
        """End when nothing remains; ask again later otherwise."""
        self.on_failure()
        if response.error_code is ErrorCode.NONE:
            self._remaining = tuple(one.key for one in response.remaining_partitions)
            if not self._remaining:
                self._end()

    def on_failure(self) -> None:
        """Ask again after a pause."""
        self._is_asked = False
        self._next_ms = self._config.retry_at_ms(self._outbox.now_ms)

    def _end(self) -> None:
        if not self._is_over:
            self._is_over = True
            self._outbox.emit(ShutDown(remaining_partitions=self._remaining))
