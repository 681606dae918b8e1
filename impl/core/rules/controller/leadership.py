"""Which replica leads next: the controller's decisions as pure functions (V3 A.3.2, B).

A decision is the next state of a partition and its line of the trace. What is decided depends on
which brokers of the ISR are alive; the table `CHOICES` says how.
"""

from collections.abc import Set as AbstractSet
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from fencepost.impl.core.rules.tables import CHOICES, Choice, ElectionCause, IsrCondition
from fencepost.impl.core.types.actions import Named, action, taken
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    NO_INCARNATION,
    BrokerId,
    ControllerEpoch,
    LeaderEpoch,
    PartitionIncarnation,
    ZnodeVersion,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

FIRST_LEADER_EPOCH = LeaderEpoch(0)


class PartitionFacts(Struct, frozen=True, kw_only=True):
    """What a controller knows of one partition when it decides."""

    key: TopicPartition
    assigned_replicas: tuple[BrokerId, ...]
    live: AbstractSet[BrokerId]
    """The brokers that can serve the partition now."""
    bounced: AbstractSet[BrokerId] = frozenset()
    """Brokers that were away since the state was written."""
    state: LeaderAndIsr | None = None
    znode_version: ZnodeVersion = ANY_VERSION
    topic_id: str = ""
    incarnation: PartitionIncarnation = NO_INCARNATION
    has_folder: bool = False
    """The partition's folder is there although it has no state."""
    unclean_leader_election: bool = False
    """A leader outside the ISR is allowed by the configuration."""
    is_confirmed: bool = False
    """The live brokers were read after the state was."""


Decided = tuple[LeaderAndIsr, ActionTaken]
"""The next state of a partition, and what the trace says of the decision."""


@action
def init_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
    """The first leader of a partition without a LeaderAndISR; None while no replica is live."""
    state = first_leader(facts.assigned_replicas, facts.live, controller_epoch)
    if state is None:
        return None
    state = replace(state, topic_id=facts.topic_id)
    return state, _decided(init_leader, facts, state, ANY_VERSION)


@action
def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
    """A leader and an ISR that are alive, under the next leader epoch; None when all can stay."""
    assert facts.state is not None
    is_unclean_allowed = facts.unclean_leader_election
    cause = ElectionCause.UNCLEAN_ALLOWED if is_unclean_allowed else ElectionCause.BROKERS_CHANGED
    chosen = choose_leader(facts.state, facts.assigned_replicas, facts.live, facts.bounced, cause)
    if chosen is None:
        return None
    state = replace(chosen, controller_epoch=controller_epoch)
    is_lossy = is_loss_possible(facts.state, facts.bounced, state)
    is_outside = is_unclean(facts.state, state)
    line = _decided(
        elect_leader,
        facts,
        state,
        facts.znode_version,
        is_unclean=is_outside or (is_lossy and is_unclean_allowed) or None,
        is_loss_possible=is_lossy or None,
    )
    return state, line


def is_uninitialised(state: LeaderAndIsr | None, _controller_epoch: ControllerEpoch) -> bool:
    """Only a partition without a state is initialised: what was decided before holds (CTL-011)."""
    return state is None


def needs_newer_brokers(facts: PartitionFacts, decided: Decided) -> bool:
    """A leader outside the ISR is elected on live brokers newer than the state (FAIL-002, H8c)."""
    return bool(decided[1].is_unclean) and not facts.is_confirmed


def _decided(
    action: Named,
    facts: PartitionFacts,
    state: LeaderAndIsr,
    expected_version: ZnodeVersion,
    **details: bool | None,
) -> ActionTaken:
    return taken(
        action,
        state,
        topic_partition=facts.key,
        partition_incarnation=facts.incarnation,
        assigned_replicas=facts.assigned_replicas,
        expected_version=expected_version,
        **details,
    )


