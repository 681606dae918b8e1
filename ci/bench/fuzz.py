"""What no client would send, at a secured broker: `python -m fencepost.ci.bench.fuzz`.

Frames of HTTP/2, messages and parcels are drawn from a seed; most are of valid requests with a few
bytes changed. They are sent to a real broker process by a user without any permission, and parcels
by another broker. After each round an administrator on another connection must be answered by the
same process. Its memory is read after each round. Then an administrator sends such messages itself,
which a broker obeys when it understands them.
"""

import argparse
import asyncio
import socket
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import grpc
from grpc import aio

from fencepost.ci.screens.console import say, show_table
from fencepost.conformance.adapters import local_cluster
from fencepost.conformance.adapters.implementation import Implementation
from fencepost.conformance.adapters.reference import REFERENCE
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.fault_injection.network.odd_bytes import (
    EXCHANGE,
    METHODS,
    PING,
    PONG,
    PREFACE,
    SETTINGS,
    OddBytes,
)
from fencepost.spec.scratch import scratch_folder
from fencepost.spec.wire.conventions import CHANNEL_OPTIONS, SERVICE
from fencepost.spec.wire.replication_pb2 import Bundle, Parcel
from fencepost.spec.wire.tls import ADMIN, broker_common_name, client_context, read_identity

COUNT = 1_000_000
"""Frames, messages and parcels together."""
CONNECTIONS, FRAMES, MESSAGES, BUNDLES, PARCELS = 40, 2, 520, 2, 200
"""Of one round: connections with so many frames, and bundles with so many parcels."""
ROUND = CONNECTIONS * FRAMES + MESSAGES + BUNDLES * PARCELS
TRUSTED_SHARE = 10
"""For so many sent by others, an administrator sends one."""
HUGE_BYTES = (2**16, 2**20, 2**23, 2**25)
"""Of one message of a round; gRPC takes twice the last one."""
CALL_S = 20.0
WAIT_S = 2.0
"""For the answer to an administrator's request, which may ask for a long wait."""
SILENCE_S = 0.2
"""On a connection with frames: the last one has promised more than came."""
SLOWEST_S = 5.0
"""Within which the call beside is answered."""
GROWTH_MB_MAX = 32.0
"""By which the broker may grow from the second tenth on."""
GRANTED = ("CreateDelegationToken",)
"""What any user may have done: a broker that does it is not hurt, only busy."""
MALLORY, PEER_ID = "mallory", 2
"""The user without permission, and another broker."""
REFUSED = [method for method in METHODS if method not in GRANTED]
UNREAD = (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION)
"""How a message may be refused that is not understood."""


@dataclass(slots=True)
class FuzzOutcome:
    """What came of the rounds so far."""

    sent: int = 0
    slowest_s: float = 0.0
    """Of the administrator's calls."""
    growth_mb: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def take(self, found: Sequence[tuple[str, str]], where: str) -> None:
        """How each was answered, and what is wrong with that; empty when nothing is."""
        self.answers.update(answer for answer, _ in found)
        self.wrong += [f"{where}: {wrong}" for _, wrong in found if wrong]


def messages(
    odd: OddBytes, random: Random, methods: Sequence[str], count: int
) -> list[tuple[str, bytes]]:
    """Of these methods, each with a request that is almost valid."""
    chosen = [random.choice(methods) for _ in range(count)]
    return [(method, odd.almost_valid(method)) for method in chosen]


def bundle(odd: OddBytes, random: Random) -> Bundle:
    """Parcels of the methods that travel so, a few of others."""
    methods = (*["Fetch", "OffsetForLeaderEpoch"] * 10, "", EXCHANGE, *METHODS)
    chosen = [random.choice(methods) for _ in range(PARCELS)]
    return Bundle(
        parcels=[
            Parcel(
                parcel_id=number,
                method=method,
                body=odd.almost_valid(method if method in METHODS else "Fetch"),
                lamport=random.randrange(-(2**63), 2**63),
            )
            for number, method in enumerate(chosen)
        ]
    )


