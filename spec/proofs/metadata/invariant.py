"""The inductive invariant of `LeaderAndIsr`: its properties, and what their proof needs."""

from fencepost.spec.proofs.clauses import clause
from fencepost.spec.proofs.logic import Sort, Term, both, either, implies, no
from fencepost.spec.proofs.metadata.decisions import exists, in_state_isr, state_epoch, state_leader
from fencepost.spec.proofs.metadata.leader_and_isr import (
    in_maximal_isr,
    is_leading,
    is_running,
)
from fencepost.spec.proofs.state import NO_EPOCH, NO_VERSION, OfficeStatus, ReplicaRole, StateT

B, C, M, V, E = Sort.BROKER, Sort.CONTROLLER, Sort.MESSAGE, Sort.VERSION, Sort.EPOCH


def was_written(s: StateT, v: Term) -> Term:
    """The znode has had version v."""
    return both(v >= 0, v <= s.znodes.version)


def is_acting_leader(s: StateT, b: Term) -> Term:
    """IsActingLeader(b)."""
    return both(
        is_leading(s, b),
        exists(s),
        state_leader(s) == b,
        state_epoch(s) == s.replicas.leader_epoch(b),
    )


def has_epoch(s: StateT, v: Term, b: Term) -> Term:
    """Version v was written in the epoch of b."""
    return both(was_written(s, v), s.znodes.leader_epoch(v) == s.replicas.leader_epoch(b))


@clause("OneControllerPerEpoch", C, C, is_property=True)
def one_controller_per_epoch(s: StateT, c: Term, other: Term) -> Term:
    """No two controllers act under one controller epoch."""
    status, epoch = s.controllers.status, s.controllers.controller_epoch
    return implies(
        both(c != other, status(c) == OfficeStatus.ACTIVE, status(other) == OfficeStatus.ACTIVE),
        epoch(c) != epoch(other),
    )


@clause("StaleControllerHarmless", is_property=True)
def stale_controller_harmless(s: StateT) -> Term:
    """No deposed controller wrote, and none was obeyed by a broker that knew its successor."""
    return no(s.history.stale_controller)


@clause("OnlyControllerWrites", is_property=True)
def only_controller_writes(s: StateT) -> Term:
    """No controller wrote that did not hold /controller."""
    return no(s.history.write_out_of_office)


@clause("OnlyAuthorisedWrites", is_property=True)
def only_authorised_writes(s: StateT) -> Term:
    """A leader changed the znode only while that named it and its epoch."""
    return no(s.history.unauthorised_write)


@clause("OneLeaderPerEpoch", B, B, is_property=True)
def one_leader_per_epoch(s: StateT, b: Term, other: Term) -> Term:
    """No two brokers lead under one leader epoch."""
    return implies(
        both(b != other, is_leading(s, b), is_leading(s, other)),
        s.replicas.leader_epoch(b) != s.replicas.leader_epoch(other),
    )


@clause("LeaderInIsr", V, is_property=True)
def leader_in_isr(s: StateT, v: Term) -> Term:
    """At every version the leader is a member of the ISR."""
    leader = s.znodes.leader(v)
    return implies(
        was_written(s, v),
        both(
            implies(leader != s.no_broker, s.znodes.isr(v, leader)),
            s.some(B, lambda x: s.znodes.isr(v, x)),
        ),
    )


@clause("QuorumSuperset", B, B, is_property=True)
def quorum_superset(s: StateT, b: Term, x: Term) -> Term:
    """The acting leader waits for every broker that could be elected cleanly."""
    return implies(both(is_acting_leader(s, b), in_state_isr(s, x)), in_maximal_isr(s, b, x))


@clause("VersionAgreement", B, B, is_property=True)
def version_agreement(s: StateT, b: Term, x: Term) -> Term:
    """A leader with the newest version has what ZooKeeper says."""
    return implies(
        both(is_leading(s, b), s.replicas.znode_version(b) == s.znodes.version),
        both(
            state_leader(s) == b,
            state_epoch(s) == s.replicas.leader_epoch(b),
            in_state_isr(s, x) == s.replicas.isr(b, x),
        ),
    )


