"""Consumers: the committed records of one partition by offset (CLI-001, CLI-002)."""

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass

from fencepost.impl.client.cluster_connection import ClusterConnection, Message
from fencepost.impl.client.errors import DefiniteError, OffsetOutOfRangeError
from fencepost.impl.client.options import ClientOptions
from fencepost.impl.client.tries import Effect
from fencepost.spec.vocabulary import ErrorCode
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.znodes import TopicPartition

POLL_RECORDS_MAX = 500
POLL_WAIT_MS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRecord:
    """One committed record."""

    offset: int
    value: str
    leader_epoch: int
    """The epoch of the leader that appended it."""


class Consumer:
    """Reads one partition from `offset` on; `position` is the next offset and may be set."""

    def __init__(
        self,
        bootstrap_servers: str | Iterable[str],
        topic: str,
        partition: int = 0,
        *,
        offset: int = 0,
        options: ClientOptions | None = None,
    ) -> None:
        """Send nothing yet; raises `ValueError` for a malformed address.

        `bootstrap_servers` is `host:port[,host:port...]` or a list of `host:port`.
        """
        self._cluster = ClusterConnection(bootstrap_servers, options)
        self._partition = TopicPartition(topic, partition)
        self.position = offset

    async def __aenter__(self) -> "Consumer":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """All committed records from `position` on, without end."""
        while True:
            for record in await self.poll():
                yield record

    async def poll(
        self, *, max_records: int = POLL_RECORDS_MAX, max_wait_ms: int = POLL_WAIT_MS
    ) -> list[ConsumerRecord]:
        """Up to `max_records` committed records; empty when none came within `max_wait_ms`.

        Raises `OffsetOutOfRangeError`, or another `DefiniteError` after `api_timeout_ms`.
        """
        request = wire.FetchRequest(
            topic=self._partition.topic,
            partition=self._partition.partition,
            replica_id=-1,
            leader_epoch=-1,
            fetch_offset=self.position,
            max_records=max_records,
            max_wait_ms=max_wait_ms,
        )
        try:
            response = await self._ask("Fetch", request, max_wait_ms)
        except DefiniteError as error:
            if error.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                raise await self._out_of_range() from error
            raise
        records = [
            ConsumerRecord(offset=offset, value=record.value, leader_epoch=record.leader_epoch)
            for offset, record in enumerate(response.records, start=self.position)
        ]
        self.position += len(records)
        return records

    async def end_offset(self) -> int:
        """The high watermark: the offset of the first record that is not committed."""
        request = wire.ListOffsetsRequest(
            topic=self._partition.topic, partition=self._partition.partition
        )
        response = await self._ask("ListOffsets", request, 0)
        return int(response.high_watermark)

    async def close(self) -> None:
        """Close all channels."""
        await self._cluster.close()

    async def _ask(self, method: str, request: Message, wait_ms: int) -> Message:
        return await self._cluster.ask_leader(
            self._partition,
            method,
            request,
            deadline=self._cluster.deadline(self._cluster.options.api_timeout_ms + wait_ms),
            effect=Effect.NONE,
            wait_ms=wait_ms,
        )

    async def _out_of_range(self) -> OffsetOutOfRangeError:
        end = await self.end_offset()
        return OffsetOutOfRangeError(
            f"{self._partition} has offsets 0 to {end}, not {self.position}",
            ErrorCode.OFFSET_OUT_OF_RANGE,
        )
