"""Producers: records in batches per partition.

Each partition has a sender with one batch in flight, or a few; records that arrive meanwhile go
into the next batch. An idempotent sender gives a retry the sequence of the first try, so that the
broker finds the duplicate (KIP-98). A batch that overtook another one is refused, and comes again
when that one is over. After a failed batch the sender uses the next producer epoch, from sequence
0, so that late requests of the old epoch are refused.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from fencepost.impl.client.cluster_connection import ClusterConnection
from fencepost.impl.client.errors import ClientError, DefiniteError
from fencepost.impl.client.options import ClientOptions
from fencepost.impl.client.tries import Effect
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import MESSAGE_BYTES_MAX
from fencepost.spec.znodes import TopicPartition

ACKS_ALL = -1
BATCH_RECORDS_MAX = 100
"""Most records of a batch of several `send` calls; the records of one call stay together."""
RECORD_BYTES_MAX = MESSAGE_BYTES_MAX // 2
"""Most bytes of a record, and of all records of a batch: it fits a message with its frame."""
HELD = 0.8
"""Share of the request timeout for which the leader may wait for the commit."""
IN_FLIGHT_MAX = 5
"""A broker recognises so many of the last batches of a producer."""
OVERTAKEN = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER})
"""How a batch is refused that arrives before the one that it follows."""
PRODUCER_EPOCH_MAX = 2**15 - 1
SEQUENCE_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordMetadata:
    """The place of the records of one `send`; their offsets are `offset` and on."""

    topic: str
    partition: int
    offset: int
    """With acks 0 or 1 the next leader may not have the records."""
    leader_epoch: int
    broker_id: int


@dataclass(frozen=True, slots=True)
class ProducerIdentity:
    """Producer id, epoch and sequence of the next batch (KIP-98)."""

    producer_id: int
    producer_epoch: int = 0
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class PendingSend:
    """Records of one `send`, their size in bytes, deadline (monotonic seconds), and its future."""

    values: tuple[str, ...]
    size: int
    deadline: float
    done: "asyncio.Future[RecordMetadata]"


@dataclass(frozen=True, slots=True, eq=False)
class NumberedBatch:
    """A batch of an idempotent sender that was sent, with its numbers."""

    identity: ProducerIdentity
    earlier: "tuple[NumberedBatch, ...]"
    """Those that were not answered when it was numbered."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """It is acknowledged or given up."""

    @property
    def is_due(self) -> bool:
        """True when none before it is open any more."""
        return all(one.over.is_set() for one in self.earlier)


class PartitionSender:
    """The records of one partition, sent in the order of the calls to `put`."""

    def __init__(
        self,
        cluster: ClusterConnection,
        partition: TopicPartition,
        *,
        acks: int,
        idempotent: bool,
        in_flight: int = 1,
    ) -> None:
        self._cluster = cluster
        self._partition = partition
        self._acks = acks
        self._idempotent = idempotent
        self._in_flight = in_flight
        self._identity: ProducerIdentity | None = None
        """Of the batch that comes next."""
        self._numbering = asyncio.Lock()
        self._open: list[NumberedBatch] = []
        self._waiting: list[PendingSend] = []
        self._workers: set[asyncio.Task[None]] = set()

    def put(self, values: tuple[str, ...], size: int) -> "asyncio.Future[RecordMetadata]":
        """Queue records of `size` bytes; they are sent when few enough batches are in flight."""
        done = asyncio.get_running_loop().create_future()
        deadline = self._cluster.deadline(self._cluster.options.delivery_timeout_ms)
        self._waiting.append(PendingSend(values, size, deadline, done))
        self._begin()
        return done

    async def flush(self) -> None:
        """Wait until all queued records are delivered or have failed."""
        while self._workers:
            await asyncio.wait(self._workers)

    def _begin(self) -> None:
        if self._waiting and len(self._workers) < self._in_flight:
            worker = asyncio.create_task(self._deliver())
            self._workers.add(worker)
            worker.add_done_callback(self._end)

    def _end(self, worker: "asyncio.Task[None]") -> None:
        self._workers.discard(worker)
        if not worker.cancelled():
            worker.result()
        self._begin()

    async def _deliver(self) -> None:
        """One batch of what waits by now."""
        if not self._waiting:
            return
        batch = self._take_batch()
        try:
            found = await self._send(batch)
        except ClientError as error:
            for waiting in batch:
                if not waiting.done.done():
                    waiting.done.set_exception(error)
            return
        base_offset = found.offset
        for waiting in batch:
            if not waiting.done.done():
                waiting.done.set_result(replace(found, offset=base_offset))
            base_offset += len(waiting.values)

    def _take_batch(self) -> list[PendingSend]:
        taken = [self._waiting.pop(0)]
        size, length = taken[0].size, len(taken[0].values)
        while self._waiting:
            size += self._waiting[0].size
            length += len(self._waiting[0].values)
            if size > RECORD_BYTES_MAX or length > BATCH_RECORDS_MAX:
                break
            taken.append(self._waiting.pop(0))
        return taken

    async def _send(self, batch: Sequence[PendingSend]) -> RecordMetadata:
        values = [value for waiting in batch for value in waiting.values]
        deadline = batch[0].deadline
        request = wire.ProduceRequest(
            topic=self._partition.topic,
            partition=self._partition.partition,
            acks=self._acks,
            values=values,
            timeout_ms=round(self._cluster.options.request_timeout_ms * HELD),
        )
        if self._idempotent:
            response = await self._send_numbered(request, deadline)
        else:
            response = await self._ask(request, deadline, Effect.ONCE)
        return RecordMetadata(
            topic=self._partition.topic,
            partition=self._partition.partition,
            offset=response.base_offset,
            leader_epoch=response.leader_epoch,
            broker_id=response.broker_id,
        )

    async def _ask(
        self, request: wire.ProduceRequest, deadline: float, effect: Effect
    ) -> wire.ProduceResponse:
        response = await self._cluster.ask_leader(
            self._partition, "Produce", request, deadline=deadline, effect=effect
        )
        assert isinstance(response, wire.ProduceResponse)
        return response

    async def _send_numbered(
        self, request: wire.ProduceRequest, deadline: float
    ) -> wire.ProduceResponse:
        """The answer to a batch under the next numbers; one that overtook another comes again."""
        async with self._numbering:
            batch = await self._number(len(request.values), deadline)
        identity = batch.identity
        request.producer_id = identity.producer_id
        request.producer_epoch = identity.producer_epoch
        request.base_sequence = identity.sequence
        try:
            while True:
                was_due = batch.is_due
                try:
                    return await self._ask(request, deadline, Effect.IDEMPOTENT)
                except ClientError as error:
                    if was_due or error.error_code not in OVERTAKEN:
                        raise
                for one in batch.earlier:
                    await one.over.wait()
        except ClientError:
            self._give_up(identity)
            raise
        finally:
            self._open.remove(batch)
            batch.over.set()

    async def _number(self, records: int, deadline: float) -> NumberedBatch:
        """A batch of so many records, with the numbers that come next."""
        if self._identity and self._identity.sequence + records > SEQUENCE_MAX:
            self._identity = _next_epoch(self._identity)
        if self._identity is None:
            response = await self._cluster.ask_any(
                "InitProducerId",
                wire.InitProducerIdRequest(),
                deadline=deadline,
                effect=Effect.NONE,
            )
            self._identity = ProducerIdentity(response.producer_id, response.producer_epoch)
        batch = NumberedBatch(self._identity, tuple(self._open))
        self._open.append(batch)
        self._identity = replace(self._identity, sequence=self._identity.sequence + records)
        return batch

    def _give_up(self, failed: ProducerIdentity) -> None:
        """Go on under the next epoch, unless a batch before this one has made it so."""
        now = self._identity
        ids = (failed.producer_id, failed.producer_epoch)
        if now is not None and (now.producer_id, now.producer_epoch) == ids:
            self._identity = _next_epoch(now)


def _next_epoch(identity: ProducerIdentity) -> ProducerIdentity | None:
    """The next producer epoch at sequence 0; None when a new producer id is needed."""
    if identity.producer_epoch >= PRODUCER_EPOCH_MAX:
        return None
    return ProducerIdentity(identity.producer_id, identity.producer_epoch + 1)


def size_of(records: Sequence[str]) -> int:
    """Bytes of what is sent; raises `ValueError` for nothing, too much, or what is no text."""
    if not records:
        raise ValueError("there is nothing to send: give at least one record")
    size = sum(len(record.encode()) for record in records)
    if size > RECORD_BYTES_MAX:
        raise ValueError(
            f"the records have {size:,} bytes; the most of one call: {RECORD_BYTES_MAX:,}"
        )
    return size


class Producer:
    """Appends records, by default idempotent and with acks -1 (all).

    Calls may run concurrently; those to one partition keep their order.
    """

    def __init__(
        self,
        bootstrap_servers: str | Iterable[str],
        *,
        idempotent: bool = True,
        acks: int = ACKS_ALL,
        in_flight: int = 1,
        options: ClientOptions | None = None,
    ) -> None:
        """Send nothing yet; raises `ValueError` for a malformed address, acks or batches in flight.

        `bootstrap_servers` is `host:port[,host:port...]` or a list of `host:port`; `acks` is -1
        (all), 1 (the leader) or 0, and -1 for an idempotent producer (KIP-98). That may have up to
        5 batches per partition `in_flight`, any other one.
        """
        if acks not in (-1, 0, 1):
            raise ValueError(f"acks is {acks}: give -1 (all), 1 (the leader) or 0")
        if idempotent and acks != ACKS_ALL:
            raise ValueError(f"an idempotent producer needs acks -1 (all), not {acks}")
        most = IN_FLIGHT_MAX if idempotent else 1
        if not 1 <= in_flight <= most:
            raise ValueError(f"in_flight is {in_flight}: give 1 to {most}")
        self._cluster = ClusterConnection(bootstrap_servers, options)
        self._in_flight = in_flight
        self._acks = acks
        self._idempotent = idempotent
        self._senders: dict[TopicPartition, PartitionSender] = {}
        self._turns = count()

    async def __aenter__(self) -> "Producer":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def send(
        self, topic: str, values: str | Sequence[str], *, partition: int | None = None
    ) -> RecordMetadata:
        """Append the records in this order in one batch, and return where they are.

        With acks -1 they are committed on return. Without `partition` the partitions of the topic
        take turns. Raises `DefiniteError`, or `IndefiniteError` when the records may be in the log,
        after `delivery_timeout_ms` at the latest.
        """
        records = (values,) if isinstance(values, str) else tuple(values)
        size = size_of(records)
        if partition is None:
            partition = await self._next_partition(topic)
        key = TopicPartition(topic, partition)
        if key not in self._senders:
            self._senders[key] = PartitionSender(
                self._cluster,
                key,
                acks=self._acks,
                idempotent=self._idempotent,
                in_flight=self._in_flight,
            )
        return await self._senders[key].put(records, size)

    async def flush(self) -> None:
        """Wait until all queued records are delivered or have failed."""
        for sender in tuple(self._senders.values()):
            await sender.flush()

    async def close(self) -> None:
        """Flush, and close all channels."""
        await self.flush()
        await self._cluster.close()

    async def _next_partition(self, topic: str) -> int:
        if topic not in self._cluster.metadata.topics():
            await self._cluster.refresh()
        partitions = self._cluster.metadata.topics().get(topic)
        if not partitions:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise DefiniteError(f"there is no topic {topic}", code)
        return partitions[next(self._turns) % len(partitions)]
