"""Forbidden calls at a real listener with real TLS: none gets through (SEC-001, SEC-002)."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from grpc import aio

from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.impl.core.rules.security.acls import (
    AclEntry,
    Operation,
    Pattern,
    Permission,
    ResourceType,
)
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.messages import ProduceRequest
from fencepost.impl.shell.rpc.request_gate import USER_BYTES_MAX
from fencepost.impl.shell.rpc.service import EXCHANGE
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import NODE_KEY, SERVICE
from fencepost.spec.wire.replication_pb2 import Bundle, Parcel
from fencepost.spec.wire.tls import TlsIdentity, read_identity
from tests.impl.shell.rpc_pair import asynchronous
from tests.impl.shell.security.listener import (
    METHODS,
    PEER_METHODS,
    REFUSALS,
    TOKEN_METHODS,
    TOPIC,
    Listener,
    listener,
    outcome,
    request_of,
    unjudged,
)

FORBIDDEN_MIN = 500
LIKE_BROKERS = (
    "broker-",
    "broker-01",
    "broker-1x",
    "Broker-1",
    "broker--1",
    "broker-1/2",
    "broker-1 ",
)
"""Names of users that look like that of a broker."""
LIKE_ADMIN = ("Admin", "admin ", "User:admin", "*")
SUPER_USERS = ("User:admin",)
ALL_TO_ALICE = AclEntry(
    ResourceType.TOPIC, Pattern.LITERAL, "*", Permission.ALLOW, Operation.ALL, "User:alice"
)
NOT_THIS_TOPIC = ALL_TO_ALICE._replace(
    pattern=Pattern.PREFIXED, name=TOPIC[:3], permission=Permission.DENY
)
FOR_ANOTHER = ALL_TO_ALICE._replace(name="other", principal="User:bob")
FROM_ELSEWHERE = ALL_TO_ALICE._replace(principal="User:mallory", host="203.0.113.7")
ENTRIES = (ALL_TO_ALICE, NOT_THIS_TOPIC, FOR_ANOTHER, FROM_ELSEWHERE)
OF_USERS = {*METHODS} - PEER_METHODS - TOKEN_METHODS
ENDED = ("AioRpcError", "InvalidStateError")
"""What grpcio raises where a stream is refused: while the client writes, or before."""
UNPROTECTED = "Metadata"
"""Any user may ask; the answer is without what it may not see."""


async def count_refusals(
    to: Listener, identities: dict[str, TlsIdentity | None], expected: tuple[str, ...]
) -> int:
    """How many calls were refused as expected; asserts that all were."""
    count = 0
    for name, own in identities.items():
        channel = to.channel(own)
        for method in METHODS:
            if method == UNPROTECTED and "UNAVAILABLE" not in expected:
                continue
            for as_replica in (False, True) if method == "Fetch" else (False,):
                code = await outcome(channel, method, request_of(method, as_replica=as_replica))
                assert code in expected, f"{method} of {name}: {code}"
                count += 1
        await channel.close()
    return count


@pytest.fixture(scope="session")
def unproven(authority: CertificateAuthority, strangers: Path) -> dict[str, TlsIdentity | None]:
    """What TLS itself does not let in."""
    ca = authority.folder / "broker-2"
    own = unjudged(strangers / "broker-1", ca)
    root = strangers / "authority"
    self_signed = replace(
        own, certificate=(root / "ca.pem").read_bytes(), key=(root / "key.pem").read_bytes()
    )
    return {
        "plain": None,
        "no certificate": replace(own, certificate=b"", key=b""),
        "expired": unjudged(authority.folder / "expired", ca),
        "broker-1 of another authority": own,
        "admin of another authority": unjudged(strangers / "admin", ca),
        "self-signed": self_signed,
        "expired broker-1": unjudged(authority.folder / "old" / "broker-1", ca),
    }


@asynchronous
async def test_no_forbidden_call_gets_through(
    authority: CertificateAuthority, unproven: dict[str, TlsIdentity | None]
) -> None:
    users = ("alice", "bob", "mallory", "broker-3", *LIKE_BROKERS, *LIKE_ADMIN)
    proven = {name: read_identity(authority.add_user(name)) for name in users}
    count, folder = 0, authority.folder / "broker-2"
    for entries in (ENTRIES, ()):
        async with listener(folder, entries=entries, super_users=SUPER_USERS) as to:
            count += await count_refusals(to, dict(proven), REFUSALS)
            assert to.inbox.events == []
    async with listener(folder, entries=None) as to:
        count += await count_refusals(to, unproven, ("UNAVAILABLE",))
        assert to.inbox.events == []

    assert count >= FORBIDDEN_MIN, count


@asynchronous
async def test_the_same_calls_of_the_right_caller_get_through(
    authority: CertificateAuthority,
) -> None:
    callers = {"broker-1": sorted(PEER_METHODS), "admin": sorted(OF_USERS)}
    async with listener(authority.folder / "broker-2", super_users=SUPER_USERS) as to:
        for name, methods in callers.items():
            channel = to.channel(read_identity(authority.folder / name))
            calls = [
                asyncio.create_task(outcome(channel, method, request_of(method)))
                for method in methods
            ]
            count = len(to.inbox.events) + len(methods)
            await to.inbox.hold(count)
            for call in calls:
                call.cancel()
            await channel.close()

    assert len(to.inbox.events) == len(OF_USERS | PEER_METHODS)


@asynchronous
async def test_without_authorizer_only_the_requests_of_brokers_are_refused(
    authority: CertificateAuthority,
) -> None:
    async with listener(authority.folder / "broker-2", entries=None) as to:
        channel = to.channel(read_identity(authority.folder / "alice"))
        codes = [await outcome(channel, m, request_of(m)) for m in sorted(PEER_METHODS)]
        produce = asyncio.create_task(outcome(channel, "Produce", request_of("Produce")))
        (event,) = await to.inbox.hold(1)
        produce.cancel()
        await channel.close()

    assert set(codes) == {"CLUSTER_AUTHORIZATION_FAILED"}
    assert type(event.request).__name__ == "ProduceRequest"


@asynchronous
async def test_a_user_that_names_itself_a_broker_is_known_as_the_user(
    authority: CertificateAuthority,
) -> None:
    async with listener(authority.folder / "broker-2", entries=None) as to:
        channel = to.channel(read_identity(authority.folder / "alice"))
        call = channel.unary_unary(f"/{SERVICE}/CreateAcls")
        request = wire.CreateAclsRequest(header=wire.RequestHeader(principal="User:admin"))
        waiting = call(request.SerializeToString(), metadata=((NODE_KEY, "broker-1"),))
        (event,) = await to.inbox.hold(1)
        waiting.cancel()
        forwarded = wire.CreateAclsRequest(header=wire.RequestHeader(forwards=1, forwarder=1))
        code = await outcome(channel, "CreateAcls", forwarded)
        await channel.close()

    assert getattr(event, "asker", None) == Asker("User:alice", is_proven=True)
    assert code == "CLUSTER_AUTHORIZATION_FAILED"


def open_stream(channel: aio.Channel) -> aio.StreamStreamCall[Bundle, Bundle]:
    return channel.stream_stream(
        f"/{SERVICE}/{EXCHANGE}", Bundle.SerializeToString, Bundle.FromString
    )()


async def exchanged(channel: aio.Channel, method: str) -> str:
    """How one parcel on a stream of its own is answered: by that error code.

    Or by the way in which gRPC ends the call. Of a stream that is refused while the client
    writes, grpcio says `INTERNAL`, not its status: `stream_refusal` tells that one.
    """
    call = open_stream(channel)
    body = request_of(method, as_replica=True).SerializeToString()
    try:
        await call.write(Bundle(parcels=[Parcel(parcel_id=1, method=method, body=body)]))
        async with asyncio.timeout(30):
            answer: Bundle = await call.read()
    except (aio.AioRpcError, asyncio.InvalidStateError) as error:
        return type(error).__name__
    finally:
        call.cancel()
    response = getattr(wire, f"{method}Response").FromString(answer.parcels[0].body)
    return str(response.error_code)


async def stream_refusal(channel: aio.Channel) -> str:
    """The status of a stream on which nothing is written."""
    async with asyncio.timeout(30):
        return str((await open_stream(channel).code()).name)


@asynchronous
async def test_bundles_are_taken_from_brokers_and_only_of_the_one_that_they_name(
    authority: CertificateAuthority,
) -> None:
    async with listener(authority.folder / "broker-2", entries=None) as to:
        for name in ("alice", "admin", *LIKE_BROKERS):
            channel = to.channel(read_identity(authority.add_user(name)))
            assert await stream_refusal(channel) == "PERMISSION_DENIED", name
            for method in ("Fetch", "OffsetForLeaderEpoch"):
                assert await exchanged(channel, method) in ENDED, name
            await channel.close()
        channel = to.channel(read_identity(authority.add_user("broker-3")))
        for method in ("Fetch", "OffsetForLeaderEpoch"):
            assert await exchanged(channel, method) == "CLUSTER_AUTHORIZATION_FAILED"
        await channel.close()

    assert to.inbox.events == []


@asynchronous
async def test_what_brokers_alone_say_is_refused_of_a_user_unread(
    authority: CertificateAuthority,
) -> None:
    folder = authority.folder
    async with listener(folder / "broker-2", entries=None) as to:
        alice, broker = (to.channel(read_identity(folder / name)) for name in ("alice", "broker-1"))
        no_message = b"\xff"
        calls = [
            channel.unary_unary(f"/{SERVICE}/UpdateMetadata")(no_message)
            for channel in (alice, broker)
        ]
        answer = wire.UpdateMetadataResponse.FromString(await calls[0])
        with pytest.raises(aio.AioRpcError, match="INVALID_ARGUMENT"):
            await calls[1]
        await asyncio.gather(alice.close(), broker.close())

    assert answer.error_code == "CLUSTER_AUTHORIZATION_FAILED"
    assert to.inbox.events == []


@asynchronous
async def test_a_large_request_of_a_user_is_refused_unread(
    authority: CertificateAuthority,
) -> None:
    folder = authority.folder
    async with listener(folder / "broker-2", entries=None) as to:
        alice, broker = (to.channel(read_identity(folder / name)) for name in ("alice", "broker-1"))
        many = wire.CreateTopicsRequest(topics=[wire.CreateTopicRequest()] * USER_BYTES_MAX)
        refused = await outcome(alice, "CreateTopics", many)
        # Not one of these is refused; that of a broker, and records, may be larger.
        limit = wire.DeleteTopicRequest(topic="t" * (USER_BYTES_MAX - 4))
        large = {"t" * USER_BYTES_MAX}
        calls = [
            outcome(alice, "DeleteTopic", limit),
            outcome(alice, "Produce", wire.ProduceRequest(topic=TOPIC, values=large)),
            outcome(
                broker,
                "StopReplica",
                wire.StopReplicaRequest(
                    controller_id=1, partitions=[wire.PartitionStop(topic=name) for name in large]
                ),
            ),
        ]
        waiting = [asyncio.create_task(call) for call in calls]
        events = await to.inbox.hold(len(calls))
        for call in waiting:
            call.cancel()
        await asyncio.gather(alice.close(), broker.close())

    assert limit.ByteSize() == USER_BYTES_MAX
    assert refused == "INVALID_REQUEST"
    assert {type(event.request).__name__ for event in events} == {
        *("DeleteTopicRequest", "ProduceRequest", "StopReplicaRequest")
    }


async def sent(channel: aio.Channel, content: bytes) -> str:
    """How a Produce with that content is answered: by that error code, or gRPC's status."""
    try:
        answer: bytes = await channel.unary_unary(f"/{SERVICE}/Produce")(content, timeout=30)
    except aio.AioRpcError as error:
        return str(error.code().name)
    return str(wire.ProduceResponse.FromString(answer).error_code)


