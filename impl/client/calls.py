"""Calls of the client by name, for other programs; answers are JSON values."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from fencepost.impl.client.admin import Admin, QuotaEntity, Results
from fencepost.impl.client.consumer import POLL_RECORDS_MAX, Consumer
from fencepost.impl.client.errors import ClientError, DefiniteError, IndefiniteError, exit_code_of
from fencepost.impl.client.options import ClientOptions
from fencepost.impl.client.producer import ACKS_ALL, RECORD_BYTES_MAX, Producer, RecordMetadata
from fencepost.impl.client.routing import Metadata
from fencepost.spec.config_store import EntityKind
from fencepost.spec.vocabulary import CoordinatorKind, ElectionKind, ErrorCode
from fencepost.spec.znodes import TopicPartition

Answers = AsyncIterator[object]
AS_COMMAND = ClientOptions(bootstrap_timeout_ms=2_000)
"""A command tells soon that no broker can be reached."""
AT_ONCE = replace(AS_COMMAND, retry_on_quota_violation=False)
"""A command tells that a quota refuses, and does not wait (KIP-599)."""
IN_FLIGHT_MAX = 1000
"""Lines of standard input in flight."""


async def create_topic(
    servers: str,
    *,
    if_not_exists: bool,
    **arguments: Any,  # noqa: ANN401
) -> Answers:
    """As `Admin.create_topic`; one object: `is_done`, False when the topic existed."""
    allowed = {ErrorCode.TOPIC_ALREADY_EXISTS} if if_not_exists else set[ErrorCode]()
    async with Admin(servers, options=AT_ONCE) as admin:
        yield {"is_done": await _unless(allowed, admin.create_topic(**arguments))}


async def delete_topic(servers: str, topic: str, *, if_exists: bool) -> Answers:
    """As `Admin.delete_topic`; one object: `is_done`, False when there was no topic."""
    allowed = {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION} if if_exists else set[ErrorCode]()
    async with Admin(servers, options=AT_ONCE) as admin:
        yield {"is_done": await _unless(allowed, admin.delete_topic(topic))}


async def _unless(allowed: Collection[str], change: Awaitable[None]) -> bool:
    """True after the change; False when it failed with one of the `allowed` error codes."""
    try:
        await change
    except DefiniteError as error:
        if error.error_code not in allowed:
            raise
        return False
    return True


async def describe_cluster(servers: str) -> Answers:
    """One object: the controller, the live brokers, and every topic with its partitions."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        metadata = await admin.describe_cluster()
    yield {
        "controller_id": metadata.controller_id,
        "controller_epoch": metadata.controller_epoch,
        "brokers": [
            {"broker_id": broker_id, "address": address}
            for broker_id, address in sorted(metadata.brokers.items())
        ],
        "topics": {topic: _partitions(metadata, topic) for topic in metadata.topics()},
    }


def _partitions(metadata: Metadata, topic: str) -> list[dict[str, object]]:
    return [
        {
            "partition": key.partition,
            "topic_id": info.topic_id,
            "leader": info.leader,
            "leader_epoch": info.leader_epoch,
            "isr": info.isr,
            "assigned_replicas": info.assigned_replicas,
        }
        for key, info in sorted(metadata.partitions.items())
        if key.topic == topic
    ]


async def produce(servers: str, topic: str, partition: int, acks: int, *, lines: bool) -> Answers:
    """One object: `count` of records, and `offset` and `leader` of the first.

    Standard input holds the records: a JSON array, or with `lines` one per line. Without records
    there is no answer.
    """
    await require_partition(servers, topic, partition)
    async with Producer(servers, acks=acks, idempotent=acks == ACKS_ALL) as producer:
        if lines:
            placed, number = await _send_lines(producer, topic, partition)
        else:
            values = json.load(sys.stdin)
            placed, number = await producer.send(topic, values, partition=partition), len(values)
    if placed is not None:
        yield {"count": number, "offset": placed.offset, "leader": placed.broker_id}


