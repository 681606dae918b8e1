"""Which level each broker spoke, as its registrations told ZooKeeper (UMD-003, FWD-007).

While brokers are upgraded, some speak a level that others do not, and what a level promises holds
for those that speak it. A registration that tells nothing is of a run that is of one level: its
broker is taken to keep every promise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from fencepost.conformance.checks.ordering import by_zxid
from fencepost.conformance.checks.znode_history import epoch_of
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import ProtocolLevel
from fencepost.spec.znodes import BROKER_IDS, MalformedZnodeError, parse_broker

EVERY_PROMISE = int(max(ProtocolLevel))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenProtocols:
    """What is not told is `EVERY_PROMISE`."""

    by_registration: Mapping[int, int]
    """The zxid of a registration, which is the broker's epoch -> the level."""
    by_session: Mapping[int, int]
    sessions: Mapping[int, int | None]
    """Controller epoch -> the session of its controller."""

    def of_registration(self, zxid: int | None) -> int:
        """What the broker with this epoch spoke."""
        return self.by_registration.get(zxid or 0, EVERY_PROMISE)

    def of_session(self, session_id: int | None) -> int:
        """What the broker with this session spoke."""
        return self.by_session.get(session_id or 0, EVERY_PROMISE)

    def of_controller(self, controller_epoch: int | None) -> int:
        """What the controller of this epoch spoke."""
        return self.of_session(self.sessions.get(controller_epoch or 0))


def spoken_protocols(events: Iterable[TraceEvent]) -> SpokenProtocols:
    """Of a whole run, by ZooKeeper's own record."""
    by_registration: dict[int, int] = {}
    by_session: dict[int, int] = {}
    sessions: dict[int, int | None] = {}
    for event in by_zxid(events):
        epoch = epoch_of(event)
        if epoch is not None:
            sessions.setdefault(epoch, event.session_id)  # no person that writes it again
        told = _told(event)
        if told is not None:
            by_registration[event.zxid or 0] = told
            by_session[event.session_id or 0] = told
    return SpokenProtocols(
        by_registration=by_registration, by_session=by_session, sessions=sessions
    )


def _told(event: TraceEvent) -> int | None:
    path = event.path or ""
    if event.action != "Create" or not path.startswith(f"{BROKER_IDS}/"):
        return None
    try:
        told = parse_broker(path, (event.data or "").encode()).inter_broker_protocol
    except MalformedZnodeError:
        return None
    return None if told is msgspec.UNSET else told
