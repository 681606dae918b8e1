"""A command of a story as a request of the core."""

from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.workload.commands import ControlCommand, ControlMethod
from fencepost.impl.core.types.broker_reports import ControlledShutdownRequest
from fencepost.impl.core.types.messages import (
    CommandRequest,
    LeaderAndIsrRequest,
    PartitionState,
    PartitionStop,
    StopReplicaRequest,
)
from fencepost.spec.vocabulary import (
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    PartitionIncarnation,
    ZnodeVersion,
)


def command_request(command: ControlCommand) -> CommandRequest | ControlledShutdownRequest:
    """Raise `StoryError` for a command that the core lacks."""
    sender = BrokerId(command.controller_id)
    epoch = ControllerEpoch(command.controller_epoch)
    broker_epoch = BrokerEpoch(command.broker_epoch)
    about = command.about
    if command.method is ControlMethod.LEADER_AND_ISR and about:
        state = PartitionState(
            topic=about.partition.topic,
            partition=about.partition.partition,
            leader=BrokerId(about.leader),
            leader_epoch=LeaderEpoch(about.leader_epoch),
            isr=tuple(map(BrokerId, about.isr)),
            znode_version=ZnodeVersion(about.znode_version),
            assigned_replicas=tuple(map(BrokerId, about.assigned_replicas)),
            topic_id=about.topic_id,
            partition_incarnation=PartitionIncarnation(about.partition_incarnation),
        )
        return LeaderAndIsrRequest(
            controller_id=sender,
            controller_epoch=epoch,
            partitions=(state,),
            broker_epoch=broker_epoch,
            is_init=command.is_init,
            zxid=about.partition_incarnation if command.is_init else 0,
        )
    if command.method is ControlMethod.STOP_REPLICA and about:
        stop = PartitionStop(
            topic=about.partition.topic,
            partition=about.partition.partition,
            partition_incarnation=PartitionIncarnation(about.partition_incarnation),
            leader_epoch=LeaderEpoch(about.leader_epoch),
            delete=about.is_deleted,
        )
        return StopReplicaRequest(
            controller_id=sender,
            controller_epoch=epoch,
            partitions=(stop,),
            broker_epoch=broker_epoch,
        )
    if command.method is ControlMethod.CONTROLLED_SHUTDOWN:
        ending = BrokerId(command.broker_id)
        return ControlledShutdownRequest(broker_id=ending, broker_epoch=broker_epoch)
    raise StoryError(f"the core has no {command.method}")
