"""Bytes that no client would send, at a listener with TLS: nothing gets through, none is hurt.

The number of examples bounds the time; `FUZZ_EXAMPLES` raises it for a long run.
"""

import asyncio
import os
import socket
import ssl
import struct
from contextlib import suppress
from pathlib import Path

import grpc
from grpc import aio
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.spec.wire.conventions import SERVICE
from fencepost.spec.wire.replication_pb2 import Bundle, Parcel
from fencepost.spec.wire.tls import client_context, read_identity
from tests.impl.shell.security.listener import (
    METHODS,
    REFUSALS,
    Listener,
    listener,
    outcome,
    request_of,
)

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "20"))
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_TYPES_MAX = 12
OF_MANY = ("CreateTopics", "DeleteTopics", "AlterConfigs", "IncrementalAlterConfigs")
"""Methods whose requests may name nothing, and need no permission then."""
JUDGED = tuple(method for method in METHODS if method not in ("Metadata", *OF_MANY))
"""Methods of which every request of this user is refused, so that an answer always comes."""
FRAMES = st.builds(
    lambda kind, flags, stream, body: (
        struct.pack(">I", len(body))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + body
    ),
    st.integers(0, FRAME_TYPES_MAX),
    st.integers(0, 255),
    st.sampled_from((0, 1, 2, 3, 2**31 - 1, 2**32 - 1)),
    st.binary(max_size=64),
)
"""Of HTTP/2, with any type, flags and stream."""
MESSAGES = st.tuples(st.sampled_from(JUDGED), st.binary(max_size=80), st.booleans())
"""Method, bytes, and whether they come after a request that is well-formed."""
PARCELS = st.builds(
    Parcel,
    parcel_id=st.integers(-5, 5),
    method=st.sampled_from((*METHODS, "", "Exchange", "\0")),
    body=st.binary(max_size=40),
    lamport=st.integers(-(2**63), 2**63 - 1),
)
"""What may be in a bundle."""
Example = tuple[bytes, list[bytes], list[tuple[str, bytes, bool]], list[Parcel]]


def tls_connection(port: int, folder: Path) -> ssl.SSLSocket:
    """A connection with a client's certificate, with nothing on it."""
    context = client_context(folder)
    context.set_alpn_protocols(["h2"])
    plain = socket.create_connection(("127.0.0.1", port), 5)
    return context.wrap_socket(plain, server_hostname="127.0.0.1")


def send_frames(port: int, folder: Path, frames: list[bytes]) -> None:
    with tls_connection(port, folder) as connection, suppress(OSError):
        connection.sendall(PREFACE)
        for frame in frames:
            connection.sendall(frame)


def send_plain(port: int, content: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port), 5) as connection, suppress(OSError):
        connection.sendall(content)


async def send_messages(channel: aio.Channel, messages: list[tuple[str, bytes, bool]]) -> None:
    """Each gets the answer of one that is not understood, or not allowed."""
    for method, content, is_suffix in messages:
        before = request_of(method).SerializeToString() if is_suffix else b""
        call = channel.unary_unary(f"/{SERVICE}/{method}")
        try:
            answer = await call(before + content, timeout=30)
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
    plain, frames, messages, parcels = example
    errors: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: errors.append(context))
    attacker, bystander = to.channel(read_identity(folder)), to.channel(read_identity(folder))
    await asyncio.gather(
        asyncio.to_thread(send_plain, to.port, plain),
        asyncio.to_thread(send_frames, to.port, folder, frames),
        send_messages(attacker, messages),
        send_bundle(attacker, parcels),
        served(bystander),
    )
    await served(bystander)
    await attacker.close()
    await bystander.close()
    assert errors == []


async def served(channel: aio.Channel) -> None:
    assert await outcome(channel, "Produce", request_of("Produce")) in REFUSALS


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES <= 20,
    phases=(Phase.generate,),  # an example that is not answered takes seconds: it is not shrunk
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    example=st.tuples(
        st.binary(max_size=200),
        st.lists(FRAMES, max_size=20),
        st.lists(MESSAGES, max_size=10),
        st.lists(PARCELS, max_size=10),
    )
)
def test_no_bytes_hurt_the_listener_or_its_other_connections(
    authority: CertificateAuthority, example: Example
) -> None:
    async def play() -> None:
        async with listener(authority.folder / "broker-2") as to:
            await attack(to, authority.folder / "alice", example)
            assert to.inbox.events == []

    asyncio.run(asyncio.wait_for(play(), 30))
