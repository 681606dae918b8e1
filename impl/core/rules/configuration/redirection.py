"""Which broker makes a change, and for which principal: the rules of level 5 and of those below."""

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION, RequestHeader
from fencepost.spec.vocabulary import BrokerId

FORWARDS_MAX = 1
NUMBERS_KEPT = 1000
"""Of each broker: a request that is so much older than another one is not done any more."""


class Redirection(Enum):
    """What a broker does about a request for a change."""

    HERE = "it makes the change itself"
    FORWARD = "it asks the controller, and answers what that says"
    NOT_CONTROLLER = "it refuses: the asker looks for the controller"


class RedirectingNode(NamedTuple):
    """What the request has come to."""

    is_controller: bool
    knows_controller: bool
    """It knows of another broker that is."""


Redirect = Callable[[RequestHeader, RedirectingNode], Redirection]


def change_anywhere(_header: RequestHeader, _node: RedirectingNode) -> Redirection:
    """Below level 5 every broker makes changes (`OldBrokers` of the spec)."""
    return Redirection.HERE


def change_what_is_asked(header: RequestHeader, node: RedirectingNode) -> Redirection:
    """As `change_anywhere`; what another broker forwards is for the controller alone (FWD-007).

    Its number is known to one generation of a controller: elsewhere a copy would be done again.
    """
    if header.forwards and not node.is_controller:
        return Redirection.NOT_CONTROLLER
    return Redirection.HERE


def change_at_controller(header: RequestHeader, node: RedirectingNode) -> Redirection:
    """The controller makes them; others forward the old version, once (FWD-001 to 003)."""
    if node.is_controller:
        return Redirection.HERE
    is_for_controller = header.api_version >= CONTROLLER_VERSION
    if is_for_controller or header.forwards >= FORWARDS_MAX or not node.knows_controller:
        return Redirection.NOT_CONTROLLER
    return Redirection.FORWARD


def principal_of(header: RequestHeader, asker: Asker) -> str:
    """A name in the request counts on a connection from a broker only (FWD-005)."""
    return header.principal if asker.is_broker and header.forwards else asker.principal


def forwarded_for(principal: str, _forwarder: BrokerId) -> str:
    """The name that a forwarded request carries: that of its asker (FWD-005)."""
    return principal


def ask_as_broker(_client: Asker, broker: Asker) -> Asker:
    """The internal topic is the broker's own wish: it needs no right of a client (FWD-006)."""
    return broker


def hash_of(key: str) -> int:
    """As Java counts it, in 32 bits over units of UTF-16: coordinators are Kafka's (FWD-006)."""
    units = key.encode("utf-16-be", "surrogatepass")
    total = 0
    for high, low in zip(units[::2], units[1::2], strict=True):
        total = (31 * total + 256 * high + low) % 2**32
    return total


def coordinating_partition(key: str, count: int) -> int:
    """Its leader coordinates: the hash without its sign, modulo the number of partitions."""
    return (hash_of(key) & 0x7FFFFFFF) % count


class ForwardedNumbers:
    """Which forwarded requests one generation of a controller has taken (FWD-004)."""

    def __init__(self) -> None:
        self._taken: dict[tuple[BrokerId, int], set[int]] = {}

    def take(self, header: RequestHeader) -> bool:
        """False of a request that was taken before, or that is too old to be told."""
        taken = self._taken.setdefault((header.forwarder, header.broker_epoch), set())
        oldest = max(taken, default=0) - NUMBERS_KEPT
        if header.number in taken or header.number <= oldest:
            return False
        taken.add(header.number)
        if len(taken) > 2 * NUMBERS_KEPT:
            taken.difference_update([one for one in taken if one <= oldest])
        return True


def watches_every_time(_was_read: bool) -> bool:  # noqa: FBT001  a rule's only question
    """A watch fires once: every reading sets it again (FWD-008)."""
    return True
