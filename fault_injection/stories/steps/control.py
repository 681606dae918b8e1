"""The command that a `control` step sends: what the active controller would say, but for epochs."""

from msgspec import UnsetType

from fencepost.fault_injection.stories.steps.fields import CURRENT, Epoch
from fencepost.fault_injection.stories.steps.observation import partition_of
from fencepost.fault_injection.stories.steps.story_cluster import StoryCluster
from fencepost.fault_injection.stories.steps.story_step import ControlStep
from fencepost.fault_injection.stories.story_refusal import StoryError
from fencepost.fault_injection.workload.commands import (
    CommandedPartition,
    ControlCommand,
)
from fencepost.spec.vocabulary import NO_BROKER
from fencepost.spec.znodes import TopicPartition


def command_of(cluster: StoryCluster, step: ControlStep, receiver: int) -> ControlCommand:
    """What the step sends to the receiver now; raises `StoryError` for what is not published."""
    state = cluster.state
    named = receiver if isinstance(step.shuts_down, UnsetType) else step.shuts_down
    found = {one: cluster.registration(one) for one in cluster.broker_ids}
    registered = {one: registration for one, registration in found.items() if registration}
    epoch = registered[named].zxid if named in registered else None
    about = None
    if not isinstance(step.partition, UnsetType):
        about = _about(cluster, step, partition_of(step.partition))
    return ControlCommand(
        method=step.control,
        controller_id=state.controller() or NO_BROKER,
        controller_epoch=chosen_epoch(
            step.controller_epoch, state.controller_epoch(), "no controller epoch is published"
        ),
        broker_id=named,
        broker_epoch=chosen_epoch(step.broker_epoch, epoch, f"broker {named} is not registered"),
        addresses={one: registration.address for one, registration in registered.items()},
        about=about,
        is_init=step.init,
    )


def _about(cluster: StoryCluster, step: ControlStep, key: TopicPartition) -> CommandedPartition:
    state, version = cluster.state.state_of(key), cluster.state.version_of(key)
    if state is None or version is None:
        raise StoryError(f"{key} has no published state")
    leader = state.leader if isinstance(step.leader, UnsetType) else step.leader
    isr = tuple(sorted(state.isr)) if isinstance(step.isr, UnsetType) else step.isr
    return CommandedPartition(
        partition=key,
        leader=leader,
        leader_epoch=chosen_epoch(step.leader_epoch, state.leader_epoch, ""),
        isr=isr,
        assigned_replicas=tuple(cluster.state.assignment(key.topic).get(key.partition, ())),
        znode_version=version.znode_version,
        partition_incarnation=chosen_epoch(
            step.partition_incarnation, version.partition_incarnation, ""
        ),
        topic_id=state.topic_id,
        is_deleted=step.delete,
    )


def chosen_epoch(epoch: Epoch, current: int | None, without: str) -> int:
    """The number that is meant; raises `StoryError` when nothing is current."""
    if isinstance(epoch, int):
        return epoch
    if current is None:
        raise StoryError(f"{without}; give a number in place of {epoch}")
    number = current + int(epoch.removeprefix(CURRENT) or 0)
    if number < 0:
        raise StoryError(f"{epoch} is {number} now; bring a newer one about first")
    return number
