"""Incarnations of brokers: what a broker, a leader and a controller make of broker epochs.

A broker's epoch is the czxid of its registration (BEP-001). Below level 3 no request and no ISR
names one, and a broker that was away is known by what its controller remembers.
Actions of `spec/tla/Fencing.tla`; KIP-380 (commands), KIP-903 (the ISR).
"""

from collections.abc import Callable, Mapping, Set as AbstractSet
from typing import NamedTuple

from msgspec.structs import replace

from fencepost.impl.core.rules.fetches import fenced_fetch_error
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.types.messages import CommandRequest, FetchRequest
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_BROKER_EPOCH,
    BrokerEpoch,
    BrokerId,
    ErrorCode,
)
from fencepost.spec.znodes import LeaderAndIsr

Registrations = Mapping[BrokerId, BrokerEpoch]
"""Live broker -> its epoch."""
BouncedMembers = Callable[
    [LeaderAndIsr, Registrations, AbstractSet[BrokerId]], AbstractSet[BrokerId]
]
"""Of a state, the live brokers, and those that the controller saw bounce since."""

# Requests


def no_broker_epoch(_broker_epoch: BrokerEpoch) -> BrokerEpoch:
    """Requests name no incarnation below level 3."""
    return NO_BROKER_EPOCH


def named_broker_epoch(broker_epoch: BrokerEpoch) -> BrokerEpoch:
    """Commands name the incarnation that they are meant for, fetches the one that asks."""
    return broker_epoch


class Stamp(NamedTuple):
    """What a command says of incarnations: for which it is, or the largest that its sender knew."""

    broker_epoch: BrokerEpoch = NO_BROKER_EPOCH
    max_broker_epoch: BrokerEpoch = NO_BROKER_EPOCH


Stamping = Callable[[BrokerEpoch, Registrations], Stamp]
"""Of the receiver's epoch, and of what the controller knows."""


def no_stamp(_receiver: BrokerEpoch, _live: Registrations) -> Stamp:
    """Below level 3 a command is for any incarnation."""
    return Stamp()


def stamp_receiver(receiver: BrokerEpoch, _live: Registrations) -> Stamp:
    """A command names the incarnation that it is meant for, an INIT at every level (CMD-007)."""
    return Stamp(broker_epoch=receiver)


def stamp_largest(_receiver: BrokerEpoch, live: Registrations) -> Stamp:
    """All commands made from one reading of the registrations name the same epoch (BEP-003)."""
    return Stamp(max_broker_epoch=max(live.values(), default=NO_BROKER_EPOCH))


def named_receiver(request: CommandRequest) -> BrokerEpoch:
    """What a command is judged by below level 4."""
    return request.broker_epoch


def named_largest(request: CommandRequest) -> BrokerEpoch:
    """The largest epoch known to a controller of level 4, the receiver's from one of level 3."""
    return request.max_broker_epoch or request.broker_epoch


def all_that_was_read(live: Registrations, _listed_zxid: int) -> Registrations:
    """Each broker is known by its own epoch: it does no harm that they were read one by one."""
    return live


def registered_when_listed(live: Registrations, listed_zxid: int) -> Registrations:
    """Without the brokers that registered while the registrations were read (BEP-004).

    Each was read after the listing, so that a registration that was missed is newer than
    `listed_zxid`, and so than every epoch that is left: the largest of them lets no command for an
    earlier incarnation pass. The listing's watch tells of those that are left out.
    """
    return {one: epoch for one, epoch in live.items() if epoch <= listed_zxid}


def obey_any_incarnation(_own: BrokerEpoch, _command: BrokerEpoch) -> bool:
    """No command is stale by the incarnation that it is meant for."""
    return False


def is_stale_broker_epoch(own: BrokerEpoch, command: BrokerEpoch) -> bool:
    """True of a command for an earlier incarnation of this broker (BEP-002, BEP-003).

    One for a later incarnation is obeyed: the controller may hear of a registration before the
    broker does (KAFKA-9839).
    """
    return NO_BROKER_EPOCH < command < own


# Leaders and their followers