async def _send_lines(
    producer: Producer, topic: str, partition: int
) -> tuple[RecordMetadata | None, int]:
    """Where the first record is, and the number of records."""
    room = asyncio.Semaphore(IN_FLIGHT_MAX)

    async def send(line: str) -> RecordMetadata:
        try:
            return await producer.send(topic, line, partition=partition)
        finally:
            room.release()

    sends: list[asyncio.Task[RecordMetadata]] = []
    wrong = ""
    while not wrong and not any(map(_has_failed, sends[-IN_FLIGHT_MAX:])):
        line = await asyncio.to_thread(sys.stdin.buffer.readline, RECORD_BYTES_MAX + 1)
        if not line:
            break
        await room.acquire()
        try:
            sends.append(asyncio.create_task(send(_text(line))))
        except ValueError as error:
            wrong = f"line {len(sends) + 1} of standard input {error}"
    ends = await asyncio.gather(*sends, return_exceptions=True)
    failed = next((end for end in ends if isinstance(end, BaseException)), None)
    if wrong or failed:
        placed = sum(isinstance(end, RecordMetadata) for end in ends)
        raise _broken_off(failed or DefiniteError(wrong, ErrorCode.INVALID_REQUEST), placed)
    return (sends[0].result() if sends else None), len(sends)


def _has_failed(send: "asyncio.Task[RecordMetadata]") -> bool:
    return send.done() and send.exception() is not None


def _broken_off(error: BaseException, placed: int) -> BaseException:
    """The error of one line, which says how many other lines were appended."""
    if placed and isinstance(error, ClientError):
        were = "1 other record was" if placed == 1 else f"{placed:,} other records were"
        kind = IndefiniteError if isinstance(error, IndefiniteError) else DefiniteError
        return kind(f"{error}; {were} appended", error.error_code)
    return error


def _text(line: bytes) -> str:
    """Raises `ValueError` that says what is wrong with the line."""
    if len(line) > RECORD_BYTES_MAX:
        raise ValueError(f"is longer than {RECORD_BYTES_MAX:,} bytes, the most of a record")
    try:
        return line.rstrip(b"\r\n").decode()
    except UnicodeDecodeError as error:
        raise ValueError("is not UTF-8 text") from error


async def consume(
    servers: str,
    topic: str,
    partition: int,
    offset: int | str,
    max_records: int | None,
    *,
    follow: bool,
) -> Answers:
    """One object per committed record, up to the current end; with `follow`, without end.

    `offset` may also be "earliest" or "latest".
    """
    await require_partition(servers, topic, partition)
    async with Consumer(servers, topic, partition) as consumer:
        end = await consumer.end_offset()
        consumer.position = (
            end if offset == "latest" else 0 if offset == "earliest" else int(offset)
        )
        left = sys.maxsize if max_records is None else max_records
        while left > 0 and (follow or consumer.position != end):
            wanted = left if follow else min(left, max(end - consumer.position, 1))
            for record in await consumer.poll(max_records=min(wanted, POLL_RECORDS_MAX)):
                left -= 1
                yield {"offset": record.offset, "value": record.value}


async def require_partition(servers: str, topic: str, partition: int) -> None:
    """Raises `DefiniteError` when the cluster publishes no such partition."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        found = await admin.describe_topic(topic)
    if partition not in found:
        message = f"topic {topic} has partitions {', '.join(map(str, found))}, not {partition}"
        raise DefiniteError(message, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


async def create_partitions(servers: str, **arguments: Any) -> Answers:  # noqa: ANN401
    """As `Admin.create_partitions`; one empty object."""
    async with Admin(servers, options=AT_ONCE) as admin:
        await admin.create_partitions(**arguments)
    yield {}


async def remove_partitions(servers: str, **arguments: Any) -> Answers:  # noqa: ANN401
    """As `Admin.remove_partitions`; one empty object."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        await admin.remove_partitions(**arguments)
    yield {}


async def reassign(servers: str) -> Answers:
    """One object per partition, with `error` and `exit_code`.

    Standard input is a JSON array of objects with `topic`, `partition` and `replicas`; empty
    `replicas` cancel the reassignment.
    """
    wanted = {_key(one): one["replicas"] for one in json.load(sys.stdin)}
    async with Admin(servers, options=AS_COMMAND) as admin:
        results = await admin.alter_partition_reassignments(wanted)
    for answer in _told(results):
        yield answer


