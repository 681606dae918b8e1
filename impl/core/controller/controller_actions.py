"""What the trace says of a controller and its broker: one function per action, of its name.

The actions that decide something about a partition are in `rules/controller`; here are those
which report what has happened.
"""

from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.messages import PartitionState, PartitionStop
from fencepost.spec.vocabulary import (
    Action,
    BrokerId,
    ControllerEpoch,
    PartitionIncarnation,
    SessionId,
    ZnodeVersion,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition


def register_broker(session_id: SessionId, zxid: int) -> ActionTaken:
    """The broker is live; `zxid` is its broker epoch (BEP-001)."""
    return ActionTaken(action=Action.REGISTER_BROKER, session_id=session_id, zxid=zxid)


def elect_controller(
    controller_id: BrokerId, controller_epoch: ControllerEpoch, session_id: SessionId
) -> ActionTaken:
    """The node is the controller of this epoch."""
    return ActionTaken(
        action=Action.ELECT_CONTROLLER,
        controller_id=controller_id,
        controller_epoch=controller_epoch,
        session_id=session_id,
    )


def learn_controller(controller_id: BrokerId, controller_epoch: ControllerEpoch) -> ActionTaken:
    """The broker knows the active controller and the epoch below which it refuses (CTL-004)."""
    return ActionTaken(
        action=Action.LEARN_CONTROLLER,
        controller_id=controller_id,
        controller_epoch=controller_epoch,
    )


def resign_controller(controller_id: BrokerId, controller_epoch: ControllerEpoch) -> ActionTaken:
    """The generation is over: none of its scripts and commands has effect any more (CTL-008)."""
    return ActionTaken(
        action=Action.RESIGN_CONTROLLER,
        controller_id=controller_id,
        controller_epoch=controller_epoch,
    )


def detect_broker_change(
    controller_epoch: ControllerEpoch, live_brokers: frozenset[BrokerId]
) -> ActionTaken:
    """The controller has read these live brokers (V3 A.1)."""
    return ActionTaken(
        action=Action.DETECT_BROKER_CHANGE,
        controller_epoch=controller_epoch,
        live_brokers=live_brokers,
    )


def detect_topic_change(
    controller_epoch: ControllerEpoch, topic: str, czxid: int | None
) -> ActionTaken:
    """The controller has read another incarnation of the topic, or none (V3 B)."""
    return ActionTaken(
        action=Action.DETECT_TOPIC_CHANGE,
        topic=topic,
        controller_epoch=controller_epoch,
        zxid=czxid,
    )


def publish_decision(
    key: TopicPartition,
    incarnation: PartitionIncarnation,
    state: LeaderAndIsr,
    znode_version: ZnodeVersion,
    zxid: int | None,
) -> ActionTaken:
    """ZooKeeper holds the decision: only now may brokers be told (FAIL-006)."""
    return ActionTaken(
        action=Action.PUBLISH_DECISION,
        topic_partition=key,
        partition_incarnation=incarnation,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        controller_epoch=state.controller_epoch,
        znode_version=znode_version,
        zxid=zxid,
    )


def send_init(peer: BrokerId, controller_epoch: ControllerEpoch, zxid: int) -> ActionTaken:
    """A request that names all partitions of the broker is on its way (CMD-007)."""
    return ActionTaken(
        action=Action.SEND_INIT, peer=peer, controller_epoch=controller_epoch, zxid=zxid
    )


def send_leader_and_isr(
    peer: BrokerId, controller_epoch: ControllerEpoch, command: PartitionState
) -> ActionTaken:
    """The broker is being told of leader and ISR of one partition."""
    return ActionTaken(
        action=Action.SEND_LEADER_AND_ISR,
        topic_partition=command.key,
        partition_incarnation=command.partition_incarnation,
        peer=peer,
        leader=command.leader,
        leader_epoch=command.leader_epoch,
        isr=frozenset(command.isr),
        controller_epoch=controller_epoch,
        znode_version=command.znode_version,
    )


def send_stop_replica(
    peer: BrokerId, controller_epoch: ControllerEpoch, stop: PartitionStop
) -> ActionTaken:
    """The broker is being told to give its replica of one partition up (TOP-002)."""
    return ActionTaken(
        action=Action.SEND_STOP_REPLICA,
        topic_partition=stop.key,
        peer=peer,
        leader_epoch=stop.leader_epoch,
        controller_epoch=controller_epoch,
        partition_incarnation=stop.partition_incarnation,
    )
