"""Which broker is controller, by ZooKeeper's lines: elections, their epochs, and what people write.

The spec counts controller epochs by the writes of their znode; people may skip some.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from fencepost.spec.replay.fields import Fields, number
from fencepost.spec.replay.recorded_run import ReplayError, TraceFileLine
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    MalformedZnodeError,
    parse_controller,
    parse_controller_epoch,
)

NO_BROKER = 0
"""The author of a write by a session of no broker."""

NOT_NAMED = -1
"""The controller of a znode that cannot be read."""

BY_NOBODY = frozenset({"ZkWriteState"})
"""What the spec itself refuses of no broker."""
BY_HAND = BY_NOBODY | {
    "ZkDismiss",
    "ZkWriteController",
    "ZkRaiseEpoch",
    "ZkAssign",
    "ZkRequest",
}
"""Those that a person may make as well, where the run says that there are any."""


@dataclass(slots=True)
class Numbers:
    """Small numbers for large or textual ids, from 1 in the order in which they first occur."""

    known: dict[object, int] = field(default_factory=dict)

    def of(self, name: object) -> int:
        """Its number; 0 for none."""
        return self.known.setdefault(name, len(self.known) + 1) if name is not None else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Offices:
    """Turns lines about the two znodes into events."""

    sessions: dict[int, int]
    """Session -> the broker that had it."""
    controller_epochs: dict[int, int]
    """zxid -> the controller epoch that it wrote; none at level 0."""
    epochs: dict[object, int]
    """Controller epoch -> the same as the spec counts it."""
    elections: frozenset[int]
    """The transactions that create `/controller`."""
    numbers: Numbers = field(default_factory=Numbers)
    """Of sessions."""

    def author(self, event: TraceEvent) -> int:
        """The broker that wrote."""
        return self.sessions.get(event.session_id or 0, NO_BROKER)

    def counted(self, fields: Fields) -> Fields:
        """With controller epochs as the spec counts them."""
        epoch = fields.get("controller_epoch")
        return fields | {"controller_epoch": self.epochs[epoch]} if epoch in self.epochs else fields

    def epoch_written(self, event: TraceEvent) -> Iterator[Fields]:
        """A person raises it; a controller that finds that in office begins another term."""
        broker_id = self.author(event)
        if broker_id == NO_BROKER:
            yield {
                "action": "ZkRaiseEpoch",
                "broker_id": NO_BROKER,
                "znode_version": number(event.znode_version),
            }
        elif event.zxid not in self.elections:
            yield {"action": "ZkDismiss", "broker_id": broker_id}
            yield from self._elected(event, broker_id)

    def _elected(self, event: TraceEvent, broker_id: int) -> Iterator[Fields]:
        yield {"action": "ForgetOffice", "broker_id": broker_id}
        yield {
            "action": "ZkElect",
            "broker_id": broker_id,
            "session_id": self.numbers.of(event.session_id or 0),
            "controller_epoch": self.controller_epochs.get(event.zxid or 0, 0),
        }

    def written(self, event: TraceEvent) -> Iterator[Fields]:
        """What a line about `/controller` says."""
        broker_id = self.author(event)
        if event.action == "Delete":
            yield {"action": "ZkDismiss", "broker_id": broker_id}
        elif broker_id == NO_BROKER:
            yield {
                "action": "ZkWriteController",
                "broker_id": NO_BROKER,
                "controller_id": _named_controller(event),
                "znode_version": number(event.znode_version),
            }
        elif event.action == "Create":
            yield from self._elected(event, broker_id)


def offices_of(lines: list[TraceFileLine]) -> Offices:
    """Those of a run; raises `ReplayError` for an epoch that is none."""
    written = list(_epochs_written(lines))
    return Offices(
        sessions=broker_sessions(lines),
        controller_epochs={event.zxid or 0: epoch for event, epoch in written},
        epochs=_as_counted(written),
        elections=frozenset(line.event.zxid or 0 for line in lines if _is_office(line.event)),
    )


def broker_sessions(lines: list[TraceFileLine]) -> dict[int, int]:
    """Session -> the broker that had it."""
    return {
        line.event.session_id: line.event.broker_id
        for line in lines
        if line.event.node.startswith("broker-")
        and line.event.session_id
        and line.event.broker_id is not None
    }


def _epochs_written(lines: list[TraceFileLine]) -> Iterator[tuple[TraceEvent, int]]:
    """The writes of the controller epoch; raises `ReplayError` for one that is none."""
    for line in lines:
        event = line.event
        if event.kind is Kind.ZOOKEEPER and event.path == CONTROLLER_EPOCH and event.zxid:
            try:
                yield event, parse_controller_epoch((event.data or "").encode())
            except MalformedZnodeError as error:
                raise ReplayError(f"{line.file}, line {line.number}: {error}") from error


def _as_counted(written: list[tuple[TraceEvent, int]]) -> dict[object, int]:
    """Controller epoch -> the number of the write that it came with; people may skip some."""
    found: dict[object, int] = {}
    for event, epoch in written:
        found.setdefault(epoch, number(event.znode_version) + 1)
    return found


def _named_controller(event: TraceEvent) -> int:
    """The broker that `/controller` names; -1 where that cannot be read."""
    try:
        return parse_controller(CONTROLLER, (event.data or "").encode()).brokerid
    except MalformedZnodeError:
        return NOT_NAMED


def _is_office(event: TraceEvent) -> bool:
    return event.kind is Kind.ZOOKEEPER and event.action == "Create" and event.path == CONTROLLER
