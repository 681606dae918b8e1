"""Faults on the members of a ZooKeeper ensemble."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from fencepost.fault_injection.faults.fault import Fault, ForMs
from fencepost.fault_injection.faults.fault_kind import Backend, FaultKind
from fencepost.fault_injection.faults.parameters import Parameter
from fencepost.spec.vocabulary import EnvironmentAction

MEMBERS = ("leader", "follower", "1", "2", "3")
"""By role or by number; of the followers, the first."""
DEEDS = ("pause", "kill", "restart", "disconnect")


@dataclass(frozen=True, slots=True, kw_only=True)
class HurtServer(Fault):
    """One server of ZooKeeper stands still, dies or restarts; the others serve, under a leader."""

    kind: ClassVar[str] = "zk.server"
    member: Annotated[str, Parameter("which server, by its role or number", choices=MEMBERS)]
    deed: Annotated[
        str,
        Parameter(
            "it stands still, is killed, is asked to end and started again, or loses its network "
            "(in containers and network namespaces)",
            choices=DEEDS,
        ),
    ]
    for_ms: ForMs


KINDS = (
    FaultKind(
        fault_class=HurtServer,
        injector="ensemble:MemberHurt",
        missing={Backend.SIM: "its ZooKeeper is one server, of which only an election is seen"},
        evidence="the server stands still or has ended; of a leader, another one leads a new epoch",
        undo="all servers serve under one leader; how many brokers kept their sessions is told",
        requirements=("ZK-006", "CTL-009"),
        spec_actions=(EnvironmentAction.SUSPEND_SESSION, EnvironmentAction.RESUME_SESSION),
    ),
)
