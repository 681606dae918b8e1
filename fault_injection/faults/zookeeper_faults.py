"""Faults between a broker and ZooKeeper, and of ZooKeeper itself."""

from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from fencepost.fault_injection.faults.fault import BrokerFault, Fault, ForMs, LastingBrokerFault
from fencepost.fault_injection.faults.fault_kind import SESSION_GAP, Backend, fault_kind
from fencepost.fault_injection.faults.parameters import milliseconds, number
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.spec.vocabulary import EnvironmentAction

ZooKeeperErrorName = Literal["SYSTEM_ERROR", "MARSHALLING_ERROR", "OPERATION_TIMEOUT", "API_ERROR"]
"""Errors of ZooKeeper itself, which say nothing of the znode."""
ERROR_CODES: dict[ZooKeeperErrorName, int] = {
    "SYSTEM_ERROR": -1,
    "MARSHALLING_ERROR": -5,
    "OPERATION_TIMEOUT": -7,
    "API_ERROR": -100,
}


@fault_kind(
    injector="sessions:SessionExpiryInjector",
    evidence="the registration of the old session is gone; local_only: it is still there, "
    "and the broker has another session",
    undo="the broker registers by a new session, by itself",
    requirements=("FAIL-008", "CTL-009", "START-005"),
    spec_actions=(EnvironmentAction.EXPIRE_SESSION,),
)
class ExpireSession(BrokerFault, frozen=True, kw_only=True, tag="zk.expire"):
    """ZooKeeper ends the broker's session while the process lives and does not know it."""

    mode: Annotated[
        Literal["duplicate", "server", "local_only"],
        Meta(
            description="duplicate: a second client with its password closes it; server: "
            "ZooKeeper ends it by itself, if it runs as a process of ours; local_only: the broker "
            "takes it for lost while ZooKeeper keeps it until its timeout"
        ),
    ] = "duplicate"
    left_out: ClassVar[tuple[str, ...]] = ("mode",)


@fault_kind(
    injector="links:LinkCutInjector",
    needs_links=True,
    evidence="the connection is broken; for real, bytes are held and no probe passes",
    undo="the way is open again, and the broker is registered",
    requirements=("CTL-008", "ISR-004"),
    spec_actions=SESSION_GAP,
)
class CutZooKeeper(LastingBrokerFault, frozen=True, kw_only=True, tag="zk.cut"):
    """The broker does not reach ZooKeeper; if that is long, its session ends unheard of."""


@fault_kind(
    injector="links:ZooKeeperLinkInjector",
    needs_links=True,
    needs_proxy="to reset and to refuse; a packet filter resets nothing",
    evidence="bytes are held, or connections reset or refused, as the mode says",
    undo="the way is open again, and the broker is registered",
    requirements=("CTL-008", "ISR-004"),
    spec_actions=SESSION_GAP,
)
class HurtZooKeeperLink(LastingBrokerFault, frozen=True, kw_only=True, tag="zk.link"):
    """The link between the broker and ZooKeeper is hurt in one direction or both, by a proxy."""

    direction: Annotated[
        Literal["both", "c2s", "s2c"],
        Meta(description="which bytes: all, broker to ZooKeeper, or back"),
    ] = "both"
    mode: Annotated[
        Literal["stall", "reset", "refuse"],
        Meta(description="bytes wait, connections are reset, or only new ones are refused"),
    ] = "stall"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mode != "stall" and self.direction != "both":
            raise FaultError(
                f"{self.kind}: {self.mode} ends both directions; leave direction at 'both'"
            )


@fault_kind(
    injector="links:ConnectionResetInjector",
    needs_links=True,
    needs_proxy="a packet filter drops packets and resets nothing",
    evidence="how often the connection was reset",
    undo="the broker is registered by the same session",
    requirements=("ZK-003", "ZK-006"),
    spec_actions=SESSION_GAP,
)
class DropConnection(LastingBrokerFault, frozen=True, kw_only=True, tag="zk.conn_drop"):
    """The broker's connection to ZooKeeper is reset again and again; its session lives on."""

    every_ms: Annotated[int, milliseconds("the time between two resets", ge=1)]


@fault_kind(
    injector="links:SlowLinkInjector",
    needs_links=True,
    needs_relay=True,
    evidence="answers come late; for real, how many bytes",
    undo="answers come at once, after those that are late",
    requirements=("ZK-003", "ZK-004"),
)
class DelayZooKeeper(LastingBrokerFault, frozen=True, kw_only=True, tag="zk.delay"):
    """What ZooKeeper answers and which watches fired reaches the broker late, in order."""

    delay_ms: Annotated[int, milliseconds("how late", ge=1)]