def meet_follower(replica: Replica, follower: BrokerId, broker_epoch: BrokerEpoch) -> Replica:
    """Of another incarnation of the follower than the one that asks, nothing counts any more."""
    if replica.follower_broker_epochs.get(follower, NO_BROKER_EPOCH) == broker_epoch:
        return replica
    known = {one: progress for one, progress in replica.followers.items() if one != follower}
    epochs = {**replica.follower_broker_epochs, follower: broker_epoch}
    return replace(replica, followers=known, follower_broker_epochs=epochs)


def know_what_fetches(replica: Replica, _registered: Registrations) -> Replica:
    """Below level 4 a leader knows of each follower the incarnation that asks, and no other."""
    return replica


def meet_registered(replica: Replica, registered: Registrations) -> Replica:
    """A later incarnation of a follower is met when the controller tells of it (KIP-903).

    It may have yet to hear of its own registration, and ask as the one before. In the ISR as that
    one it would be what the next election takes out of it, again and again.
    """
    for follower, epoch in replica.follower_broker_epochs.items():
        if NO_BROKER_EPOCH < epoch < registered.get(follower, NO_BROKER_EPOCH):
            replica = meet_follower(replica, follower, registered[follower])
    return replica


def incarnation_fetch_error(replica: Replica | None, request: FetchRequest) -> ErrorCode:
    """As below level 3; and a later incarnation of the follower must not have asked before."""
    error = fenced_fetch_error(replica, request)
    if error is not ErrorCode.NONE:
        return error
    assert replica is not None, "a fetch of an unknown partition is refused"
    known = replica.follower_broker_epochs.get(request.replica_id, NO_BROKER_EPOCH)
    return ErrorCode.STALE_BROKER_EPOCH if request.broker_epoch < known else ErrorCode.NONE


# The controller


def remembered_bounces(
    _state: LeaderAndIsr, _live: Registrations, remembered: AbstractSet[BrokerId]
) -> AbstractSet[BrokerId]:
    """The ISR holds ids alone: that a member was away, its controller must have seen (H2b)."""
    return remembered


def other_incarnations(
    state: LeaderAndIsr, live: Registrations, remembered: AbstractSet[BrokerId]
) -> AbstractSet[BrokerId]:
    """The live members that are not the incarnation that joined, and what is remembered (H2b)."""
    joined = state.isr_broker_epochs
    return remembered | {one for one, epoch in joined.items() if live.get(one, epoch) != epoch}


def ids_alone(state: LeaderAndIsr, _live: Registrations) -> LeaderAndIsr:
    """The decision as it is: no member is told by its epoch below level 3."""
    return state


def with_incarnations(state: LeaderAndIsr, live: Registrations) -> LeaderAndIsr:
    """The leader is the incarnation that is live now, and so is each member that had no epoch.

    Any other member stays the incarnation that joined, also if that is gone (BEP-006).
    """
    if state.leader == NO_BROKER:
        return state
    assert state.isr_broker_epochs.keys() <= state.isr, "another one would be taken for bounced"
    epochs = {one: live[one] for one in sorted(state.isr) if one in live}
    leader = {state.leader: epochs[state.leader]} if state.leader in epochs else {}
    return replace(state, isr_broker_epochs={**epochs, **state.isr_broker_epochs, **leader})


def tell_any_state(_state: LeaderAndIsr, _live: Registrations) -> bool:
    """Brokers are told whatever ZooKeeper holds."""
    return True


def tell_decided_state(state: LeaderAndIsr, live: Registrations) -> bool:
    """A leader that has bounced is not told to lead: its failure is decided first (BEP-006)."""
    joined = state.isr_broker_epochs.get(state.leader)
    return joined is None or live.get(state.leader, joined) == joined


def shutdown_error(registered: BrokerEpoch | None, broker_epoch: BrokerEpoch) -> ErrorCode:
    """Whether the broker with that registration may end by a request with this epoch (BEP-005).

    One of an earlier registration is refused: its broker has ended, and another start is there.
    """
    if registered is None or broker_epoch > registered:
        return ErrorCode.BROKER_NOT_AVAILABLE
    return ErrorCode.STALE_BROKER_EPOCH if broker_epoch < registered else ErrorCode.NONE


def stays_member(replica: Replica) -> bool:
    """Where the controller has left it out, a broker that is to end stays out (KIP-841).

    Where it is still in the ISR, it may be the last one that could lead.
    """
    return replica.broker_id in replica.isr
