"""The actions of `LeaderAndIsr`: brokers come, go and obey, leaders change the ISR."""

from dataclasses import replace

from fencepost.spec.proofs.actions import ActionStep, action
from fencepost.spec.proofs.logic import Sort, Term, both, choose, either, maximum, no
from fencepost.spec.proofs.metadata.decisions import (
    exists,
    in_state_isr,
    state_epoch,
    state_leader,
    with_state_written,
)
from fencepost.spec.proofs.state import NO_EPOCH, NO_VERSION, ReplicaRole, ReplicaTable, StateT

B, E, M = Sort.BROKER, Sort.EPOCH, Sort.MESSAGE


@action("CreateTopic")
def create_topic(s: StateT) -> ActionStep:
    """The topic's znode is there."""
    return ActionStep(no(s.znodes.topic_exists), replace(s, znodes=s.znodes.but(topic_exists=True)))


@action("RegisterBroker", B)
def register_broker(s: StateT, b: Term) -> ActionStep:
    """A session; a starting broker reads the state before it obeys."""
    role = s.replicas.role(b)
    reads = both(role == ReplicaRole.STARTING, exists(s))
    replicas = s.replicas.at(
        b,
        role=choose(role == ReplicaRole.STARTING, int(ReplicaRole.IDLE), role),
        leader_epoch=choose(reads, state_epoch(s), s.replicas.leader_epoch(b)),
        znode_version=choose(reads, s.znodes.version, s.replicas.znode_version(b)),
    )
    return ActionStep(
        both(role != ReplicaRole.DOWN, no(s.znodes.registered(b))),
        replace(s, znodes=s.znodes.at(b, registered=True), replicas=replicas),
    )


def stopped(s: StateT, b: Term, role: ReplicaRole) -> ReplicaTable:
    """StoppedReplica(role)."""
    return s.replicas.at(
        b,
        role=role,
        leader=s.no_broker,
        leader_epoch=NO_EPOCH,
        isr=lambda _x: False,
        has_pending_isr=False,
        is_reply_lost=False,
        znode_version=NO_VERSION,
        controller_epoch=0,
    )


@action("CrashBroker", B)
def crash_broker(s: StateT, b: Term) -> ActionStep:
    """The process stops; its registration stays."""
    return ActionStep(
        s.replicas.role(b) != ReplicaRole.DOWN,
        replace(
            s,
            replicas=stopped(s, b, ReplicaRole.DOWN),
            obedience=s.obedience.at(b, controller_epoch=0),
        ),
    )


@action("RestartBroker", B)
def restart_broker(s: StateT, b: Term) -> ActionStep:
    """The process runs again and knows nothing yet."""
    return ActionStep(
        s.replicas.role(b) == ReplicaRole.DOWN,
        replace(s, replicas=s.replicas.at(b, role=ReplicaRole.STARTING)),
    )


def is_unknown(s: StateT, b: Term) -> Term:
    """No znode, command or leader names this incarnation: its broker epoch is new."""
    newest = s.history.newest_epoch
    return both(
        s.replicas.role(b) == ReplicaRole.DOWN,
        no(s.znodes.registered(b)),
        s.every(
            E,
            lambda e: either(
                e < 0,
                e > newest,
                both(s.epochs.leader(e) != b, no(s.epochs.isr(e, b)), no(in_quorum_of(s, e, b))),
            ),
        ),
    )


def in_quorum_of(s: StateT, e: Term, b: Term) -> Term:
    """Whoever leads or led an epoch waits for b."""
    return s.epochs.maximal_isr(e, b)


@action("RestartBroker", B, B, is_generalised=True)
def restart_as_another(s: StateT, old: Term, new: Term) -> ActionStep:
    """The process runs again under a new broker epoch: another broker, with the disk of the old.

    The members of an ISR are incarnations, and so are those that commands are for (`Fencing`, from
    level 3 on). In the history, it has obeyed what the old one had.
    """
    ever = s.obedience.leader_epoch(old)
    return ActionStep(
        both(s.replicas.role(old) == ReplicaRole.DOWN, old != new, is_unknown(s, new)),
        replace(
            s,
            replicas=s.replicas.at(new, role=ReplicaRole.STARTING),
            obedience=s.obedience.at(new, leader_epoch=ever),
        ),
    )