@fault_kind(
    missing={
        Backend.REAL: "what a proxy holds back holds up all that follows it on the connection, "
        "which is zk.delay"
    },
    evidence="of how many watches the broker heard late",
    undo="it hears at once, and of those that are late",
    requirements=("CTL-004", "CTL-008"),
)
class DelayWatches(LastingBrokerFault, frozen=True, kw_only=True, tag="zk.watch_delay"):
    """The broker hears late that watches fired, but before it reads what made them fire."""

    delay_ms: Annotated[int, milliseconds("how late", ge=1)]
    path: Annotated[str, Meta(description="of which znodes; * stands for any text")] = "*"


@fault_kind(
    injector="links:LostReplyInjector",
    needs_links=True,
    needs_proxy="a packet filter does not read what is written",
    evidence="how many writes were done and lost their answers; for real, at which zxid",
    undo="nothing is lost any more; the broker connects again by itself",
    requirements=("ZK-006",),
    spec_actions=(EnvironmentAction.LOSE_REPLY,),
)
class LoseZooKeeperReplies(LastingBrokerFault, frozen=True, kw_only=True, tag="zk.lose_reply"):
    """ZooKeeper does the broker's next writes; their answers are lost with the connection."""

    count: Annotated[int, number("of how many writes", ge=1)] = 1


@fault_kind(
    injector="links:FailedRequestInjector",
    needs_links=True,
    needs_proxy="a packet filter does not read what is written",
    evidence="how many requests were answered with the error; for real, of which znodes",
    undo="requests are done again; the broker connects again by itself",
    requirements=("ZK-006", "ZK-003"),
    spec_actions=SESSION_GAP,
)
class FailZooKeeperRequests(LastingBrokerFault, frozen=True, kw_only=True, tag="zk.fail_request"):
    """ZooKeeper does not do the broker's next requests, and answers each of them with an error."""

    count: Annotated[int, number("how many requests", ge=1)] = 1
    requests: Annotated[Literal["any", "write"], Meta(description="of which sort")] = "any"
    code: Annotated[ZooKeeperErrorName, Meta(description="which error of ZooKeeper")] = "API_ERROR"


@fault_kind(
    injector="ensemble:FailOverInjector",
    evidence="all connections are broken; of an ensemble, another server leads a new epoch",
    undo="every server serves; how many brokers kept their sessions is told",
    requirements=("ZK-006", "CTL-009"),
    spec_actions=SESSION_GAP,
)
class FailOverZooKeeper(Fault, frozen=True, kw_only=True, tag="zk.failover"):
    """ZooKeeper elects a leader: connections break, sessions live on, and no request is served."""

    starts_anew: ClassVar[bool] = True
    for_ms: Annotated[
        int,
        milliseconds(
            "how long the election takes; for real, how long the old leader stays away",
            ge=1,
        ),
    ]


@fault_kind(
    missing={
        Backend.REAL: "the servers of a run do without fsync, and the disk below them is the "
        "host's; zk.delay makes their answers late"
    },
    evidence="how many writes waited for the disk",
    undo="the disk is as fast as before; what waits is done in its order",
    requirements=("ZK-003", "ZK-004"),
)
class SlowSync(Fault, frozen=True, kw_only=True, tag="zk.slow_fsync"):
    """ZooKeeper's disk is slow: each write is done and answered late, and later requests wait."""

    delay_ms: Annotated[int, milliseconds("how long each write takes", ge=1)]
    for_ms: ForMs


@fault_kind(
    injector="znodes:VersionRaceInjector",
    evidence="by how much the version has grown",
    undo="nothing: a writer reads the version again",
    requirements=("ZK-003", "ISR-004"),
)
class RaceVersion(Fault, frozen=True, kw_only=True, tag="zk.version_race"):
    """A foreign session writes a partition's state as it is: only its version changes."""

    topic: Annotated[str, Meta(description="the name of the topic")]
    partition: Annotated[int, number("the number of the partition", ge=0)] = 0
    count: Annotated[int, number("how many times", ge=1)] = 1


@fault_kind(
    injector="ensemble:ServerInjector",
    missing={Backend.SIM: "its ZooKeeper is one server, of which only an election is seen"},
    evidence="the server stands still or has ended; of a leader, another one leads a new epoch",
    undo="all servers serve under one leader; how many brokers kept their sessions is told",
    requirements=("ZK-006", "CTL-009"),
    spec_actions=SESSION_GAP,
)
class HurtServer(Fault, frozen=True, kw_only=True, tag="zk.server"):
    """One server of ZooKeeper stands still, dies or restarts; the others serve, under a leader."""

    member: Annotated[
        Literal["leader", "follower", "1", "2", "3"],
        Meta(description="which server, by its role or number; of the followers, the first"),
    ]
    deed: Annotated[
        Literal["pause", "kill", "restart", "disconnect"],
        Meta(
            description="it stands still, is killed, is asked to end and started again, or loses "
            "its network (in containers and network namespaces)"
        ),
    ]
    for_ms: ForMs
