"""How a partition moves from broker to broker, as pure functions of what ZooKeeper holds (V3 F).

Actions of `spec/tla/Reassignment.tla`. The topic znode says which replicas are being added and
which are still to be stopped, so that each next step follows from ZooKeeper alone: a controller
that takes over needs to remember nothing (REAS-003).
"""

from collections.abc import Set as AbstractSet

from msgspec import Struct

from fencepost.impl.core.rules.controller.leadership import next_state
from fencepost.impl.core.types.actions import action
from fencepost.spec.vocabulary import BrokerId
from fencepost.spec.znodes import LeaderAndIsr

Replicas = tuple[BrokerId, ...]


class Assignment(Struct, frozen=True, kw_only=True):
    """What the topic znode says of one partition."""

    assigned: Replicas
    """Old and new replicas as long as the move lasts; the first is preferred."""
    adding: frozenset[BrokerId] = frozenset()
    """Those of them that the old assignment lacks."""
    removing: frozenset[BrokerId] = frozenset()
    """Not assigned any more, and still to be stopped."""

    @property
    def without_added(self) -> Replicas:
        """The assignment that stands when the move is given up (REAS-004)."""
        return tuple(broker_id for broker_id in self.assigned if broker_id not in self.adding)

    def wanted(self, target: Replicas | None) -> Replicas:
        """Where the partition is to be: as requested, or where it was (REAS-004)."""
        return self.without_added if target is None else target

    def old_and_new(self, target: Replicas | None) -> Replicas:
        """Where the partition is as long as the move lasts."""
        old = self.without_added
        new = (broker_id for broker_id in self.wanted(target) if broker_id not in old)
        return (*old, *new)


class Advance(Struct, frozen=True, kw_only=True):
    """One step: assignment and state change in one multi."""

    assignment: Assignment
    state: LeaderAndIsr


@action
def advance_reassignment(
    assignment: Assignment,
    state: LeaderAndIsr,
    target: Replicas | None,
    live: AbstractSet[BrokerId],
) -> Advance | None:
    """The next step towards the target; None while it must wait, or when it is there.

    First the new replicas are written down beside the old ones; when all of the target is in the
    ISR, assignment, ISR and leader become the target (REAS-005). Every step raises the leader
    epoch: a StopReplica of an earlier step is recognised by it (CMD-008).
    """
    wanted = assignment.wanted(target)
    old = assignment.without_added
    both = assignment.old_and_new(target)
    if set(assignment.assigned) != set(both):
        adding = frozenset(wanted) - set(old)
        return _step(assignment, state, both, state.isr & set(both), live, adding)
    if set(both) == set(wanted) and not assignment.adding:
        return None
    if not frozenset(wanted) <= state.isr:
        return None
    return _step(assignment, state, wanted, frozenset(wanted), live)


def _step(
    assignment: Assignment,
    state: LeaderAndIsr,
    assigned: Replicas,
    isr: frozenset[BrokerId],
    live: AbstractSet[BrokerId],
    adding: frozenset[BrokerId] = frozenset(),
) -> Advance | None:
    """A leader that is in the ISR stays; another is the first live one of the new order."""
    candidates = [state.leader, *(b for b in assigned if b in live), *assigned]
    leader = next((broker_id for broker_id in candidates if broker_id in isr), None)
    if leader is None:
        return None
    gone = (assignment.removing | set(assignment.assigned)) - set(assigned)
    return Advance(
        assignment=Assignment(assigned=assigned, adding=adding, removing=gone),
        state=next_state(state, leader, isr),
    )


@action
def complete_reassignment(assignment: Assignment, target: Replicas | None) -> Assignment | None:
    """What the topic znode says at the end, in the order of the request; None before the end.

    It is written when all brokers of `removing` that are alive have given their replica up; one
    that is down does so when it comes back (START-001).
    """
    wanted = assignment.wanted(target)
    if set(assignment.assigned) != set(wanted) or assignment.adding:
        return None
    return Assignment(assigned=wanted)
