"""What a story sees: one observation for `until`, and the pages that `show` prints.

Seen from outside, as if every broker and ZooKeeper stood still and could be looked into.
"""

from collections.abc import Callable, Iterator

from fencepost.fault_injection.stories.steps.story_step import Observation
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.sim.engine.liveness_state import is_converged
from fencepost.impl.sim.stories.stage import Stage
from fencepost.impl.sim.world.process import Process
from fencepost.spec.vocabulary import BrokerId, ControllerEpoch, Offset
from fencepost.spec.znodes import (
    CONTROLLER_EPOCH,
    TOPICS,
    TopicPartition,
    broker_path,
    parse_controller_epoch,
)

NOTHING = "none"


def observe(stage: Stage, what: Observation) -> str:
    """One value as text; raises `StoryError`."""
    key, broker_id = what.partition, what.broker_id
    if broker_id is not None and broker_id not in stage.cluster.disks:
        raise StoryError(f"{what}: there is no broker {broker_id}")
    if key is None:
        if broker_id is None:
            return _OF_CLUSTER[what.name](stage)
        return _OF_BROKER[what.name](stage, broker_id)
    if broker_id is None:
        return _OF_PARTITION[what.name](stage, key)
    replica = replica_of(stage, broker_id, key)
    return NOTHING if replica is None else _OF_REPLICA[what.name](replica)


def replica_of(stage: Stage, broker_id: BrokerId, key: TopicPartition) -> Replica | None:
    """What the running broker has of the partition."""
    process = stage.cluster.processes[broker_id]
    return process.node.broker.replicas.get(key) if process.is_alive else None


def numbers(brokers: frozenset[BrokerId]) -> str:
    """`1,2,3`."""
    return ",".join(str(broker_id) for broker_id in sorted(brokers)) or NOTHING


def _controller(stage: Stage) -> str:
    process = stage.cluster.controller()
    return str(process.broker_id) if process else NOTHING


def _controller_epoch(stage: Stage) -> str:
    znode = stage.cluster.zookeeper.peek(CONTROLLER_EPOCH)
    epoch = parse_controller_epoch(znode.data) if znode.stat else ControllerEpoch(0)
    return str(epoch)


def _life(process: Process) -> str:
    if not process.is_alive:
        return "dead"
    return "paused" if process.is_paused else "alive"


def is_registered(stage: Stage, broker_id: BrokerId) -> bool:
    """True while `/brokers/ids` has the broker."""
    return stage.cluster.zookeeper.peek(broker_path(broker_id)).stat is not None


def _pending(stage: Stage) -> str:
    return str(sum(not operation.is_done for operation in stage.client.pending))


_OF_CLUSTER: dict[str, Callable[[Stage], str]] = {
    "controller": _controller,
    "controller_epoch": _controller_epoch,
    "converged": lambda stage: "yes" if is_converged(stage.cluster) else "no",
    "held": lambda stage: str(sum(len(rule.held) for rule in stage.rules)),
    "pending": _pending,
    "topics": lambda stage: ",".join(stage.cluster.zookeeper.children(TOPICS)) or NOTHING,
}


def _state(stage: Stage, key: TopicPartition, read: Callable[..., str]) -> str:
    known = stage.cluster.state(key)
    return NOTHING if known is None else read(*known)


_OF_PARTITION: dict[str, Callable[[Stage, TopicPartition], str]] = {
    "leader": lambda stage, key: _state(stage, key, lambda state, _: str(state.leader)),
    "epoch": lambda stage, key: _state(stage, key, lambda state, _: str(state.leader_epoch)),
    "isr": lambda stage, key: _state(stage, key, lambda state, _: numbers(state.isr)),
    "assigned": lambda stage, key: (
        ",".join(map(str, stage.cluster.assignments().get(key, ()))) or NOTHING
    ),
    "version": lambda stage, key: _state(stage, key, lambda _, version: str(version)),
}
_OF_BROKER: dict[str, Callable[[Stage, BrokerId], str]] = {
    "life": lambda stage, broker_id: _life(stage.cluster.processes[broker_id]),
    "registered": lambda stage, broker_id: "yes" if is_registered(stage, broker_id) else "no",
}
_OF_REPLICA: dict[str, Callable[[Replica], str]] = {
    "role": lambda replica: replica.role.value,
    "replica_epoch": lambda replica: str(replica.leader_epoch),
    "replica_isr": lambda replica: numbers(replica.isr),
    "high_watermark": lambda replica: str(replica.high_watermark),
    "log_end_offset": lambda replica: str(replica.log_end_offset),
    "fenced": lambda replica: "yes" if replica.is_fenced else "no",
}


# Pages


def show_state(stage: Stage) -> Iterator[str]:
    """The active controller; of each partition its state in ZooKeeper and at each replica."""
    yield f"controller={_controller(stage)} controller_epoch={_controller_epoch(stage)}"
    for key, brokers in sorted(stage.cluster.assignments().items()):
        known = stage.cluster.state(key)
        if known is None:
            yield f"{key} has no leader yet"
        else:
            state, _ = known
            yield f"{key} leader={state.leader} epoch={state.leader_epoch} isr={numbers(state.isr)}"
        yield from (f"  {_replica_line(stage, broker_id, key)}" for broker_id in sorted(brokers))


def _replica_line(stage: Stage, broker_id: BrokerId, key: TopicPartition) -> str:
    process = stage.cluster.processes[broker_id]
    life = "" if _life(process) == "alive" else f", {_life(process)}"
    replica = replica_of(stage, broker_id, key)
    if replica is None:
        return f"broker {broker_id}: nothing{life}"
    fenced = ", fenced" if replica.is_leader and replica.is_fenced else ""
    return (
        f"broker {broker_id}: {replica.role.value} epoch={replica.leader_epoch} "
        f"high_watermark={replica.high_watermark} log_end_offset={replica.log_end_offset}"
        f"{fenced}{life}"
    )


def show_log(stage: Stage, key: TopicPartition) -> Iterator[str]:
    """Per broker its records as value@epoch, `|` after the committed ones; on disk if dead."""
    for broker_id in sorted(stage.cluster.disks):
        disk = stage.cluster.disks[broker_id]
        log = disk.recover().get(key)
        if log is None:
            continue
        replica = replica_of(stage, broker_id, key)
        high_watermark = log.high_watermark if replica is None else replica.high_watermark
        records = disk.read(key, Offset(0), log.log_end_offset)
        words = [f"{record.value}@{record.leader_epoch}" for record in records]
        words.insert(high_watermark, "|")
        yield f"broker {broker_id}: {' '.join(words)}"


def show_results(stage: Stage) -> Iterator[str]:
    """The outcome of operations that ended in the background; each is printed once."""
    for operation in list(stage.client.pending):
        yield f"{operation.what}: {operation.outcome[0] if operation.is_done else 'pending'}"
        if operation.is_done:
            stage.client.pending.remove(operation)
