"""Wrong rules for controllers and brokers: each lacks what makes the right one right."""

from dataclasses import replace

from fencepost.spec.proofs.actions import ActionStep, action
from fencepost.spec.proofs.logic import Sort, Term, both, no
from fencepost.spec.proofs.metadata.decisions import (
    activated,
    elect_leader,
    exists,
    has_no_live_member,
    is_fence_passed,
    is_free,
    is_version_expected,
    needs_decision,
    publish_accepted,
    publish_refused,
    published,
    state_epoch,
)
from fencepost.spec.proofs.metadata.leader_and_isr import (
    adopt_accepted,
    become_follower,
    become_leader,
    expand_isr,
    has_conflict,
    has_open_write,
    is_leading,
    is_newer,
    is_older_controller,
    is_running,
    settled,
    shrink_isr,
)
from fencepost.spec.proofs.module import WrongRule
from fencepost.spec.proofs.state import NO_VERSION, OfficeStatus, ReplicaRole, StateT

B, C, M = Sort.BROKER, Sort.CONTROLLER, Sort.MESSAGE


def has_arrived(s: StateT, b: Term, m: Term) -> Term:
    """A running broker has a command, of whatever age."""
    return both(s.messages.in_flight(m), s.messages.to(m) == b, is_running(s, b))


@action("BecomeLeader", B, M)
def lead_under_older_epoch(s: StateT, b: Term, m: Term) -> ActionStep:
    """The command is not compared with what the replica has."""
    guard = both(has_arrived(s, b, m), no(is_older_controller(s, b, m)))
    return ActionStep(both(s.messages.leader(m) == b, guard), become_leader.step(s, b, m).next)


@action("BecomeLeader", B, M)
def lead_for_older_controller(s: StateT, b: Term, m: Term) -> ActionStep:
    """The command's controller epoch is not compared."""
    guard = both(has_arrived(s, b, m), is_newer(s, b, m))
    return ActionStep(both(s.messages.leader(m) == b, guard), become_leader.step(s, b, m).next)


@action("BecomeFollower", B, M)
def follow_older_controller(s: StateT, b: Term, m: Term) -> ActionStep:
    """The command's controller epoch is not compared."""
    guard = both(has_arrived(s, b, m), is_newer(s, b, m))
    return ActionStep(both(s.messages.leader(m) != b, guard), become_follower.step(s, b, m).next)


@action("BecomeLeader", B, M)
def lead_on_any_command(s: StateT, b: Term, m: Term) -> ActionStep:
    """Commands carry no epoch at all."""
    return ActionStep(
        both(s.messages.leader(m) == b, has_arrived(s, b, m)), become_leader.step(s, b, m).next
    )


@action("BecomeLeader", B, B, M)
def lead_for_former_incarnation(s: StateT, old: Term, new: Term, m: Term) -> ActionStep:
    """A command to the process before a restart is obeyed by the one after it."""
    return _lead_as_another(s, old, new, m, to=old)


@action("BecomeLeader", B, B, M)
def lead_by_id_after_a_bounce(s: StateT, old: Term, new: Term, m: Term) -> ActionStep:
    """An arrival is told the state as it stands, which names the process before it by its id."""
    return _lead_as_another(s, old, new, m, to=new)


def _lead_as_another(s: StateT, old: Term, new: Term, m: Term, *, to: Term) -> ActionStep:
    """A broker leads by a command to one of two processes that names the one that is down."""
    guard = both(
        s.replicas.role(old) == ReplicaRole.DOWN,
        s.messages.in_flight(m),
        s.messages.to(m) == to,
        s.messages.leader(m) == old,
        is_running(s, new),
        no(is_older_controller(s, new, m)),
        is_newer(s, new, m),
    )
    return ActionStep(guard, become_leader.step(s, new, m).next)