@action("ExpireSession", B)
def expire_broker_session(s: StateT, b: Term) -> ActionStep:
    """The registration goes; the broker is not told."""
    return ActionStep(s.znodes.registered(b), replace(s, znodes=s.znodes.at(b, registered=False)))


@action("ExpireSession")
def expire_controller_session(s: StateT) -> ActionStep:
    """/controller goes; whoever held it acts on."""
    return ActionStep(
        s.znodes.office != s.no_controller,
        replace(s, znodes=s.znodes.but(office=s.no_controller)),
    )


def is_running(s: StateT, b: Term) -> Term:
    """Neither down nor starting."""
    role = s.replicas.role(b)
    return either(*(role == one for one in ReplicaRole if one > ReplicaRole.STARTING))


@action("LearnController", B)
def learn_controller(s: StateT, b: Term) -> ActionStep:
    """Read the present controller epoch in ZooKeeper."""
    epoch = s.znodes.controller_epoch
    return ActionStep(
        both(is_running(s, b), s.replicas.controller_epoch(b) < epoch),
        replace(
            s,
            replicas=s.replicas.at(b, controller_epoch=epoch),
            obedience=s.obedience.at(
                b, controller_epoch=maximum(s.obedience.controller_epoch(b), epoch)
            ),
        ),
    )


def is_older_controller(s: StateT, b: Term, m: Term) -> Term:
    """IsOlderController(b, m)."""
    return s.messages.controller_epoch(m) < s.replicas.controller_epoch(b)


def is_newer(s: StateT, b: Term, m: Term) -> Term:
    """IsNewer(b, m)."""
    messages, replicas = s.messages, s.replicas
    return either(
        messages.leader_epoch(m) > replicas.leader_epoch(b),
        both(
            messages.leader_epoch(m) == replicas.leader_epoch(b),
            replicas.role(b) == ReplicaRole.IDLE,
            messages.znode_version(m) >= replicas.znode_version(b),
        ),
    )


def is_obeyed(s: StateT, b: Term, m: Term) -> Term:
    """IsObeyed(b, m), of a message in flight."""
    return both(
        s.messages.in_flight(m),
        s.messages.to(m) == b,
        is_running(s, b),
        no(is_older_controller(s, b, m)),
        is_newer(s, b, m),
    )


def obeyed(s: StateT, b: Term, m: Term, role: ReplicaRole) -> StateT:
    """Obey(b, m, role, isr): what the command says is what the replica believes."""
    messages, heard = s.messages, s.obedience
    replicas = s.replicas.at(
        b,
        role=role,
        leader=messages.leader(m),
        leader_epoch=messages.leader_epoch(m),
        isr=lambda x: both(role is ReplicaRole.LEADER, messages.isr(m, x)),
        has_pending_isr=False,
        is_reply_lost=False,
        znode_version=messages.znode_version(m),
        controller_epoch=messages.controller_epoch(m),
    )
    is_stale = messages.controller_epoch(m) < heard.controller_epoch(b)
    return replace(
        s,
        replicas=replicas,
        messages=messages.at(m, in_flight=False),
        obedience=heard.at(
            b,
            leader_epoch=maximum(heard.leader_epoch(b), messages.leader_epoch(m)),
            controller_epoch=maximum(heard.controller_epoch(b), messages.controller_epoch(m)),
        ),
        history=s.history.but(stale_controller=either(s.history.stale_controller, is_stale)),
    )