@clause("CommandReflectsZk", M, B, is_property=True)
def command_reflects_zk(s: StateT, m: Term, x: Term) -> Term:
    """A command says what ZooKeeper held under its version."""
    messages, version = s.messages, s.messages.znode_version(m)
    return implies(
        messages.in_flight(m),
        both(
            was_written(s, version),
            messages.leader(m) == s.znodes.leader(version),
            messages.leader_epoch(m) == s.znodes.leader_epoch(version),
            messages.isr(m, x) == s.znodes.isr(version, x),
        ),
    )


@clause("WritesAreDecisions", V, B, is_property=True)
def writes_are_decisions(s: StateT, v: Term, x: Term) -> Term:
    """A write is an election that adds none to the ISR, or a leader's that leaves the epoch."""
    z, w = s.znodes, v + 1
    is_election = both(
        z.leader_epoch(w) == z.leader_epoch(v) + 1, implies(z.isr(w, x), z.isr(v, x))
    )
    is_isr_change = both(z.leader_epoch(w) == z.leader_epoch(v), z.leader(w) == z.leader(v))
    return implies(
        both(was_written(s, v), was_written(s, w)),
        either(is_election, is_isr_change),
    )


@clause("EpochsGrow", V, V)
def epochs_grow(s: StateT, v: Term, w: Term) -> Term:
    """Later versions have no smaller epoch, and those of one epoch have one leader."""
    z = s.znodes
    return both(
        z.version >= NO_VERSION,
        s.history.newest_epoch >= NO_EPOCH,
        implies(
            both(was_written(s, v), was_written(s, w), v <= w),
            both(
                z.leader_epoch(v) >= 0,
                z.leader_epoch(v) <= z.leader_epoch(w),
                z.leader_epoch(w) <= s.history.newest_epoch,
                implies(z.leader_epoch(v) == z.leader_epoch(w), z.leader(v) == z.leader(w)),
            ),
        ),
    )


@clause("NewestEpoch")
def newest_epoch(s: StateT) -> Term:
    """The newest epoch is that of the znode."""
    newest = s.history.newest_epoch
    return both(
        implies(exists(s), newest == state_epoch(s)), implies(no(exists(s)), newest == NO_EPOCH)
    )


@clause("ControllersInOffice", C)
def controllers_in_office(s: StateT, c: Term) -> Term:
    """A controller of the present epoch is in office, or none is; only controllers act."""
    epoch, held = s.controllers.controller_epoch(c), s.controllers
    is_active = held.status(c) == OfficeStatus.ACTIVE
    is_current = both(is_active, epoch == s.znodes.controller_epoch)
    acts = either(held.has_decision(c), held.has_to_send(c), held.is_reply_lost(c))
    return both(
        implies(is_active, epoch <= s.znodes.controller_epoch),
        implies(both(is_current, s.znodes.office != s.no_controller), s.znodes.office == c),
        implies(acts, is_active),
        implies(held.is_reply_lost(c), held.has_decision(c)),
    )


@clause("ControllerEpochKnown", B)
def controller_epoch_known(s: StateT, b: Term) -> Term:
    """A broker has not forgotten a controller epoch that it read or obeyed since it started."""
    return s.replicas.controller_epoch(b) == s.obedience.controller_epoch(b)


@clause("DecisionsAreClean", C, B)
def decisions_are_clean(s: StateT, c: Term, x: Term) -> Term:
    """A decision is an election in what the znode held under the version that it expects."""
    decided, expected = s.controllers, s.controllers.expected_version(c)
    leader, epoch = decided.decided_leader(c), decided.decided_leader_epoch(c)
    is_next = both(
        expected <= s.znodes.version,
        epoch == s.znodes.leader_epoch(expected) + 1,
        implies(decided.decided_isr(c, x), s.znodes.isr(expected, x)),
    )
    return implies(
        decided.has_decision(c),
        both(
            expected >= NO_VERSION,
            implies(leader != s.no_broker, decided.decided_isr(c, leader)),
            s.some(B, lambda b: decided.decided_isr(c, b)),
            implies(expected == NO_VERSION, epoch == 0),
            implies(expected != NO_VERSION, is_next),
        ),
    )


