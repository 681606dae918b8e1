"""Faults by hand on a local cluster: each is done by its injector, and returns what proves it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Any

from fencepost.conformance.adapters.choices import PROXY
from fencepost.conformance.adapters.cluster import POLL_S, START_DEADLINE_S, ClusterUnderTest
from fencepost.conformance.adapters.errors import ChoiceError, ClusterError
from fencepost.conformance.adapters.local_cluster import (
    command,
    found_in,
    load,
    require_known,
)
from fencepost.fault_injection.engine.process_world import TROUBLE
from fencepost.fault_injection.engine.progress import EVIDENCE_MS
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.network_faults import CutOneWay
from fencepost.fault_injection.faults.process_faults import KillBroker, PauseBroker
from fencepost.fault_injection.faults.targets import FaultError, Target, broker, parse_target
from fencepost.fault_injection.faults.zookeeper_faults import CutZooKeeper, ExpireSession
from fencepost.fault_injection.injectors.dispatch import injector_for
from fencepost.fault_injection.injectors.injection import ResolvedFault
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.injectors.links import LinkCutInjector
from fencepost.fault_injection.injectors.processes import PauseInjector, is_standing
from fencepost.fault_injection.network.wiring import ZOOKEEPER

UNTIL_RESUMED_MS = 1
"""A pause by hand has no end of its own; what it must show is that the process stands still."""


def broker_named(folder: Path, named: str) -> int:
    """The id of the broker of that id or role; raises `ClusterError`, `ChoiceError`."""
    with _on(folder, named) as (_, broker_id):
        return broker_id


def kill(folder: Path, named: str) -> tuple[int, str]:
    """The broker has died; returns its id and what proves it.

    Raises `ClusterError`, and `ChoiceError` for what names no broker.
    """
    with _on(folder, named) as (cluster, broker_id):
        fault = KillBroker(target=broker(broker_id), restart_after_ms=None)
        return broker_id, _hurt(cluster, fault, broker_id)


def pause(folder: Path, named: str) -> tuple[int, str]:
    """The broker stands still; as `kill`."""
    with _on(folder, named) as (cluster, broker_id):
        _require_running(cluster, broker_id)
        fault = PauseBroker(target=broker(broker_id), for_ms=UNTIL_RESUMED_MS)
        return broker_id, _hurt(cluster, fault, broker_id)


def resume(folder: Path, named: str) -> tuple[int, str]:
    """The broker that stood still goes on, and is registered; as `kill`."""
    with _on(folder, named) as (cluster, broker_id):
        process = cluster.process(broker_id)
        if not is_standing(process.pid):
            raise ClusterError(f"broker {broker_id} does not stand still")
        fault = PauseBroker(target=broker(broker_id), for_ms=UNTIL_RESUMED_MS)
        injector = PauseInjector(_resolved(cluster, fault, broker_id))
        injector.find_process()
        injector.heal()
        return broker_id, _awaited(injector.healed, "a registration of it", START_DEADLINE_S)


def expire(folder: Path, named: str) -> tuple[int, str]:
    """ZooKeeper has ended the session of the broker, which itself tells its password; as `kill`."""
    with _on(folder, named) as (cluster, broker_id):
        _require_running(cluster, broker_id)
        return broker_id, _hurt(cluster, ExpireSession(target=broker(broker_id)), broker_id)


def cut(folder: Path, first: str, second: str) -> str:
    """Nothing passes between two brokers, or a broker and `zookeeper`, until `mend`.

    Returns the evidence. Raises as `kill`; then the ways are open.
    """
    with _between(folder, first, second) as injectors:
        try:
            for injector in injectors:
                injector.inject()
            proofs = [_awaited(one.evidence, "a byte that is held") for one in injectors]
        except (*TROUBLE, ClusterError):
            for injector in injectors:
                injector.heal()
            raise
        return "; ".join(proofs)


def mend(folder: Path, first: str, second: str) -> str:
    """The ways between the two are open again; returns the evidence. Raises as `kill`."""
    with _between(folder, first, second) as injectors:
        for injector in injectors:
            injector.rules = injector.make_rules()
            injector.heal()
            if not injector.last:
                raise ClusterError(f"nothing is cut between {first} and {second}")
        return "; ".join(_awaited(one.healed, "a probe that passes") for one in injectors)


def cuts_of(cluster: ClusterUnderTest) -> list[str]:
    """What is cut by hand now, each in a few words."""
    try:
        links = cluster.wiring.links
    except InjectionError:
        return []
    ids = cluster.settings.broker_ids
    ways = {
        _fault_id(CutZooKeeper.kind, one): f"broker {one} is cut from ZooKeeper" for one in ids
    } | {
        _fault_id(CutOneWay.kind, a, b): f"brokers {a} and {b} are cut from each other"
        for a in ids
        for b in ids
        if a < b
    }
    found = links.status(list(ways))
    return [what for what, status in zip(ways.values(), found, strict=True) if status is not None]


def _fault_id(kind: str, broker_id: int, receiver_id: int | None = None) -> str:
    """The same for the same way, so that another command finds the rule."""
    towards = "" if receiver_id is None else f"-{receiver_id}"
    return f"by-hand-{kind}-{broker_id}{towards}"


@contextmanager
def _on(folder: Path, named: str) -> Iterator[tuple[ClusterUnderTest, int]]:
    """The cluster, and the broker that is named by its id or a role."""
    with found_in(folder) as cluster:
        try:
            yield cluster, _broker_id(cluster, named)
        except TROUBLE as error:
            raise ClusterError(str(error)) from error


@contextmanager
def _between(folder: Path, first: str, second: str) -> Iterator[Sequence[LinkCutInjector]]:
    """The injectors of a cut in both directions; a role is that of this moment."""
    if load(folder).network != PROXY:
        raise ClusterError(
            "the connections of this cluster cannot be cut; end it, and start it again with: "
            f"{command('up', folder)} --network {PROXY}"
        )
    with found_in(folder) as cluster:
        try:
            yield _cuts(cluster, first, second)
        except TROUBLE as error:
            raise ClusterError(str(error)) from error


def _cuts(cluster: ClusterUnderTest, first: str, second: str) -> list[LinkCutInjector]:
    if ZOOKEEPER in (first, second):
        other = second if first == ZOOKEEPER else first
        broker_id = _broker_id(cluster, other)
        fault = CutZooKeeper(target=broker(broker_id), for_ms=UNTIL_RESUMED_MS)
        return [LinkCutInjector(_resolved(cluster, fault, broker_id))]
    one, two = _broker_id(cluster, first), _broker_id(cluster, second)
    if one == two:
        raise ChoiceError(f"both are broker {one}; name two")
    return [
        LinkCutInjector(
            _resolved(
                cluster,
                CutOneWay(sender=broker(a), receiver=broker(b), for_ms=UNTIL_RESUMED_MS),
                a,
                b,
            )
        )
        for a, b in ((one, two), (two, one))
    ]


def _broker_id(cluster: ClusterUnderTest, named: str) -> int:
    """Raise `ChoiceError` for what names no broker, `ClusterError` when none has the role."""
    try:
        target: Target = parse_target(named)
    except FaultError as error:
        raise ChoiceError(str(error)) from error
    broker_id = target.resolve(cluster.state.view())
    if broker_id is None:
        raise ClusterError(f"no broker is {named} now")
    require_known(cluster, broker_id)
    return broker_id


def _require_running(cluster: ClusterUnderTest, broker_id: int) -> None:
    """Raise `ClusterError` when it stands still: it would not answer."""
    if is_standing(cluster.process(broker_id).pid):
        raise ClusterError(f"broker {broker_id} stands still; resume it first")


def _resolved(
    cluster: ClusterUnderTest, fault: Fault, broker_id: int, receiver_id: int | None = None
) -> ResolvedFault[Any]:
    return ResolvedFault(
        fault_id=_fault_id(fault.kind, broker_id, receiver_id),
        fault=fault,
        target=cluster,
        victim_id=broker_id,
        receiver_id=receiver_id,
    )


def _hurt(cluster: ClusterUnderTest, fault: Fault, broker_id: int) -> str:
    """Inject it, and return what proves that it took effect; else it is undone."""
    injector = injector_for(_resolved(cluster, fault, broker_id))
    injector.inject()
    try:
        return _awaited(injector.evidence, "any effect of it")
    except ClusterError:
        injector.heal()
        raise


def _awaited(
    look: Callable[[], str | None], what: str, deadline_s: float = EVIDENCE_MS / 1000
) -> str:
    """What is seen at last; raises `ClusterError`."""
    deadline, pause_between, trouble = monotonic() + deadline_s, Event(), ""
    while monotonic() < deadline:
        try:
            if (seen := look()) is not None:
                return seen
        except TROUBLE as error:
            trouble = f": {error}"
        pause_between.wait(POLL_S)
    raise ClusterError(f"{what} did not come within {deadline_s:g} s{trouble}")
