"""The initial states of `PartitionState`: nothing exists, or the first leader serves."""

from fencepost.spec.proofs.logic import Sort, Term, both, either, implies, no
from fencepost.spec.proofs.state import NO_EPOCH, NO_VERSION, OfficeStatus, ReplicaRole, StateT

B, C, M, E = Sort.BROKER, Sort.CONTROLLER, Sort.MESSAGE, Sort.EPOCH


def starts_empty(s: StateT) -> Term:
    """InitEmpty: nothing exists."""
    return both(
        s.znodes.version == NO_VERSION,
        s.history.newest_epoch == NO_EPOCH,
        s.znodes.office == s.no_controller,
        s.znodes.controller_epoch == 0,
        s.every(B, lambda b: both(s.replicas.role(b) == ReplicaRole.STARTING, _is_new(s, b))),
        _starts(s),
        s.every(E, lambda e: no(s.epochs.is_started(e))),
    )


def starts_serving(s: StateT) -> Term:
    """InitServing: the first leader serves, all brokers have obeyed, one controller is active."""
    leader = s.znodes.leader(0)
    return both(
        s.znodes.version == 0,
        s.znodes.leader_epoch(0) == 0,
        s.history.newest_epoch == 0,
        leader != s.no_broker,
        s.znodes.isr(0, leader),
        s.znodes.controller_epoch == 1,
        s.znodes.office != s.no_controller,
        s.epochs.leader(0) == leader,
        s.every(
            B,
            lambda b: both(
                s.epochs.isr(0, b) == s.znodes.isr(0, b),
                s.epochs.maximal_isr(0, b) == s.znodes.isr(0, b),
                _serves(s, b, leader),
            ),
        ),
        s.every(
            B, B, lambda b, x: implies(b == leader, s.replicas.isr(b, x) == s.znodes.isr(0, x))
        ),
        _starts(s),
        s.every(E, lambda e: s.epochs.is_started(e) == (e == 0)),
    )


def _starts(s: StateT) -> Term:
    """What both have in common."""
    return both(
        no(s.history.stale_controller),
        no(s.history.write_out_of_office),
        no(s.history.unauthorised_write),
        s.every(M, lambda m: no(s.messages.in_flight(m))),
        s.every(
            C,
            lambda c: both(
                no(s.controllers.has_decision(c)),
                no(s.controllers.has_to_send(c)),
                no(s.controllers.is_reply_lost(c)),
                s.controllers.status(c) != OfficeStatus.CREATED,
                implies(
                    s.controllers.status(c) == OfficeStatus.ACTIVE,
                    both(
                        c == s.znodes.office,
                        c != s.no_controller,
                        s.controllers.controller_epoch(c) == 1,
                    ),
                ),
            ),
        ),
        s.every(
            B,
            lambda b: both(
                no(s.replicas.has_pending_isr(b)),
                no(s.replicas.is_reply_lost(b)),
                s.replicas.controller_epoch(b) == s.obedience.controller_epoch(b),
            ),
        ),
    )


def _is_new(s: StateT, b: Term) -> Term:
    return both(
        s.replicas.leader_epoch(b) == NO_EPOCH,
        s.replicas.znode_version(b) == NO_VERSION,
        s.obedience.leader_epoch(b) == NO_EPOCH,
    )


def _serves(s: StateT, b: Term, leader: Term) -> Term:
    role = s.replicas.role(b)
    return both(
        either(
            both(b == leader, role == ReplicaRole.LEADER),
            both(b != leader, role == ReplicaRole.FOLLOWER),
        ),
        s.replicas.leader(b) == leader,
        s.replicas.leader_epoch(b) == 0,
        s.replicas.znode_version(b) == 0,
        s.obedience.leader_epoch(b) == 0,
    )