@action("BecomeLeader", B, M)
def refresh_without_version(s: StateT, b: Term, m: Term) -> ActionStep:
    """A command of the same epoch is obeyed when its version is another."""
    guard = both(
        has_arrived(s, b, m),
        no(is_older_controller(s, b, m)),
        s.messages.leader_epoch(m) == s.replicas.leader_epoch(b),
        s.messages.znode_version(m) != s.replicas.znode_version(b),
    )
    return ActionStep(both(s.messages.leader(m) == b, guard), become_leader.step(s, b, m).next)


@action("BecomeLeader", B, M)
def forget_controller(s: StateT, b: Term, m: Term) -> ActionStep:
    """The command is obeyed, and its controller epoch is forgotten."""
    right = become_leader.step(s, b, m)
    replicas = right.next.replicas.at(b, controller_epoch=0)
    return ActionStep(right.guard, replace(right.next, replicas=replicas))


@action("RegisterBroker", B)
def restart_without_reading(s: StateT, b: Term) -> ActionStep:
    """A starting broker does not read the state of its partition."""
    role = s.replicas.role(b)
    return ActionStep(
        both(role == ReplicaRole.STARTING, no(s.znodes.registered(b))),
        replace(
            s,
            znodes=s.znodes.at(b, registered=True),
            replicas=s.replicas.at(b, role=int(ReplicaRole.IDLE)),
        ),
    )


@action("AdoptIsr", B)
def write_isr_at_any_version(s: StateT, b: Term) -> ActionStep:
    """The leader's write is unconditional."""
    guard = both(has_open_write(s, b), no(s.replicas.is_reply_lost(b)), exists(s))
    return ActionStep(guard, adopt_accepted.step(s, b).next)


@action("PublishDecision", C)
def write_decision_at_any_version(s: StateT, c: Term) -> ActionStep:
    """The controller's write is unconditional."""
    guard = both(
        s.controllers.has_decision(c),
        no(s.controllers.is_reply_lost(c)),
        is_fence_passed(s, c),
        exists(s),
        s.controllers.expected_version(c) > NO_VERSION,
    )
    return ActionStep(guard, publish_accepted.step(s, c).next)


@action("PublishDecision", C)
def write_without_epoch_check(s: StateT, c: Term) -> ActionStep:
    """The multi checks /controller alone."""
    guard = both(
        s.controllers.has_decision(c),
        no(s.controllers.is_reply_lost(c)),
        s.znodes.office != s.no_controller,
        is_version_expected(s, c),
    )
    return ActionStep(guard, publish_accepted.step(s, c).next)


@action("PublishDecision", C)
def write_without_controller_check(s: StateT, c: Term) -> ActionStep:
    """The multi checks the epoch alone."""
    guard = both(
        s.controllers.has_decision(c),
        no(s.controllers.is_reply_lost(c)),
        s.znodes.controller_epoch == s.controllers.controller_epoch(c),
        is_version_expected(s, c),
    )
    return ActionStep(guard, publish_accepted.step(s, c).next)


@action("PublishDecision", C, Sort.BOOLEAN)
def tell_what_was_refused(s: StateT, c: Term, tells: Term) -> ActionStep:
    """A decision is told although its write was refused."""
    refused = publish_refused.step(s, c, tells)
    return ActionStep(refused.guard, replace(s, controllers=published(s, c)))


@action("ElectController", C)
def create_controller(s: StateT, c: Term) -> ActionStep:
    """/controller is created; the epoch is raised later."""
    return ActionStep(
        both(s.controllers.status(c) == OfficeStatus.STANDING, s.znodes.office == s.no_controller),
        replace(
            s,
            znodes=s.znodes.but(office=c),
            controllers=s.controllers.at(c, status=OfficeStatus.CREATED),
        ),
    )


@action("ElectController", C, Sort.BOOLEAN)
def raise_epoch_later(s: StateT, c: Term, needs: Term) -> ActionStep:
    """The epoch is raised, whoever is in office by now."""
    epoch = s.znodes.controller_epoch + 1
    return ActionStep(
        both(
            s.controllers.status(c) == OfficeStatus.CREATED,
            needs == needs_decision(s, s.znodes.registered),
        ),
        replace(
            s,
            znodes=s.znodes.but(controller_epoch=epoch),
            controllers=activated(s, c, epoch, needs),
        ),
    )


