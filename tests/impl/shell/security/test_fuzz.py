"""Bytes that no client would send, at a listener with TLS: nothing gets through, none is hurt.

The number of examples bounds the time; `FUZZ_EXAMPLES` raises it for a long run.
"""

import asyncio
import os
import socket
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

import grpc
import pytest
from grpc import aio

from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.fault_injection.network.odd_bytes import PING, PONG, PREFACE, SETTINGS, OddBytes
from fencepost.spec.wire.conventions import SERVICE
from fencepost.spec.wire.replication_pb2 import Bundle, Parcel
from fencepost.spec.wire.tls import broker_common_name, client_context, read_identity
from tests.impl.shell.rpc_pair import asynchronous
from tests.impl.shell.security.listener import (
    METHODS,
    REFUSALS,
    Listener,
    listener,
    outcome,
    request_of,
)

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "20"))
PEER_ID = 9
"""A broker that no request names."""
PEER = broker_common_name(PEER_ID)
SILENCE_S = 0.2
"""After which a connection waits for more than was sent."""
HUGE_BYTES = 2**14
OF_MANY = ("CreateTopics", "DeleteTopics", "AlterConfigs", "IncrementalAlterConfigs")
"""Methods whose requests may name nothing, and need no permission then."""
JUDGED = tuple(method for method in METHODS if method not in ("Metadata", *OF_MANY))
"""Methods of which every request of this user is refused, so that an answer always comes."""


@dataclass(frozen=True, slots=True)
class Example:
    """What is sent at once."""

    plain: bytes
    """On a connection without TLS."""
    frames: list[bytes]
    """Of HTTP/2, for a connection each."""
    messages: list[tuple[str, bytes]]
    """Method and request."""
    parcels: list[Parcel]


def drawn(seed: int) -> Example:
    """The example of that number."""
    random = Random(seed)
    odd = OddBytes(random)
    huge = [one for one in (odd.huge(HUGE_BYTES) for _ in range(2)) if one[0] in JUDGED]
    methods = random.choices(JUDGED, k=20)
    carried = random.choices(("Fetch", "OffsetForLeaderEpoch", "", "Exchange", "\0"), k=10)
    return Example(
        plain=random.randbytes(random.randrange(200)),
        frames=[*(odd.call(method) for method in methods[:3]), *(odd.frame() for _ in range(3))],
        messages=[*((method, odd.almost_valid(method)) for method in methods), *huge],
        parcels=[
            Parcel(
                parcel_id=random.randrange(-5, 6),
                method=method,
                body=odd.almost_valid(method if method in METHODS else "Fetch"),
                lamport=random.randrange(-(2**63), 2**63),
            )
            for method in carried
        ],
    )


def tls_connection(port: int, folder: Path) -> ssl.SSLSocket:
    """A connection with a client's certificate, with nothing on it."""
    context = client_context(folder)
    context.set_alpn_protocols(["h2"])
    plain = socket.create_connection(("127.0.0.1", port), 5)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def send_frames(port: int, folder: Path, sent: list[bytes]) -> None:
    """Each on a connection of its own: a broker may end one at its first frame."""
    for frames in sent:
        with suppress(OSError), tls_connection(port, folder) as connection:
            connection.sendall(PREFACE + SETTINGS + frames + PING)
            connection.settimeout(SILENCE_S)
            answer = b""
            while PONG not in answer and (more := connection.recv(4096)):
                answer += more


def send_plain(port: int, content: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), 5) as connection, suppress(OSError):
        connection.sendall(content)


async def send_messages(channel: aio.Channel, messages: list[tuple[str, bytes]]) -> None:
    """Each gets the answer of one that is not understood, or not allowed."""
    for method, content in messages:
        call = channel.unary_unary(f"/{SERVICE}/{method}")
        try:
            answer = await call(content, timeout=30)
        except aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.INVALID_ARGUMENT:
                continue
            raise
        assert any(code.encode() in answer for code in REFUSALS), method


async def send_bundle(channel: aio.Channel, parcels: list[Parcel]) -> None:
    """Each parcel is answered with an error or a refusal."""
    call = channel.stream_stream(
        f"/{SERVICE}/Exchange", Bundle.SerializeToString, Bundle.FromString
    )()
    await call.write(Bundle(parcels=parcels))
    left = len(parcels)
    async with asyncio.timeout(30):
        while left:
            answer = await call.read()
            assert isinstance(answer, Bundle), "the stream has ended"
            for parcel in answer.parcels:
                assert parcel.error or b"AUTHORIZATION_FAILED" in parcel.body
                left -= 1
    call.cancel()


async def attack(to: Listener, folder: Path, example: Example) -> None:
    """All of it at once, beside a client that goes on asking; each of its requests is answered."""
    errors: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(context))
    identities = (folder / "alice", folder / "alice", folder / PEER)
    attacker, bystander, peer = channels = [to.channel(read_identity(one)) for one in identities]
    await asyncio.gather(*(channel.channel_ready() for channel in channels))
    await asyncio.gather(
        asyncio.to_thread(send_plain, to.port, example.plain),
        asyncio.to_thread(send_frames, to.port, folder / "alice", example.frames),
        send_messages(attacker, example.messages),
        send_bundle(peer, example.parcels),
        served(bystander),
    )
    await served(bystander)
    await asyncio.gather(*(channel.close() for channel in channels))
    assert errors == []


async def served(channel: aio.Channel) -> None:
    assert await outcome(channel, "Produce", request_of("Produce")) in REFUSALS


@pytest.mark.parametrize("seed", range(EXAMPLES))
@asynchronous
async def test_no_bytes_hurt_the_listener_or_its_other_connections(
    authority: CertificateAuthority, seed: int
) -> None:
    authority.add_broker(PEER_ID)
    async with listener(authority.folder / "broker-2") as to:
        await attack(to, authority.folder, drawn(seed))
        assert to.inbox.events == []


@asynchronous
async def test_a_path_that_is_no_text_does_not_end_the_server(
    authority: CertificateAuthority,
) -> None:
    alice = authority.folder / "alice"
    call = OddBytes(Random(0)).valid_call("Produce")
    odd = call.replace(b"/Produce", b"/Pr\xd2duce")
    assert odd != call
    async with listener(authority.folder / "broker-2") as to:
        channel = to.channel(read_identity(alice))
        await served(channel)
        await asyncio.to_thread(send_frames, to.port, alice, [odd])
        await served(channel)
        await channel.close()
