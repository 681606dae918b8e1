"""What the replay of ZooKeeper needs of a run: its lines as events of `TraceZk`.

All lines of ZooKeeper with one zxid are one event. What brokers heard of the state znodes stands
among them as in the run; what was refused comes last, when every transaction is known.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from fencepost.spec.replay.fields import MISSING, Fields, number
from fencepost.spec.replay.limits import has_strangers
from fencepost.spec.replay.projection import UNKNOWN, Event
from fencepost.spec.replay.recorded_run import TraceFileLine
from fencepost.spec.tlc import values as tlc
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome
from fencepost.spec.znodes import BROKER_IDS, CONTROLLER, CONTROLLER_EPOCH

EPHEMERAL = re.compile(
    rf"{re.escape(CONTROLLER)}|{re.escape(CONTROLLER_EPOCH)}/\d+|{re.escape(BROKER_IDS)}/\d+"
)
"""The paths of znodes that belong to the session that creates them."""

NO_SESSION = 0
NO_VERSION = -1
"""Of a znode that is not there."""

READ, WRITE = "ReadLeaderAndIsr", "WriteLeaderAndIsr"
CHANGES = {"Create", "SetData", "Delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperProjection:
    """The replay of ZooKeeper in one run."""

    run: str
    events: tuple[Event, ...]
    zxids: tuple[int, ...]
    """Ascending; the n-th is n in the events."""
    sessions: tuple[int, ...]
    """The n-th is n in the events; 0 is no session."""
    paths: frozenset[str]

    @property
    def facts(self) -> Fields:
        """What the replay knows beside the events."""
        return {
            "paths": self.paths,
            "sessions": frozenset(range(1, len(self.sessions) + 1)),
            "logs_deletions": any(event.fields.get("deleted") for event in self.events),
        }


def project_zookeeper(run: str, lines: list[TraceFileLine]) -> ZooKeeperProjection:
    """The events of ZooKeeper and its clients in `lines`, which are in order."""
    own = sorted(
        (line for line in lines if line.event.kind is Kind.ZOOKEEPER),
        key=lambda line: (line.event.incarnation, line.event.seq),
    )
    zxids = sorted({line.event.zxid or 0 for line in own})
    sessions = sorted({line.event.session_id for line in lines if line.event.session_id})
    projector = _Projector(
        zxids={zxid: at for at, zxid in enumerate(zxids, start=1)},
        sessions={session: at for at, session in enumerate(sessions, start=1)},
        own_nothing=_strangers(lines),
    )
    return ZooKeeperProjection(
        run=run,
        events=tuple(projector.events(lines, own)),
        zxids=tuple(zxids),
        sessions=tuple(sessions),
        paths=frozenset(line.event.path for line in own if line.event.path is not None),
    )


@dataclass(frozen=True, slots=True)
class _Projector:
    """Turns lines into events; zxids and sessions become small numbers."""

    zxids: dict[int, int]
    sessions: dict[int, int]
    own_nothing: frozenset[int]
    """The sessions that make no ephemerals, in the numbers of the trace."""

    def events(self, lines: list[TraceFileLine], own: list[TraceFileLine]) -> Iterator[Event]:
        """All events; ZooKeeper's lines follow each other as they were logged."""
        transactions: dict[int, list[TraceFileLine]] = {}
        place = 0
        for _, group in groupby(own, key=lambda line: line.event.zxid):
            transactions[place] = list(group)
            place += len(transactions[place])
        place = 0
        for line in lines:
            if line.event.kind is Kind.ZOOKEEPER:
                if place in transactions:
                    changes = [one.event for one in transactions[place]]
                    yield Event(self._transaction(changes), transactions[place][0])
                place += 1
            elif line.event.outcome is Outcome.OK and line.event.action in (READ, WRITE):
                yield Event(self._heard(line.event), line)
        for line in _refused(lines):
            yield Event(self._write("WriteRefused", line.event), line)

    def _transaction(self, changes: list[TraceEvent]) -> Fields:
        first, *rest = changes
        common: Fields = {
            "session_id": self._session(first),
            "zxid": self.zxids[first.zxid or 0],
        }
        is_one = all(change.session_id == first.session_id for change in rest)
        actions = {change.action for change in changes}
        match first.action:
            case "CreateSession" if not rest:
                return {"action": first.action, **common}
            case "CloseSession" if is_one and all(change.action == "Delete" for change in rest):
                deleted = frozenset(change.path or "" for change in rest)
                return {"action": first.action, **common, "deleted": deleted}
            case _ if is_one and actions <= CHANGES:
                changed = tuple(self._change(change) for change in changes)
                return {"action": "Transaction", **common, "changes": changed}
            case _:
                return {"action": UNKNOWN}

    def _change(self, event: TraceEvent) -> Fields:
        is_ephemeral = (
            event.action == "Create"
            and EPHEMERAL.fullmatch(event.path or "")
            and event.session_id not in self.own_nothing
        )
        version = event.znode_version
        return {
            "action": event.action,
            "path": event.path or "",
            "data": event.data or "",
            "znode_version": NO_VERSION if version is None else version,
            "ephemeral_owner": self._session(event) if is_ephemeral else NO_SESSION,
        }

    def _heard(self, event: TraceEvent) -> Fields:
        if event.action == WRITE:
            return {
                **self._write("WriteHeard", event),
                "znode_version": number(event.znode_version),
                "zxid": self.zxids.get(event.zxid or 0, MISSING),
            }
        return {
            "action": "ReadHeard",
            "path": event.path or "",
            "data": event.data or "",
            "znode_version": number(event.znode_version),
        }

    def _write(self, action: str, event: TraceEvent) -> Fields:
        return {
            "action": action,
            "path": event.path or "",
            "data": event.data or "",
            "expected_version": number(event.expected_version),
            "session_id": self._session(event),
        }

    def _session(self, event: TraceEvent) -> int:
        return self.sessions[event.session_id] if event.session_id else NO_SESSION