async def list_reassignments(servers: str) -> Answers:
    """One object per partition that is being reassigned."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        moving = await admin.list_partition_reassignments()
    for key, ongoing in sorted(moving.items()):
        yield {"topic": key.topic, "partition": key.partition, **asdict(ongoing)}


async def elect(servers: str, kind: str) -> Answers:
    """One object per partition, as in `reassign`; `kind` is "preferred" or "unclean"."""
    partitions = json.load(sys.stdin)
    async with Admin(servers, options=AS_COMMAND) as admin:
        results = await admin.elect_leaders(ElectionKind(kind), map(_key, partitions))
    for answer in _told(results):
        yield answer


async def find_coordinator(servers: str, key: str, kind: str) -> Answers:
    """As `Admin.find_coordinator`; one object: `broker_id` and `address`."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        found = await admin.find_coordinator(key, CoordinatorKind(kind))
    yield found._asdict()


async def alter_mutation_quota(
    servers: str, user: str | None, client_id: str | None, rate: float | None
) -> Answers:
    """As `Admin.alter_mutation_quota`; one empty object."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        await admin.alter_mutation_quota(QuotaEntity(user, client_id), rate)
    yield {}


async def describe_mutation_quotas(servers: str) -> Answers:
    """One object per quota: `user`, `client_id` and `rate`."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        found = await admin.describe_mutation_quotas()
    for entity, rate in found.items():
        yield {"user": entity.user, "client_id": entity.client_id, "rate": rate}


async def mutation_metrics(servers: str) -> Answers:
    """One object per used bucket: `user`, `client_id`, `rate`, `tokens`, `throttle_time_ms`."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        found = await admin.mutation_metrics()
    for entity, metrics in found.items():
        yield {**entity._asdict(), **metrics._asdict()}


async def alter_configs(
    servers: str, kind: str, names: Sequence[str], changes: Mapping[str, str | None]
) -> Answers:
    """As `Admin.alter_configs`; one object: `config_version`."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        version = await admin.alter_configs(EntityKind(kind), names, changes)
    yield {"config_version": version}


async def describe_configs(servers: str, kinds: Sequence[str], names: Sequence[str]) -> Answers:
    """One object per entity of these kinds and names, or of any: `kind`, `names`, `entries`."""
    async with Admin(servers, options=AS_COMMAND) as admin:
        for kind in kinds:
            found = await admin.describe_configs(EntityKind(kind), names)
            for its_names, entries in found.items():
                yield {"kind": kind, "names": its_names, "entries": entries}


async def create_token(servers: str, renewers: Sequence[str], max_lifetime_ms: int) -> Answers:
    """As `TokenAdmin.create`; one object: `token_id`, `hmac` in hex, `expires_ms`, `max_ms`."""
    async with Admin(servers) as admin:
        made = await admin.tokens.create(renewers, max_lifetime_ms=max_lifetime_ms)
    yield {
        "token_id": made.held.token_id,
        "hmac": made.held.hmac.hex(),
        "expires_ms": made.expires_ms,
        "max_ms": made.max_ms,
    }


async def renew_token(servers: str, token_id: str, renew_ms: int) -> Answers:
    """As `TokenAdmin.renew`; one object: `expires_ms`."""
    async with Admin(servers) as admin:
        yield {"expires_ms": await admin.tokens.renew(token_id, renew_ms=renew_ms)}


async def expire_token(servers: str, token_id: str, after_ms: int) -> Answers:
    """As `TokenAdmin.expire`; one object: `expires_ms`."""
    async with Admin(servers) as admin:
        yield {"expires_ms": await admin.tokens.expire(token_id, after_ms=after_ms)}


async def describe_tokens(servers: str, owners: Sequence[str]) -> Answers:
    """One object per token: the fields of `TokenInfo`."""
    async with Admin(servers) as admin:
        found = await admin.tokens.describe(owners)
    for one in found:
        yield asdict(one)


def _key(one: dict[str, Any]) -> TopicPartition:
    return TopicPartition(one["topic"], one["partition"])


def _told(results: Results) -> list[dict[str, object]]:
    return [
        {
            "topic": key.topic,
            "partition": key.partition,
            "error": str(error) if error else None,
            "exit_code": exit_code_of(error) if error else 0,
        }
        for key, error in sorted(results.items())
    ]


CALLS: dict[str, Callable[..., Answers]] = {
    call.__name__: call
    for call in (
        create_topic,
        delete_topic,
        describe_cluster,
        produce,
        consume,
        create_partitions,
        remove_partitions,
        reassign,
        list_reassignments,
        elect,
        find_coordinator,
        alter_mutation_quota,
        describe_mutation_quotas,
        mutation_metrics,
        alter_configs,
        describe_configs,
        create_token,
        renew_token,
        expire_token,
        describe_tokens,
    )
}
