"""What a request comes from, as the connection says: requests themselves are not believed."""

from typing import NamedTuple

from fencepost.spec.vocabulary import NO_BROKER, BrokerId

ANONYMOUS = "User:ANONYMOUS"


class Asker(NamedTuple):
    """What sent the request, as the connection says."""

    principal: str = ANONYMOUS
    """Authenticated where the listener asks for that, and what the client says elsewhere."""
    peer: BrokerId = NO_BROKER
    """The broker that it is, if it is one."""
    is_proven: bool = False
    """Whether a certificate says so: then no request speaks for another user."""

    @property
    def is_broker(self) -> bool:
        """True of a connection from a broker."""
        return self.peer != NO_BROKER


UNKNOWN_ASKER = Asker()


def asker_of(node: str) -> Asker:
    """What a node of this name is: `broker-<id>`, or a client."""
    kind, _, number = node.partition("-")
    if kind == "broker" and number.isdecimal():
        return Asker(f"User:{node}", BrokerId(int(number)))
    return Asker(f"User:{node}") if node else UNKNOWN_ASKER
