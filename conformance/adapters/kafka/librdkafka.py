"""Clients as users run them: librdkafka, of the package `confluent-kafka`, as `Transport`.

It finds leaders, sends again and reads ahead by itself, so an answer says less than one of the
wire, and what it says is always true:

- A produce is `ok` when librdkafka reports an offset. Of an error it does not tell whether an
  earlier attempt was appended, so each is indefinite but one that no attempt can escape. Producers
  are idempotent: what is sent twice must be there once.
- A fetch is assigned to its offset anew, and tells records, not the broker or its high watermark.
- What it hides is asked by wire: metadata, administration, other acks, the end of a log. So is
  what it cannot do on a release without idempotent producers: a record that it sends again without
  them may be there twice.
"""

from collections.abc import Mapping, Sequence
from time import monotonic

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from fencepost.conformance.adapters.kafka.transport import KafkaConnection, KafkaTransport
from fencepost.conformance.adapters.kafka.wire import BrokerSocket
from fencepost.conformance.clients.transport import Caller
from fencepost.fault_injection.workload.commands import NO_ANSWER
from fencepost.fault_injection.workload.operations import (
    ACKS_ALL,
    Answer,
    Fetch,
    ListOffsets,
    Operation,
    Produce,
    no_answer,
)
from fencepost.spec.vocabulary import NO_EPOCH, ErrorCode, Outcome

MS = 1000
DELIVERY_S = 10.0
"""Within it a record is delivered, or given up."""
REPORT_S = 5.0
"""How much later librdkafka may report that."""
READ_S = 1.0
"""How long a read may take besides its wait for records."""
POLL_S = 0.1
END_S = 1.0
"""How long a producer may take to end."""
COMMON: Mapping[str, object] = {
    "log_level": 2,  # critical: to lose a broker is usual here
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 200,
}
"""It tries again soon, for faults are short here."""
PRODUCER: Mapping[str, object] = {
    **COMMON,
    "enable.idempotence": True,
    "linger.ms": 1,
    "delivery.timeout.ms": round(DELIVERY_S * MS),
}
CONSUMER: Mapping[str, object] = {
    **COMMON,
    "enable.auto.commit": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "fetch.wait.max.ms": 50,
    "fetch.error.backoff.ms": 20,
    "isolation.level": "read_uncommitted",
    "check.crcs": True,
}
INESCAPABLE = frozenset({KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.TOPIC_AUTHORIZATION_FAILED})
"""Errors of a record that none of the attempts to send it can have escaped."""
NO_OFFSET = "NO_OFFSET"
"""The records are acknowledged, and librdkafka does not know at which offsets."""

Report = tuple[KafkaError | None, int | None]
"""Of one record: why it was given up, or its offset."""


