"""Faults between a broker and ZooKeeper, and of ZooKeeper itself."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.fault_injection.faults.fault import BrokerFault, Fault, ForMs, LastingBrokerFault
from fencepost.fault_injection.faults.fault_kind import Backend, FaultKind
from fencepost.fault_injection.faults.parameters import Parameter
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.spec.vocabulary import EnvironmentAction

EXPIRY_MODES = ("duplicate", "server", "local_only")
DIRECTIONS = ("both", "c2s", "s2c")
"""Of the bytes between a broker (client) and ZooKeeper (server)."""
MODES = ("stall", "reset", "refuse")
ERROR_CODES = {
    "SYSTEM_ERROR": -1,
    "MARSHALLING_ERROR": -5,
    "OPERATION_TIMEOUT": -7,
    "API_ERROR": -100,
}
"""By which ZooKeeper says that something is wrong with itself, and nothing of the znode."""
REQUESTS = ("any", "write")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireSession(BrokerFault):
    """ZooKeeper ends the broker's session while the process lives and does not know it."""

    kind: ClassVar[str] = "zk.expire"
    mode: Annotated[
        str,
        Parameter(
            "duplicate: a second client with its password closes it; server: ZooKeeper ends it by "
            "itself, if it runs as a process of ours; local_only: the broker takes it for lost "
            "while ZooKeeper keeps it until its timeout",
            choices=EXPIRY_MODES,
            is_younger=True,
        ),
    ] = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class CutZooKeeper(LastingBrokerFault):
    """The broker does not reach ZooKeeper; if that is long, its session ends unheard of."""

    kind: ClassVar[str] = "zk.cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class HurtZooKeeperLink(LastingBrokerFault):
    """The way between the broker and ZooKeeper is hurt in one direction or both, by a proxy."""

    kind: ClassVar[str] = "zk.link"
    direction: Annotated[
        str,
        Parameter("whose bytes: of both, client to server, or back", choices=DIRECTIONS),
    ] = "both"
    mode: Annotated[
        str,
        Parameter("bytes wait, connections are reset, or only new ones are refused", choices=MODES),
    ] = "stall"

    def __post_init__(self) -> None:
        LastingBrokerFault.__post_init__(self)
        if self.mode != "stall" and self.direction != "both":
            raise FaultError(
                f"{self.kind}: {self.mode} ends both directions; leave direction at 'both'"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConnection(LastingBrokerFault):
    """The broker's connection to ZooKeeper is reset again and again; its session lives on."""

    kind: ClassVar[str] = "zk.conn_drop"
    every_ms: Annotated[int, Parameter("the time between two resets", unit="ms", at_least=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayZooKeeper(LastingBrokerFault):
    """What ZooKeeper answers and which watches fired reaches the broker late, in order."""

    kind: ClassVar[str] = "zk.delay"
    delay_ms: Annotated[int, Parameter("how late", unit="ms", at_least=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayWatches(LastingBrokerFault):
    """The broker hears late that watches fired, but before it reads what made them fire."""

    kind: ClassVar[str] = "zk.watch_delay"
    delay_ms: Annotated[int, Parameter("how late", unit="ms", at_least=1)]
    path: Annotated[str, Parameter("of which znodes; * stands for any text")] = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoseZooKeeperReplies(LastingBrokerFault):
    """ZooKeeper does the broker's next writes; their answers are lost with the connection."""

    kind: ClassVar[str] = "zk.lose_reply"
    count: Annotated[int, Parameter("of how many writes", at_least=1)] = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FailZooKeeperRequests(LastingBrokerFault):
    """ZooKeeper does not do the broker's next requests, and answers each of them with an error."""

    kind: ClassVar[str] = "zk.fail_request"
    count: Annotated[int, Parameter("how many requests", at_least=1)] = 1
    requests: Annotated[str, Parameter("of which sort", choices=REQUESTS)] = "any"
    code: Annotated[str, Parameter("which error of ZooKeeper", choices=tuple(ERROR_CODES))] = (
        "API_ERROR"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FailOverZooKeeper(Fault):
    """ZooKeeper elects a leader: all connections break, sessions live on, and nobody is served."""

    kind: ClassVar[str] = "zk.failover"
    starts_anew: ClassVar[bool] = True
    for_ms: Annotated[
        int,
        Parameter(
            "how long the election takes; for real, how long the old leader stays away",
            unit="ms",
            at_least=1,
        ),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowSync(Fault):
    """ZooKeeper's disk is slow: each write is done and answered late, and who comes after waits."""

    kind: ClassVar[str] = "zk.slow_fsync"
    delay_ms: Annotated[int, Parameter("how long each write takes", unit="ms", at_least=1)]
    for_ms: ForMs


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceVersion(Fault):
    """Somebody writes a partition's state as it is: only its version is another."""

    kind: ClassVar[str] = "zk.version_race"
    topic: Annotated[str, Parameter("the name of the topic")]
    partition: Annotated[int, Parameter("the number of the partition", at_least=0)] = 0
    count: Annotated[int, Parameter("how many times", at_least=1)] = 1


KINDS = (
    FaultKind(
        fault_class=ExpireSession,
        injector="sessions:Expiry",
        missing={},
        evidence="the registration of the old session is gone; local_only: it is still there, "
        "and the broker has another session",
        undo="the broker registers by a new session, by itself",
        requirements=("FAIL-008", "CTL-009", "START-005"),
        spec_actions=(EnvironmentAction.EXPIRE_SESSION,),
    ),
    FaultKind(
        fault_class=CutZooKeeper,
        injector="links:Cut",
        needs_links=True,
        missing={},
        evidence="the connection is broken; for real, bytes are held and no probe passes",
        undo="the way is open again, and the broker is registered",
        requirements=("CTL-008", "ISR-004"),
        spec_actions=(EnvironmentAction.SUSPEND_SESSION, EnvironmentAction.RESUME_SESSION),
    ),
    FaultKind(
        fault_class=HurtZooKeeperLink,
        injector="links:ZooKeeperLink",
        needs_links=True,
        needs_proxy="to reset and to refuse; a packet filter resets nothing",
        missing={},
        evidence="bytes are held, or connections reset or refused, as the mode says",
        undo="the way is open again, and the broker is registered",
        requirements=("CTL-008", "ISR-004"),
        spec_actions=(EnvironmentAction.SUSPEND_SESSION, EnvironmentAction.RESUME_SESSION),
    ),
    FaultKind(
        fault_class=DropConnection,
        injector="links:Reset",
        needs_links=True,
        needs_proxy="a packet filter drops packets and resets nothing",
        missing={},
        evidence="how often the connection was reset",
        undo="the broker is registered by the same session",
        requirements=("ZK-003", "ZK-006"),
        spec_actions=(EnvironmentAction.SUSPEND_SESSION, EnvironmentAction.RESUME_SESSION),
    ),
    FaultKind(
        fault_class=DelayZooKeeper,
        injector="links:Slow",
        needs_links=True,
        needs_relay=True,
        missing={},
        evidence="answers come late; for real, how many bytes",
        undo="answers come at once, after those that are late",
        requirements=("ZK-003", "ZK-004"),
    ),
    FaultKind(
        fault_class=DelayWatches,
        missing={
            Backend.REAL: "what a proxy holds back holds up all that follows it on the connection, "
            "which is zk.delay"
        },
        evidence="of how many watches the broker heard late",
        undo="it hears at once, and of those that are late",
        requirements=("CTL-004", "CTL-008"),
    ),
    FaultKind(
        fault_class=LoseZooKeeperReplies,
        injector="links:LostReplies",
        needs_links=True,
        needs_proxy="a packet filter does not read what is written",
        missing={},
        evidence="how many writes were done whose answers were lost; for real, at which zxid",
        undo="nothing is lost any more; the broker connects again by itself",
        requirements=("ZK-006",),
        spec_actions=(EnvironmentAction.LOSE_REPLY,),
    ),
    FaultKind(
        fault_class=FailZooKeeperRequests,
        injector="links:FailedRequests",
        needs_links=True,
        needs_proxy="a packet filter does not read what is written",
        missing={},
        evidence="how many requests were answered with the error; for real, of which znodes",
        undo="requests are done again; the broker connects again by itself",
        requirements=("ZK-006", "ZK-003"),
        spec_actions=(EnvironmentAction.SUSPEND_SESSION, EnvironmentAction.RESUME_SESSION),
    ),
    FaultKind(
        fault_class=FailOverZooKeeper,
        injector="ensemble:FailOver",
        missing={},
        evidence="all connections are broken; of an ensemble, another server leads a new epoch",
        undo="every server serves; how many brokers kept their sessions is told",
        requirements=("ZK-006", "CTL-009"),
        spec_actions=(EnvironmentAction.SUSPEND_SESSION, EnvironmentAction.RESUME_SESSION),
    ),
    FaultKind(
        fault_class=SlowSync,
        missing={
            Backend.REAL: "the servers of a run do without fsync, and the disk below them is the "
            "host's; zk.delay makes their answers late"
        },
        evidence="how many writes waited for the disk",
        undo="the disk is as fast as before; what waits is done in its order",
        requirements=("ZK-003", "ZK-004"),
    ),
    FaultKind(
        fault_class=RaceVersion,
        injector="znodes:VersionRace",
        missing={},
        evidence="by how much the version has grown",
        undo="nothing: who needs the version reads it again",
        requirements=("ZK-003", "ISR-004"),
    ),
)
