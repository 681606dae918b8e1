"""Draws faults: a kind, and what a situation fixes of its parameters; all else comes by chance.

Parameters of the same name are drawn alike for all kinds, for real processes and the simulator.
Times go by how long a session lasts: what is shorter than it and what is longer differ most.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any, TypeVar

from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.faults.fault import Fault, LinkFault
from fencepost.fault_injection.faults.network_faults import SwizzleBrokers
from fencepost.fault_injection.faults.request_faults import RpcFault, RpcMethod
from fencepost.fault_injection.faults.targets import (
    ANY_BROKER,
    CONTROLLER,
    Target,
    broker,
    follower,
    leader,
)
from fencepost.spec.vocabulary import CRASH_POINTS

AnyFault = TypeVar("AnyFault", bound=Fault)

RATES = (0, 500, 900, 1_100, 2_000, 5_000)
"""Of a drifting clock, in thousandths of the true one."""
METHODS: tuple[RpcMethod, ...] = ("LeaderAndIsr", "Fetch", "Fetch", "OffsetForLeaderEpoch")
RPC_FAULT_MS = (200, 1_500)


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultDraw:
    """What faults are drawn from: chance, and the cluster that they hurt."""

    random: Random
    brokers: tuple[int, ...]
    session_timeout_ms: int
    topic: str = ""
    """Of roles and of what administrators do; kinds that need a topic are not drawn without."""
    partitions: int = 1
    replication_factor: int = 1

    def fault(self, kind: str) -> Fault:
        """A fault of that kind."""
        return self.make(kind_of(kind).fault_class)

    def make(self, fault_class: type[AnyFault], **given: Any) -> AnyFault:  # noqa: ANN401
        """A fault of that class with the given parameters; the others are drawn."""
        drawn = dict(given)
        if issubclass(fault_class, RpcFault):
            drawn = {**self._request(given), **given}
        elif issubclass(fault_class, LinkFault):
            sender, receiver = map(broker, self.random.sample(self.brokers, 2))
            drawn = {"sender": sender, "receiver": receiver, **given}
        elif issubclass(fault_class, SwizzleBrokers):
            cut = self.some()
            drawn = {"cut": cut, "back": tuple(self.random.sample(cut, len(cut))), **given}
        elif "topic" in fault_class.__struct_fields__:
            drawn = {"topic": self.topic, **given}
        for name in fault_class.__struct_fields__:
            if name not in drawn and name in _PARAMETERS:
                drawn[name] = _PARAMETERS[name](self)
        return fault_class(**drawn)

    def _request(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """From the controller or from a broker, to one broker or to any."""
        method = given.get("method", self.random.choice(METHODS))
        sender = CONTROLLER if method == "LeaderAndIsr" else self.any()
        others = [one for one in map(broker, self.brokers) if one != given.get("sender", sender)]
        return {
            "method": method,
            "sender": sender,
            "receiver": self.random.choice([ANY_BROKER, *others]),
            "count": self.between(0, 3),
            "for_ms": self.between(*RPC_FAULT_MS),
        }

    # Brokers

    def any(self) -> Target:
        """A broker."""
        return broker(self.random.choice(self.brokers))

    def some(self) -> tuple[int, ...]:
        """Some brokers in some order, not all."""
        size = self.between(1, len(self.brokers) - 1)
        return tuple(self.random.sample(self.brokers, size))

    def victim(self) -> Target:
        """A broker, at times whichever is the controller or leads."""
        chance = self.random.random()
        if chance < 0.3:
            return CONTROLLER
        return self.leader() if self.topic and chance < 0.4 else self.any()

    def partition(self) -> int:
        """A partition of the topic."""
        return self.random.randrange(self.partitions)

    def leader(self) -> Target:
        """The leader of a partition."""
        return leader(self.topic, self.partition())

    def follower(self, partition: int) -> Target:
        """A follower of that partition."""
        position = self.random.randrange(max(1, self.replication_factor - 1))
        return follower(self.topic, partition, position)

    def replica(self) -> Target:
        """The leader or a follower of a partition, or any broker."""
        partition = self.partition()
        role = self.random.choice((leader(self.topic, partition), self.follower(partition)))
        return self.random.choice((role, self.any()))

    # Times

    def between(self, low: int, high: int) -> int:
        """A whole number of the range, both ends included."""
        return self.random.randint(low, max(low, high))

    def lasts_ms(self) -> int:
        """Shorter than a session or longer."""
        session_ms = self.session_timeout_ms
        if self.random.random() < 0.4:
            return self.between(session_ms // 5, session_ms * 3 // 4)
        return self.between(session_ms * 5 // 4, session_ms * 5 // 2)


_PARAMETERS: Mapping[str, Callable[[FaultDraw], Any]] = MappingProxyType(
    {
        "target": FaultDraw.victim,
        "for_ms": FaultDraw.lasts_ms,
        "restart_after_ms": FaultDraw.lasts_ms,
        "side": lambda draw: tuple(sorted(draw.some())),
        "partition": FaultDraw.partition,
        "replicas": lambda draw: tuple(
            draw.random.sample(draw.brokers, draw.replication_factor),
        ),
        "point": lambda draw: draw.random.choice(CRASH_POINTS),
        "nth": lambda draw: draw.between(1, 8),
        "count": lambda draw: draw.between(1, 2),
        "direction": lambda draw: draw.random.choice(("c2s", "s2c")),
        "rate": lambda draw: draw.random.choice(RATES),
        "by_ms": lambda draw: draw.between(100, 2 * draw.session_timeout_ms),
        "delay_ms": lambda draw: draw.between(5, 500),
        "jitter_ms": lambda draw: draw.between(0, 100),
        "every_ms": lambda draw: draw.between(100, 500),
        "gap_ms": lambda draw: draw.between(100, 600),
        "cut_ms": lambda draw: draw.between(100, 500),
        "open_ms": lambda draw: draw.between(100, 500),
        "stands_ms": lambda draw: draw.between(50, draw.session_timeout_ms // 2),
        "runs_ms": lambda draw: draw.between(20, 200),
        "kb_per_s": lambda draw: draw.between(1, 50),
        "quota_percent": lambda draw: draw.between(5, 50),
        "producers": lambda draw: draw.between(2, 8),
    }
)
"""How a parameter of that name is drawn; those that are not here keep their defaults."""
