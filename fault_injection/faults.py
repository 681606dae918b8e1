"""Faults as data: what is done to whom, and for how long.

Nothing here acts. The engine performs faults on real processes and the simulator in virtual time;
both read the same values. A fault names its target by broker id or by role; a role is resolved
when the fault is injected, against the `ClusterView` of that moment.
"""

from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, get_args

from fault_injection.simulated_faults import LinkFault, SimulatedFault
from fault_injection.targets import (
    ANY_BROKER,
    CONTROLLER,
    ClusterView,
    FaultError,
    Role,
    Target,
    broker,
    follower,
    leader,
    parse_target,
    require,
    require_victim,
)

__all__ = [
    "ALL_KINDS",
    "ANY_BROKER",
    "CONTROLLER",
    "FAULT_CLASSES",
    "REAL_KINDS",
    "RPC_METHODS",
    "ClusterView",
    "DropRequest",
    "DropResponse",
    "DuplicateRequest",
    "ExpireSession",
    "Fault",
    "FaultClass",
    "FaultError",
    "HoldRequest",
    "KillBroker",
    "PauseBroker",
    "ProcessFault",
    "Role",
    "RpcFault",
    "SimulatedFault",
    "Target",
    "as_json",
    "broker",
    "describe",
    "fault_from_json",
    "follower",
    "leader",
    "parse_target",
    "victim_of",
]

RPC_METHODS = ("", "LeaderAndIsr", "Fetch", "OffsetForLeaderEpoch")
"""What brokers say to each other; the empty name matches all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseBroker:
    """The process stands still and goes on later, as in a long garbage collection."""

    kind: ClassVar[str] = "proc.pause"
    target: Target
    for_ms: int

    def __post_init__(self) -> None:
        require_victim(self.kind, self.target)
        require(self.kind, "for_ms", self.for_ms, at_least=1)

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
        require_victim(self.kind, self.target)
        require(self.kind, "restart_after_ms", self.restart_after_ms or 0, at_least=0)

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
        require_victim(self.kind, self.target)

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
        require_victim(self.kind, self.sender)
        require(self.kind, "for_ms", self.for_ms, at_least=1)
        require(self.kind, "count", self.count, at_least=0)

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

Fault = ProcessFault | RpcFault | SimulatedFault

FaultClass = type[Fault]

_REAL_CLASSES: tuple[FaultClass, ...] = (
    PauseBroker,
    KillBroker,
    ExpireSession,
    DropRequest,
    DropResponse,
    HoldRequest,
    DuplicateRequest,
)

FAULT_CLASSES: dict[str, FaultClass] = {
    fault_class.kind: fault_class for fault_class in (*_REAL_CLASSES, *get_args(SimulatedFault))
}
"""Kind -> class: every fault that there is."""

REAL_KINDS = frozenset(fault_class.kind for fault_class in _REAL_CLASSES)
"""Those that can be done to real processes; the simulator can do all."""

ALL_KINDS = frozenset(FAULT_CLASSES)


def victim_of(fault: Fault) -> Target:
    """Whose process or session it hurts; of a fault on messages, who sends them."""
    return fault.sender if isinstance(fault, RpcFault | LinkFault) else fault.target


def describe(kind: str) -> str:
    """The one sentence that says what the fault does."""
    return (FAULT_CLASSES[kind].__doc__ or "").strip()


def as_json(fault: Fault) -> dict[str, Any]:
    """`fault` as a JSON object, its kind first."""
    values = {item.name: getattr(fault, item.name) for item in fields(fault)}
    plain = {name: _plain(value) for name, value in values.items()}
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


def _plain(value: object) -> object:
    if isinstance(value, Target):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _read_field(name: str, value: object) -> Any:  # noqa: ANN401
    if name in ("target", "sender", "receiver"):
        return parse_target(str(value))
    if name == "side":
        return _read_ids(name, value)
    if name in ("method", "topic", "point"):
        expected: type = str
    else:
        expected = int
    if name == "restart_after_ms" and value is None:
        return None
    if not isinstance(value, expected) or isinstance(value, bool):
        raise FaultError(f"{name} is {value!r}; give a {_NOUNS[expected]}")
    return value


def _read_ids(name: str, value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(type(one) is int for one in value):
        raise FaultError(f"{name} is {value!r}; give a list of broker ids")
    return tuple(value)


_NOUNS = {str: "text", int: "whole number"}
