"""Admin calls: topics, partitions, reassignments and elections."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

from fencepost.impl.client.cluster_connection import ClusterConnection, Message
from fencepost.impl.client.errors import (
    ClientError,
    DefiniteError,
    IndefiniteError,
    ThrottledError,
)
from fencepost.impl.client.options import ClientOptions
from fencepost.impl.client.routing import Coordinator, Metadata, PartitionInfo, ReassignmentStatus
from fencepost.impl.client.tokens import TokenAdmin
from fencepost.impl.client.tries import Effect, TryFailedError
from fencepost.spec.config_store import QUOTA_KINDS, EntityKind
from fencepost.spec.vocabulary import CoordinatorKind, ElectionKind, ErrorCode
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import CONTROLLER_VERSION
from fencepost.spec.znodes import TopicPartition

POLL_S = 0.05
CREATE_TOPICS_VERSION, CREATE_PARTITIONS_VERSION, DELETE_TOPICS_VERSION = 7, 3, 6
"""Kafka's, which have a word for what the mutation quota refuses (KIP-599)."""
Results = dict[TopicPartition, ClientError | None]
"""Per partition of a request its error, or None."""
TopicResults = dict[str, ClientError | None]
"""Per topic of a request its error, or None."""


MUTATION_RATE = "controller_mutation_rate"
MUTATION_RATES = (MUTATION_RATE, "controller_mutations_rate")
"""As Kafka calls it, and as the text of KIP-599 does."""


class QuotaEntity(NamedTuple):
    """What a quota is for: a name, the empty name for the default, or None: it does not matter."""

    user: str | None
    client_id: str | None