@action("BecomeLeader", B, M)
def become_leader(s: StateT, b: Term, m: Term) -> ActionStep:
    """Obey a command that names this broker; its epoch has started."""
    after = obeyed(s, b, m, ReplicaRole.LEADER)
    epochs = after.epochs.at(
        s.messages.leader_epoch(m),
        is_started=True,
        maximal_isr=lambda x: s.messages.isr(m, x),
    )
    return ActionStep(
        both(s.messages.leader(m) == b, is_obeyed(s, b, m)), replace(after, epochs=epochs)
    )


@action("BecomeFollower", B, M)
def become_follower(s: StateT, b: Term, m: Term) -> ActionStep:
    """Obey a command that names another broker, or none."""
    return ActionStep(
        both(s.messages.leader(m) != b, is_obeyed(s, b, m)), obeyed(s, b, m, ReplicaRole.FOLLOWER)
    )


def is_leading(s: StateT, b: Term) -> Term:
    """IsLeading(b)."""
    return s.replicas.role(b) == ReplicaRole.LEADER


def in_maximal_isr(s: StateT, b: Term, x: Term) -> Term:
    """X in MaximalIsr(b)."""
    replicas = s.replicas
    return either(replicas.isr(b, x), both(replicas.has_pending_isr(b), replicas.pending_isr(b, x)))


def asking(s: StateT, b: Term, isr: Term) -> ActionStep:
    """AskIsr(b, isr): one change at a time; the quorum is both until it is settled."""
    epochs = s.epochs.at(
        s.replicas.leader_epoch(b), maximal_isr=lambda x: either(s.replicas.isr(b, x), isr(x))
    )
    replicas = s.replicas.at(b, has_pending_isr=True, pending_isr=isr, is_reply_lost=False)
    return ActionStep(
        both(is_leading(s, b), no(s.replicas.has_pending_isr(b))),
        replace(s, replicas=replicas, epochs=epochs),
    )


@action("ShrinkIsr", B, B)
def shrink_isr(s: StateT, b: Term, f: Term) -> ActionStep:
    """Ask to drop a member, never the last nor the leader itself."""
    asked = asking(s, b, lambda x: both(s.replicas.isr(b, x), x != f))
    has_others = s.some(B, lambda x: both(s.replicas.isr(b, x), x != f))
    return ActionStep(both(asked.guard, s.replicas.isr(b, f), f != b, has_others), asked.next)


@action("ExpandIsr", B, B)
def expand_isr(s: StateT, b: Term, f: Term) -> ActionStep:
    """Ask to add a replica."""
    asked = asking(s, b, lambda x: either(s.replicas.isr(b, x), x == f))
    return ActionStep(both(asked.guard, no(s.replicas.isr(b, f))), asked.next)


def has_open_write(s: StateT, b: Term) -> Term:
    """A leader with an ISR change in flight."""
    return both(is_leading(s, b), s.replicas.has_pending_isr(b))


def is_version_known(s: StateT, b: Term) -> Term:
    """The leader's conditional write meets the version that it expects."""
    return both(exists(s), s.znodes.version == s.replicas.znode_version(b))


def is_own_isr(s: StateT, b: Term) -> Term:
    """IsOwnWrite(WantedState(b), …): the next version, with the content that was wanted."""
    return both(
        exists(s),
        s.znodes.version == s.replicas.znode_version(b) + 1,
        state_leader(s) == b,
        state_epoch(s) == s.replicas.leader_epoch(b),
        s.every(B, lambda x: in_state_isr(s, x) == s.replicas.pending_isr(b, x)),
    )


def with_isr_written(s: StateT, b: Term) -> StateT:
    """ZooKeeper has applied the leader's write."""
    is_entitled = both(state_leader(s) == b, state_epoch(s) == s.replicas.leader_epoch(b))
    after = with_state_written(
        s,
        leader=b,
        leader_epoch=s.replicas.leader_epoch(b),
        isr=lambda x: s.replicas.pending_isr(b, x),
        author=s.znodes.author_epoch(s.znodes.version),
    )
    return replace(
        after,
        history=after.history.but(
            unauthorised_write=either(s.history.unauthorised_write, no(is_entitled))
        ),
    )


