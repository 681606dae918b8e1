"""Parts of a broker that wait for permission: the specs take one action at a time.

The core moves the high watermark, asks for a larger ISR and truncates to the high watermark as soon
as it may; the specs allow each of these at any later time. Here the rules are the core's own, and
only the moment is set from outside: by the stepper, or by the harness that gives a process moves.
"""

from dataclasses import dataclass

from fencepost.impl.core.broker.fetcher import Fetcher
from fencepost.impl.core.broker.isr_update import IsrUpdates
from fencepost.impl.core.broker.replicas import Replicas
from fencepost.impl.core.config import Config
from fencepost.impl.core.node import Node
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.trace_lines import action_taken
from fencepost.spec.vocabulary import BrokerId, Offset
from fencepost.spec.znodes import TopicPartition


@dataclass(slots=True)
class PacedPermissions:
    """What the core may do now without being asked."""

    may_advance: bool = False
    may_shrink: bool = False
    may_expand: bool = False
    may_truncate: bool = False

    def allow(
        self, *, advance: bool = False, shrink: bool = False, everything: bool = False
    ) -> None:
        """Permit this and nothing else until the next call."""
        self.may_advance = advance or everything
        self.may_shrink = shrink or everything
        self.may_expand = self.may_truncate = everything


class PacedReplicas(Replicas):
    """The high watermark moves when that is permitted."""

    pace: PacedPermissions

    def advance(self, key: TopicPartition) -> bool:
        """As the core's, when that is permitted."""
        return self.pace.may_advance and super().advance(key)

    def take_due(self) -> list[TopicPartition]:
        """All of them: a partition that had to wait is due again."""
        return self.partitions()


class PacedIsrUpdates(IsrUpdates):
    """The ISR changes when that is permitted."""

    pace: PacedPermissions

    def tick(self, key: TopicPartition) -> None:
        """As the core's, when that is permitted."""
        if self.pace.may_shrink:
            super().tick(key)

    def expand(self, key: TopicPartition) -> None:
        """As the core's, when that is permitted."""
        if self.pace.may_expand:
            super().expand(key)


class PacedFetcher(Fetcher):
    """Below level 2 a follower truncates when that is permitted, and fetches only then."""

    pace: PacedPermissions

    def __init__(self, config: Config, outbox: Outbox, replicas: Replicas) -> None:
        super().__init__(config, outbox, replicas)
        self.held: dict[TopicPartition, Offset] = {}
        """Partition -> where to truncate."""

    def truncate(self, key: TopicPartition, offset: Offset) -> None:
        """As the core's, when that is permitted."""
        # From level 2 on, it truncates when its log was compared with the leader's.
        if not self._replicas[key].needs_truncation and not self.pace.may_truncate:
            self.held[key] = offset
            return
        super().truncate(key, offset)

    def start_fetching(self, key: TopicPartition) -> None:
        """As the core's, once it is truncated."""
        if key not in self.held:
            super().start_fetching(key)

    def stop_fetching(self, key: TopicPartition) -> None:
        """As the core's; a truncation that was held is void."""
        self.held.pop(key, None)
        super().stop_fetching(key)

    def truncate_now(self, key: TopicPartition) -> None:
        """Do the truncation that was held."""
        if key in self.held:
            offset = self.held.pop(key)
            super().truncate(key, offset)
            super().start_fetching(key)


def paced(node: Node, config: Config) -> PacedPermissions:
    """Make the node's broker wait for permission; returns the permissions."""
    pace = PacedPermissions()
    broker = node.broker
    known = [broker.replicas[key] for key in broker.replicas.partitions()]
    replicas = PacedReplicas(config, broker.outbox, known)
    isr_updates = PacedIsrUpdates(config, broker.outbox, replicas)
    fetcher = PacedFetcher(config, broker.outbox, replicas)
    replicas.pace = isr_updates.pace = fetcher.pace = pace
    broker.assemble(replicas, isr_updates, fetcher)
    return pace


def expand_now(node: Node, pace: PacedPermissions, key: TopicPartition) -> None:
    """Ask ready followers into the ISR; the next step has the effects."""
    pace.may_expand = True
    node.broker.isr_updates.expand(key)
    pace.may_expand = False


def truncate_now(node: Node, key: TopicPartition) -> None:
    """Do the truncation that was held (below level 2); the next step has the effects."""
    follower = node.broker.fetcher
    assert isinstance(follower, PacedFetcher)
    follower.truncate_now(key)


_EACH_ITS_OWN = frozenset(
    {
        "kind",
        "action",
        "broker_id",
        "broker_epoch",
        "broker_epochs",
        "forwarded_request",
        "connection",
        "session_id",
        "zxid",
        "max_broker_epoch",
        "partition_incarnation",
        "path",
        "topic",
    }
)
"""Fields that differ between two runs of the same moves, or that say nothing here."""


def told(taken: ActionTaken) -> str:
    """The action in one line, equal in all runs of the same moves."""
    line = action_taken(taken, BrokerId(0))
    parts = [f"{name}={line[name]}" for name in sorted(line) if name not in _EACH_ITS_OWN]
    return " ".join([taken.action.value, *parts])
