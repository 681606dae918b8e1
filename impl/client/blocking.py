"""Blocking forms of the client, for callers without an event loop.

One thread at a time may use an object, and not from within a running event loop.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, Protocol, Self, TypeVar

from fencepost.impl.client.admin import AsyncAdmin, NewTopic, Results, TopicResults
from fencepost.impl.client.consumer import (
    POLL_RECORDS_MAX,
    POLL_WAIT_MS,
    AsyncConsumer,
    ConsumerRecord,
)
from fencepost.impl.client.options import ClientOptions
from fencepost.impl.client.producer import ACKS_ALL, AsyncProducer, RecordMetadata
from fencepost.impl.client.routing import Metadata, PartitionInfo, ReassignmentStatus
from fencepost.spec.vocabulary import ElectionKind
from fencepost.spec.znodes import TopicPartition


class Closable(Protocol):
    """An asynchronous client class."""

    async def close(self) -> None:
        """Close all channels."""


Core = TypeVar("Core", bound=Closable)


class _Blocking(Generic[Core]):
    def __init__(self, core: Core) -> None:
        self._core = core
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Flush, and close all channels."""
        self._runner.run(self._core.close())
        self._runner.close()


class Producer(_Blocking[AsyncProducer]):
    """The blocking form of `AsyncProducer`."""

    def __init__(
        self,
        bootstrap_servers: str | Iterable[str],
        *,
        idempotent: bool = True,
        acks: int = ACKS_ALL,
        options: ClientOptions | None = None,
    ) -> None:
        """As `AsyncProducer`."""
        super().__init__(
            AsyncProducer(bootstrap_servers, idempotent=idempotent, acks=acks, options=options)
        )

    def send(
        self, topic: str, values: str | Sequence[str], *, partition: int | None = None
    ) -> RecordMetadata:
        """As `AsyncProducer.send`."""
        return self._runner.run(self._core.send(topic, values, partition=partition))


class Consumer(_Blocking[AsyncConsumer]):
    """The blocking form of `AsyncConsumer`."""

    def __init__(
        self,
        bootstrap_servers: str | Iterable[str],
        topic: str,
        partition: int = 0,
        *,
        offset: int = 0,
        options: ClientOptions | None = None,
    ) -> None:
        """As `AsyncConsumer`."""
        super().__init__(
            AsyncConsumer(bootstrap_servers, topic, partition, offset=offset, options=options)
        )

    @property
    def position(self) -> int:
        """The next offset."""
        return self._core.position

    def poll(
        self, *, max_records: int = POLL_RECORDS_MAX, max_wait_ms: int = POLL_WAIT_MS
    ) -> list[ConsumerRecord]:
        """As `AsyncConsumer.poll`."""
        return self._runner.run(self._core.poll(max_records=max_records, max_wait_ms=max_wait_ms))

    def end_offset(self) -> int:
        """As `AsyncConsumer.end_offset`."""
        return self._runner.run(self._core.end_offset())


class Admin(_Blocking[AsyncAdmin]):
    """The blocking form of `AsyncAdmin`."""

    def __init__(
        self, bootstrap_servers: str | Iterable[str], *, options: ClientOptions | None = None
    ) -> None:
        """As `AsyncAdmin`."""
        super().__init__(AsyncAdmin(bootstrap_servers, options=options))

    def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Sequence[Sequence[int]] = (),
    ) -> None:
        """As `AsyncAdmin.create_topic`."""
        self._runner.run(
            self._core.create_topic(
                topic,
                partitions=partitions,
                replication_factor=replication_factor,
                assignment=assignment,
            )
        )

    def delete_topic(self, topic: str) -> None:
        """As `AsyncAdmin.delete_topic`."""
        self._runner.run(self._core.delete_topic(topic))

    def create_topics(self, topics: Iterable[NewTopic]) -> TopicResults:
        """As `AsyncAdmin.create_topics`."""
        return self._runner.run(self._core.create_topics(topics))

    def delete_topics(self, topics: Iterable[str]) -> TopicResults:
        """As `AsyncAdmin.delete_topics`."""
        return self._runner.run(self._core.delete_topics(topics))

    def list_topics(self) -> dict[str, list[int]]:
        """As `AsyncAdmin.list_topics`."""
        return self._runner.run(self._core.list_topics())

    def describe_topic(self, topic: str) -> dict[int, PartitionInfo]:
        """As `AsyncAdmin.describe_topic`."""
        return self._runner.run(self._core.describe_topic(topic))

    def describe_cluster(self) -> Metadata:
        """As `AsyncAdmin.describe_cluster`."""
        return self._runner.run(self._core.describe_cluster())

    def create_partitions(
        self, topic: str, total: int, *, assignment: Sequence[Sequence[int]] = ()
    ) -> None:
        """As `AsyncAdmin.create_partitions`."""
        self._runner.run(self._core.create_partitions(topic, total, assignment=assignment))

    def remove_partitions(self, topic: str, partitions: Sequence[int]) -> None:
        """As `AsyncAdmin.remove_partitions`."""
        self._runner.run(self._core.remove_partitions(topic, partitions))

    def alter_partition_reassignments(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> Results:
        """As `AsyncAdmin.alter_partition_reassignments`."""
        return self._runner.run(self._core.alter_partition_reassignments(replicas))

    def list_partition_reassignments(self) -> dict[TopicPartition, ReassignmentStatus]:
        """As `AsyncAdmin.list_partition_reassignments`."""
        return self._runner.run(self._core.list_partition_reassignments())

    def elect_leaders(self, kind: ElectionKind, partitions: Iterable[TopicPartition]) -> Results:
        """As `AsyncAdmin.elect_leaders`."""
        return self._runner.run(self._core.elect_leaders(kind, partitions))