def frames(odd: OddBytes, random: Random) -> bytes:
    """Of one connection: two at random, or those of a call with a few bytes changed."""
    if random.random() < 0.5:
        return b"".join(odd.frame() for _ in range(FRAMES))
    return odd.call(random.choice(METHODS))


def send_frames(endpoint: tuple[str, int], folder: Path, sent: bytes) -> tuple[str, str]:
    """How the broker answered them on a connection with a valid certificate."""
    answer = bytearray()
    context = client_context(folder)
    context.set_alpn_protocols(["h2"])
    try:
        plain = socket.create_connection(endpoint, CALL_S)
        with context.wrap_socket(plain, server_hostname=endpoint[0]) as connection:
            connection.sendall(PREFACE + SETTINGS + sent + PING)
            connection.settimeout(SILENCE_S)
            while PONG not in answer:
                more = connection.recv(4096)
                if not more:
                    return "frames: hangs up", ""
                answer += more
    except TimeoutError:
        return "frames: waits for more", ""
    except OSError:
        return "frames: hangs up", ""
    return "frames: goes on", ""


async def send_message(
    channel: aio.Channel, method: str, body: bytes, within_s: float = CALL_S
) -> tuple[str, str]:
    """How it was answered, and what is wrong with that; empty when nothing is."""
    try:
        await channel.unary_unary(f"/{SERVICE}/{method}")(body, timeout=within_s)
    except aio.AioRpcError as error:
        if error.code() in UNREAD:
            return "messages: not understood", ""
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED and within_s < CALL_S:
            return "messages: no answer yet", ""
        shown = f"{body[:200].hex()} ({len(body)} bytes)"
        return "messages: lost", f"{method} {shown}: {error.code().name} {error.details()}"
    return "messages: answered", ""


async def send_bundle(channel: aio.Channel, sent: Bundle) -> tuple[str, str]:
    """The same of a bundle, each parcel of which must be answered."""
    call = channel.stream_stream(
        f"/{SERVICE}/{EXCHANGE}", Bundle.SerializeToString, Bundle.FromString
    )()
    left = len(sent.parcels)
    try:
        async with asyncio.timeout(CALL_S):
            await call.write(sent)
            while left > 0:
                answer = await call.read()
                if not isinstance(answer, Bundle):
                    return "bundles: lost", "a stream has ended"
                left -= len(answer.parcels)
    except (TimeoutError, aio.AioRpcError) as error:
        return "bundles: lost", f"{left} parcels without answer: {type(error).__name__} {error}"
    finally:
        call.cancel()
    return "bundles: answered", ""


