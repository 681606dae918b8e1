"""Prepares the processes that take the place of those that a fault will end."""

from collections.abc import Callable
from functools import partial

from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.zookeeper_faults import FailOverZooKeeper, HurtServer
from fencepost.fault_injection.injectors.ensemble import number_of
from fencepost.fault_injection.injectors.injection import FaultTarget

ENDS = ("kill", "restart")
"""What is done to a server that then has to start anew."""


def needs_successor(fault: Fault) -> bool:
    """True when a process may end that is to start again."""
    return fault.starts_anew or (isinstance(fault, HurtServer) and fault.deed in ENDS)


IsReady = Callable[[], bool]
"""Asks whether a successor that is on its way has loaded what it needs."""


def make_ready(fault: Fault, target: FaultTarget) -> IsReady | None:
    """Prepare the successor of the broker that has the fault's role now; None: there is none.

    Another broker may have it later: then this successor waits until the run is over.
    """
    match fault:
        case HurtServer(member=member):
            return _make_member_ready(member, target)
        case FailOverZooKeeper():
            return _make_member_ready("leader", target)
        case _:
            broker_id = fault.victim.resolve(target.state.view())
            if broker_id is None:
                return None
            target.prepare(broker_id)
            return partial(target.is_ready, broker_id)


def _make_member_ready(member: str, target: FaultTarget) -> IsReady:
    servers = target.servers
    number = number_of(member, servers)
    servers.prepare(number)
    return partial(servers.is_ready, number)