@asynchronous
async def test_a_large_produce_without_permission_is_refused_unread(
    authority: CertificateAuthority,
) -> None:
    folder = authority.folder
    denied, written = (
        wire.ProduceRequest(topic=name).SerializeToString() for name in (TOPIC, "other")
    )
    no_message = b"\xff" * (USER_BYTES_MAX + 1)
    values = wire.ProduceRequest(values=[""] * USER_BYTES_MAX).SerializeToString()
    cases = {
        # What is decoded, and is no message, is not understood.
        ("alice", denied + no_message): "TOPIC_AUTHORIZATION_FAILED",
        ("alice", written + no_message): "INVALID_ARGUMENT",
        ("alice", denied + no_message[len(denied) + 1 :]): "INVALID_ARGUMENT",
        ("admin", denied + no_message): "INVALID_ARGUMENT",
        ("broker-1", denied + no_message): "TOPIC_AUTHORIZATION_FAILED",
        ("alice", no_message): "INVALID_REQUEST",
        ("alice", b"\n" + no_message): "INVALID_REQUEST",
        # Of a topic that is named twice the last one counts.
        ("alice", written + values + denied): "TOPIC_AUTHORIZATION_FAILED",
        ("alice", denied + values + written): "TOPIC_AUTHORIZATION_FAILED",
        ("alice", values + written): "INVALID_REQUEST",
        ("alice", values): "INVALID_REQUEST",
    }
    async with listener(folder / "broker-2", entries=ENTRIES, super_users=SUPER_USERS) as to:
        channels = {name: to.channel(read_identity(folder / name)) for name, _ in cases}
        for number, ((name, content), expected) in enumerate(cases.items()):
            assert await sent(channels[name], content) == expected, number
        assert to.inbox.events == []
        waiting = asyncio.create_task(sent(channels["alice"], written + values))
        (event,) = await to.inbox.hold(1)
        waiting.cancel()
        await asyncio.gather(*(channel.close() for channel in channels.values()))

    assert event.request == ProduceRequest(
        topic="other", partition=0, acks=0, values=("",) * USER_BYTES_MAX, timeout_ms=0
    )
