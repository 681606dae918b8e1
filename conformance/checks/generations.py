"""Which records an unclean election may have lost (FAIL-002): its `ElectLeader` tells.

Such an election of leader epoch e is allowed to lose what was committed under smaller epochs. It
begins a new generation of the log: what an epoch of one generation committed binds that generation
and no later one. Without such an election there is one generation, and everything binds.
The specs call this `NoLossUnlessFlagged`.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action


@dataclass(frozen=True, slots=True)
class Generations:
    """The generations of one partition's log."""

    begins: tuple[int, ...]
    """The leader epochs that may have lost records, ascending."""

    def of(self, leader_epoch: int | None) -> int:
        """The generation of a leader epoch, from 0; 0 where no epoch is told."""
        return 0 if leader_epoch is None else bisect_right(self.begins, leader_epoch)

    @property
    def last(self) -> int:
        """The generation that the log has at the end."""
        return len(self.begins)


def is_flagged(event: TraceEvent) -> bool:
    """True of a decision that may lose records, as the operator allows, and says so."""
    return event.is_unclean and event.action == Action.ELECT_LEADER


def may_have_lost(event: TraceEvent) -> bool:
    """True of a decision for a member of the ISR that was away, which says so.

    Unless it is unclean too, it excuses nothing: the operator has not allowed a loss.
    """
    return event.action == Action.ELECT_LEADER and event.is_loss_possible


def generations(events: Iterable[TraceEvent], incarnation: int = 0) -> Generations:
    """The generations of the partition that `events` are about, or of one incarnation of it.

    An election that names no incarnation counts for each.
    """
    flagged = {
        event.leader_epoch or 0
        for event in events
        if is_flagged(event)
        if not (incarnation and event.partition_incarnation)
        or event.partition_incarnation == incarnation
    }
    return Generations(tuple(sorted(flagged)))
