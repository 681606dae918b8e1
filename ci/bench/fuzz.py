"""What no client would send, at a secured broker: `python -m fencepost.ci.bench.fuzz`.

Frames of HTTP/2, messages and parcels are drawn from a seed and sent by a user without any
permission to a real broker process. After each round an administrator on another connection must
be answered by the same process. Its memory is read after the first tenth and at the end.
"""

import argparse
import asyncio
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import grpc
from grpc import aio

from fencepost.ci.screens.console import note, say, show_table
from fencepost.conformance.adapters import local_cluster
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.wire import replication_pb2 as wire
from fencepost.spec.wire.conventions import CHANNEL_OPTIONS, SERVICE
from fencepost.spec.wire.replication_pb2 import Bundle, Parcel
from fencepost.spec.wire.tls import ADMIN, client_context, read_identity

COUNT = 1_000_000
"""Frames, messages and parcels together."""
CONNECTIONS, FRAMES, MESSAGES, BUNDLES, PARCELS = 8, 40, 120, 4, 200
"""Of one round: connections with so many frames, and bundles with so many parcels."""
ROUND = CONNECTIONS * FRAMES + MESSAGES + BUNDLES * PARCELS
CALL_S = 20.0
GROWTH_MB_MAX = 32.0
"""By which the broker may grow from the first tenth on."""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\4\0\0\0\0\0"
FRAME_TYPES_MAX = 12
STREAMS = (0, 1, 2, 3, 2**31 - 1, 2**32 - 1)
GRANTED = ("CreateDelegationToken",)
"""What any user may have done: a broker that does it is not hurt, only busy."""
METHODS = sorted(
    method.name
    for method in wire.DESCRIPTOR.services_by_name["Replication"].methods
    if method.name not in ("Exchange", *GRANTED)
)
ANSWERS = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION)
"""How a message may be refused unread."""


@dataclass(slots=True)
class FuzzOutcome:
    """What came of the rounds so far."""

    sent: int = 0
    slowest_s: float = 0.0
    """Of the administrator's calls."""
    wrong: list[str] = field(default_factory=list)


class Draws:
    """What one round sends."""

    def __init__(self, seed: int, number: int) -> None:
        self._random = Random(f"{seed}/{number}")

    def frames(self) -> Iterator[bytes]:
        """Of HTTP/2: of any type, flags and stream; the length is that of the body, or a lie."""
        random = self._random
        for _ in range(FRAMES):
            body = random.randbytes(random.choice((0, 4, 5, 8, random.randrange(64))))
            length = len(body) if random.random() < 0.9 else random.randrange(2**24)
            head = struct.pack(">I", length)[1:]
            kind, flags = random.randrange(FRAME_TYPES_MAX), random.randrange(256)
            stream = struct.pack(">I", random.choice(STREAMS))
            yield head + bytes([kind, flags]) + stream + body

    def messages(self) -> Iterator[tuple[str, bytes]]:
        """Methods, and bytes that are seldom their requests."""
        for _ in range(MESSAGES):
            yield self._random.choice(METHODS), self._bytes()

    def bundle(self) -> Bundle:
        """Parcels of any method, most of none that travels so."""
        random = self._random
        methods = ("Fetch", "OffsetForLeaderEpoch", "", "Exchange", *METHODS)
        return Bundle(
            parcels=[
                Parcel(
                    parcel_id=number,
                    method=random.choice(methods),
                    body=self._bytes(),
                    lamport=random.randrange(-(2**63), 2**63),
                )
                for number in range(PARCELS)
            ]
        )

    def _bytes(self) -> bytes:
        return self._random.randbytes(self._random.randrange(80))


def send_frames(endpoint: tuple[str, int], folder: Path, frames: list[bytes]) -> None:
    """One connection with a valid certificate, until the broker ends it."""
    context = client_context(folder)
    context.set_alpn_protocols(["h2"])
    plain = socket.create_connection(endpoint, CALL_S)
    with suppress(OSError), context.wrap_socket(plain, server_hostname=endpoint[0]) as connection:
        connection.sendall(PREFACE + SETTINGS + b"".join(frames))


async def send_message(channel: aio.Channel, method: str, body: bytes) -> str:
    """What is wrong with how it was answered; empty when nothing is."""
    try:
        await channel.unary_unary(f"/{SERVICE}/{method}")(body, timeout=CALL_S)
    except aio.AioRpcError as error:
        return "" if error.code() in ANSWERS else f"{method} {body.hex()}: {error.code().name}"
    return ""


