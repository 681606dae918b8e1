"""Probes: connections of our own that show whether a link lets bytes pass.

A probe says hello in the server's protocol. When the server reacts, the hello has passed,
whether or not its answer may.
"""

import asyncio
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field

from fencepost.fault_injection.network.links.flows import Endpoint, Flow
from fencepost.fault_injection.network.links.rules import Link

GRPC_HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The preface of HTTP/2 and empty settings (RFC 9113, section 3.4)."""
ZOOKEEPER_HELLO = b"srvr"


@dataclass(slots=True, kw_only=True, eq=False)
class Probe:
    """One probe on its way."""

    link: Link
    socket: socket.socket
    started: float = field(default_factory=time.monotonic)
    flow: Flow | None = None
    """Once the proxy has accepted it."""
    passed_ms: float | None = None
    """When the server was first seen to react, from the start."""

    @property
    def port(self) -> int:
        """By which the proxy knows it."""
        return int(self.socket.getsockname()[1])

    def look(self) -> float | None:
        """Milliseconds until the server reacted; None when it has not."""
        if self.passed_ms is None and self.flow is not None and self.flow.saw_reaction():
            self.passed_ms = self.waited_ms()
        return self.passed_ms

    def waited_ms(self) -> float:
        """Milliseconds since its start."""
        return round((time.monotonic() - self.started) * 1000, 3)

    async def run(self, endpoint: Endpoint, hello: bytes) -> None:
        """Say hello; whatever the network does to it is an answer too."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            await loop.sock_connect(self.socket, endpoint)
            await loop.sock_sendall(self.socket, hello)

    def end(self) -> None:
        """Nothing is left of it."""
        if self.flow is not None:
            self.flow.reset()
        self.socket.close()


def new_probe(link: Link, host: str) -> Probe:
    """A probe that has its port and is not yet connected."""
    own = socket.socket()
    own.settimeout(0)
    own.bind((host, 0))
    return Probe(link=link, socket=own)
