"""Faults as data: what is done to whom, and for how long.

Nothing here acts. The engine performs faults on real processes and the simulator in virtual time;
both read the same values. A fault names its target by broker id or by role; a role is resolved
when the fault is injected, against the `ClusterView` of that moment.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from typing import Any, ClassVar

from spec.znodes import TOPIC_NAME, TopicPartition

RPC_METHODS = ("", "LeaderAndIsr", "Fetch", "OffsetForLeaderEpoch")
"""What brokers say to each other; the empty name matches all of it."""


class FaultError(ValueError):
    """A fault or schedule that is not valid; one sentence says what, where and what to do."""


class Role(StrEnum):
    """How a target names its broker."""

    BROKER = "broker"
    CONTROLLER = "controller"
    LEADER = "leader"
    FOLLOWER = "follower"
    ANY = "any"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """Who plays which role at one moment, as ZooKeeper shows it."""

    controller_id: int | None = None
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)
    assigned_replicas: Mapping[TopicPartition, tuple[int, ...]] = field(default_factory=dict)

    def followers(self, partition: TopicPartition) -> tuple[int, ...]:
        """The assigned replicas that do not lead, in order of preference."""
        leader = self.leaders.get(partition)
        return tuple(r for r in self.assigned_replicas.get(partition, ()) if r != leader)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A broker, by id or by role; `ANY` is every broker and only receives."""

    role: Role
    broker_id: int = -1
    partition: TopicPartition | None = None
    position: int = 0
    """Of a follower: its place among the followers, from 0."""

    def __str__(self) -> str:
        match self.role:
            case Role.BROKER:
                return str(self.broker_id)
            case Role.LEADER:
                return f"leader({self.partition})"
            case Role.FOLLOWER:
                return f"follower({self.partition},{self.position})"
            case _:
                return self.role.value

    def resolve(self, view: ClusterView) -> int | None:
        """The broker that this is under `view`; None when nobody plays the role now."""
        if self.role is Role.BROKER:
            return self.broker_id
        if self.role is Role.CONTROLLER:
            return view.controller_id
        if self.partition is None:
            return None
        if self.role is Role.LEADER:
            leader = view.leaders.get(self.partition)
            return None if leader is None or leader < 0 else leader
        followers = view.followers(self.partition)
        return followers[self.position] if self.position < len(followers) else None


CONTROLLER = Target(role=Role.CONTROLLER)
ANY_BROKER = Target(role=Role.ANY)


def broker(broker_id: int) -> Target:
    """The broker of that id."""
    return Target(role=Role.BROKER, broker_id=broker_id)


def leader(topic: str, partition: int = 0) -> Target:
    """Whoever leads the partition when the fault is injected."""
    return Target(role=Role.LEADER, partition=TopicPartition(topic, partition))


def follower(topic: str, partition: int = 0, position: int = 0) -> Target:
    """The follower at `position` of the partition when the fault is injected."""
    return Target(role=Role.FOLLOWER, partition=TopicPartition(topic, partition), position=position)


_TARGET = re.compile(
    rf"(?P<broker>\d+)|(?P<role>controller|any)"
    rf"|leader\((?P<topic>{TOPIC_NAME.pattern})/(?P<partition>\d+)\)"
    rf"|follower\((?P<followed>{TOPIC_NAME.pattern})/(?P<number>\d+),(?P<position>\d+)\)"
)


