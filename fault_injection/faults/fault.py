"""What all faults have in common. The kinds are in one module per area, the list in `catalogue.py`.

A fault is data: nothing here acts. The engine performs faults on real processes and the simulator
in virtual time; both read the same values. A fault names its target by broker id or by role; a role
is resolved when the fault is injected, against the `ClusterView` of that moment.
"""

from typing import Annotated, ClassVar, Self

import msgspec
from msgspec import Meta, Struct, field

from fencepost.fault_injection.faults.parameters import ONE_BROKER, check_values, milliseconds
from fencepost.fault_injection.faults.targets import (
    ANY_BROKER,
    FaultError,
    Target,
    any_broker,
    broker,
)

Victim = Annotated[
    Target, Meta(description="the broker that it hurts", extra_json_schema=ONE_BROKER)
]
Sender = Annotated[Target, Meta(description="the sender", extra_json_schema=ONE_BROKER)]
Receiver = Annotated[
    Target, Meta(description="the receiver, or any", extra_json_schema={"default": "any"})
]
ForMs = Annotated[int, milliseconds("how long it lasts before it is healed", ge=1)]


class FaultTag:
    """The tag of a class of faults: `PauseBroker.kind` is `proc.pause`."""

    def __get__(self, fault: object, fault_class: type[Struct]) -> str:
        return str(fault_class.__struct_config__.tag)


class Fault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="fault"):
    """One change to the cluster or its surroundings; its parameters are within their ranges."""

    kind: ClassVar[FaultTag] = FaultTag()
    starts_anew: ClassVar[bool] = False
    """True when a process ends or may end, and another one takes its place, which takes a while."""
    is_awaited: ClassVar[bool] = False
    """True when brokers or clients carry it out, which takes a while."""
    left_out: ClassVar[tuple[str, ...]] = ()
    """Parameters that older recorded faults lack: left out of the JSON form at their defaults."""

    def __post_init__(self) -> None:
        check_values(self.kind, self)
        if any(getattr(self, name, None) == ANY_BROKER for name in ("target", "sender")):
            raise FaultError(
                f"{self.kind}: the target 'any' is for receivers only; name one broker or role"
            )

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
        """The broker that it hurts, by process, session or sent requests; `any`: no single one."""
        hurt: Target = getattr(self, "sender", getattr(self, "target", ANY_BROKER))
        return hurt

    @property
    def towards(self) -> Target:
        """Of a fault on messages, their receiver."""
        receiver: Target = getattr(self, "receiver", ANY_BROKER)
        return receiver

    def pinned(self, victim_id: int | None, receiver_id: int | None) -> Self:
        """The same fault with the brokers that its roles resolved to."""
        victim = "sender" if hasattr(self, "sender") else "target"
        found = {victim: victim_id, "receiver": receiver_id}
        named = {name: broker(one) for name, one in found.items() if one is not None}
        return msgspec.structs.replace(self, **named)


class BrokerFault(Fault, frozen=True, kw_only=True):
    """What the faults on one broker have in common."""

    target: Victim


class LastingBrokerFault(BrokerFault, frozen=True, kw_only=True):
    """What the faults that last for a while on one broker have in common."""

    for_ms: ForMs


class RestartedBrokerFault(LastingBrokerFault, frozen=True, kw_only=True):
    """What the faults that end a process, and start another one when healed, have in common."""

    starts_anew: ClassVar[bool] = True


class LinkFault(Fault, frozen=True, kw_only=True):
    """What the faults on the link from one broker to another have in common."""

    sender: Sender
    receiver: Receiver = field(default_factory=any_broker)
    for_ms: ForMs
