"""What all faults have in common. The kinds are in one module per area, the list in `catalogue.py`.

A fault is data: nothing here acts. The engine performs faults on real processes and the simulator
in virtual time; both read the same values. A fault names its target by broker id or by role; a role
is resolved when the fault is injected, against the `ClusterView` of that moment.
"""

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Self

from fencepost.fault_injection.faults.parameters import Parameter, check_fields
from fencepost.fault_injection.faults.targets import ANY_BROKER, Target, broker

Victim = Annotated[Target, Parameter("who is hurt", plays="victim")]
Sender = Annotated[Target, Parameter("whose messages", plays="victim")]
Receiver = Annotated[Target, Parameter("to whom", plays="receiver")]
ForMs = Annotated[int, Parameter("how long it lasts before it is healed", unit="ms", at_least=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is done to somebody; its parameters are within their ranges."""

    kind: ClassVar[str]
    starts_anew: ClassVar[bool] = False
    """True when a process ends or may end, and another one takes its place, which takes a while."""

    def __post_init__(self) -> None:
        check_fields(self.kind, self)

    @property
    def active_ms(self) -> int | None:
        """How long it lasts before it is healed; 0: it happens once; None: until all is healed."""
        lasts: int = getattr(self, "for_ms", 0)
        return lasts

    @property
    def is_over_when_seen(self) -> bool:
        """True when what proves it is that all of it was done, so that it need not last."""
        return False

    @property
    def victim(self) -> Target:
        """Whose process or session it hurts; of messages, who sends them; `any`: no single one."""
        return ANY_BROKER

    @property
    def towards(self) -> Target:
        """Of a fault on messages, to whom they go."""
        receiver: Target = getattr(self, "receiver", ANY_BROKER)
        return receiver

    def pinned(self, victim_id: int | None, receiver_id: int | None) -> Self:
        """The same fault with the brokers that its roles resolved to."""
        who = "sender" if hasattr(self, "sender") else "target"
        found = {who: victim_id, "receiver": receiver_id}
        named = {name: broker(one) for name, one in found.items() if one is not None}
        return replace(self, **named)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFault(Fault):
    """What the faults on one broker have in common."""

    target: Victim

    @property
    def victim(self) -> Target:
        """Who is hurt."""
        return self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class LastingBrokerFault(BrokerFault):
    """What the faults that last for a while on one broker have in common."""

    for_ms: ForMs


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkFault(Fault):
    """What the faults on the way from one broker to another have in common."""

    sender: Sender
    receiver: Receiver = ANY_BROKER
    for_ms: ForMs

    @property
    def victim(self) -> Target:
        """Who sends."""
        return self.sender
