"""The proxy of a run: a process through which its connections go, and which rules can hurt.

`python -m fencepost.fault_injection.network.proxy.proxy DIRECTORY` opens a place for each server;
the peer is known by the connecting process. It ends with the run, and every rule with
it. Standard library only.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast

from fencepost.fault_injection.network.active_rules import ActiveLinkRule
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.proxy.flows import Endpoint, Flow, Route
from fencepost.fault_injection.network.proxy.peers import Peers, listening_ports
from fencepost.fault_injection.network.proxy.probes import GREETINGS, StreamProbe, new_probe
from fencepost.fault_injection.network.rules import CLIENTS, Link, LinkRule
from fencepost.fault_injection.network.service import Answer, CommandError, LinkService, serve

HOST = "127.0.0.1"
BACKLOG = 512
ANSWER_S = 10.0
"""Of a broker to a request that was kept."""
DELIVERY_S = 1.0
"""The end of a rule waits no longer for these answers."""


@dataclass(slots=True, kw_only=True)
class Place:
    """The port at which other members reach one server."""

    server: str
    client: str | None
    """The only member that connects here; None: told from each connection."""
    upstream: Endpoint | None
    """None: wherever the server's process listens."""
    is_fixed: bool
    """True when the upstream was given: the place stays when the process of the server ends."""
    protocol: WireProtocol
    listener: asyncio.Server
    port: int


