"""Whether an implementation declares what a run, or a kind of fault, needs."""

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from fencepost.conformance.adapters.implementation import Capability, Implementation
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.injectors.injector import InjectionError

_PROCESSES = frozenset({Capability.PROCESSES})
_ZOOKEEPER = frozenset({Capability.ZOOKEEPER})
_FAULT_CONTROL = frozenset({Capability.FAULT_CONTROL})
_FLUSH_RECORD = frozenset({Capability.FLUSH_RECORD})

NEEDED = MappingProxyType(
    {
        "proc.": _PROCESSES,
        "proc.kill": frozenset(),
        "proc.term": frozenset(),
        "proc.crash_at": _PROCESSES | _FAULT_CONTROL,
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
        "zk.expire": _ZOOKEEPER | _FAULT_CONTROL,
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
SCRIPTS_NEED = _PROCESSES | _ZOOKEEPER | _FAULT_CONTROL | LIVE_TRACE
"""What a scenario in Python may ask for."""


class UnsupportedFaultError(InjectionError):
    """A fault needs what the implementation does not declare; says what."""


def refusal(implementation: Implementation, needs: frozenset[Capability]) -> str:
    """Why a run that needs these is `UNSUPPORTED`; empty when the implementation declares all."""
    missing = (needs | implementation.needs) - implementation.capabilities
    names = ", ".join(sorted(missing))
    return f"{implementation.name} does not declare what the run needs: {names}" if missing else ""


def require_supported(implementation: Implementation, kinds: Sequence[str]) -> None:
    """Raise `UnsupportedFaultError` unless the implementation can have all these faults."""
    if missing := needed(kinds) - implementation.capabilities:
        raise UnsupportedFaultError(
            f"{implementation.name} does not declare what {', '.join(kinds)} needs: "
            f"{', '.join(sorted(missing))}"
        )


def needed(kinds: Iterable[str]) -> frozenset[Capability]:
    """All that an implementation must declare for these kinds; raises `FaultError`."""
    return frozenset().union(*map(_needed, kinds))


def _needed(kind: str) -> frozenset[Capability]:
    names = [name for name in NEEDED if kind.startswith(name)]
    if not names:
        raise FaultError(
            f"unknown fault {kind!r}: nothing says what an implementation must declare for it; "
            "add its area to NEEDED in conformance/adapters/capabilities.py"
        )
    return NEEDED[max(names, key=len)]
