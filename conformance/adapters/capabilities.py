"""Whether an implementation declares what a run, or a kind of fault, needs."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from msgspec import structs

from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.workload.commands import ControlMethod

_PROCESSES = frozenset({Capability.PROCESSES})
_ZOOKEEPER = frozenset({Capability.ZOOKEEPER})
_FAULT_CONTROL = frozenset({Capability.FAULT_CONTROL})
_CONTROL = frozenset({Capability.CONTROL})
_FLUSH_RECORD = frozenset({Capability.FLUSH_RECORD})

NEEDED = MappingProxyType(
    {
        "proc.": _PROCESSES,
        "proc.kill": frozenset(),
        "proc.term": frozenset(),
        "proc.crash_at": _PROCESSES | _FAULT_CONTROL,
        "proc.bounce_fast": _PROCESSES | _ZOOKEEPER,
        "cpu.": _PROCESSES,
        "clock.": _FAULT_CONTROL,
        "disk.": _PROCESSES | _FAULT_CONTROL,
        "disk.lose_unsynced": _PROCESSES | _FLUSH_RECORD,
        "disk.corrupt_tail": _PROCESSES | _FLUSH_RECORD,
        "rpc.": frozenset({Capability.REQUESTS}),
        "rpc.error": _FAULT_CONTROL,
        "rpc.stream_reset": _PROCESSES | {Capability.LINKS},
        "net.": _PROCESSES | {Capability.LINKS},
        "zk.": _ZOOKEEPER,
        "admin.": _ZOOKEEPER,
        "client.": frozenset[Capability](),
        "load.": frozenset[Capability](),
    }
)
"""A kind of fault, or the prefix of an area -> what it needs; the longest name decides."""

LIVE_TRACE = frozenset({Capability.LIVE_TRACE})
"""To wait for a line of a broker."""
STEPS_NEED = MappingProxyType(
    {
        "pause": _PROCESSES,
        "expire": _ZOOKEEPER | _FAULT_CONTROL,
        "znode": _ZOOKEEPER,
        "create_znode": _ZOOKEEPER,
        "delete_znode": _ZOOKEEPER,
    }
)
"""The verb of a step -> what it needs; other steps need nothing, but for faults."""
FETCH_EPOCHS = frozenset({Capability.FETCH_EPOCHS})
"""To fetch with a leader epoch."""
MADE_AGAIN = _ZOOKEEPER
"""To make a topic again under its name: what came before is told apart by its creation there."""
OBSERVATIONS_NEED = MappingProxyType(
    dict.fromkeys(("controller", "controller_at", "controller_epoch"), _ZOOKEEPER)
)
"""What a step looks at -> what it needs: that a controller is one of the brokers."""
COMMANDS_NEED = MappingProxyType(
    {
        ControlMethod.LEADER_AND_ISR: _CONTROL,
        ControlMethod.STOP_REPLICA: _CONTROL,
        ControlMethod.UPDATE_METADATA: _CONTROL | {Capability.UPDATE_METADATA},
        ControlMethod.CONTROLLED_SHUTDOWN: _CONTROL | {Capability.CONTROLLED_SHUTDOWN},
    }
)
"""What a `control` step needs."""


SETTINGS_NEED = MappingProxyType(
    {"unclean_leader_election": frozenset({Capability.UNCLEAN_ELECTIONS})}
)
"""A setting of a cluster that is not left as it is -> what it needs."""


class UnsupportedFaultError(InjectionError):
    """A fault needs what the implementation does not declare; says what."""


def refusal(implementation: Implementation, needs: frozenset[Capability]) -> str:
    """Why a run that needs these is `UNSUPPORTED`; empty when the implementation declares all."""
    missing = (needs | implementation.needs) - implementation.capabilities
    names = ", ".join(sorted(missing))
    return f"{implementation.name} does not declare what the run needs: {names}" if missing else ""


def needed_of(cluster: Mapping[str, object]) -> frozenset[Capability]:
    """What the settings of a cluster need."""
    return frozenset().union(*(need for name, need in SETTINGS_NEED.items() if cluster.get(name)))


def require_supported(implementation: Implementation, faults: Sequence[Fault]) -> None:
    """Raise `UnsupportedFaultError` unless the implementation can have all these faults."""
    if missing := needed_by(faults) - implementation.capabilities:
        kinds = ", ".join(sorted({fault.kind for fault in faults}))
        raise UnsupportedFaultError(
            f"{implementation.name} does not declare what {kinds} needs: "
            f"{', '.join(sorted(missing))}"
        )


def offered(implementation: Implementation, kinds: Iterable[str]) -> list[str]:
    """Those of the kinds that the implementation can have, in one form at least."""
    return [kind for kind in kinds if needed([kind]) <= implementation.capabilities]


def as_offered(implementation: Implementation, fault: Fault) -> Fault:
    """The fault in the form that the implementation can have."""
    if isinstance(fault, ExpireSession) and not needed_by([fault]) <= implementation.capabilities:
        return structs.replace(fault, mode="server")
    return fault


def needed_by(faults: Iterable[Fault]) -> frozenset[Capability]:
    """All that an implementation must declare for these faults; raises `FaultError`."""
    return frozenset().union(*map(_needed_by, faults))


def _needed_by(fault: Fault) -> frozenset[Capability]:
    """To end a session at ZooKeeper alone needs no word of its owner; other modes do."""
    is_asked = isinstance(fault, ExpireSession) and fault.mode != "server"
    return _needed(fault.kind) | (_FAULT_CONTROL if is_asked else frozenset())


def needed(kinds: Iterable[str]) -> frozenset[Capability]:
    """The least that an implementation must declare for these kinds; raises `FaultError`."""
    return frozenset().union(*map(_needed, kinds))


def _needed(kind: str) -> frozenset[Capability]:
    names = [name for name in NEEDED if kind.startswith(name)]
    if not names:
        raise FaultError(
            f"unknown fault {kind!r}: nothing says what an implementation must declare for it; "
            "add its area to NEEDED in conformance/adapters/capabilities.py"
        )
    return NEEDED[max(names, key=len)]