@action("ElectController", C, Sort.BOOLEAN)
def take_office_without_raising(s: StateT, c: Term, needs: Term) -> ActionStep:
    """The winner keeps the epoch as it is."""
    return ActionStep(
        both(
            s.controllers.status(c) == OfficeStatus.STANDING,
            s.znodes.office == s.no_controller,
            s.znodes.controller_epoch > 0,
            needs == needs_decision(s, s.znodes.registered),
        ),
        replace(
            s,
            znodes=s.znodes.but(office=c),
            controllers=activated(s, c, s.znodes.controller_epoch, needs),
        ),
    )


@action("ElectLeader", C, Sort.BROKER_OR_NONE)
def elect_in_same_epoch(s: StateT, c: Term, leader: Term) -> ActionStep:
    """A decision leaves the leader epoch."""
    right = elect_leader.step(s, c, leader)
    controllers = right.next.controllers.at(c, decided_leader_epoch=state_epoch(s))
    return ActionStep(right.guard, replace(right.next, controllers=controllers))


@action("ElectLeader", C, Sort.BROKER_OR_NONE)
def empty_isr_without_leader(s: StateT, c: Term, leader: Term) -> ActionStep:
    """A partition that has no leader has no ISR either."""
    right = elect_leader.step(s, c, leader)
    controllers = right.next.controllers.at(c, decided_isr=lambda _b: False)
    return ActionStep(
        both(right.guard, leader == s.no_broker), replace(right.next, controllers=controllers)
    )


@action("ElectLeader", C, B)
def elect_returned_member(s: StateT, c: Term, leader: Term) -> ActionStep:
    """Of an ISR of which none is left, a broker that is back leads: another incarnation."""

    def live(b: Term) -> Term:
        return s.controllers.live_brokers(c, b)

    right = elect_leader.step(s, c, leader).next
    controllers = right.controllers.at(c, decided_isr=lambda b: b == leader)
    return ActionStep(
        both(is_free(s, c), exists(s), has_no_live_member(s, live), live(leader)),
        replace(right, controllers=controllers),
    )


@action("InitLeader", C, B)
def init_over_a_state(s: StateT, c: Term, leader: Term) -> ActionStep:
    """A new controller does the first decision once more."""
    decided = s.controllers.at(
        c,
        has_decision=True,
        decided_leader=leader,
        decided_leader_epoch=0,
        decided_isr=lambda b: s.controllers.live_brokers(c, b),
        decided_author_epoch=s.controllers.controller_epoch(c),
        expected_version=s.znodes.version,
    )
    return ActionStep(
        both(is_free(s, c), exists(s), s.controllers.live_brokers(c, leader)),
        replace(s, controllers=decided),
    )


@action("FenceLeader", B)
def lead_on_after_conflict(s: StateT, b: Term) -> ActionStep:
    """A refused leader goes on with the ISR that it wanted."""
    return ActionStep(has_conflict(s, b), settled(s, s, b, s.replicas.znode_version(b)))


@action("AdoptIsr", B)
def trust_unsettled_write(s: StateT, b: Term) -> ActionStep:
    """A leader that hears nothing takes what it reads back for its own write."""
    guard = both(has_open_write(s, b), s.replicas.is_reply_lost(b), exists(s))
    return ActionStep(guard, settled(s, s, b, s.znodes.version))


@action("ShrinkIsr", B)
def leave_own_isr(s: StateT, b: Term) -> ActionStep:
    """A leader asks to drop itself."""
    pending = s.replicas.at(
        b,
        has_pending_isr=True,
        pending_isr=lambda x: both(s.replicas.isr(b, x), x != b),
        is_reply_lost=False,
    )
    has_others = s.some(B, lambda x: both(s.replicas.isr(b, x), x != b))
    return ActionStep(
        both(is_leading(s, b), no(s.replicas.has_pending_isr(b)), has_others),
        replace(s, replicas=pending),
    )


