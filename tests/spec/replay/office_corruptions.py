"""Corruptions of elections: what they say that they may lose, and what people write by hand."""

import msgspec

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.znodes import CONTROLLER
from tests.spec.replay.corruptions import Change, Events


def is_outside(events: Events, at: int) -> bool:
    """An election of a broker outside the ISR."""
    return events[at].is_unclean and not events[at].is_loss_possible


def is_without_loss(events: Events, at: int) -> bool:
    """An election that can lose nothing."""
    return not events[at].is_unclean and not events[at].is_loss_possible


def telling(is_unclean: bool) -> Change:
    """Whether an election says that records may be lost."""

    def change(event: TraceEvent) -> TraceEvent | None:
        return msgspec.structs.replace(event, is_unclean=is_unclean)

    return change


def is_by_hand(events: Events, at: int) -> bool:
    """A person's write of `/controller`: the broker that creates it writes it in the same multi."""
    zxid = events[at].zxid
    return is_of_controller(events, at) and not any(
        event.zxid == zxid and event.action == "Create" for event in events
    )


def is_of_controller(events: Events, at: int) -> bool:
    """ZooKeeper's line about `/controller`."""
    return events[at].kind is Kind.ZOOKEEPER and events[at].path == CONTROLLER


def by_stranger(event: TraceEvent) -> TraceEvent | None:
    """The same under a session that no broker ever had."""
    return msgspec.structs.replace(event, session_id=99)
