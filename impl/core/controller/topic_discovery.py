"""What the controller notices about topics: one came, one is gone, one came again (V3 B).

`DetectTopicChange` of `TopicLifecycle`. A topic is known by the czxid of its znode, so that a
deletion and a creation between two looks are both seen (H11); a watch on each topic's znode says
which one to look at.
"""

from collections.abc import Generator

from fencepost.impl.core.admin.topic_deletion import finish_deletion
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_channel import Commands
from fencepost.impl.core.controller.controller_generation import Office
from fencepost.impl.core.controller.fenced_writes import FencedWrites
from fencepost.impl.core.controller.leader_election import Decisions
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.messages import PartitionStop
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, list_children, read
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.vocabulary import Action
from fencepost.spec.znodes import (
    TOPICS,
    MalformedZnodeError,
    TopicPartition,
    parse_topic_document,
    topic_path,
)

Added = list[TopicPartition] | None
"""Partitions that were not known, or None when the connection failed or the term ended."""


class TopicChanges:
    """The topics as last read; many changes are one reading."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        office: Office,
        decisions: Decisions,
        commands: Commands,
        writes: FencedWrites,
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._office = office
        self._decisions = decisions
        self._commands = commands
        self._writes = writes
        self.clear()

    def clear(self) -> None:
        """Nothing is known."""
        self.is_due = False
        """True when a change was told that no reading has seen."""
        self._is_reading = False
        """True for a look, not for the reading that an election begins with."""
        self._changed: set[str] = set()
        """Topics whose znode changed since it was read."""
        self._unfinished: set[str] = set()
        """Topics whose deletion somebody began."""
        self._retry_ms = 0

    def note(self, topic: str | None) -> None:
        """The znode of the topic changed, or the list of all (None)."""
        self.is_due = True
        if topic is not None:
            self._changed.add(topic)

    def look(self) -> None:
        """Changes that were told will be seen, and new partitions get leaders."""
        if not self._is_reading:
            self._outbox.run(self._look())

    def _look(self) -> Script:
        self._is_reading = True
        term = self._office.term
        added = yield from self.read()
        if self._office.term != term:
            return
        self._is_reading = False
        if added is not None and self.is_due:
            self.look()
        self._decisions.reread(added or ())
        self.finish_deletions()

    def finish_deletions(self) -> None:
        """What is left of topics whose deletion was begun goes (TOP-003)."""
        unfinished, self._unfinished = sorted(self._unfinished), set()
        for topic in unfinished:
            self._outbox.run(self._finish(topic))

    def _finish(self, topic: str) -> Script:
        term = self._office.term
        topic_id = self._decisions.context.topic_id(topic)
        is_known = yield from finish_deletion(self._writes, topic, topic_id)
        if not is_known and self._office.term == term:
            self.note(topic)
            self._retry_ms = self._outbox.now_ms + self._config.retry_ms

    def tick(self) -> None:
        """What failed with the connection begins again."""
        if self.is_due and self._retry_ms <= self._outbox.now_ms:
            self.look()

    def read(self) -> Generator[Ask, Answer, Added]:
        """The context knows the topics that there are, and watches them."""
        term, context = self._office.term, self._decisions.context
        self.is_due = False
        seen_zxid = context.seen_zxid
        changed, self._changed = self._changed, set()
        listed = yield from list_children(TOPICS, watch=True)
        if self._office.term != term:
            return None
        names = (listed[0].names or ()) if listed is not None else ()
        wanted = sorted({*context.unknown_topics(names), *(changed & {*names})})
        znodes = None
        if listed is not None:
            znodes = yield from read(*map(topic_path, wanted), watch=True)
        if self._office.term != term:
            return None
        if znodes is None:
            self._changed |= changed
            self.is_due = True
            self._retry_ms = self._outbox.now_ms + self._config.retry_ms
            return None
        context.topics_zxid = seen_zxid
        context.unreadable.intersection_update(names)
        added: list[TopicPartition] = []
        for topic in sorted(context.topics.keys() - {*names}):
            self.detect_topic_change(topic, Znode(path=topic_path(topic)))
        for topic, znode in zip(wanted, znodes, strict=True):
            added += self.detect_topic_change(topic, znode)
            is_bad = topic in context.unreadable
            if self._config.mutant == "malformed_topic_ends_reading" and is_bad:
                break
        return sorted(added)

    def detect_topic_change(self, topic: str, znode: Znode) -> list[TopicPartition]:
        """What is gone is stopped everywhere; the partitions of a new incarnation are returned."""
        context = self._decisions.context
        known = context.topics.get(topic)
        czxid = znode.stat.czxid if znode.stat is not None else None
        is_same = known is not None and known.czxid == czxid and not self._is_begun(znode)
        if self._config.mutant == "compare_topic_names_only" and known and czxid is not None:
            return []
        if known is not None and not is_same:
            self._stop(context.all_of_topic(topic))
            self._decisions.forget_folders(topic)
            context.forget_topic(topic)
        if self._is_begun(znode):
            self._unfinished.add(topic)
        added, error = context.learn_topic(topic, znode)
        self._decisions.report(error)
        if self._is_reading and not is_same:
            self._outbox.took(
                ActionTaken(
                    action=Action.DETECT_TOPIC_CHANGE,
                    topic=topic,
                    controller_epoch=self._office.controller_epoch,
                    zxid=czxid,
                )
            )
        return added

    def _is_begun(self, znode: Znode) -> bool:
        """The deletion of the topic was begun: it has no partitions any more."""
        if znode.stat is None:
            return False
        try:
            return bool(parse_topic_document(znode.path, znode.data).is_deleted)
        except MalformedZnodeError:
            return False

    def _stop(self, keys: list[TopicPartition]) -> None:
        """To every live broker that may have a replica; the others are told at their return."""
        context = self._decisions.context
        for key in keys:
            known = context.last_incarnation(key)
            if known is None:
                continue
            isr, incarnation = known
            stop = PartitionStop(
                topic=key.topic, partition=key.partition, partition_incarnation=incarnation
            )
            for broker_id in sorted({*context.assignments.get(key, ()), *isr}):
                if broker_id in context.live:
                    self._commands.stop(broker_id, stop)
