"""A local cluster as it is now: published state, processes, cut connections, offsets of leaders."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from fencepost.conformance.adapters.by_hand.faults import cuts_of
from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.local_cluster import found_in
from fencepost.conformance.clients.client import RoutedClient
from fencepost.conformance.clients.transport import ClusterUnreachableError
from fencepost.fault_injection.engine.process_world import TROUBLE
from fencepost.fault_injection.injectors.processes import is_standing
from fencepost.spec.znodes import TopicPartition

OFFSETS_MAX = 20
"""So many leaders are asked for offsets at a look: those of the partitions that are shown first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenBroker:
    """One broker."""

    broker_id: int
    pid: int | None
    is_paused: bool
    broker_epoch: int | None
    """Of its registration; None: it is not registered."""
    address: str | None
    leads: int
    """How many partitions."""
    in_sync: int
    assigned: int

    @property
    def state(self) -> str:
        """Its process, in a word."""
        if self.pid is None:
            return "dead"
        if self.is_paused:
            return "stands still"
        return "runs" if self.broker_epoch is not None else "not registered"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedPartition:
    """One partition as ZooKeeper has it, with what its leader tells."""

    key: TopicPartition
    leader: int | None
    leader_epoch: int | None
    isr: tuple[int, ...]
    assigned_replicas: tuple[int, ...]
    high_watermark: int | None = None
    """None: its leader was not asked, or does not tell."""
    log_end_offset: int | None = None

    @property
    def lag(self) -> int | None:
        """Records that are appended and not committed yet."""
        if self.high_watermark is None or self.log_end_offset is None:
            return None
        return self.log_end_offset - self.high_watermark

    @property
    def trouble(self) -> int:
        """How urgent it is to show it: 2 without a leader, 1 with replicas outside the ISR."""
        if self.leader is None:
            return 2
        return int(set(self.isr) != set(self.assigned_replicas))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSnapshot:
    """All of it."""

    zookeeper: str
    level: int
    controller: int | None
    controller_epoch: int | None
    brokers: tuple[SeenBroker, ...]
    partitions: tuple[WatchedPartition, ...]
    """What is in trouble first, then by name."""
    faults: tuple[str, ...]
    """What is broken, each in a few words."""


def look_at(folder: Path) -> ClusterSnapshot:
    """The local cluster now; raises `ClusterError`, for one while its ZooKeeper does not answer."""
    with found_in(folder) as cluster:
        try:
            return _seen(cluster)
        except TROUBLE as error:
            raise ClusterError(str(error)) from error


def _seen(cluster: ClusterUnderTest) -> ClusterSnapshot:
    state = cluster.state
    assignments = state.assignments()
    partitions = sorted(
        (_partition(cluster, key, assigned) for key, assigned in assignments.items()),
        key=lambda one: (-one.trouble, one.key),
    )
    brokers = tuple(
        _broker(cluster, broker_id, partitions) for broker_id in cluster.settings.broker_ids
    )
    return ClusterSnapshot(
        zookeeper=cluster.zookeeper.address,
        level=cluster.settings.level,
        controller=state.controller(),
        controller_epoch=state.controller_epoch(),
        brokers=brokers,
        partitions=tuple(_with_offsets(cluster, brokers, partitions)),
        faults=(
            *(f"broker {one.broker_id} is {one.state}" for one in brokers if one.pid is None),
            *(f"broker {one.broker_id} {one.state}" for one in brokers if one.is_paused),
            *cuts_of(cluster),
        ),
    )


def _partition(
    cluster: ClusterUnderTest, key: TopicPartition, assigned: tuple[int, ...]
) -> WatchedPartition:
    state = cluster.state.state_of(key)
    return WatchedPartition(
        key=key,
        leader=None if state is None or state.leader < 0 else int(state.leader),
        leader_epoch=None if state is None else int(state.leader_epoch),
        isr=tuple(sorted(map(int, state.isr))) if state else (),
        assigned_replicas=tuple(map(int, assigned)),
    )


def _broker(
    cluster: ClusterUnderTest, broker_id: int, partitions: list[WatchedPartition]
) -> SeenBroker:
    process = cluster.running_processes().get(broker_id)
    registration = cluster.registration(broker_id)
    return SeenBroker(
        broker_id=broker_id,
        pid=process.pid if process else None,
        is_paused=process is not None and is_standing(process.pid),
        broker_epoch=registration.zxid if registration else None,
        address=registration.address if registration else None,
        leads=sum(one.leader == broker_id for one in partitions),
        in_sync=sum(broker_id in one.isr for one in partitions),
        assigned=sum(broker_id in one.assigned_replicas for one in partitions),
    )


def _with_offsets(
    cluster: ClusterUnderTest,
    brokers: tuple[SeenBroker, ...],
    partitions: list[WatchedPartition],
) -> Iterator[WatchedPartition]:
    """The first ones with the offsets that their leaders tell, if these can answer."""
    addresses = {one.broker_id: one.address for one in brokers if one.state == "runs"}
    client = RoutedClient(
        lambda: [address for address in addresses.values() if address],
        transport=cluster.transport,
        node="watch",
    )
    for number, one in enumerate(partitions):
        if number >= OFFSETS_MAX or one.leader not in addresses:
            yield one
            continue
        try:
            answer = client.list_offsets(one.key)
        except ClusterUnreachableError:
            yield one
            continue
        if not answer.is_ok:
            yield one
            continue
        yield replace(
            one, high_watermark=answer.high_watermark, log_end_offset=answer.log_end_offset
        )
