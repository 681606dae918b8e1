"""A partition that is deleted and created again is two: which lines are about the first one."""

from fencepost.spec.replay.recorded_run import TraceFileLine
from fencepost.spec.trace import Kind
from fencepost.spec.znodes import TopicPartition, leader_and_isr_path, topic_ids_path, topic_path


def first_incarnation(lines: list[TraceFileLine], key: TopicPartition) -> list[TraceFileLine]:
    """What was before the first deletion of the state, or of the topic's id or znode."""
    topic, state = topic_path(key.topic), leader_and_isr_path(key)
    ids = f"{topic_ids_path(key.topic)}/"
    for index, line in enumerate(lines):
        event = line.event
        if event.kind is not Kind.ZOOKEEPER or event.action != "Delete" or event.path is None:
            continue
        if event.path in (topic, state) or event.path.startswith(ids):
            return lines[:index]
    return lines