async def send_bundle(channel: aio.Channel, bundle: Bundle) -> str:
    """The same of a bundle, each parcel of which must be answered."""
    call = channel.stream_stream(
        f"/{SERVICE}/Exchange", Bundle.SerializeToString, Bundle.FromString
    )()
    left = len(bundle.parcels)
    try:
        async with asyncio.timeout(CALL_S):
            await call.write(bundle)
            while left > 0:
                answer = await call.read()
                if not isinstance(answer, Bundle):
                    return "a stream has ended"
                left -= len(answer.parcels)
    except (TimeoutError, aio.AioRpcError) as error:
        return f"{left} parcels without answer: {type(error).__name__}"
    finally:
        call.cancel()
    return ""


async def attack(
    address: str, tls: Path, user: Path, count: int, seed: int, pid: int
) -> FuzzOutcome:
    """All rounds; ends early when something is wrong."""
    seen, grown = FuzzOutcome(), 0.0
    attacker, bystander = (_channel(address, folder) for folder in (user, tls / ADMIN))
    host, _, port = address.rpartition(":")
    for number in range(-(-count // ROUND)):
        draws = Draws(seed, number)
        connections = [list(draws.frames()) for _ in range(CONNECTIONS)]
        found = await asyncio.gather(
            *(send_message(attacker, *one) for one in draws.messages()),
            *(send_bundle(attacker, draws.bundle()) for _ in range(BUNDLES)),
            *(
                asyncio.to_thread(send_frames, (host, int(port)), user, frames)
                for frames in connections
            ),
        )
        begun = time.perf_counter()
        found.append(await send_message(bystander, "Metadata", b""))
        seen.slowest_s = max(seen.slowest_s, time.perf_counter() - begun)
        seen.sent += ROUND
        seen.wrong += [f"seed {seed}, round {number}: {one}" for one in found if one]
        if seen.sent * 10 >= count and not grown:
            grown = memory_mb(pid)
            note(f"{seen.sent} sent: {grown:.0f} MB")
        if seen.wrong:
            break
    growth = memory_mb(pid) - grown
    note(f"{seen.sent} sent: {growth:+.1f} MB since the first tenth")
    if growth > GROWTH_MB_MAX:
        seen.wrong.append(f"the broker grew by {growth:.1f} MB, more than {GROWTH_MB_MAX:g}")
    await asyncio.gather(attacker.close(), bystander.close())
    return seen


def _channel(address: str, folder: Path) -> aio.Channel:
    own = read_identity(folder)
    credentials = grpc.ssl_channel_credentials(own.ca, own.key, own.certificate)
    options = (*CHANNEL_OPTIONS, ("grpc.use_local_subchannel_pool", 1))
    return aio.secure_channel(address, credentials, options)


def memory_mb(pid: int) -> float:
    """Resident memory of the process, in MB; 0 when it has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    words = dict(line.split(":", 1) for line in text.splitlines())
    return int(words.get("VmRSS", "0 kB").split()[0]) / 1000


def measure(count: int, seed: int, folder: Path) -> FuzzOutcome:
    """A cluster of one broker with all of security on, and all that is sent to it."""
    tls = folder / "tls"
    settings = ClusterSettings(brokers=1, tls=tls, authorizer=True)
    (broker,) = local_cluster.up(folder, settings=settings).brokers
    try:
        assert broker.pid is not None, "it is up"
        assert broker.address is not None, "it is registered"
        user = CertificateAuthority(tls).add_user("mallory")
        seen = asyncio.run(attack(broker.address, tls, user, count, seed, broker.pid))
        (after,) = local_cluster.status(folder).brokers
        if after.pid != broker.pid:
            seen.wrong.append("the broker has ended")
    finally:
        local_cluster.down(folder)
    return seen


def main(arguments: Sequence[str]) -> int:
    """Print what came of it; 1 when anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m fencepost.ci.bench.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    begun = time.perf_counter()
    with scratch_folder("bench") as folder:
        seen = measure(given.count, given.seed, folder)
    seconds = time.perf_counter() - begun
    show_table(
        "frames, messages and parcels at a secured broker",
        ("seed", "sent", "wrong", "slowest call beside, s", "seconds"),
        [(given.seed, seen.sent, len(seen.wrong), f"{seen.slowest_s:.2f}", f"{seconds:.0f}")],
    )
    for one in seen.wrong:
        say(one)
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