@dataclass(frozen=True, slots=True)
class Attack:
    """All that is sent to one broker, and what came of it."""

    address: str
    tls: Path
    pid: int
    seed: int
    seen: FuzzOutcome = field(default_factory=FuzzOutcome)

    async def run(self, count: int) -> None:
        """All rounds; ends early when something is wrong."""
        sizes = []
        names = (MALLORY, broker_common_name(PEER_ID), ADMIN)
        channels = [_channel(self.address, self.tls / name) for name in names]
        await asyncio.gather(*(channel.channel_ready() for channel in channels))
        for number in range(-(-count // ROUND)):
            await self._round(number, *channels)
            sizes.append(memory_mb(self.pid))
            if self.seen.wrong:
                break
        self.seen.growth_mb = growth_mb(sizes)
        if self.seen.growth_mb > GROWTH_MB_MAX:
            growth = f"{self.seen.growth_mb:.1f} MB, more than {GROWTH_MB_MAX:g}"
            self.seen.wrong.append(f"the broker grew by {growth}")
        for number in range(-(-count // ROUND // TRUSTED_SHARE)):
            if not self.seen.wrong:
                await self._trusted_round(number, channels[-1])
        await asyncio.gather(*(channel.close() for channel in channels))

    async def _round(
        self, number: int, attacker: aio.Channel, peer: aio.Channel, bystander: aio.Channel
    ) -> None:
        random = Random(f"{self.seed}/{number}")
        odd = OddBytes(random)
        host, _, port = self.address.rpartition(":")
        connections = [frames(odd, random) for _ in range(CONNECTIONS)]
        sent = [*messages(odd, random, REFUSED, MESSAGES - 1), odd.huge(random.choice(HUGE_BYTES))]
        found = await asyncio.gather(
            *(send_message(attacker, *one) for one in sent),
            *(send_bundle(peer, bundle(odd, random)) for _ in range(BUNDLES)),
            *(
                asyncio.to_thread(send_frames, (host, int(port)), self.tls / MALLORY, one)
                for one in connections
            ),
            self._served(bystander),
        )
        self.seen.take(found, f"seed {self.seed}, round {number}")
        self.seen.take([await self._served(bystander)], f"after round {number}")
        self.seen.sent += ROUND

    async def _trusted_round(self, number: int, trusted: aio.Channel) -> None:
        random = Random(f"{self.seed}/trusted/{number}")
        odd = OddBytes(random)
        sent = messages(odd, random, METHODS, ROUND)
        found = await asyncio.gather(*(send_message(trusted, *one, WAIT_S) for one in sent))
        told = [(f"{ADMIN}'s {answer}", wrong) for answer, wrong in found]
        self.seen.take(told, f"seed {self.seed}, trusted round {number}")
        self.seen.take([await self._served(trusted)], f"after trusted round {number}")
        self.seen.sent += ROUND

    async def _served(self, bystander: aio.Channel) -> tuple[str, str]:
        begun = time.perf_counter()
        _, wrong = await send_message(bystander, "Metadata", b"")
        took_s = time.perf_counter() - begun
        self.seen.slowest_s = max(self.seen.slowest_s, took_s)
        if not wrong and took_s > SLOWEST_S:
            wrong = f"the call beside took {took_s:.1f} s"
        return "beside: answered", wrong


def growth_mb(sizes: Sequence[float]) -> float:
    """From the least memory of the second tenth of all rounds to the least of the last.

    It swings by 150 MB with the largest requests, and what is kept for good is in the least, too.
    """
    tenth = max(1, len(sizes) // 10)
    return min(sizes[-tenth:]) - min(sizes[tenth : 2 * tenth] or sizes[:tenth])


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


def measure(
    count: int, seed: int, folder: Path, implementation: Implementation = REFERENCE
) -> FuzzOutcome:
    """A cluster of one broker with all of security on, and all that is sent to it."""
    tls = folder / "tls"
    settings = ClusterSettings(implementation=implementation, brokers=1, tls=tls, authorizer=True)
    (broker,) = local_cluster.up(folder, settings=settings).brokers
    try:
        assert broker.pid is not None, "it is up"
        assert broker.address is not None, "it is registered"
        authority = CertificateAuthority(tls)
        authority.add_user(MALLORY)
        authority.add_broker(PEER_ID)
        attack = Attack(broker.address, tls, broker.pid, seed)
        asyncio.run(attack.run(count))
        (after,) = local_cluster.status(folder).brokers
        if after.pid != broker.pid:
            attack.seen.wrong.append("the broker has ended")
    finally:
        local_cluster.down(folder)
    return attack.seen


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
    slowest, growth = f"{seen.slowest_s:.2f}", f"{seen.growth_mb:+.1f}"
    show_table(
        "frames, messages and parcels at a secured broker",
        ("seed", "sent", "wrong", "slowest call beside, s", "growth, MB", "seconds"),
        [(given.seed, seen.sent, len(seen.wrong), slowest, growth, f"{seconds:.0f}")],
    )
    show_table("how they were answered", ("", "count"), sorted(seen.answers.items()))
    for one in seen.wrong:
        say(one)
    return 1 if seen.wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