def settled(before: StateT, after: StateT, b: Term, version: Term) -> StateT:
    """Settled(b, pending_isr, version): the leader believes in the ISR that it wanted."""

    def isr(x: Term) -> Term:
        return before.replicas.pending_isr(b, x)

    replicas = before.replicas.at(
        b, isr=isr, has_pending_isr=False, is_reply_lost=False, znode_version=version
    )
    epochs = after.epochs.at(before.replicas.leader_epoch(b), maximal_isr=isr)
    return replace(after, replicas=replicas, epochs=epochs)


@action("AdoptIsr", B)
def adopt_accepted(s: StateT, b: Term) -> ActionStep:
    """The conditional write succeeds, and the leader knows."""
    after = with_isr_written(s, b)
    return ActionStep(
        both(has_open_write(s, b), is_version_known(s, b)),
        settled(s, after, b, s.znodes.version + 1),
    )


@action("AdoptIsr", B)
def adopt_settled(s: StateT, b: Term) -> ActionStep:
    """After a lost reply, or a refusal, the leader reads its own write back."""
    is_unsure = either(s.replicas.is_reply_lost(b), no(is_version_known(s, b)))
    return ActionStep(
        both(has_open_write(s, b), is_unsure, is_own_isr(s, b)),
        settled(s, s, b, s.znodes.version),
    )


@action("LoseReply", B)
def lose_leader_reply(s: StateT, b: Term) -> ActionStep:
    """ZooKeeper applied a leader's write, and the leader does not know."""
    after = with_isr_written(s, b)
    return ActionStep(
        both(has_open_write(s, b), is_version_known(s, b)),
        replace(after, replicas=s.replicas.at(b, is_reply_lost=True)),
    )


@action("LoseRequest", B)
def lose_leader_request(s: StateT, b: Term) -> ActionStep:
    """A leader's write is lost or late, and the leader does not know."""
    return ActionStep(
        both(has_open_write(s, b), no(s.replicas.is_reply_lost(b))),
        replace(s, replicas=s.replicas.at(b, is_reply_lost=True)),
    )


def has_conflict(s: StateT, b: Term) -> Term:
    """Another version, or another's content where the own should be."""
    return both(has_open_write(s, b), no(is_version_known(s, b)), no(is_own_isr(s, b)))


@action("FenceLeader", B)
def fence_leader(s: StateT, b: Term) -> ActionStep:
    """On a conflict the leader stops leading until a command comes."""
    replicas = s.replicas.at(b, role=ReplicaRole.FENCED, has_pending_isr=False, is_reply_lost=False)
    return ActionStep(has_conflict(s, b), replace(s, replicas=replicas))


@action("LoseMessage", M)
def lose_message(s: StateT, m: Term) -> ActionStep:
    """A command never arrives."""
    return ActionStep(
        s.messages.in_flight(m), replace(s, messages=s.messages.at(m, in_flight=False))
    )


@action("DuplicateMessage", M, M)
def duplicate_message(s: StateT, m: Term, second: Term) -> ActionStep:
    """A second copy, which arrives at any time."""
    messages = s.messages
    fields = ("sender", "to", "leader", "leader_epoch", "znode_version", "controller_epoch")
    is_copy = both(
        messages.copy(m) == 1,
        messages.copy(second) == 2,
        *(getattr(messages, name)(m) == getattr(messages, name)(second) for name in fields),
        s.every(B, lambda x: messages.isr(m, x) == messages.isr(second, x)),
    )
    return ActionStep(
        both(messages.in_flight(m), is_copy),
        replace(s, messages=messages.at(second, in_flight=True)),
    )


LEADER_AND_ISR = (
    create_topic,
    register_broker,
    crash_broker,
    restart_broker,
    restart_as_another,
    expire_broker_session,
    expire_controller_session,
    learn_controller,
    become_leader,
    become_follower,
    shrink_isr,
    expand_isr,
    adopt_accepted,
    adopt_settled,
    lose_leader_reply,
    lose_leader_request,
    fence_leader,
    lose_message,
    duplicate_message,
)