class LibrdkafkaTransport(KafkaTransport):
    """A librdkafka for each client of the harness; what it hides is asked by wire."""

    def __init__(self, *, can_produce: bool) -> None:
        """Without `can_produce`, records are sent by wire too."""
        super().__init__()
        self.can_produce = can_produce
        self._clients: dict[str, LibrdkafkaClient] = {}

    def connect(
        self, address: str, caller: Caller, broker_id: int | None = None, /
    ) -> "LibrdkafkaConnection":
        """The cluster in which a broker listens at `address`."""
        socket = self._socket(address, caller)
        return LibrdkafkaConnection(self, socket, caller, broker_id)

    def client_of(self, node: str, address: str) -> "LibrdkafkaClient":
        """The client's librdkafka, which begins with that address."""
        with self._lock:
            if node not in self._clients:
                self._clients[node] = LibrdkafkaClient(node, address)
            return self._clients[node]

    def note_failure(self, node: str, address: str) -> None:
        """Give the client another librdkafka when its own may know no address any more.

        So also when it can send nothing any more: a producer that lost track of its records.
        """
        with self._lock:
            client = self._clients.get(node)
            if client is None or (client.address == address and not client.is_broken):
                return
            del self._clients[node]
        client.close()

    def close(self) -> None:
        """End all clients."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()
        super().close()


class LibrdkafkaConnection(KafkaConnection):
    """The cluster as one client reaches it."""

    def __init__(
        self,
        transport: LibrdkafkaTransport,
        broker: BrokerSocket,
        caller: Caller,
        broker_id: int | None,
    ) -> None:
        super().__init__(transport, broker, caller, broker_id)
        self._clients = transport

    def perform(self, operation: Operation) -> Answer:
        """Let librdkafka do it, unless that hides what is asked for."""
        node, address = self._caller.node, self._broker.address
        client = self._clients.client_of(node, address)
        match operation:
            case Produce(acks=acks) if acks == ACKS_ALL and self._clients.can_produce:
                answer = client.produce(operation)
            case Fetch(leader_epoch=epoch) if epoch == NO_EPOCH:
                answer = client.fetch(operation)
            case ListOffsets():
                answer = client.list_offsets(operation)
            case _:
                return super().perform(operation)
        if not answer.is_ok:
            self._clients.note_failure(node, address)
        return answer


class LibrdkafkaClient:
    """Producers and a consumer of one client of the harness, used by one thread."""

    is_broken = False
    """A producer can send nothing any more."""

    def __init__(self, node: str, address: str) -> None:
        self.address = address
        self._usual = {"bootstrap.servers": address, "client.id": node}
        self._producers: dict[int, Producer] = {}
        self._consumer: Consumer | None = None

    def produce(self, operation: Produce) -> Answer:
        """Append the records, each as often as librdkafka sends it."""
        topic, number = operation.partition
        producer, reports = self._producer(operation.timeout_ms), list[Report]()

        def report(error: KafkaError | None, message: Message) -> None:
            reports.append((error, message.offset()))

        for value in operation.values:
            try:
                producer.produce(topic, value.encode(), partition=number, on_delivery=report)
            except KafkaException as error:  # it does not even try
                reports.append((error.args[0], None))
        deadline = monotonic() + DELIVERY_S + REPORT_S
        while len(reports) < len(operation.values) and monotonic() < deadline:
            producer.poll(POLL_S)
        self.is_broken |= any(error is not None and error.fatal() for error, _ in reports)
        return produced(operation, reports)

    def fetch(self, operation: Fetch) -> Answer:
        """Read from the offset to the end, or as many records as are there and wanted."""
        (topic, number), offset = operation.partition, operation.offset
        consumer = self._assigned()
        consumer.assign([TopicPartition(topic, number, offset)])
        deadline = monotonic() + operation.max_wait_ms / MS + READ_S
        read: list[Message] = []
        error: KafkaError | None = None
        while error is None and len(read) < operation.max_records:
            message = consumer.poll(0 if read else max(0.0, deadline - monotonic()))
            if message is None:
                break
            error = message.error()
            if error is None:
                read.append(message)
        if read or (error is not None and error.code() == KafkaError._PARTITION_EOF):
            return fetched(read)
        return refused(operation, error)

    def list_offsets(self, operation: ListOffsets) -> Answer:
        """Ask the leader for its high watermark."""
        topic, number = operation.partition
        try:
            found = self._assigned().get_watermark_offsets(TopicPartition(topic, number), READ_S)
        except KafkaException as error:
            return refused(operation, error.args[0])
        if found is None:
            return refused(operation, None)
        return Answer(outcome=Outcome.OK, high_watermark=found[1])

    def close(self) -> None:
        """Give up what is under way, and end."""
        for producer in self._producers.values():
            producer.purge()
            producer.flush(END_S)
        if self._consumer is not None:
            self._consumer.close()

    def _producer(self, timeout_ms: int) -> Producer:
        if timeout_ms not in self._producers:
            told = {**self._usual, **PRODUCER, "request.timeout.ms": timeout_ms}
            self._producers[timeout_ms] = Producer(told)
        return self._producers[timeout_ms]

    def _assigned(self) -> Consumer:
        """A consumer with a group's name, as it must have, which never joins the group."""
        if self._consumer is None:
            told = {**self._usual, **CONSUMER, "group.id": f"fencepost-{self._usual['client.id']}"}
            self._consumer = Consumer(told)
        return self._consumer


def produced(operation: Produce, reports: Sequence[Report]) -> Answer:
    """What is known by the reports, of which some may be missing."""
    errors = [error for error, _ in reports if error is not None]
    inescapable = [error for error in errors if error.code() in INESCAPABLE]
    if len(inescapable) == len(operation.values):
        return refused(operation, inescapable[0])
    if errors or len(reports) < len(operation.values):
        return no_answer(operation.action, errors[0].name() if errors else NO_ANSWER)
    offsets = [-1 if offset is None else offset for _, offset in reports]
    if offsets[0] < 0 or offsets != list(range(offsets[0], offsets[0] + len(offsets))):
        return no_answer(operation.action, NO_OFFSET)
    return Answer(outcome=Outcome.OK, offset=offsets[0])


def fetched(read: Sequence[Message]) -> Answer:
    """The records, with their leader epochs where the format has them."""
    values = ((message.value() or b"").decode(errors="backslashreplace") for message in read)
    epochs = [epoch for message in read if (epoch := message.leader_epoch()) is not None]
    return Answer(
        outcome=Outcome.OK,
        values=tuple(values),
        record_epochs=tuple(epochs) if len(epochs) == len(read) else (),
    )


def refused(operation: Operation, error: KafkaError | None) -> Answer:
    """It had no effect; without an error, nothing came in time."""
    name = NO_ANSWER if error is None else str(error.name())
    if isinstance(operation, Fetch) and operation.offset:
        # The policy `error` of `auto.offset.reset` says so of an offset that the log has not.
        reset = error is not None and error.code() == KafkaError._AUTO_OFFSET_RESET
        name = ErrorCode.OFFSET_OUT_OF_RANGE if reset else name
    return Answer(outcome=Outcome.DEFINITE_ERROR, error_code=name)
