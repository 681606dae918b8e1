"""Connections through the proxy: accepted, held, refused, forwarded and reset as the rules say."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from fencepost.fault_injection.network.active_rules import ActiveLinkRules
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.proxy.conversation import Conversation
from fencepost.fault_injection.network.proxy.kafka_requests import KafkaConversation
from fencepost.fault_injection.network.proxy.pipes import Pipe, Side

Endpoint = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The ends of a connection, and how its bytes are to be read."""

    client: str
    server: str
    protocol: WireProtocol = WireProtocol.GRPC


class Flow:
    """One connection of a client, and ours to the server once it may be made."""

    def __init__(
        self,
        route: Route,
        upstream: Callable[[], Endpoint | None],
        *,
        rules: ActiveLinkRules,
        on_end: "Callable[[Flow], None]",
        number: int,
    ) -> None:
        self.route = route
        self.is_held = False
        """True while nothing of what the client sends may pass."""
        self.is_probe = False
        """True for a connection of the proxy's own, which is no evidence of what others do."""
        self._upstream = upstream
        self._rules = rules
        self._on_end = on_end
        self._dialling: asyncio.Task[None] | None = None
        self.client = Side(lambda _side: None, self._lost)
        self.server = Side(self._connected, self._lost)
        to, back = (route.client, route.server), (route.server, route.client)
        self.asks = Pipe(to, self.client, self.server, rules=rules, seed=2 * number)
        self.answers = Pipe(back, self.server, self.client, rules=rules, seed=2 * number + 1)
        for side, out, into in (
            (self.client, self.asks, self.answers),
            (self.server, self.answers, self.asks),
        ):
            side.out, side.into = out, into
        talk = self._conversation(rules)
        if talk is not None:
            self.asks.cut, self.answers.cut = talk.asks, talk.answers

    def begin(self) -> None:
        """Refuse, hold or forward the connection that the client has made."""
        link = self.asks.link
        rules = self._rules.on(link)
        refusing = next((active for active in rules if active.rule.refuses), None)
        if refusing is not None:
            refusing.status.connections_refused += not self.is_probe
            self.reset()
            return
        self.asks.update()  # nothing is read before there is a server to send it to
        for stalling in (active for active in rules if active.rule.stalls):
            self.is_held = True
            stalling.status.connections_held += not self.is_probe
        self.apply()

    def apply(self) -> None:
        """Apply the rules, which have changed."""
        self.asks.apply(self._rules.treatment(self.asks.link))
        self.answers.apply(self._rules.treatment(self.answers.link))
        if self.asks.is_stalled or self._dialling is not None or self.client.is_lost:
            return
        if self.is_held and not self.client.is_established():
            self.reset()  # nothing waits any more: it never was a connection
            return
        self.is_held = False
        self._dialling = asyncio.get_running_loop().create_task(self._dial())

    def be_probe(self) -> None:
        """Mark the connection as one that is not counted."""
        self.is_probe = True
        self.asks.is_counted = self.answers.is_counted = False

    def reset(self) -> None:
        """Reset both ends."""
        self.client.reset()
        self.server.reset()

    def saw_reaction(self) -> bool:
        """True when bytes have passed and the server sent something, which may wait on its way.

        A gRPC server sends before it gets anything; that alone does not show that bytes reach it.
        """
        return self.asks.passed > 0 and (self.answers.passed > 0 or self.answers.waiting() > 0)

    def _conversation(self, rules: ActiveLinkRules) -> Conversation | KafkaConversation | None:
        match self.route.protocol:
            case WireProtocol.GRPC:
                return None
            case WireProtocol.KAFKA:
                asks = self.asks
                return KafkaConversation(asks.link, rules, reset=self.reset, put_off=asks.put_off)
            case WireProtocol.ZOOKEEPER:
                return Conversation(self.asks.link, rules, self.reset)

    async def _dial(self) -> None:
        endpoint = self._upstream()
        try:
            if endpoint is None:
                raise ConnectionRefusedError("nothing listens there")
            loop = asyncio.get_running_loop()
            await loop.create_connection(lambda: self.server, *endpoint)
        except OSError:
            self.client.reset()

    def _connected(self, server: Side) -> None:
        if self.client.is_lost:
            server.reset()
            return
        self.asks.update()
        self.answers.update()

    def _lost(self, _side: Side) -> None:
        if self.client.is_lost and (self.server.is_lost or not self.server.is_made):
            self._on_end(self)