@action("ExpandIsr", B, B)
def ask_while_asking(s: StateT, b: Term, f: Term) -> ActionStep:
    """A second change of the ISR overwrites the one in flight."""
    right = expand_isr.step(s, b, f)
    guard = both(has_open_write(s, b), no(s.replicas.isr(b, f)))
    return ActionStep(guard, right.next)


@action("ShrinkIsr", B, B)
def commit_with_old_isr(s: StateT, b: Term, f: Term) -> ActionStep:
    """The leader waits for the ISR that it wants, while ZooKeeper has the old one."""
    right = shrink_isr.step(s, b, f)
    epoch = s.replicas.leader_epoch(b)
    epochs = right.next.epochs.at(
        epoch, maximal_isr=lambda x: right.next.replicas.pending_isr(b, x)
    )
    return ActionStep(right.guard, replace(right.next, epochs=epochs))


WRONG_METADATA = tuple(
    WrongRule(name=name, hazard=hazard, breaks=breaks, actions=actions)
    for name, hazard, breaks, actions in (
        ("commands_without_epochs", "H0c", "StaleControllerHarmless", (lead_on_any_command,)),
        ("commands_without_broker_epoch", "H0b", "RoleHistory", (lead_for_former_incarnation,)),
        ("unrecorded_last_replica", "H2c", "DecisionsAreClean", (elect_returned_member,)),
        ("started_before_failed", "H2d", "RoleHistory", (lead_by_id_after_a_bounce,)),
        (
            "no_controller_znode_check",
            "H8",
            "OnlyControllerWrites",
            (write_without_controller_check,),
        ),
        ("accept_older_leader_epoch", "H13", "QuorumSuperset", (lead_under_older_epoch,)),
        ("refresh_without_version", "H15", "QuorumSuperset", (refresh_without_version,)),
        (
            "two_step_controller_election",
            "H21",
            "ControllersInOffice",
            (create_controller, raise_epoch_later),
        ),
        (
            "accept_older_controller_epoch",
            "H22",
            "StaleControllerHarmless",
            (lead_for_older_controller,),
        ),
        (
            "accept_older_controller_epoch",
            "H22b",
            "StaleControllerHarmless",
            (follow_older_controller,),
        ),
        (
            "no_controller_epoch_check",
            "H24",
            "StaleControllerHarmless",
            (write_without_epoch_check,),
        ),
        ("restart_ignores_znode", "H26", "EpochToComeHasOneVersion", (restart_without_reading,)),
        ("expand_overwrites_shrink", "H37", "QuorumSuperset", (ask_while_asking,)),
        ("leader_may_leave_isr", "H38", "LeaderKnowsVersion", (leave_own_isr,)),
        ("commit_with_old_isr", "H39b", "RoleHistory", (commit_with_old_isr,)),
        ("no_step_down", "H40", "LeaderKnowsVersion", (lead_on_after_conflict,)),
        ("trust_unsettled_write", "ZK-006", "QuorumSuperset", (trust_unsettled_write,)),
        ("no_znode_version_check", "ZK-003", "OnlyAuthorisedWrites", (write_isr_at_any_version,)),
        ("no_znode_version_check", "ZK-004", "QuorumSuperset", (write_decision_at_any_version,)),
        (
            "controller_epoch_not_raised",
            "CTL-005",
            "OneControllerPerEpoch",
            (take_office_without_raising,),
        ),
        ("forget_controller_epoch", "CTL-006", "ControllerEpochKnown", (forget_controller,)),
        ("leader_epoch_not_raised", "FAIL-004", "DecisionsAreClean", (elect_in_same_epoch,)),
        (
            "shrink_on_election_empties_isr",
            "H5a",
            "DecisionsAreClean",
            (empty_isr_without_leader,),
        ),
        ("init_is_unconditional", "H9b", "DecisionsAreClean", (init_over_a_state,)),
        ("send_unwritten_decisions", "H7", "ToSendReflectsZk", (tell_what_was_refused,)),
    )
)
