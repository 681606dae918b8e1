"""What the trace says of administrators' requests: one function per action, of its name."""

from fencepost.impl.core.types.effects import ActionTaken
from fencepost.spec.vocabulary import Action, BrokerId
from fencepost.spec.znodes import TopicPartition


def create_topic(topic: str) -> ActionTaken:
    """The topic exists; the controller gives its partitions leaders."""
    return ActionTaken(action=Action.CREATE_TOPIC, topic=topic)


def delete_topic(topic: str, zxid: int) -> ActionTaken:
    """The topic is gone; the controller has its replicas stopped."""
    return ActionTaken(action=Action.DELETE_TOPIC, topic=topic, zxid=zxid)


def start_reassignment(key: TopicPartition, target: tuple[BrokerId, ...]) -> ActionTaken:
    """The target is asked for, or another one instead of that which was (REAS-001)."""
    return ActionTaken(
        action=Action.START_REASSIGNMENT, topic_partition=key, assigned_replicas=target
    )


def cancel_reassignment(key: TopicPartition) -> ActionTaken:
    """The request is taken back: what is assigned without it stands (REAS-004)."""
    return ActionTaken(action=Action.CANCEL_REASSIGNMENT, topic_partition=key)


def request_partitions(
    key: TopicPartition, replicas: tuple[BrokerId, ...] | None = None
) -> ActionTaken:
    """The partition is to be added, with replicas, or to be removed, without (V3 H)."""
    return ActionTaken(
        action=Action.REQUEST_PARTITIONS, topic_partition=key, assigned_replicas=replicas
    )
