"""Probes: connections of our own that show whether a link lets bytes pass.

A probe sends a greeting in the server's protocol. When the server reacts, it has passed,
whether or not its answer may.
"""

import asyncio
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.proxy.flows import Endpoint, Flow
from fencepost.fault_injection.network.rules import Link
from fencepost.fault_injection.network.service import LinkProbe

GREETINGS: Mapping[str, bytes] = {
    # The preface of HTTP/2 and empty settings (RFC 9113, section 3.4).
    WireProtocol.GRPC: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]),
    # ApiVersions in version 0, request 0, of a client without a name.
    WireProtocol.KAFKA: struct.pack(">ihhih", 10, 18, 0, 0, -1),
    WireProtocol.ZOOKEEPER: b"srvr",
}


@dataclass(slots=True, kw_only=True, eq=False)
class StreamProbe(LinkProbe):
    """One connection of our own through the proxy."""

    socket: socket.socket
    flow: Flow | None = None
    """Once the proxy has accepted it."""

    @property
    def port(self) -> int:
        """Its own port, which identifies it to the proxy."""
        return int(self.socket.getsockname()[1])

    def look(self) -> float | None:
        """Milliseconds until the server reacted; None when it has not."""
        if self.passed_ms is None and self.flow is not None and self.flow.saw_reaction():
            self.passed_ms = self.waited_ms()
        return self.passed_ms

    async def run(self, endpoint: Endpoint, hello: bytes) -> None:
        """Connect and send the greeting; an error of the network is a result too."""
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            await loop.sock_connect(self.socket, endpoint)
            await loop.sock_sendall(self.socket, hello)

    def end(self) -> None:
        """Reset its connection and close its socket."""
        if self.flow is not None:
            self.flow.reset()
        self.socket.close()


def new_probe(link: Link, host: str) -> StreamProbe:
    """A probe that has its port and is not yet connected."""
    own = socket.socket()
    own.settimeout(0)
    own.bind((host, 0))
    return StreamProbe(link=link, socket=own)