class MutationMetrics(NamedTuple):
    """One bucket now: partitions per second, what is left of them, and how long to be silent."""

    rate: float
    tokens: float
    """Below 0 nothing is admitted."""
    throttle_time_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create; `assignment` is as in `Admin.create_topic`."""

    topic: str
    partitions: int = 1
    replication_factor: int = 1
    assignment: Sequence[Sequence[int]] = ()

    def request(self) -> wire.CreateTopicRequest:
        """The wire form."""
        return wire.CreateTopicRequest(
            topic=self.topic,
            partition_count=self.partitions,
            replication_factor=self.replication_factor,
            assignment=[wire.ReplicaList(replicas=replicas) for replicas in self.assignment],
        )


class Admin:
    """Asks the controller, or any broker below level 5; others see a change a little later."""

    def __init__(
        self, bootstrap_servers: str | Iterable[str], *, options: ClientOptions | None = None
    ) -> None:
        """Send nothing yet; raises `ValueError` for a malformed address.

        `bootstrap_servers` is `host:port[,host:port...]` or a list of `host:port`.
        """
        self._cluster = ClusterConnection(bootstrap_servers, options)
        self.tokens = TokenAdmin(self._cluster)

    async def __aenter__(self) -> "Admin":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all channels."""
        await self._cluster.close()

    async def create_topic(
        self,
        topic: str,
        *,
        partitions: int = 1,
        replication_factor: int = 1,
        assignment: Sequence[Sequence[int]] = (),
    ) -> None:
        """Create a topic and wait until each partition has a leader.

        `assignment` lists the broker ids of each partition, preferred leader first; it replaces
        `partitions` and `replication_factor`, with which brokers take turns. Raises
        `DefiniteError`, or `IndefiniteError` when the topic may exist (TOP-004).
        """
        wanted = NewTopic(
            topic=topic,
            partitions=partitions,
            replication_factor=replication_factor,
            assignment=assignment,
        )
        await self._mutate("CreateTopic", wanted.request(), CREATE_TOPICS_VERSION)
        await self._until_led(topic, len(assignment) or partitions)

    async def delete_topic(self, topic: str) -> None:
        """Delete a topic and wait until it is gone; errors as in `create_topic` (TOP-002)."""
        request = wire.DeleteTopicRequest(topic=topic)
        await self._mutate("DeleteTopic", request, DELETE_TOPICS_VERSION)
        await self._until(
            lambda metadata: topic not in metadata.topics(),
            f"topic {topic} was to go, but is still published",
        )

    async def create_topics(self, topics: Iterable[NewTopic]) -> TopicResults:
        """Create topics in one request, without waiting for leaders.

        Each has its own result; raises only when no broker answers.
        """
        wanted = {one.topic: one.request() for one in topics}

        def request(names: Iterable[str]) -> Message:
            return wire.CreateTopicsRequest(topics=[wanted[name] for name in names])

        return await self._mutate_each("CreateTopics", request, wanted, CREATE_TOPICS_VERSION)

    async def delete_topics(self, topics: Iterable[str]) -> TopicResults:
        """Delete topics in one request; results as in `create_topics` (TOP-002)."""

        def request(names: Iterable[str]) -> Message:
            return wire.DeleteTopicsRequest(topics=list(names))

        return await self._mutate_each("DeleteTopics", request, topics, DELETE_TOPICS_VERSION)

    async def list_topics(self) -> dict[str, list[int]]:
        """Topic -> its partition numbers, both ascending."""
        return (await self._cluster.refresh()).topics()

    async def describe_topic(self, topic: str) -> dict[int, PartitionInfo]:
        """The partitions of a topic by number; raises `DefiniteError` for an unknown topic."""
        found = await self._find(topic)
        if not found:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise DefiniteError(f"there is no topic {topic}", code)
        return found

    async def describe_cluster(self) -> Metadata:
        """Controller, live brokers and all partitions, as one broker reads them now."""
        return await self._cluster.refresh()

    # Partitions

    async def create_partitions(
        self, topic: str, total: int, *, assignment: Sequence[Sequence[int]] = ()
    ) -> None:
        """Grow the topic to `total` partitions, each with a leader; errors as in `create_topic`.

        `assignment` lists the replicas of each new partition; else brokers take turns (PART-001).
        """
        request = wire.CreatePartitionsRequest(
            topic=topic,
            partition_count=total,
            assignment=[wire.ReplicaList(replicas=replicas) for replicas in assignment],
        )
        await self._mutate("CreatePartitions", request, CREATE_PARTITIONS_VERSION)
        await self._until_led(topic, total)

    async def remove_partitions(self, topic: str, partitions: Sequence[int]) -> None:
        """Remove partitions with their records; errors as in `create_topic` (PART-002)."""
        request = wire.RemovePartitionsRequest(topic=topic, partitions=partitions)
        await self._change("RemovePartitions", request)
        gone = {TopicPartition(topic, partition) for partition in partitions}
        await self._until(
            lambda metadata: not gone & metadata.partitions.keys(),
            f"partitions of {topic} were to go, but are still published",
        )

    async def alter_partition_reassignments(
        self, replicas: Mapping[TopicPartition, Sequence[int]]
    ) -> Results:
        """Start reassignments; empty replicas cancel the current one (REAS-001, KIP-455).

        Each partition has its own result; raises only when no broker answers.
        """
        wanted = [
            wire.Reassignment(topic=key.topic, partition=key.partition, replicas=listed)
            for key, listed in replicas.items()
        ]
        request = wire.AlterPartitionReassignmentsRequest(reassignments=wanted)
        response = await self._change("AlterPartitionReassignments", request)
        return _results(response)

    async def list_partition_reassignments(self) -> dict[TopicPartition, ReassignmentStatus]:
        """The reassignments in progress (KIP-455)."""
        deadline = self._cluster.deadline(self._cluster.options.api_timeout_ms)
        response = await self._cluster.ask_any(
            "ListPartitionReassignments",
            wire.ListPartitionReassignmentsRequest(),
            deadline=deadline,
            effect=Effect.NONE,
        )
        return {
            TopicPartition(one.topic, one.partition): ReassignmentStatus(
                replicas=tuple(one.replicas),
                assigned_replicas=tuple(one.assigned_replicas),
                adding=tuple(one.adding),
                removing=tuple(one.removing),
            )
            for one in response.reassignments
        }

    async def elect_leaders(
        self, kind: ElectionKind, partitions: Iterable[TopicPartition]
    ) -> Results:
        """Elect leaders (KIP-460) and wait until those granted are published.

        Each partition has its own result; raises when no broker answers, or `IndefiniteError` when
        a leader is not published in time.
        """
        wanted = [wire.PartitionId(topic=key.topic, partition=key.partition) for key in partitions]
        request = wire.ElectLeadersRequest(kind=kind, partitions=wanted)
        results = _results(await self._change("ElectLeaders", request))
        granted = [key for key, error in results.items() if error is None]
        await self._until(
            lambda metadata: all(_is_elected(metadata, key, kind) for key in granted),
            f"the election ({kind}) was asked for, but not every leader followed yet",
        )
        return results

    async def _find(self, topic: str) -> dict[int, PartitionInfo]:
        metadata = await self._cluster.refresh()
        return {
            key.partition: info
            for key, info in sorted(metadata.partitions.items())
            if key.topic == topic
        }

    async def _change(self, method: str, request: Message) -> Message:
        request.header.api_version = CONTROLLER_VERSION
        deadline = self._cluster.deadline(self._cluster.options.api_timeout_ms)
        return await self._cluster.ask_any(method, request, deadline=deadline, effect=Effect.ONCE)

    async def find_coordinator(
        self, key: str, kind: CoordinatorKind = CoordinatorKind.GROUP
    ) -> Coordinator:
        """The broker that coordinates this group or transaction (FWD-006).

        The first use creates the internal topic, and waits for its leaders. Raises `DefiniteError`
        when it has none in time: too few brokers are live, or there is no controller.
        """
        response = await self._cluster.ask_any(
            "FindCoordinator",
            wire.FindCoordinatorRequest(key=key, kind=kind),
            deadline=self._deadline(),
            effect=Effect.NONE,
        )
        return Coordinator(response.broker_id, f"{response.host}:{response.port}")

    # The configuration

    async def alter_configs(
        self, kind: EntityKind, names: Sequence[str], changes: Mapping[str, str | None]
    ) -> int:
        """Set entries of a topic, a broker, a user, a client or an ACL; None takes one away.

        The entries of an ACL are permissions, which have no value; names as in `ConfigEntity`.

        Returns the version that has the change. Raises `DefiniteError`, or `IndefiniteError` when
        it may be made (FWD-004).
        """
        altered = [
            wire.EntryChange(operation="delete" if value is None else "set", name=name, value=value)
            for name, value in changes.items()
        ]
        entities = [wire.EntityChange(kind=kind, names=names, changes=altered)]
        if kind in QUOTA_KINDS:
            quotas = wire.AlterClientQuotasRequest(entities=entities)
            response = await self._change("AlterClientQuotas", quotas)
        elif kind is EntityKind.ACL and None in changes.values():
            removed = wire.DeleteAclsRequest(entities=entities)
            response = await self._change("DeleteAcls", removed)
        elif kind is EntityKind.ACL:
            added = wire.CreateAclsRequest(entities=entities)
            response = await self._change("CreateAcls", added)
        else:
            request = wire.IncrementalAlterConfigsRequest(entities=entities)
            response = await self._change("IncrementalAlterConfigs", request)
        error = _error_of(response.results[0], f"{kind} {'/'.join(names)}")
        if error is not None:
            raise error
        return int(response.config_version)

    async def describe_configs(
        self, kind: EntityKind, names: Sequence[str] = ()
    ) -> dict[tuple[str, ...], dict[str, str]]:
        """The entries of the entity, or of all of the kind, as one broker has read them."""
        response = await self._cluster.ask_any(
            "DescribeConfigs",
            wire.DescribeConfigsRequest(kind=kind, names=names),
            deadline=self._cluster.deadline(self._cluster.options.api_timeout_ms),
            effect=Effect.NONE,
        )
        return {
            tuple(one.names): {entry.name: entry.value for entry in one.entries}
            for one in response.entities
        }

    # The mutation quota

    async def alter_mutation_quota(self, entity: QuotaEntity, rate: float | None) -> None:
        """Set the partitions per second of the entity, or take its quota away (KIP-546, KIP-599).

        Brokers hear of it a moment later. Raises `DefiniteError` when it is refused.
        """
        kind, names = _kind_of(entity)
        change = wire.EntryChange(operation="delete", name=MUTATION_RATE)
        if rate is not None:
            change = wire.EntryChange(operation="set", name=MUTATION_RATE, value=str(rate))
        request = wire.AlterClientQuotasRequest(
            entities=[wire.EntityChange(kind=kind, names=names, changes=[change])],
        )
        response = await self._change("AlterClientQuotas", request)
        for result in response.results:
            error = _error_of(result, "/".join(name or "<default>" for name in names))
            if error is not None:
                raise error

    async def describe_mutation_quotas(self) -> dict[QuotaEntity, float]:
        """The partitions per second of every entity that has a quota."""
        found: dict[QuotaEntity, float] = {}
        for kind in ("user", "client", "user_client"):
            response = await self._cluster.ask_any(
                "DescribeConfigs",
                wire.DescribeConfigsRequest(kind=kind),
                deadline=self._deadline(),
                effect=Effect.NONE,
            )
            for one in response.entities:
                rates = [entry.value for entry in one.entries if entry.name in MUTATION_RATES]
                if rates:
                    found[_entity_of(kind, one.names)] = float(rates[0])
        return found

    async def mutation_metrics(self) -> dict[QuotaEntity, MutationMetrics]:
        """What the controller counts for each entity that has mutated topics (QUOTA-007).

        Its predecessor's counts are gone with it.
        """
        response = await self._cluster.ask_any(
            "DescribeMutationQuotas",
            wire.DescribeMutationQuotasRequest(),
            deadline=self._deadline(),
            effect=Effect.NONE,
        )
        return {
            _entity_of(one.kind, one.names): MutationMetrics(
                rate=float(one.rate),
                tokens=float(one.tokens),
                throttle_time_ms=one.throttle_time_ms,
            )
            for one in response.buckets
        }

    async def _mutate(self, method: str, request: Message, api_version: int) -> Message:
        """As `_change`; what the quota refuses is asked for again as long as time allows."""
        options, deadline = self._cluster.options, self._deadline()
        request.user, request.client_id = options.user, options.client_id
        request.api_version = api_version
        request.header.api_version = CONTROLLER_VERSION
        while True:
            try:
                return await self._cluster.ask_any(
                    method, request, deadline=deadline, effect=Effect.ONCE
                )
            except ThrottledError as error:
                if not await self._waited(error.throttle_time_ms, deadline):
                    raise

    async def _mutate_each(
        self,
        method: str,
        request: Callable[[Iterable[str]], Message],
        topics: Iterable[str],
        api_version: int,
    ) -> TopicResults:
        """As `_mutate`, of the topics that are refused only."""
        deadline, left, results = self._deadline(), list(topics), TopicResults()
        while True:
            response = await self._mutate(method, request(left), api_version)
            results |= _topic_results(response)
            left = [name for name in left if isinstance(results[name], ThrottledError)]
            if not left or not await self._waited(response.throttle_time_ms, deadline):
                return results

    def _deadline(self) -> float:
        return self._cluster.deadline(self._cluster.options.api_timeout_ms)

    async def _waited(self, throttle_time_ms: int, deadline: float) -> bool:
        """Wait as long as the quota asks; False when that may not be, or lasts too long."""
        if not self._cluster.options.retry_on_quota_violation:
            return False
        left_s = deadline - monotonic()
        await asyncio.sleep(max(min(throttle_time_ms / 1000, left_s), 0))
        return throttle_time_ms / 1000 < left_s

    async def _until_led(self, topic: str, partitions: int) -> None:
        def is_led(metadata: Metadata) -> bool:
            known = [info for key, info in metadata.partitions.items() if key.topic == topic]
            return len(known) >= partitions and all(info.leader >= 0 for info in known)

        await self._until(is_led, f"not every partition of {topic} has a leader yet")

    async def _until(self, holds: Callable[[Metadata], bool], otherwise: str) -> None:
        """Wait until the metadata satisfies `holds`; raises `IndefiniteError` after the timeout."""
        deadline = self._cluster.deadline(self._cluster.options.api_timeout_ms)
        while not holds(await self._cluster.refresh()):
            if monotonic() > deadline:
                raise IndefiniteError(otherwise, ErrorCode.REQUEST_TIMED_OUT)
            await asyncio.sleep(POLL_S)


