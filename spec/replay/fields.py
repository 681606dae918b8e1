"""The fields of an event: which of a line's the spec knows, and how they are read."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action, RefusalKind
from fencepost.spec.znodes import MalformedZnodeError, parse_leader_and_isr


@dataclass(frozen=True, slots=True)
class TlaText:
    """A value that TLC told, as it told it."""

    text: str


Value = (
    int
    | str
    | bool
    | frozenset[int]
    | frozenset[str]
    | frozenset[tuple[int, int]]
    | tuple["Value", ...]
    | dict[str, "Value"]
    | TlaText
)
Fields = dict[str, Value]

MISSING = -9
"""In the place of a number that a line does not have: no value that any step has."""


class SmallNumbers(Protocol):
    """Numbers for what is large or textual in a trace."""

    def of(self, name: object) -> int:
        """Its number; 0 for none."""


class Numbering(Protocol):
    """What a reader of fields needs of the projection."""

    @property
    def values(self) -> SmallNumbers:
        """Of payload ids."""

    @property
    def topics(self) -> SmallNumbers:
        """Of topics."""

    @property
    def zxids(self) -> SmallNumbers:
        """Of transactions."""

    @property
    def session_numbers(self) -> SmallNumbers:
        """Of sessions."""


def state_fields(data: str) -> Fields:
    """The fields of a LeaderAndISR document; one that is none is no state that the spec has."""
    try:
        state = parse_leader_and_isr("", data.encode())
    except MalformedZnodeError:
        nothing: Fields = {"isr": frozenset({MISSING})}
        return nothing | dict.fromkeys(("leader", "leader_epoch", "controller_epoch"), MISSING)
    return {
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": frozenset(state.isr),
        "controller_epoch": state.controller_epoch,
    }


def isr_broker_epochs(data: str, zxids: SmallNumbers) -> frozenset[tuple[int, int]]:
    """The members of a LeaderAndISR document, each with the registration under which it joined."""
    try:
        joined = parse_leader_and_isr("", data.encode()).isr_broker_epochs
    except MalformedZnodeError:
        joined = {}
    return frozenset((member, zxids.of(epoch)) for member, epoch in joined.items())


def number(value: int | None) -> int:
    """What is missing is no value that any step has."""
    return value if value is not None else MISSING


def numbers(event: TraceEvent, *names: str) -> Fields:
    """These numbers of the line, by name."""
    return {name: number(getattr(event, name)) for name in names}


def actor(event: TraceEvent) -> int:
    """The broker that acted; None for a line of another node."""
    is_own = event.broker_id == broker_number(event.node)
    return number(event.broker_id) if is_own else MISSING


def _plain(name: str, _: Numbering, event: TraceEvent) -> Value:
    return number(getattr(event, name))


def _set(name: str, _: Numbering, event: TraceEvent) -> Value:
    members = getattr(event, name)
    return frozenset(members) if members is not None else frozenset({MISSING})


_Reader = Callable[[Numbering, TraceEvent], Value]

READERS: dict[str, _Reader] = {
    **{
        name: partial(_plain, name)
        for name in (
            "leader",
            "leader_epoch",
            "controller_id",
            "controller_epoch",
            "partition",
            "metadata_version",
            "znode_version",
            "expected_version",
            "high_watermark",
            "log_end_offset",
            "offset",
        )
    },
    "is_unclean": lambda _, event: event.is_unclean,
    "is_loss_possible": lambda _, event: event.is_loss_possible,
    **{name: partial(_set, name) for name in ("isr", "maximal_isr", "live_brokers")},
    "error_code": lambda _, event: event.error_code or "",
    "assigned_replicas": lambda _, event: tuple(event.assigned_replicas or ()),
    "broker_epochs": lambda self, event: frozenset(
        (broker_id, self.zxids.of(zxid))
        for broker_id, zxid in zip(
            event.live_brokers or (), event.broker_epochs or (), strict=False
        )
    ),
    "peer": lambda _, event: broker_number(event.peer),
    "values": lambda self, event: tuple(self.values.of(value) for value in event.values or ()),
    "record_epochs": lambda _, event: tuple(event.record_epochs or ()),
    "topic": lambda self, event: self.topics.of(event.topic),
    "session_id": lambda self, event: self.session_numbers.of(event.session_id),
    "zxid": lambda self, event: self.zxids.of(event.zxid),
    "broker_epoch": lambda self, event: self.zxids.of(event.broker_epoch),
    "max_broker_epoch": lambda self, event: self.zxids.of(event.max_broker_epoch),
}


def broker_number(peer: str | None) -> int:
    """The broker that a node is."""
    number = (peer or "").removeprefix("broker-")
    return int(number) if number.isdecimal() else MISSING


_DECISION = (
    "leader",
    "leader_epoch",
    "isr",
    "controller_epoch",
    "assigned_replicas",
    "expected_version",
)
_COMMAND = ("leader", "leader_epoch", "isr", "znode_version", "controller_epoch")
_STOP = ("topic", "partition", "leader_epoch", "controller_epoch")
_ROLE = (*_COMMAND, "controller_id", "high_watermark", "log_end_offset")
_RECORDS = (
    "leader_epoch",
    "offset",
    "values",
    "record_epochs",
    "high_watermark",
    "log_end_offset",
)
_WISH = ("leader_epoch", "isr", "maximal_isr", "expected_version")
_SETTLED = ("leader_epoch", "isr", "maximal_isr", "znode_version")

_REFUSED = ("controller_id", "broker_epoch", "max_broker_epoch", "error_code")
_METADATA = (
    "controller_id",
    "controller_epoch",
    "metadata_version",
    "live_brokers",
    "broker_epochs",
    "leader",
    "leader_epoch",
    "isr",
    "znode_version",
)

FIELDS: dict[str, tuple[str, ...]] = {
    Action.REGISTER_BROKER: ("session_id", "zxid"),
    Action.ELECT_CONTROLLER: ("controller_id", "controller_epoch", "session_id"),
    Action.RESIGN_CONTROLLER: ("controller_id", "controller_epoch"),
    Action.LEARN_CONTROLLER: ("controller_id", "controller_epoch"),
    Action.DETECT_BROKER_CHANGE: ("controller_epoch", "live_brokers", "broker_epochs"),
    Action.DETECT_TOPIC_CHANGE: ("controller_epoch", "zxid"),
    Action.OBEY_SHUTDOWN: ("controller_epoch", "peer", "broker_epoch"),
    Action.INIT_LEADER: _DECISION,
    Action.ADVANCE_REASSIGNMENT: _DECISION,
    Action.COMPLETE_REASSIGNMENT: ("controller_epoch", "assigned_replicas"),
    Action.ADD_PARTITIONS: ("controller_epoch", "assigned_replicas"),
    Action.REMOVE_PARTITIONS: ("controller_epoch", "expected_version"),
    Action.START_REASSIGNMENT: ("assigned_replicas",),
    Action.REQUEST_PARTITIONS: ("assigned_replicas",),
    Action.ELECT_LEADER: (*_DECISION, "is_unclean", "is_loss_possible"),
    Action.PUBLISH_DECISION: (*_COMMAND, "zxid"),
    Action.SEND_LEADER_AND_ISR: (*_COMMAND, "peer"),
    Action.BECOME_LEADER: _ROLE,
    Action.BECOME_FOLLOWER: _ROLE,
    Action.TRUNCATE_LOG: ("leader_epoch", "offset", "high_watermark", "log_end_offset"),
    Action.LEADER_APPEND: _RECORDS,
    Action.SERVE_FETCH: ("leader_epoch", "peer", "offset"),
    Action.FOLLOWER_APPEND: _RECORDS,
    Action.ADVANCE_HIGH_WATERMARK: (
        "leader_epoch",
        "isr",
        "maximal_isr",
        "high_watermark",
        "log_end_offset",
    ),
    Action.SHRINK_ISR: _WISH,
    Action.EXPAND_ISR: _WISH,
    Action.ADOPT_ISR: _SETTLED,
    Action.FENCE_LEADER: _SETTLED,
    Action.SEND_INIT: ("peer", "controller_epoch"),
    Action.SEND_STOP_REPLICA: (*_STOP, "peer"),
    Action.STOP_REPLICA: _STOP,
    Action.SEND_UPDATE_METADATA: ("peer", "controller_epoch", "metadata_version"),
    Action.UPDATE_METADATA: _METADATA,
    Action.FORWARD_REQUEST: ("peer",),
    Action.APPLY_MUTATION: ("zxid",),
    RefusalKind.REFUSE_COMMAND: (*_COMMAND, *_REFUSED),
    RefusalKind.REFUSE_STOP: (*_STOP, *_REFUSED),
    RefusalKind.REFUSE_FETCH: ("leader_epoch", "peer", "offset", "error_code"),
}
"""The fields of each action and refusal that the spec knows; all of them are compared."""
