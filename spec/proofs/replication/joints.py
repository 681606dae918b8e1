"""Where the halves meet: what the invariant of the metadata says at an action that logs rely on.

A joint is proved from the invariant of `LeaderAndIsr` and the action's guard, and is all that the
proof about logs takes from there besides the clauses of `GIVEN`.
"""

from collections.abc import Callable, Mapping

from fencepost.spec.proofs.logic import Sort, Term, both, either, implies, no
from fencepost.spec.proofs.metadata.invariant import (
    leader_in_epoch_isr,
    leader_is_broker,
    newest_epoch,
    newest_isr,
    obeyed_epoch,
    quorum_of_epoch,
    role_history,
    started_epoch,
)
from fencepost.spec.proofs.state import NO_EPOCH, StateT

B = Sort.BROKER
GIVEN = (
    leader_in_epoch_isr,
    leader_is_broker,
    newest_epoch,
    newest_isr,
    obeyed_epoch,
    quorum_of_epoch,
    role_history,
    started_epoch,
)


def of_decision(s: StateT, c: Term, *_: Term) -> Term:
    """The next epoch begins, with an ISR out of the last one."""
    newest, decided = s.history.newest_epoch, s.controllers
    leader = decided.decided_leader(c)
    return both(
        decided.decided_leader_epoch(c) == newest + 1,
        either(leader == s.no_broker, decided.decided_isr(c, leader)),
        s.every(
            B,
            lambda x: either(
                newest == NO_EPOCH, no(decided.decided_isr(c, x)), s.epochs.isr(newest, x)
            ),
        ),
    )


def of_leader(s: StateT, b: Term, m: Term) -> Term:
    """An epoch starts once, with its last ISR; a leader that restarts in it starts it no more."""
    epoch, ever = s.messages.leader_epoch(m), s.obedience.leader_epoch(b)
    return both(
        epoch >= 0,
        epoch <= s.history.newest_epoch,
        ever <= epoch,
        s.epochs.leader(epoch) == b,
        implies(s.epochs.is_started(epoch), ever == epoch),
        s.every(B, lambda x: s.messages.isr(m, x) == s.epochs.isr(epoch, x)),
    )


def of_follower(s: StateT, b: Term, m: Term) -> Term:
    """A follower's epoch is not older than any it obeyed, and another broker's or none's."""
    epoch = s.messages.leader_epoch(m)
    return both(
        epoch >= 0,
        epoch <= s.history.newest_epoch,
        s.obedience.leader_epoch(b) <= epoch,
        s.epochs.leader(epoch) != b,
    )


def of_isr_write(s: StateT, b: Term) -> Term:
    """A leader writes in the newest epoch only."""
    return both(s.replicas.leader_epoch(b) == s.history.newest_epoch, s.replicas.pending_isr(b, b))


def of_isr_settled(s: StateT, b: Term) -> Term:
    """What it reads back is the last ISR of its epoch."""
    epoch = s.replicas.leader_epoch(b)
    return both(
        epoch == s.history.newest_epoch,
        s.every(B, lambda x: s.replicas.pending_isr(b, x) == s.epochs.isr(epoch, x)),
    )


def of_append(s: StateT, b: Term, *_: Term) -> Term:
    """A leader with the newest version has the ISR of ZooKeeper."""
    is_newest = s.replicas.znode_version(b) == s.znodes.version
    return implies(
        is_newest, s.every(B, lambda x: s.replicas.isr(b, x) == s.znodes.isr(s.znodes.version, x))
    )


JOINTS: Mapping[str, Callable[..., Term]] = {
    "publish_accepted": of_decision,
    "lose_controller_reply": of_decision,
    "become_leader": of_leader,
    "become_follower": of_follower,
    "adopt_accepted": of_isr_write,
    "lose_leader_reply": of_isr_write,
    "adopt_settled": of_isr_settled,
    "leader_append": of_append,
}
"""By the way to take the action."""
