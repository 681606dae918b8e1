"""What only a simulator sees: observations for `until`, and the pages that `show` prints.

Seen from outside, as if every broker and ZooKeeper stood still and could be looked into.
"""

from collections.abc import Callable, Iterable, Iterator

from fencepost.fault_injection.faults.parameters import Json
from fencepost.fault_injection.stories.steps.observation import (
    Observation,
    Observed,
    expected_text,
)
from fencepost.fault_injection.stories.steps.step_player import OBSERVED, ObservationTable
from fencepost.impl.core.broker.offsets import list_offsets
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.types.config_messages import DescribeMutationQuotasResponse
from fencepost.impl.core.types.messages import (
    InitProducerIdResponse,
    ListPartitionReassignmentsResponse,
    MetadataResponse,
    Response,
)
from fencepost.impl.sim.stories.story_cluster import Player
from fencepost.impl.sim.world.cluster import VirtualCluster, VirtualState
from fencepost.impl.sim.world.process import Process
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, ErrorCode, Offset
from fencepost.spec.znodes import (
    LeaderAndIsr,
    TopicPartition,
    broker_path,
)


def _life(process: Process) -> str:
    if not process.is_alive:
        return "dead"
    return "paused" if process.is_paused else "alive"


def _replica(world: VirtualCluster, broker_id: BrokerId, key: TopicPartition) -> Replica | None:
    """What the running broker has of the partition."""
    process = world.processes[broker_id]
    return process.node.broker.replicas.get(key) if process.is_alive else None


def _of_replica(
    read: Callable[[Replica], Observed],
) -> Callable[[Player, Observation], Observed]:
    def look(player: Player, what: Observation) -> Observed:
        assert what.broker_id is not None
        assert what.partition is not None
        replica = _replica(player.cluster.world, what.broker_id, what.partition)
        return () if replica is None else read(replica)

    return look


def _asked(
    read: Callable[[Player, Process, Observation], Observed],
) -> Callable[[Player, Observation], Observed]:
    """What a broker tells that is asked; nothing while it cannot answer."""

    def look(player: Player, what: Observation) -> Observed:
        assert what.broker_id is not None
        process = player.cluster.world.processes[what.broker_id]
        is_there = process.is_alive and not process.is_paused and process.node.broker.is_ready
        return read(player, process, what) if is_there else ()

    return look


def _answer_at(player: Player, process: Process, what: Observation) -> Observed:
    assert what.partition is not None
    replica = _replica(player.cluster.world, process.broker_id, what.partition)
    error = list_offsets(process.broker_id, replica).error_code
    return "ok" if error is ErrorCode.NONE else error


def _leader_at(player: Player, process: Process, what: Observation) -> Observed:
    assert what.partition is not None
    world = player.cluster.world
    known = world.state(what.partition)
    if known is None:
        return ()
    assigned_replicas = world.assignments()[what.partition]
    leader = process.config.rules.routed_leader(known[0], assigned_replicas)
    return () if leader == NO_BROKER else leader


def _committed(player: Player, what: Observation) -> Observed:
    """The high watermark that the published leader tells; nothing while it does not serve."""
    assert what.partition is not None
    leader = player.cluster.state.state_of(what.partition)
    if leader is None or leader.leader == NO_BROKER:
        return ()
    told = _asked(_committed_at)
    return told(player, what._replace(broker_id=leader.leader))


def _committed_at(player: Player, process: Process, what: Observation) -> Observed:
    assert what.partition is not None
    replica = _replica(player.cluster.world, process.broker_id, what.partition)
    return replica.high_watermark if replica is not None and replica.is_leader else ()


def _broker_epoch(player: Player, what: Observation) -> Observed:
    assert what.broker_id is not None
    registration = player.cluster.registration(what.broker_id)
    return registration.zxid if registration else ()


SIMULATED_OBSERVATIONS: ObservationTable = {
    **OBSERVED,
    "committed": _committed,
    "broker_epoch": _broker_epoch,
    "controller_at": _asked(lambda player, *_: player.cluster.state.controller() or ()),
    "config_version_at": _asked(lambda _, process, __: process.node.configs.version),
    "brokers_at": _asked(lambda player, *_: tuple(player.cluster.state.live_brokers())),
    "leader_at": _asked(_leader_at),
    "answer_at": _asked(_answer_at),
    "held": lambda player, _: sum(len(rule.held) for rule in player.cluster.rules),
    "life": lambda player, what: _life(player.cluster.world.processes[what.broker_id]),
    "role": _of_replica(lambda replica: replica.role.value),
    "replica_epoch": _of_replica(lambda replica: replica.leader_epoch),
    "replica_isr": _of_replica(lambda replica: _ascending(replica.isr)),
    "high_watermark": _of_replica(lambda replica: replica.high_watermark),
    "log_end_offset": _of_replica(lambda replica: replica.log_end_offset),
    "fenced": _of_replica(lambda replica: replica.is_fenced),
}


# Pages


def show_state(world: VirtualCluster) -> Iterator[str]:
    """The active controller; of each partition its state in ZooKeeper and at each replica."""
    process = world.controller()
    controller = expected_text(process.broker_id if process else ())
    yield f"controller={controller} controller_epoch={VirtualState(world).controller_epoch() or 0}"
    for key, brokers in sorted(world.assignments().items()):
        known = world.state(key)
        yield f"{key} {_told(known[0])}" if known else f"{key} has no leader yet"
        yield from (f"  {_replica_line(world, broker_id, key)}" for broker_id in sorted(brokers))


