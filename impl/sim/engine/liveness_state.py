"""The liveness properties of the specs on one state of a cluster, by name.

A property must hold some time after the last fault; the caller sets that bound.
"""

from collections.abc import Collection, Iterator, Mapping

from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import Role
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.config_store import CONFIG_CHANGES
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId, Liveness, ProtocolLevel
from fencepost.spec.znodes import (
    LEADER_ELECTION,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    TOPICS,
    LeaderAndIsr,
    TopicPartition,
    broker_path,
)

_PROMISES = {
    LEADER_ELECTION: Liveness.EVENTUALLY_LEADER,
    PARTITIONS_ADD: Liveness.ADDITION_COMPLETES,
    PARTITIONS_REMOVE: Liveness.REMOVAL_COMPLETES,
    PARTITIONS_REASSIGNED: Liveness.REASSIGNMENT_COMPLETES,
}

ORPHANS = frozenset({Liveness.DELETION_COMPLETES})
"""Replicas may outlive their assignment where a controller died before it told their brokers, and
while a znode is unreadable: the next controller sends every broker all that it has (CMD-007)."""


def unhealed(cluster: VirtualCluster) -> Iterator[Liveness]:
    """The properties that do not hold now, some more than once; none of a healed cluster.

    Absent brokers are left out: a broker that died may stay dead. A partition with its whole ISR
    absent is left out too, since no other replica may lead it (FAIL-003).
    """
    present = cluster.disks.keys() - cluster.absent
    if any(cluster.zookeeper.peek(broker_path(b)).stat is None for b in present):
        yield Liveness.BROKER_EVENTUALLY_LEARNS_ROLE
    if cluster.controller() is None:
        yield Liveness.CONTROLLER_EVENTUALLY_EXISTS
    assigned = cluster.assignments()
    yield from _of_deletions(cluster, assigned)
    if not _has_had_topics(cluster):
        yield Liveness.EVENTUALLY_LEADER
    for key, brokers in assigned.items():
        known = cluster.state(key)
        if known is None:
            yield Liveness.EVENTUALLY_LEADER
            continue
        if known[0].isr and known[0].isr <= cluster.absent:
            continue
        replicas = {b: _replica(cluster, b, key) for b in brokers if b in present}
        yield from _of_roles(known[0], replicas)
        yield from _of_logs([replica for replica in replicas.values() if replica])
    yield from _of_moves(cluster)
    yield from _of_configs(cluster, present)
    yield from _of_metadata(cluster, present)


def _of_configs(cluster: VirtualCluster, present: Collection[BrokerId]) -> Iterator[Liveness]:
    """Every broker that waits for changes has read the last one (FWD-008)."""
    watching = [
        broker_id
        for broker_id in present
        if _protocol(cluster, broker_id) >= ProtocolLevel.CONTROLLER_MUTATIONS
    ]
    if not watching:
        return
    stat = cluster.zookeeper.peek(CONFIG_CHANGES).stat
    version = stat.version if stat is not None else ANY_VERSION
    stores = [cluster.processes[b].node.configs for b in watching if b in cluster.processes]
    if any(not store.is_read or store.version != version for store in stores):
        yield Liveness.EVENTUALLY_PROPAGATED


def _protocol(cluster: VirtualCluster, broker_id: BrokerId) -> int:
    return cluster.version_of(broker_id).inter_broker_protocol


def unserved(cluster: VirtualCluster) -> Iterator[Liveness]:
    """What must come to hold though one broker stays hurt; none where the others do their work.

    A partition without a sound log in its ISR has no leader that may serve it (FAIL-003). Sound
    replicas that follow the leader have what it has: one that fetches and stays behind does not.
    """
    if cluster.controller() is None:
        yield Liveness.CONTROLLER_EVENTUALLY_EXISTS
    for key, brokers in cluster.assignments().items():
        known = cluster.state(key)
        if known is None:
            yield Liveness.EVENTUALLY_LEADER
            continue
        members = {b: _replica(cluster, b, key) for b in known[0].isr}
        sound = {b: r for b, r in members.items() if r is not None and _is_sound(r)}
        if not sound:
            continue
        leader = sound.get(known[0].leader)
        if leader is None or not leader.is_leader or leader.leader_epoch != known[0].leader_epoch:
            yield Liveness.EVENTUALLY_LEADER
            continue
        if leader.high_watermark != leader.log_end_offset:
            yield Liveness.EVENTUALLY_ACKED_OR_FAILED
        follows = [r for b in brokers if (r := _replica(cluster, b, key)) and _is_sound(r)]
        if any(r.broker_id not in known[0].isr for r in follows):
            yield Liveness.EVENTUALLY_ISR_FULL
        if any(r.log_end_offset != leader.log_end_offset for r in follows):
            yield Liveness.EVENTUALLY_CONVERGED