@clause("ToSendReflectsZk", C, B)
def to_send_reflects_zk(s: StateT, c: Term, x: Term) -> Term:
    """What a controller is about to tell, ZooKeeper held under its version."""
    sent, version = s.controllers, s.controllers.sent_version(c)
    return implies(
        sent.has_to_send(c),
        both(
            was_written(s, version),
            sent.sent_leader(c) == s.znodes.leader(version),
            sent.sent_leader_epoch(c) == s.znodes.leader_epoch(version),
            sent.sent_isr(c, x) == s.znodes.isr(version, x),
        ),
    )


@clause("ReplicaKnowsVersion", B)
def replica_knows_version(s: StateT, b: Term) -> Term:
    """A running replica's epoch is that of its version; it has none before it was told of any."""
    version, epoch = s.replicas.znode_version(b), s.replicas.leader_epoch(b)
    role = s.replicas.role(b)
    is_told = both(was_written(s, version), epoch == s.znodes.leader_epoch(version))
    is_unaware = both(version == NO_VERSION, epoch == NO_EPOCH)
    return both(
        implies(is_running(s, b), either(is_told, both(is_unaware, role == ReplicaRole.IDLE))),
        implies(role == ReplicaRole.STARTING, is_unaware),
        implies(role == ReplicaRole.DOWN, is_unaware),
    )


@clause("LeaderKnowsVersion", B, B)
def leader_knows_version(s: StateT, b: Term, x: Term) -> Term:
    """A leader's ISR is that of its version, which names it."""
    version = s.replicas.znode_version(b)
    return implies(
        is_leading(s, b),
        both(
            b != s.no_broker,
            s.znodes.leader(version) == b,
            s.znodes.isr(version, x) == s.replicas.isr(b, x),
            implies(s.replicas.is_reply_lost(b), s.replicas.has_pending_isr(b)),
            implies(s.replicas.has_pending_isr(b), s.replicas.pending_isr(b, b)),
        ),
    )


@clause("LaterVersionIsOwnWrite", B, V, B)
def later_version_is_own_write(s: StateT, b: Term, w: Term, x: Term) -> Term:
    """A later version of a leader's epoch is its own write, with a lost reply."""
    return implies(
        both(is_leading(s, b), has_epoch(s, w, b), w > s.replicas.znode_version(b)),
        both(
            w == s.replicas.znode_version(b) + 1,
            s.replicas.has_pending_isr(b),
            s.replicas.is_reply_lost(b),
            s.znodes.isr(w, x) == s.replicas.pending_isr(b, x),
        ),
    )


@clause("IdleHasNewestVersion", B, V)
def idle_has_newest_version(s: StateT, b: Term, w: Term) -> Term:
    """No later version of the epoch that an idle replica read names it."""
    return implies(
        both(
            s.replicas.role(b) == ReplicaRole.IDLE,
            has_epoch(s, w, b),
            w > s.replicas.znode_version(b),
        ),
        s.znodes.leader(w) != b,
    )


@clause("FollowerIsNotNamed", B, V)
def follower_is_not_named(s: StateT, b: Term, w: Term) -> Term:
    """The epoch of a follower names another leader, the one that it follows."""
    return implies(
        both(s.replicas.role(b) == ReplicaRole.FOLLOWER, has_epoch(s, w, b)),
        both(s.znodes.leader(w) != b, s.znodes.leader(w) == s.replicas.leader(b)),
    )


@clause("EpochToComeHasOneVersion", B, V, V)
def epoch_to_come_has_one_version(s: StateT, b: Term, v: Term, w: Term) -> Term:
    """An epoch that names a broker which has not obeyed it has one version."""
    return implies(
        both(
            is_running(s, b),
            b != s.no_broker,
            was_written(s, v),
            was_written(s, w),
            s.znodes.leader(v) == b,
            s.znodes.leader_epoch(v) > s.replicas.leader_epoch(b),
            s.znodes.leader_epoch(w) == s.znodes.leader_epoch(v),
        ),
        v == w,
    )


@clause("EpochHistory", V, B)
def epoch_history(s: StateT, v: Term, x: Term) -> Term:
    """The history of an epoch is what the znode held: its leader, and its last ISR."""
    z, epoch = s.znodes, s.znodes.leader_epoch(v)
    is_last = either(v == z.version, z.leader_epoch(v + 1) != epoch)
    return implies(
        was_written(s, v),
        both(
            s.epochs.leader(epoch) == z.leader(v),
            implies(is_last, s.epochs.isr(epoch, x) == z.isr(v, x)),
        ),
    )