class Proxy(LinkService):
    """All places, members and connections of a run."""

    def __init__(self) -> None:
        super().__init__()
        self.rules.on_change = self._apply
        self.rules.on_drop = self._drop
        self.rules.on_release = self._release
        self._places: dict[str, Place] = {}
        self._peers = Peers()
        self._flows: set[Flow] = set()
        self._numbers = count(1)
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self, command: Mapping[str, Any]) -> Answer:
        """Open a place at a free port; `upstream` is `HOST:PORT` or empty."""
        name, upstream = str(command["place"]), command.get("upstream")
        host, _, port = str(upstream or "").rpartition(":")
        self._close_place(name)
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(
            lambda: Newcomer(partial(self._accept, name)), HOST, 0, backlog=BACKLOG
        )
        place = Place(
            server=str(command["server"]),
            client=command.get("client"),
            upstream=(host, int(port)) if upstream else None,
            is_fixed=bool(upstream),
            protocol=WireProtocol(command["protocol"]),
            listener=listener,
            port=int(listener.sockets[0].getsockname()[1]),
        )
        self._places[name] = place
        return {"port": place.port}

    async def member(self, command: Mapping[str, Any]) -> Answer:
        """Note the process of a member; when it ends, its places are closed."""
        name, pid = str(command["name"]), int(command["pid"])
        self._peers.members[name] = pid
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            self._ended(name, pid, None)
            return {}
        asyncio.get_running_loop().add_reader(pidfd, self._ended, name, pid, pidfd)
        return {}

    async def remove(self, command: Mapping[str, Any]) -> Answer:
        """Apply the rules no more; what they kept is delivered first, if that goes fast."""
        found = [self.rules.active.get(str(rule_id)) for rule_id in command["rule_ids"]]
        late = [self._release(active) for active in found if active and active.kept]
        if late:
            await asyncio.wait(late, timeout=DELIVERY_S)
        return await super().remove(command)

    def require_able(self, rule: LinkRule) -> None:
        """The proxy can do all that a rule says."""

    def status_of(self, active: ActiveLinkRule) -> Answer:
        """The status of a rule, with what waits at this moment."""
        flows = [flow for flow in self._flows if not flow.is_probe]
        status, pipes = active.status, [p for f in flows for p in (f.asks, f.answers)]
        held = [p for p in pipes if p.is_stalled and active.rule.stalls and active.applies]
        status.bytes_waiting = sum(p.waiting() for p in held if p.link in active.rule.links)
        status.bytes_stalled = max(status.bytes_stalled, status.bytes_waiting)
        return status.to_json()

    def start_probe(self, link: Link) -> StreamProbe:
        """A connection to the place where the link's sender finds its receiver."""
        probe = new_probe(link, HOST)
        places = [p for p in self._places.values() if p.server == link[1]]
        place = next((p for p in places if p.client in (None, link[0])), None)
        if place is None:
            raise CommandError(f"there is no place where {link[0]} finds {link[1]}")
        self._begin(probe.run((HOST, place.port), GREETINGS[place.protocol]))
        return probe

    async def address(self, command: Mapping[str, Any]) -> Answer:
        """Where the server of a place listens itself."""
        place = self._place(str(command["place"]))
        endpoint = self._upstream(place)
        if endpoint is None:
            raise CommandError(f"{place.server} listens nowhere")
        return {"address": f"{endpoint[0]}:{endpoint[1]}"}

    def _accept(self, name: str, transport: asyncio.Transport) -> Flow:
        place = self._places[name]
        peer: Endpoint = transport.get_extra_info("peername")[:2]
        probe = self._probe_at(peer[1])
        client = probe.link[0] if probe else place.client
        if client is None:
            client = self._peers.owner_of(peer, (HOST, place.port)) or CLIENTS
        flow = Flow(
            Route(client=client, server=place.server, protocol=place.protocol),
            lambda: self._upstream(place),
            rules=self.rules,
            on_end=self._flows.discard,
            number=next(self._numbers),
        )
        if probe is not None:
            probe.flow = flow
            flow.be_probe()
        self._flows.add(flow)
        return flow

    def _upstream(self, place: Place) -> Endpoint | None:
        if place.upstream is not None:
            return place.upstream
        pid = self._peers.members.get(place.server)
        ports = listening_ports(pid) if pid is not None else []
        if len(ports) != 1:
            sys.stderr.write(f"{place.server} listens at {len(ports)} ports instead of one\n")
            return None
        place.upstream = (HOST, ports[0])
        return place.upstream

    def _ended(self, name: str, pid: int, pidfd: int | None) -> None:
        if pidfd is not None:
            asyncio.get_running_loop().remove_reader(pidfd)
            os.close(pidfd)
        if self._peers.members.get(name) != pid:
            return  # it has started again since
        del self._peers.members[name]
        for place_name, place in list(self._places.items()):
            if place.server == name and not place.is_fixed:
                self._close_place(place_name)

    def _close_place(self, name: str) -> None:
        place = self._places.pop(name, None)
        if place is not None:
            place.listener.close()

    def _place(self, name: str) -> Place:
        if name not in self._places:
            raise CommandError(f"there is no place {name}")
        return self._places[name]

    def _apply(self) -> None:
        for flow in list(self._flows):
            flow.apply()

    def _drop(self, active: ActiveLinkRule) -> None:
        for flow in list(self._flows):
            if flow.asks.link in active.rule.links and not flow.client.is_lost:
                active.status.connections_reset += not flow.is_probe
                flow.reset()

    def _release(self, active: ActiveLinkRule) -> asyncio.Task[None]:
        """Deliver the requests that the rule has kept, each once the one before is answered."""
        kept, active.kept = active.kept, []
        is_reversed = active.rule.requests is not None and active.rule.requests.window
        return self._begin(self._deliver(active, kept[::-1] if is_reversed else kept))

    async def _deliver(self, active: ActiveLinkRule, kept: list[tuple[str, bytes]]) -> None:
        for server, request in kept:
            active.status.requests_kept -= 1
            with suppress(OSError, EOFError):  # the broker is down, or ends
                async with asyncio.timeout(ANSWER_S):
                    await self._exchange(server, request)
                active.status.requests_released += 1

    async def _exchange(self, server: str, request: bytes) -> None:
        """Send a request to where the server listens now, on a connection of our own."""
        place = next((p for p in self._places.values() if p.server == server), None)
        endpoint = self._upstream(place) if place is not None else None
        if endpoint is None:
            raise ConnectionRefusedError(f"{server} listens nowhere")
        reader, writer = await asyncio.open_connection(*endpoint)
        try:
            writer.write(request)
            await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
        finally:
            writer.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _probe_at(self, port: int) -> StreamProbe | None:
        """The probe that connects from that port."""
        for probe in (probe for each in self._probes.values() for probe in each):
            assert isinstance(probe, StreamProbe)
            if probe.flow is None and probe.port == port:
                return probe
        return None


class Newcomer(asyncio.Protocol):
    """A connection that was just accepted; it becomes a flow of the proxy."""

    def __init__(self, accept: Callable[[asyncio.Transport], Flow]) -> None:
        self._accept = accept

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio's, before anything is read."""
        accepted = cast(asyncio.Transport, transport)
        try:
            flow = self._accept(accepted)
        except (ConnectionResetError, KeyError):  # gone meanwhile: the client, or the place
            accepted.abort()
            return
        accepted.set_protocol(flow.client)
        flow.client.connection_made(accepted)
        flow.begin()


if __name__ == "__main__":
    asyncio.run(serve(Proxy(), Path(sys.argv[1])))
