"""A client of the implementation under test, which knows how certain each answer is.

An operation is written to the trace before its request leaves and again when its answer is there.
How requests travel is the transport's matter.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from typing import TypeVar

from msgspec import structs

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.clients.recorder import TraceWriter
from fencepost.conformance.clients.transport import (
    BrokerConnection,
    Caller,
    ClusterUnreachableError,
    RoutingView,
    Transport,
)
from fencepost.fault_injection.workload.config_operations import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    ConfigChange,
    asked_config,
)
from fencepost.fault_injection.workload.operations import (
    Answer,
    Fetch,
    Fields,
    ListOffsets,
    Operation,
    Produce,
    answered_fields,
    asked_fields,
)
from fencepost.spec.config_store import ConfigEntity
from fencepost.spec.trace import Kind, LamportClock
from fencepost.spec.vocabulary import ErrorCode, Outcome
from fencepost.spec.znodes import TopicPartition

NO_LEADER = ErrorCode.BROKER_NOT_AVAILABLE
"""The client's own error code when the routing view names no leader: nothing was sent."""

Granted = TypeVar("Granted")
"""What an administrative request is answered."""


class ClientCrashedError(Exception):
    """The client has ended between a request and its answer; says which."""


class RoutedClient:
    """One client: operations one after the other, routed by the published state.

    `bootstrap` gives addresses of brokers at any time; without a `recorder` nothing is traced.
    A value names the request that wrote it: of those in `sent`, which clients may share, none is
    sent again.
    """

    is_dying = False
    """From now on the next answer is the end of the client, and is not in its trace."""

    def __init__(
        self,
        bootstrap: Callable[[], Sequence[str]],
        *,
        transport: Transport,
        recorder: TraceWriter | None = None,
        node: str = "client",
        sent: set[str] | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._transport = transport
        self._recorder = recorder
        self._caller = Caller(
            node=recorder.node if recorder else node,
            clock=recorder.clock if recorder else LamportClock(),
        )
        self._sent = sent
        self._op_ids = count(1)
        self.routing_view = RoutingView()

    def refresh(self) -> RoutingView:
        """The routing view of the first broker that answers; raises `ClusterUnreachableError`."""
        addresses = sorted({*self.routing_view.addresses.values(), *self._bootstrap()})
        for address in addresses:
            with suppress(ClusterUnreachableError):
                self.routing_view = self._transport.connect(address, self._caller).routing_view()
                return self.routing_view
        raise ClusterUnreachableError(
            f"no broker answers at {', '.join(addresses) or 'any address'}; is the cluster up?"
        )

    def produce(
        self,
        partition: TopicPartition,
        values: Sequence[str],
        *,
        acks: int = -1,
        timeout_ms: int = 1000,
    ) -> Answer:
        """Append `values`; `ok` with acks -1 means that they are committed at `offset`."""
        operation = Produce(
            partition=partition, values=tuple(values), acks=acks, timeout_ms=timeout_ms
        )
        return self.perform(operation)

    def fetch(
        self,
        partition: TopicPartition,
        offset: int,
        *,
        max_records: int = 100,
        max_wait_ms: int = 100,
    ) -> Answer:
        """Read from `offset` on, only committed records (CLI-001)."""
        operation = Fetch(
            partition=partition, offset=offset, max_records=max_records, max_wait_ms=max_wait_ms
        )
        return self.perform(operation)

    def list_offsets(self, partition: TopicPartition) -> Answer:
        """The leader's high watermark and log end offset."""
        return self.perform(ListOffsets(partition=partition))

    def perform(
        self,
        operation: Operation,
        broker_id: int | None = None,
        again: Callable[[Answer], bool] = lambda _: False,
    ) -> Answer:
        """Trace the operation, ask the leader or that broker, and trace the answer.

        `again` says of an answer whether to send the request once more, which the broker must
        recognise; the answer to the last try counts, and an earlier one may have taken effect.
        Raises `ChoiceError` for a value that was sent before, and `ClientCrashedError`.
        """
        if isinstance(operation, Produce):
            self._require_new(operation.values)
        asked, recorder = self._asked(operation.partition, broker_id), self._recorder
        fields: Fields = {"op_id": next(self._op_ids), **asked_fields(operation)}
        if recorder:
            invoked = recorder.write(Kind.INVOKE, operation.action, **fields)
            fields["inv_ns"] = invoked.mono_ns
        answer = self._send(operation, asked)
        may_be_there = False
        while again(answer):
            may_be_there |= answer.outcome is Outcome.INDEFINITE
            self.forget(operation.partition)
            answer = self._send(operation, self._asked(operation.partition, broker_id))
        if may_be_there and not answer.is_ok:
            answer = structs.replace(answer, outcome=Outcome.INDEFINITE)
        if self.is_dying:
            raise ClientCrashedError(self._caller.node)
        if recorder:
            fields |= answered_fields(operation.action, answer)
            recorder.write(Kind.COMPLETE, operation.action, **fields)
        if not answer.is_ok:
            self.forget(operation.partition)
        return answer

    def _send(self, operation: Operation, asked: tuple[int, str] | None) -> Answer:
        """Also what cannot be sent is traced: without a leader it must show that it was wanted."""
        if asked is None:
            return Answer(outcome=Outcome.DEFINITE_ERROR, error_code=NO_LEADER)
        number, address = asked
        return self._transport.connect(address, self._caller, number).perform(operation)

    def change_config(self, broker_id: int, change: ConfigChange) -> Fields:
        """Ask a broker of the routing view for the change; what the trace tells of the answer.

        Raises `RequestUnknownError` where brokers do not offer it.
        """
        broker = self._broker(broker_id)
        asked = asked_config(change.entity, change.entries)
        return self._configure(ALTER_CONFIGS, asked, lambda: broker.change_config(change))

    def describe_config(self, broker_id: int, entity: ConfigEntity) -> Fields:
        """Ask a broker of the routing view what it has read; raises as `change_config`."""
        broker, asked = self._broker(broker_id), asked_config(entity, {})
        return self._configure(DESCRIBE_CONFIGS, asked, lambda: broker.describe_config(entity))

    def _broker(self, broker_id: int) -> BrokerConnection:
        address = self.routing_view.addresses[broker_id]
        return self._transport.connect(address, self._caller, broker_id)

    def _configure(self, action: str, asked: Fields, ask: Callable[[], Fields]) -> Fields:
        fields: Fields = {"op_id": next(self._op_ids), **asked}
        if self._recorder:
            invoked = self._recorder.write(Kind.INVOKE, action, **fields)
            fields["inv_ns"] = invoked.mono_ns
        told = ask()
        if self._recorder:
            self._recorder.write(Kind.COMPLETE, action, **{**fields, **told})
        return told

    def forget(self, partition: TopicPartition) -> None:
        """The next operation on the partition reads the routing view again."""
        self.routing_view.partitions.pop(partition, None)

    def ask(self, request: Callable[[BrokerConnection], Granted]) -> Granted:
        """The answer of the broker that gave the routing view, or of the first that answers.

        Raises `ClusterUnreachableError`.
        """
        view = self.routing_view if self.routing_view.addresses else self.refresh()
        address = view.addresses.get(view.broker_id, "")
        try:
            return request(self._transport.connect(address, self._caller))
        except ClusterUnreachableError:
            self.routing_view = RoutingView()  # perhaps another broker answers next time
            raise ClusterUnreachableError(f"broker {view.broker_id} gave no answer") from None

    def _require_new(self, values: Sequence[str]) -> None:
        if self._sent is None:
            return
        for value in values:
            if value in self._sent:
                raise ChoiceError(f"the value {value!r} was sent before; give each request its own")
            self._sent.add(value)

    def _asked(self, partition: TopicPartition, broker_id: int | None) -> tuple[int, str] | None:
        """The broker that is named, or the leader, and its address; None while it is unknown."""
        if broker_id is None:
            return self._leader(partition)
        with suppress(ClusterUnreachableError):
            self.refresh()  # it may have started anew, at another address
        address = self.routing_view.addresses.get(broker_id)
        return None if address is None else (broker_id, address)

    def _leader(self, partition: TopicPartition) -> tuple[int, str] | None:
        if partition not in self.routing_view.partitions:
            with suppress(ClusterUnreachableError):
                self.refresh()
        view = self.routing_view.partitions.get(partition)
        address = self.routing_view.addresses.get(view.leader) if view else None
        if view is None or address is None:
            self.forget(partition)
            return None
        return view.leader, address