def _told(state: LeaderAndIsr) -> str:
    isr = expected_text(_ascending(state.isr))
    return f"leader={state.leader} epoch={state.leader_epoch} isr={isr}"


def _ascending(brokers: frozenset[BrokerId]) -> tuple[BrokerId, ...]:
    return tuple(sorted(brokers))


def _replica_line(world: VirtualCluster, broker_id: BrokerId, key: TopicPartition) -> str:
    found = _life(world.processes[broker_id])
    life = "" if found == "alive" else f", {found}"
    replica = _replica(world, broker_id, key)
    if replica is None:
        return f"broker {broker_id}: nothing{life}"
    fenced = ", fenced" if replica.is_leader and replica.is_fenced else ""
    return (
        f"broker {broker_id}: {replica.role.value} epoch={replica.leader_epoch} "
        f"high_watermark={replica.high_watermark} log_end_offset={replica.log_end_offset}"
        f"{fenced}{life}"
    )


def seen_state(world: VirtualCluster) -> Json:
    """The same as plain values, with the log of each replica; what is not there is None."""
    state = VirtualState(world)
    return {
        "controller": state.controller(),
        "controller_epoch": state.controller_epoch() or 0,
        "partitions": [
            _seen_partition(world, key, brokers)
            for key, brokers in sorted(world.assignments().items())
        ],
    }


def _seen_partition(
    world: VirtualCluster, key: TopicPartition, brokers: Iterable[BrokerId]
) -> Json:
    known = world.state(key)
    logs = dict(_logs(world, key))
    return {
        "partition": str(key),
        "published": _published(*known) if known else None,
        "replicas": [
            _seen_replica(world, broker_id, key) | {"log": logs.get(broker_id)}
            for broker_id in sorted(brokers)
        ],
    }


def _published(state: LeaderAndIsr, znode_version: int) -> Json:
    return {
        "leader": state.leader,
        "leader_epoch": state.leader_epoch,
        "isr": _ascending(state.isr),
        "znode_version": znode_version,
    }


def _seen_replica(world: VirtualCluster, broker_id: BrokerId, key: TopicPartition) -> Json:
    replica = _replica(world, broker_id, key)
    stat = world.zookeeper.peek(broker_path(broker_id)).stat
    return {
        "broker": broker_id,
        "life": _life(world.processes[broker_id]),
        "broker_epoch": stat.czxid if stat else None,
        "role": replica.role.value if replica else None,
        "leader_epoch": replica.leader_epoch if replica else None,
        "high_watermark": replica.high_watermark if replica else None,
        "log_end_offset": replica.log_end_offset if replica else None,
    }


def show_told(response: Response | None) -> Iterator[str]:
    """What a broker answers that is asked; the error if it cannot tell."""
    match response:
        case ListPartitionReassignmentsResponse(error_code=ErrorCode.NONE):
            for one in response.reassignments:
                ids = (one.replicas, one.assigned_replicas, one.adding, one.removing)
                to, assigned, adding, removing = map(expected_text, ids)
                yield f"{one.key} {to=!s} {assigned=!s} {adding=!s} {removing=!s}"
        case MetadataResponse(error_code=ErrorCode.NONE):
            brokers = expected_text(tuple(one.broker_id for one in response.brokers))
            controller = f"controller={response.controller_id}"
            yield f"{controller} controller_epoch={response.controller_epoch} {brokers=!s}"
            for state in response.partitions:
                isr, assigned = map(expected_text, (state.isr, state.assigned_replicas))
                key = TopicPartition(state.topic, state.partition)
                place = f"{key} leader={state.leader} epoch={state.leader_epoch}"
                gone = expected_text(state.offline_replicas)
                offline = f" offline={gone}" if state.offline_replicas else ""
                yield f"{place} {isr=!s} {assigned=!s}{offline}"
        case InitProducerIdResponse(error_code=ErrorCode.NONE):
            yield f"producer_id={response.producer_id}"
        case DescribeMutationQuotasResponse(error_code=ErrorCode.NONE):
            for bucket in response.buckets:
                place = f"{bucket.kind} {','.join(bucket.names)} rate={bucket.rate}"
                throttle = f"throttle_time_ms={bucket.throttle_time_ms}"
                yield f"{place} tokens={bucket.tokens} {throttle}"
        case None:
            yield "no answer"
        case _:
            yield response.error_code


def show_log(world: VirtualCluster, key: TopicPartition) -> Iterator[str]:
    """Per broker its records as value@epoch, `|` after the committed ones; on disk if dead."""
    for broker_id, log in _logs(world, key):
        yield f"broker {broker_id}: {log}"


def _logs(world: VirtualCluster, key: TopicPartition) -> Iterator[tuple[BrokerId, str]]:
    for broker_id, disk in sorted(world.disks.items()):
        log = disk.recover().get(key)
        if log is None:
            continue
        replica = _replica(world, broker_id, key)
        high_watermark = log.high_watermark if replica is None else replica.high_watermark
        records = disk.read(key, Offset(0), log.log_end_offset)
        words = [f"{record.value}@{record.leader_epoch}" for record in records]
        words.insert(high_watermark, "|")
        yield broker_id, " ".join(words)
