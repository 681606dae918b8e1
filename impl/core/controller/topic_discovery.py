"""What the controller notices about topics: one came, one is gone, one came again (V3 B).

`DetectTopicChange` of `TopicLifecycle`. A topic is known by the czxid of its znode, so that a
deletion and a creation between two looks are both seen (H11); a watch on each topic's znode says
which one to look at.
"""

from collections.abc import Generator

from fencepost.impl.core.controller.controller_generation import ControllerResources
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.messages import PartitionStop
from fencepost.impl.core.types.scripts import Answer, Ask, Script, list_children, read
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.znodes import (
    TOPICS,
    TopicPartition,
    parse_topic_document,
    topic_path,
)

Added = list[TopicPartition] | None
"""Partitions that were not known, or None when the connection or the generation ended."""


class TopicDiscovery:
    """The topics as last read; many changes are one reading."""

    def __init__(self, resources: ControllerResources) -> None:
        self._resources = resources
        self.is_due = False
        """True when a change was told that no reading has seen."""
        self._is_reading = False
        """True for a look, not for the reading that an election begins with."""
        self._changed: set[str] = set()
        """Topics with a znode that changed since it was read."""
        self._found: list[TopicPartition] = []
        """Partitions of new topics, not yet decided upon."""
        self._unfinished: set[str] = set()
        """Topics with a deletion that was begun and not finished."""
        self._retry_ms = 0

    def note(self, topic: str | None) -> None:
        """The znode of the topic changed, or the list of all (None)."""
        self.is_due = True
        if topic is not None:
            self._changed.add(topic)

    def note_unfinished(self, topic: str) -> None:
        """Its deletion could not be finished: the topic is read again after a pause."""
        self.note(topic)
        self._pause()

    def look(self) -> None:
        """Changes that were told will be seen."""
        if not self._is_reading:
            self._resources.outbox.run(self._look())

    def _look(self) -> Script:
        self._is_reading = True
        added = yield from self.read()
        self._is_reading = False
        if added is not None and self.is_due:
            self.look()
        self._found += added or ()

    def take_found(self) -> list[TopicPartition]:
        """Once per look: the partitions of new topics, which need a leader."""
        found, self._found = self._found, []
        return found

    def take_unfinished(self) -> list[str]:
        """Once per reading: topics with a deletion that was begun (TOP-003)."""
        unfinished, self._unfinished = sorted(self._unfinished), set()
        return unfinished

    def tick(self) -> None:
        """What failed with the connection begins again."""
        if self.is_due and self._retry_ms <= self._resources.outbox.now_ms:
            self.look()

    def _pause(self) -> None:
        self._retry_ms = self._resources.config.retry_at_ms(self._resources.outbox.now_ms)

    def read(self) -> Generator[Ask, Answer, Added]:
        """The context knows the topics that there are, and watches them."""
        generation, context = self._resources.generation, self._resources.context
        self.is_due = False
        seen_zxid = context.seen_zxid
        changed, self._changed = self._changed, set()
        listed = yield from list_children(TOPICS, watch=True)
        names = (listed[0].names or ()) if listed is not None else ()
        wanted = sorted({*context.unknown_topics(names), *(changed & {*names})})
        znodes = None
        if listed is not None:
            znodes = yield from read(*map(topic_path, wanted), watch=True)
        if generation.is_over():
            return None
        if znodes is None:
            self._changed |= changed
            self.is_due = True
            self._pause()
            return None
        context.topics_zxid = seen_zxid
        context.unreadable.intersection_update(names)
        added: list[TopicPartition] = []
        for topic in sorted(context.topics.keys() - {*names}):
            self.detect_topic_change(topic, Znode(path=topic_path(topic)))
        topics_to_learn = self._resources.config.rules.topics_to_learn
        for znode in topics_to_learn(context.topics.keys(), znodes):
            added += self.detect_topic_change(znode.path.rpartition("/")[2], znode)
        return sorted(added)

    @action
    def detect_topic_change(self, topic: str, znode: Znode) -> list[TopicPartition]:
        """What is gone is stopped everywhere; the partitions of a new incarnation are returned."""
        context = self._resources.context
        known = context.topics.get(topic)
        czxid = znode.stat.czxid if znode.stat is not None else None
        is_same = known is not None and known.czxid == czxid and not self._is_begun(znode)
        if known is not None and not is_same:
            self._stop(context.all_of_topic(topic))
            context.forget_topic(topic)
        if self._is_begun(znode):
            self._unfinished.add(topic)
        added, error = context.learn_topic(topic, znode)
        self._resources.report(error)
        if self._is_reading and not is_same:
            epoch = self._resources.generation.controller_epoch
            line = taken(self.detect_topic_change, topic=topic, controller_epoch=epoch, zxid=czxid)
            self._resources.outbox.took(line)
        return added

    def _is_begun(self, znode: Znode) -> bool:
        """The deletion of the topic was begun: it has no partitions any more."""
        document = parsed(parse_topic_document, znode)
        return document is not None and bool(document.is_deleted)

    def _stop(self, keys: list[TopicPartition]) -> None:
        """Every live broker that may have a replica is told now, a dead one when it comes back."""
        context = self._resources.context
        for key in keys:
            known = context.last_incarnation(key)
            if known is None:
                continue
            isr, incarnation = known
            stop = PartitionStop(
                topic=key.topic, partition=key.partition, partition_incarnation=incarnation
            )
            for broker_id in sorted(context.holders(key) | isr):
                if broker_id in context.live:
                    self._resources.channel.stop(broker_id, stop)