def first_leader(
    assigned_replicas: tuple[BrokerId, ...],
    live: AbstractSet[BrokerId],
    controller_epoch: ControllerEpoch,
) -> LeaderAndIsr | None:
    """The first live assigned replica leads, all live ones are the ISR (TOP-001)."""
    alive = [replica for replica in assigned_replicas if replica in live]
    if not alive:
        return None
    return LeaderAndIsr(
        leader=alive[0],
        leader_epoch=FIRST_LEADER_EPOCH,
        isr=frozenset(alive),
        controller_epoch=controller_epoch,
    )


def choose_leader(
    state: LeaderAndIsr,
    assigned_replicas: tuple[BrokerId, ...],
    live: AbstractSet[BrokerId],
    bounced: AbstractSet[BrokerId],
    cause: ElectionCause,
) -> LeaderAndIsr | None:
    """The next leader and ISR under the next epoch, or None when all can stay (FAIL-001 to 004).

    `bounced` brokers are live, but were gone since the state was written: they leave the ISR, and
    never go on leading under the old epoch (H2). Where all live members were away one of them leads
    alone, the last leader if it is back: it knew all that was committed (H2c, KIP-966).
    """
    alive = state.isr & live
    steady = alive - returned(state, bounced)
    outside = [replica for replica in assigned_replicas if replica in live]
    match CHOICES[_condition(state, alive, steady, outside), cause]:
        case Choice.KEEP:
            return None
        case Choice.LEAD_IN_ISR:
            return next_state(state, _first(state, assigned_replicas, steady), steady)
        case Choice.LEAD_RETURNED:
            leader = _first(state, assigned_replicas, alive)
            return next_state(state, leader, frozenset({leader}))
        case Choice.LEAD_FROM_OUTSIDE:
            return next_state(state, outside[0], frozenset(outside[:1]))
        case Choice.LEAD_PREFERRED:
            first = assigned_replicas[0]
            return next_state(state, first, state.isr) if first in alive - {state.leader} else None
        case Choice.LEAVE_WITHOUT_LEADER:
            return None if state.leader == NO_BROKER else next_state(state, NO_BROKER, state.isr)
        case choice:
            assert_never(choice)


def _condition(
    state: LeaderAndIsr,
    alive: frozenset[BrokerId],
    steady: frozenset[BrokerId],
    outside: list[BrokerId],
) -> IsrCondition:
    if steady == state.isr and state.leader in steady:
        return IsrCondition.STEADY
    if alive:
        return IsrCondition.SHAKEN if steady else IsrCondition.RETURNED
    return IsrCondition.OUTSIDE_ONLY if outside else IsrCondition.DEAD


def is_unclean(state: LeaderAndIsr, decision: LeaderAndIsr) -> bool:
    """True when `decision` replaces `state` by a leader outside the ISR (FAIL-002)."""
    return decision.leader != NO_BROKER and decision.leader not in state.isr


def returned(state: LeaderAndIsr, bounced: AbstractSet[BrokerId]) -> AbstractSet[BrokerId]:
    """The members of the ISR that were away since the state was written, if they are live.

    A partition waits when none of its ISR is live, so each that is there later came back.
    """
    return state.isr if state.leader == NO_BROKER else state.isr & bounced


def is_loss_possible(
    state: LeaderAndIsr, bounced: AbstractSet[BrokerId], decision: LeaderAndIsr
) -> bool:
    """True when `decision` lets a member lead that was away (FAIL-002)."""
    return decision.leader in returned(state, bounced)


def _first(
    state: LeaderAndIsr, assigned_replicas: tuple[BrokerId, ...], isr: frozenset[BrokerId]
) -> BrokerId:
    """The leader stays if it can, else the first assigned one leads."""
    preferred = [state.leader, *assigned_replicas, *sorted(isr)]
    return next(replica for replica in preferred if replica in isr)


def next_state(state: LeaderAndIsr, leader: BrokerId, isr: frozenset[BrokerId]) -> LeaderAndIsr:
    """The leader and the ISR under the next epoch; members stay the incarnation that joined."""
    epochs = {one: epoch for one, epoch in state.isr_broker_epochs.items() if one in isr}
    next_epoch = LeaderEpoch(state.leader_epoch + 1)
    return replace(state, leader=leader, leader_epoch=next_epoch, isr=isr, isr_broker_epochs=epochs)