@clause("ObeyedEpoch", B)
def obeyed_epoch(s: StateT, b: Term) -> Term:
    """A running replica is not behind what it ever obeyed; one with a role is there."""
    ever, role = s.obedience.leader_epoch(b), s.replicas.role(b)
    has_role = both(is_running(s, b), role != ReplicaRole.IDLE)
    return both(
        ever >= NO_EPOCH,
        ever <= s.history.newest_epoch,
        implies(is_running(s, b), ever <= s.replicas.leader_epoch(b)),
        implies(has_role, both(ever == s.replicas.leader_epoch(b), ever > NO_EPOCH)),
    )


@clause("StartedEpoch", E)
def started_epoch(s: StateT, e: Term) -> Term:
    """An epoch has started when its leader has obeyed it."""
    leader = s.epochs.leader(e)
    ever = s.obedience.leader_epoch(leader)
    return both(
        implies(s.epochs.is_started(e), both(e >= 0, e <= s.history.newest_epoch)),
        implies(s.epochs.is_started(e), both(leader != s.no_broker, ever >= e)),
        implies(
            both(e >= 0, leader != s.no_broker, no(s.epochs.is_started(e))),
            either(e > s.history.newest_epoch, ever != e),
        ),
    )


@clause("RoleHistory", B, B)
def role_history(s: StateT, b: Term, x: Term) -> Term:
    """Leaders and followers are so in the history of their epoch, with the quorum they wait for."""
    epoch, role = s.replicas.leader_epoch(b), s.replicas.role(b)
    return both(
        implies(
            role == ReplicaRole.LEADER,
            both(
                s.epochs.is_started(epoch),
                s.epochs.leader(epoch) == b,
                s.epochs.maximal_isr(epoch, x) == in_maximal_isr(s, b, x),
            ),
        ),
        implies(
            role == ReplicaRole.FOLLOWER,
            both(s.epochs.leader(epoch) != b, s.epochs.leader(epoch) == s.replicas.leader(b)),
        ),
    )


@clause("QuorumOfEpoch", E, B)
def quorum_of_epoch(s: StateT, e: Term, x: Term) -> Term:
    """Whoever leads or led an epoch waits for its last ISR: zombies too."""
    return implies(
        both(e >= 0, e <= s.history.newest_epoch, s.epochs.isr(e, x)),
        s.epochs.maximal_isr(e, x),
    )


@clause("NewestIsr", B)
def newest_isr(s: StateT, x: Term) -> Term:
    """The last ISR of the newest epoch is that of the znode."""
    return implies(exists(s), s.epochs.isr(s.history.newest_epoch, x) == in_state_isr(s, x))


@clause("LeaderInEpochIsr", E)
def leader_in_epoch_isr(s: StateT, e: Term) -> Term:
    """The leader of an epoch is a member of its last ISR."""
    leader = s.epochs.leader(e)
    return implies(
        both(e >= 0, e <= s.history.newest_epoch, leader != s.no_broker),
        s.epochs.isr(e, leader),
    )


@clause("LeaderIsBroker", B)
def leader_is_broker(s: StateT, b: Term) -> Term:
    """What leads is a broker."""
    return implies(is_leading(s, b), b != s.no_broker)


METADATA = (
    one_controller_per_epoch,
    stale_controller_harmless,
    only_controller_writes,
    only_authorised_writes,
    one_leader_per_epoch,
    leader_in_isr,
    quorum_superset,
    version_agreement,
    command_reflects_zk,
    writes_are_decisions,
    epochs_grow,
    newest_epoch,
    controllers_in_office,
    controller_epoch_known,
    decisions_are_clean,
    to_send_reflects_zk,
    replica_knows_version,
    leader_knows_version,
    later_version_is_own_write,
    idle_has_newest_version,
    follower_is_not_named,
    epoch_to_come_has_one_version,
    epoch_history,
    obeyed_epoch,
    started_epoch,
    role_history,
    quorum_of_epoch,
    newest_isr,
    leader_in_epoch_isr,
    leader_is_broker,
)
