"""Which replica leads next: the controller's decisions as pure functions (V3 A.3.2, B)."""

from collections.abc import Set as AbstractSet

from msgspec.structs import replace

from fencepost.spec.vocabulary import NO_BROKER, BrokerId, ControllerEpoch, LeaderEpoch
from fencepost.spec.znodes import LeaderAndIsr

FIRST_LEADER_EPOCH = LeaderEpoch(0)


def init_leader(
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


def elect_leader(
    state: LeaderAndIsr,
    assigned_replicas: tuple[BrokerId, ...],
    live: AbstractSet[BrokerId],
    bounced: AbstractSet[BrokerId],
    *,
    unclean_leader_election: bool = False,
) -> LeaderAndIsr | None:
    """The next leader and ISR under the next epoch, or None when all can stay (FAIL-001 to 004).

    `bounced` brokers are live, but were gone since the state was written: they leave the ISR unless
    nobody else is in it, and never go on leading under the old epoch (H2).
    """
    alive = state.isr & live
    steady = alive - bounced
    if steady == state.isr and state.leader in steady:
        return None
    candidates = steady or alive
    if candidates:
        return _lead(state, assigned_replicas, candidates)
    outside = frozenset(assigned_replicas) & live
    if unclean_leader_election and outside:
        first = next(replica for replica in assigned_replicas if replica in outside)
        return _lead(state, assigned_replicas, frozenset({first}))
    if state.leader == NO_BROKER:
        return None
    return replace(state, leader=NO_BROKER, leader_epoch=LeaderEpoch(state.leader_epoch + 1))


def is_unclean(state: LeaderAndIsr, decision: LeaderAndIsr) -> bool:
    """True when `decision` replaces `state` by a leader outside the ISR (FAIL-002)."""
    return decision.leader != NO_BROKER and decision.leader not in state.isr


def elect_preferred(
    state: LeaderAndIsr,
    assigned_replicas: tuple[BrokerId, ...],
    live: AbstractSet[BrokerId],
) -> LeaderAndIsr | None:
    """The first assigned replica leads the same ISR under the next epoch.

    None when it leads already, or is not a live member of the ISR: only such a one may lead.
    """
    preferred = assigned_replicas[0]
    if preferred == state.leader or preferred not in state.isr & live:
        return None
    next_epoch = LeaderEpoch(state.leader_epoch + 1)
    return replace(state, leader=preferred, leader_epoch=next_epoch)


def _lead(
    state: LeaderAndIsr, assigned_replicas: tuple[BrokerId, ...], isr: frozenset[BrokerId]
) -> LeaderAndIsr:
    preferred = [state.leader, *assigned_replicas, *sorted(isr)]
    return replace(
        state,
        leader=next(replica for replica in preferred if replica in isr),
        leader_epoch=LeaderEpoch(state.leader_epoch + 1),
        isr=isr,
    )
