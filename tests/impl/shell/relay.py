"""A TCP relay that can be stalled and cut: the network between a broker and its ZooKeeper."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

CHUNK = 65536


class Relay:
    """Forwards both ways while it is open and not stalled; refuses while it is cut."""

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = host, int(port)
        self._flows = asyncio.Event()
        self._flows.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._pumps: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self.port = 0

    def stall(self) -> None:
        """Bytes wait, connections stay."""
        self._flows.clear()

    def cut(self) -> None:
        """Connections end, new ones are closed at once; what had waited is lost."""
        self._is_cut = True
        for pump in self._pumps:
            pump.cancel()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def heal(self) -> None:
        """All is well again."""
        self._is_cut = False
        self._flows.set()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        self._writers |= {writer, far_writer}
        for source, sink in ((reader, far_writer), (far_reader, writer)):
            pump = asyncio.create_task(self._pump(source, sink))
            self._pumps.add(pump)
            pump.add_done_callback(self._pumps.discard)

    async def close(self) -> None:
        self.cut()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(CHUNK):
                await self._flows.wait()
                sink.write(data)
                await sink.drain()
        sink.close()


@asynccontextmanager
async def relay_to(target: str) -> AsyncIterator[Relay]:
    """A relay to `host:port`, at `127.0.0.1:<relay.port>`."""
    relay = Relay(target)
    server = await asyncio.start_server(relay.accept, "127.0.0.1", 0)
    relay.port = server.sockets[0].getsockname()[1]
    try:
        yield relay
    finally:
        server.close()
        await relay.close()
        await server.wait_closed()