def _is_sound(replica: Replica) -> bool:
    return replica.role is not Role.OFFLINE


def is_converged(cluster: VirtualCluster) -> bool:
    """True when every liveness property holds now."""
    return next(unhealed(cluster), None) is None


def _of_metadata(cluster: VirtualCluster, present: Collection[BrokerId]) -> Iterator[Liveness]:
    """What every broker tells its clients is what ZooKeeper holds (UMD-002).

    Where the controller speaks a level below 4, only of brokers that answer as they were told.
    """
    controller = cluster.controller()
    speaker = controller.broker_id if controller is not None else min(cluster.disks)
    all_are_told = _protocol(cluster, speaker) >= ProtocolLevel.MAX_BROKER_EPOCH
    published = {
        key: (known[0].leader, known[0].leader_epoch, known[0].isr, known[1], tuple(assigned))
        for key, assigned in cluster.assignments().items()
        if (known := cluster.state(key)) is not None
    }
    registered = {one for one in cluster.disks if cluster.zookeeper.peek(broker_path(one)).stat}
    for broker_id in sorted(present):
        process = cluster.processes[broker_id]
        if not process.is_alive or process.is_paused:
            continue
        if not (all_are_told or process.node.answers_as_told):
            continue
        cache = process.node.metadata
        told = {
            key: (s.leader, s.leader_epoch, frozenset(s.isr), s.znode_version, s.assigned_replicas)
            for key, s in cache.partitions.items()
        }
        is_led = controller is not None and cache.controller_id == controller.broker_id
        if not is_led or told != published or cache.brokers.keys() != registered:
            yield Liveness.EVENTUALLY_METADATA_CONVERGES


def _of_moves(cluster: VirtualCluster) -> Iterator[Liveness]:
    """No request below `/admin` is left to do."""
    zookeeper = cluster.zookeeper
    for kind, promise in _PROMISES.items():
        if any(zookeeper.children(f"{kind}/{topic}") for topic in zookeeper.children(kind)):
            yield promise
    for document in cluster.topics().values():
        if document.adding or document.removing:
            yield Liveness.REASSIGNMENT_COMPLETES


def _has_had_topics(cluster: VirtualCluster) -> bool:
    """True where a topic was created, though it may be gone: a run without any shows nothing."""
    topics = cluster.zookeeper.peek(TOPICS).stat
    return topics is not None and cluster.zookeeper.peek_children(TOPICS).pzxid > topics.czxid


def _of_deletions(
    cluster: VirtualCluster, assigned: Mapping[TopicPartition, Collection[BrokerId]]
) -> Iterator[Liveness]:
    """No live broker has a replica of what is not, or not any more, assigned to it."""
    for broker_id, process in cluster.processes.items():
        if not process.is_alive or process.is_paused:
            continue
        kept = process.node.broker.replicas.partitions()
        if any(broker_id not in assigned.get(key, ()) for key in kept):
            yield Liveness.DELETION_COMPLETES


def _replica(cluster: VirtualCluster, broker_id: BrokerId, key: TopicPartition) -> Replica | None:
    process = cluster.processes.get(broker_id)
    if process is None or not process.is_alive or process.is_paused:
        return None
    return process.node.broker.replicas.get(key)


def _of_roles(state: LeaderAndIsr, replicas: dict[BrokerId, Replica | None]) -> Iterator[Liveness]:
    """All replicas are in the ISR, the published leader leads, and all have its epoch."""
    if state.isr != replicas.keys():
        yield Liveness.EVENTUALLY_ISR_FULL
    epochs = {b: replica.leader_epoch for b, replica in replicas.items() if replica}
    leader = replicas.get(state.leader)
    leads = leader is not None and leader.role is Role.LEADER and not leader.is_fenced
    if not leads or epochs.get(state.leader) != state.leader_epoch:
        yield Liveness.EVENTUALLY_LEADER
    if any(epochs.get(broker_id) != state.leader_epoch for broker_id in replicas):
        yield Liveness.BROKER_EVENTUALLY_LEARNS_ROLE


def _of_logs(replicas: list[Replica]) -> Iterator[Liveness]:
    """All logs are equal, and committed to their ends."""
    if any(replica.needs_truncation for replica in replicas):
        yield Liveness.EVENTUALLY_TRUNCATED
    if any(r.is_leader and r.high_watermark != r.log_end_offset for r in replicas):
        yield Liveness.EVENTUALLY_ACKED_OR_FAILED
    if len({offset for r in replicas for offset in (r.log_end_offset, r.high_watermark)}) > 1:
        yield Liveness.EVENTUALLY_CONVERGED