def _strangers(lines: list[TraceFileLine]) -> frozenset[int]:
    """The sessions under which no broker registers: what they make outlives them."""
    if not has_strangers(line.event for line in lines):
        return frozenset()
    own = [line.event for line in lines if line.event.kind is Kind.ZOOKEEPER]
    brokers = {event.session_id for event in own if _is_registration(event)}
    return frozenset(event.session_id for event in own if event.session_id) - brokers


def _is_registration(event: TraceEvent) -> bool:
    return event.action == "Create" and (event.path or "").startswith(f"{BROKER_IDS}/")


def _refused(lines: list[TraceFileLine]) -> list[TraceFileLine]:
    """The writes that were refused each time they were asked for."""
    writes = [line for line in lines if line.event.action == WRITE]
    refused = [line for line in writes if line.event.outcome is Outcome.DEFINITE_ERROR]
    open_writes = Counter(_asked(line for line in writes if line.event.kind is Kind.INVOKE))
    open_writes.subtract(_asked(refused))
    return [line for line in refused if not open_writes[next(_asked([line]))]]


def _asked(lines: Iterable[TraceFileLine]) -> Iterator[tuple[object, ...]]:
    for event in (line.event for line in lines):
        yield event.session_id, event.path, event.data, event.expected_version


def with_trace_numbers(state: tlc.Value, projection: ZooKeeperProjection) -> tlc.Value:
    """A state of the replay with the sessions and zxids of the trace."""
    if not isinstance(state, dict):
        return state
    return {name: _told(name, value, projection) for name, value in state.items()}


def _told(name: str, value: tlc.Value, projection: ZooKeeperProjection) -> tlc.Value:
    match name, value:
        case "ephemeral_owner", int() if value:
            return projection.sessions[value - 1]
        case "czxid" | "zxid", int() if value:
            return projection.zxids[value - 1]
        case "live_sessions", list():
            return [projection.sessions[int(str(session)) - 1] for session in value if session]
        case _:
            return with_trace_numbers(value, projection)