def parse_target(text: str) -> Target:
    """Read what `str(target)` writes; raises `FaultError`."""
    match = _TARGET.fullmatch(text)
    if match is None:
        raise FaultError(
            f"target {text!r} is none; write a broker id, controller, any, leader(<topic>/<p>) "
            "or follower(<topic>/<p>,<n>)"
        )
    if match["broker"]:
        return broker(int(match["broker"]))
    if match["role"]:
        return Target(role=Role(match["role"]))
    if match["topic"]:
        return leader(match["topic"], int(match["partition"]))
    return follower(match["followed"], int(match["number"]), int(match["position"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseBroker:
    """The process stands still and goes on later, as in a long garbage collection."""

    kind: ClassVar[str] = "proc.pause"
    target: Target
    for_ms: int

    def __post_init__(self) -> None:
        _require_victim(self.kind, self.target)
        _require(self.kind, "for_ms", self.for_ms, at_least=1)

    @property
    def active_ms(self) -> int:
        """How long the fault lasts before it is healed."""
        return self.for_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class KillBroker:
    """The process dies at once; after a while it starts again on the same data."""

    kind: ClassVar[str] = "proc.kill"
    target: Target
    restart_after_ms: int | None
    """None: it stays dead until the faults of the run are healed."""

    def __post_init__(self) -> None:
        _require_victim(self.kind, self.target)
        _require(self.kind, "restart_after_ms", self.restart_after_ms or 0, at_least=0)

    @property
    def active_ms(self) -> int | None:
        """How long the fault lasts before it is healed; None: to the end of the schedule."""
        return self.restart_after_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireSession:
    """ZooKeeper ends the broker's session while the process lives and does not know it."""

    kind: ClassVar[str] = "zk.expire"
    target: Target

    def __post_init__(self) -> None:
        _require_victim(self.kind, self.target)

    @property
    def active_ms(self) -> int:
        """Zero: the session ends once, and the broker comes back by itself."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcFault:
    """What the four faults on requests between brokers have in common."""

    kind: ClassVar[str]
    verb: ClassVar[str]
    """As `RpcRule.verb` of `spec/wire/fault_control.proto`."""
    method: str
    sender: Target
    receiver: Target = ANY_BROKER
    topic: str = ""
    """Empty: whatever the request is about."""
    count: int = 1
    """How many requests it applies to; 0: all while it is active."""
    for_ms: int

    def __post_init__(self) -> None:
        if self.method not in RPC_METHODS:
            raise FaultError(
                f"{self.kind}: method {self.method!r} is none; choose one of "
                f"{', '.join(RPC_METHODS[1:])}, or leave it empty"
            )
        _require_victim(self.kind, self.sender)
        _require(self.kind, "for_ms", self.for_ms, at_least=1)
        _require(self.kind, "count", self.count, at_least=0)

    @property
    def active_ms(self) -> int:
        """How long the fault lasts before it is healed."""
        return self.for_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class DropRequest(RpcFault):
    """The request never reaches the receiver; the sender sees it fail."""

    kind: ClassVar[str] = "rpc.drop_request"
    verb: ClassVar[str] = "drop_request"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropResponse(RpcFault):
    """The receiver obeys the request, but its answer never reaches the sender."""

    kind: ClassVar[str] = "rpc.drop_response"
    verb: ClassVar[str] = "drop_response"


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRequest(RpcFault):
    """The sender gives the request up, and the receiver gets it late, when the fault heals."""

    kind: ClassVar[str] = "rpc.hold"
    verb: ClassVar[str] = "hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicateRequest(RpcFault):
    """The receiver gets the request twice."""

    kind: ClassVar[str] = "rpc.duplicate"
    verb: ClassVar[str] = "duplicate"


ProcessFault = PauseBroker | KillBroker | ExpireSession
"""Faults on a process or its session: a schedule never overlaps two of them."""

Fault = PauseBroker | KillBroker | ExpireSession | RpcFault

FaultClass = (
    type[PauseBroker]
    | type[KillBroker]
    | type[ExpireSession]
    | type[DropRequest]
    | type[DropResponse]
    | type[HoldRequest]
    | type[DuplicateRequest]
)

FAULT_CLASSES: dict[str, FaultClass] = {
    fault_class.kind: fault_class
    for fault_class in (
        PauseBroker,
        KillBroker,
        ExpireSession,
        DropRequest,
        DropResponse,
        HoldRequest,
        DuplicateRequest,
    )
}
"""Kind -> class: every fault that there is."""

ALL_KINDS = frozenset(FAULT_CLASSES)


def describe(kind: str) -> str:
    """The one sentence that says what the fault does."""
    return (FAULT_CLASSES[kind].__doc__ or "").strip()


def as_json(fault: Fault) -> dict[str, Any]:
    """`fault` as a JSON object, its kind first."""
    values = {item.name: getattr(fault, item.name) for item in fields(fault)}
    plain = {n: str(v) if isinstance(v, Target) else v for n, v in values.items()}
    return {"fault": fault.kind, **plain}


def fault_from_json(document: object, *, where: str = "fault") -> Fault:
    """The fault that `as_json` wrote; raises `FaultError`, which begins with `where`."""
    if not isinstance(document, dict):
        raise FaultError(f"{where}: expected a JSON object, found {document!r}")
    given = dict(document)
    kind = given.pop("fault", None)
    fault_class = FAULT_CLASSES.get(str(kind))
    if fault_class is None:
        raise FaultError(
            f"{where}: unknown fault {kind!r}; choose one of {', '.join(sorted(FAULT_CLASSES))}"
        )
    try:
        _check_names(fault_class, given)
        return fault_class(**{name: _read_field(name, value) for name, value in given.items()})
    except FaultError as error:
        raise FaultError(f"{where}: {error}") from error


def _check_names(fault_class: FaultClass, given: dict[str, Any]) -> None:
    known = {item.name: item for item in fields(fault_class)}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise FaultError(f"{fault_class.kind} has no field {unknown[0]!r}")
    missing = [n for n, item in known.items() if n not in given and item.default is MISSING]
    if missing:
        raise FaultError(f"{fault_class.kind} needs the field {missing[0]!r}")


def _read_field(name: str, value: object) -> Any:  # noqa: ANN401
    if name in ("target", "sender", "receiver"):
        return parse_target(str(value))
    if name in ("method", "topic"):
        expected: type = str
    else:
        expected = int
    if name == "restart_after_ms" and value is None:
        return None
    if not isinstance(value, expected) or isinstance(value, bool):
        raise FaultError(f"{name} is {value!r}; give a {_NOUNS[expected]}")
    return value


_NOUNS = {str: "text", int: "whole number"}


def _require_victim(kind: str, target: Target) -> None:
    if target.role is Role.ANY:
        raise FaultError(f"{kind}: the target 'any' is for receivers only; name one broker or role")


def _require(kind: str, name: str, value: int, *, at_least: int) -> None:
    if value < at_least:
        raise FaultError(f"{kind}: {name} is {value}; give {at_least} or more")
