"""The administrator's calls: topics and the cluster."""

import asyncio
from collections.abc import Iterable, Sequence
from time import monotonic

from impl.client.cluster import Cluster, Message
from impl.client.errors import DefiniteError
from impl.client.options import ClientOptions
from impl.client.routing import Metadata, PartitionInfo
from impl.client.tries import Effect
from spec.vocabulary import ErrorCode
from spec.wire import replication_pb2 as wire

POLL_S = 0.05


class AsyncAdmin:
    """Asks any broker; what it changes is seen by all a little later."""

    def __init__(
        self, bootstrap_servers: str | Iterable[str], *, options: ClientOptions | None = None
    ) -> None:
        """Nothing is sent yet; raises `ValueError` when an address is none."""
        self._cluster = Cluster(bootstrap_servers, options)

    async def __aenter__(self) -> "AsyncAdmin":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """All connections are closed."""
        await self._cluster.close()

    async def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Sequence[Sequence[int]] = (),
    ) -> None:
        """The topic exists and each partition has a leader.

        `assignment` gives the replicas of each partition, preferred first; else brokers take turns.
        Raises `DefiniteError` with the reason, or `IndefiniteError` when it may exist (TOP-004).
        """
        request = wire.CreateTopicRequest(
            topic=topic,
            partition_count=partitions,
            replication_factor=replication_factor,
            assignment=[wire.ReplicaList(replicas=replicas) for replicas in assignment],
        )
        await self._change("CreateTopic", request)
        await self._until_led(topic, len(assignment) or partitions)

    async def list_topics(self) -> dict[str, list[int]]:
        """The partitions of each topic, both ascending."""
        return (await self._cluster.refresh()).topics()

    async def describe_topic(self, topic: str) -> dict[int, PartitionInfo]:
        """Leader, epoch, ISR and replicas per partition; raises `DefiniteError` without topic."""
        found = await self._find(topic)
        if not found:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise DefiniteError(f"there is no topic {topic}", code)
        return found

    async def describe_cluster(self) -> Metadata:
        """Controller, live brokers and all partitions, as one broker reads them now."""
        return await self._cluster.refresh()

    async def _find(self, topic: str) -> dict[int, PartitionInfo]:
        metadata = await self._cluster.refresh()
        return {
            key.partition: info
            for key, info in sorted(metadata.partitions.items())
            if key.topic == topic
        }

    async def _change(self, method: str, request: Message) -> Message:
        deadline = self._cluster.deadline(self._cluster.options.api_timeout_ms)
        return await self._cluster.ask_any(method, request, deadline=deadline, effect=Effect.ONCE)

    async def _until_led(self, topic: str, partitions: int) -> None:
        """Every partition is published with a leader, or the time for it is over."""
        deadline = self._cluster.deadline(self._cluster.options.api_timeout_ms)
        while True:
            found = await self._find(topic)
            if len(found) >= partitions and all(info.leader >= 0 for info in found.values()):
                return
            if monotonic() > deadline:
                text = f"topic {topic} was created, but not every partition has a leader yet"
                raise DefiniteError(text, ErrorCode.REQUEST_TIMED_OUT)
            await asyncio.sleep(POLL_S)
