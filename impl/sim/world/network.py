"""The network between brokers and clients: delay, loss, duplication, and rules of the faults.

A rule is what the interceptor of a real broker obeys (`spec/wire/fault_control.proto`).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from fencepost.impl.core.types.broker_reports import IsrChangedRequest, LogsFailedRequest
from fencepost.impl.core.types.messages import (
    ControlRequest,
    ProduceRequest,
    Request,
)
from fencepost.impl.core.types.request_header import RedirectedRequest
from fencepost.spec.vocabulary import NO_PRODUCER

REQUEST_SUFFIX = "Request"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """The faults of the network in one run, as probabilities per message."""

    delay_us: tuple[int, int] = (200, 3_000)
    slow: float = 0.0
    """Share of messages that take up to `slow_us` instead."""
    slow_us: int = 400_000
    loss: float = 0.0
    duplication: float = 0.0
    reply_loss: float = 0.0
    """Share of writes that ZooKeeper does and the answer is lost with the connection."""


@dataclass(slots=True, eq=False)
class RequestRule:
    """One active fault on requests of one sender; two that say the same are still two."""

    method: str
    """Empty: every method."""
    sender: int
    """-1: every broker and client."""
    receiver: int
    """-1: every receiver."""
    topic: str
    verb: str
    count: int
    """How many requests it applies to; 0: all."""
    delay_ms: int = 0
    """Of `delay`."""
    window: int = 0
    """Of `reorder`: so many requests are collected, and leave in reverse order."""
    matched: int = 0
    held: list[Callable[[], None]] = field(default_factory=list)

    def matches(self, sender: int, receiver: int, request: Request) -> bool:
        """True when the rule applies to this request; counts it."""
        if self.sender not in (-1, sender) or self.receiver not in (-1, receiver):
            return False
        if self.method not in ("", method_of(request)):
            return False
        if self.topic and self.topic not in topics_of(request):
            return False
        if self.count and self.matched >= self.count:
            return False
        self.matched += 1
        return True


@dataclass(slots=True, eq=False)
class Link:
    """One active fault on all messages between some senders and some receivers, either way."""

    applies: Callable[[int, int], bool]
    """Of a message's sender and receiver."""
    delay_us: int | None
    """Messages take up to this much longer; None: they are lost."""
    least_us: int = 0
    """And at least this much longer."""
    matched: int = 0


class SimulatedNetwork:
    """Draws the delay, the loss and the duplication of each message."""

    def __init__(self, random: Random, weather: Weather, clients: Random) -> None:
        """`clients` is the chance of what clients send, so that neither disturbs the other."""
        self._random = random
        self.weather = weather
        self._doubles = weather.duplication > 0
        self._clients = clients
        self.rules: list[RequestRule] = []
        self.links: list[Link] = []

    def rule_for(self, sender: int, receiver: int, request: Request) -> RequestRule | None:
        """The first rule that applies, or None."""
        for rule in self.rules:
            if rule.matches(sender, receiver, request):
                return rule
        return None

    def passes(self, sender: int, receiver: int) -> int | None:
        """How long the message is under way, in microseconds; None when it is lost."""
        return None if self.loses() else self.carries(sender, receiver)

    def carries(self, sender: int, receiver: int) -> int | None:
        """The same of a message that the weather does not lose; a fault on its link may."""
        delay_us = self.delay_us()
        for link in self.links:
            if not link.applies(sender, receiver):
                continue
            link.matched += 1
            if link.delay_us is None:
                return None
            delay_us += link.least_us + self._random.randint(0, link.delay_us)
        return delay_us

    def delay_us(self) -> int:
        """How long a message is under way when nothing is wrong with its link."""
        if self._random.random() < self.weather.slow:
            return self._random.randint(self.weather.delay_us[1], self.weather.slow_us)
        least_us, most_us = self.weather.delay_us
        return self._random.randrange(least_us, most_us + 1)

    def loses(self) -> bool:
        """True when this message never arrives."""
        return self._random.random() < self.weather.loss

    def duplicates(self) -> bool:
        """True when this message arrives twice."""
        return self._random.random() < self.weather.duplication

    def doubles(self, request: Request) -> bool:
        """True when this request of a client arrives twice."""
        may_now = self.weather.duplication > 0 and self.may_double(request)
        return may_now and self._clients.random() < self.weather.duplication

    def may_double(self, request: Request) -> bool:
        """True when it may have come twice: one that would be appended twice never does."""
        is_plain = isinstance(request, ProduceRequest) and request.producer_id == NO_PRODUCER
        return self._doubles and not is_plain and not isinstance(request, RedirectedRequest)

    def loses_reply(self) -> bool:
        """True when ZooKeeper's answer to this write never arrives."""
        loss = self.weather.reply_loss
        return loss > 0 and self._random.random() < loss

    def calm(self) -> None:
        """Lose, delay and duplicate nothing from now on."""
        self.weather = Weather(delay_us=self.weather.delay_us)


def method_of(request: Request) -> str:
    """The name of the request's RPC, as in `service Replication`."""
    return type(request).__name__.removesuffix(REQUEST_SUFFIX)


def topics_of(request: Request) -> set[str]:
    """The topics that a request is about."""
    if isinstance(request, ControlRequest | LogsFailedRequest | IsrChangedRequest):
        return {command.topic for command in request.partitions}
    topic = getattr(request, "topic", None)
    return {topic} if topic else set()
