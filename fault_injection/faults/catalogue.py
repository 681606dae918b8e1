"""The list of all kinds of faults: what each is, where it can be done, how it is seen and undone.

A kind is one class under `@fault_kind` in the module of its area, and one injector in `injectors/`.
Parsing, validation, dispatch, `fencepost faults`, the tables and what `make chaos` must show all
come from this list. Injectors are named and not imported: the simulator needs none.
"""

from collections.abc import Iterable

from fencepost.fault_injection.faults import (
    admin_faults,
    clock_faults,
    disk_faults,
    load_faults,
    network_faults,
    process_faults,
    request_faults,
    zookeeper_faults,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.fault_kind import DECLARED, Backend, FaultKind
from fencepost.fault_injection.faults.targets import FaultError
from fencepost.fault_injection.faults.zookeeper_faults import HurtZooKeeperLink

AREAS = (
    process_faults,
    zookeeper_faults,
    request_faults,
    network_faults,
    disk_faults,
    clock_faults,
    admin_faults,
    load_faults,
)

KINDS: dict[str, FaultKind] = {
    kind.kind: kind
    for area in AREAS
    for kind in DECLARED
    if kind.fault_class.__module__ == area.__name__
}
"""Kind -> all that is known of it, area by area."""

REAL_KINDS = frozenset(kind.kind for kind in KINDS.values() if Backend.REAL in kind.backends)

DRAWN_FOR_REAL = (
    "proc.kill",
    "proc.pause",
    "rpc.drop_request",
    "rpc.drop_response",
    "rpc.duplicate",
    "rpc.hold",
    "zk.expire",
)
"""What `generate` draws from when it is not told. Fixed: one more would change every seed's run."""
DRAWN_FROM_OUTSIDE = (
    "cpu.starve",
    "net.isolate",
    "net.oneway",
    "net.partition",
    "proc.bounce_fast",
    "proc.kill",
    "proc.pause",
    "proc.stutter",
    "proc.term",
    "rpc.drop_request",
    "rpc.drop_response",
    "rpc.duplicate",
    "rpc.hold",
    "zk.cut",
    "zk.delay",
    "zk.expire",
    "zk.lose_reply",
)
"""Of brokers without fault control: what is done to processes, connections and sessions."""
DRAWN_FOR_SIMULATOR = (
    "clock.drift",
    "clock.jump",
    "disk.enospc",
    "disk.eio",
    "disk.lose_unsynced",
    "disk.stale_checkpoint",
    "net.isolate",
    "net.oneway",
    "net.partition",
    "net.reorder",
    "proc.crash_at",
    "proc.stutter",
    "zk.cut",
    "zk.delay",
    "zk.failover",
    "zk.lose_reply",
)
"""What random runs of the simulator have beside those; fixed for the same reason."""
DRAWN_KINDS = frozenset((*DRAWN_FOR_REAL, *DRAWN_FOR_SIMULATOR))


def kind_of(kind: str) -> FaultKind:
    """All about a kind; raises `FaultError` when there is none of that name."""
    if kind not in KINDS:
        raise FaultError(f"unknown fault {kind!r}; choose one of {', '.join(sorted(KINDS))}")
    return KINDS[kind]


def require_backend(fault_id: str, kind: str, backend: Backend) -> None:
    """Raise `FaultError` when the backend cannot do the fault."""
    why = kind_of(kind).missing.get(backend)
    if why is None:
        return
    able = ", ".join(kind_ids(backend))
    if backend is Backend.REAL:
        raise FaultError(
            f"{fault_id}: {kind} can only be simulated, since {why}; "
            f"on real processes there are {able}"
        )
    raise FaultError(
        f"{fault_id}: {kind} cannot be simulated, since {why}; the simulator can do {able}"
    )


def needs_links(kinds: Iterable[str]) -> bool:
    """True when one of the kinds takes a run with all connections through the proxy."""
    return any(kind_of(kind).needs_links for kind in kinds)


def needs_relay(kinds: Iterable[str]) -> bool:
    """True when one of the kinds takes, in network namespaces, packets that can be kept."""
    return any(kind_of(kind).needs_relay for kind in kinds)


def needs_proxy(fault: Fault) -> str:
    """Why network namespaces cannot do what the proxy does for this fault; empty: they can."""
    if isinstance(fault, HurtZooKeeperLink) and fault.mode == "stall":
        return ""
    return kind_of(fault.kind).needs_proxy


def kind_ids(backend: Backend) -> list[str]:
    """The kinds that a backend can do, ascending."""
    return sorted(kind.kind for kind in KINDS.values() if backend in kind.backends)
