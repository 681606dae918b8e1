"""What a request for a change says of itself: its version, and the way that it came (FWD-002)."""

from msgspec import Struct

from fencepost.spec.vocabulary import (
    NO_BROKER_EPOCH,
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
)

OLD_VERSION = 0
"""Any broker takes it."""
CONTROLLER_VERSION = 1
"""The controller alone takes it; others answer `NOT_CONTROLLER`."""


class RequestHeader(Struct, frozen=True, kw_only=True):
    """Only a broker that forwards sets more than the version, and only a broker is believed."""

    api_version: int = OLD_VERSION
    principal: str = ""
    """For which a broker has forwarded it (FWD-005)."""
    forwards: int = 0
    """How many brokers have forwarded it."""
    forwarder: BrokerId = BrokerId(0)
    """The first one; with the next two it tells the request from all others."""
    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    number: int = 0
    controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
    """Of the controller that it is for: a later one cannot know whether it was done (FWD-004)."""

    @property
    def request_id(self) -> str | None:
        """The same wherever the forwarded request is; None of one that was not forwarded."""
        if not self.forwards:
            return None
        return f"broker-{self.forwarder}/{self.broker_epoch}/{self.number}"


class ForwardableRequest(Struct, frozen=True, kw_only=True):
    """A request for a change, which at level 5 the controller alone makes."""

    header: RequestHeader = RequestHeader()


class RedirectedRequest(ForwardableRequest, frozen=True, kw_only=True):
    """As above, of the configuration: each of the eight exists in both versions (FWD-002)."""