def _results(response: Message) -> Results:
    return {
        TopicPartition(one.topic, one.partition): _error_of(one, f"{one.topic}/{one.partition}")
        for one in response.partitions
    }


def _topic_results(response: Message) -> TopicResults:
    throttle_ms = response.throttle_time_ms
    return {one.topic: _error_of(one, one.topic, throttle_ms) for one in response.topics}


def _error_of(
    result: wire.PartitionResult | wire.TopicResult | wire.EntityResult,
    what: str,
    throttle_time_ms: int = 0,
) -> ClientError | None:
    if result.error_code == ErrorCode.NONE:
        return None
    error = TryFailedError(result.error_code)
    kind = IndefiniteError if error.is_indefinite else DefiniteError
    text = f"{what}: {result.error_code} {result.message}"
    if result.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED:
        return ThrottledError(text, throttle_time_ms)
    return kind(text.rstrip(), result.error_code)


def _kind_of(entity: QuotaEntity) -> tuple[str, list[str]]:
    """As the configuration calls it."""
    if entity.user is not None and entity.client_id is not None:
        return "user_client", [entity.user, entity.client_id]
    if entity.user is not None:
        return "user", [entity.user]
    return "client", [entity.client_id or ""]


def _entity_of(kind: str, names: Sequence[str]) -> QuotaEntity:
    match kind:
        case "user":
            return QuotaEntity(names[0], None)
        case "client":
            return QuotaEntity(None, names[0])
        case _:
            return QuotaEntity(*names)


def _is_elected(metadata: Metadata, key: TopicPartition, kind: ElectionKind) -> bool:
    info = metadata.partitions.get(key)
    if info is None:
        return False
    if kind is ElectionKind.PREFERRED:
        return info.leader == info.assigned_replicas[0]
    return info.leader in metadata.brokers
