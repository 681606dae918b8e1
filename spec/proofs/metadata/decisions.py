"""The actions of `Decisions`: controllers come, go, decide, write and tell. Elections are clean."""

from dataclasses import replace

from fencepost.spec.proofs.actions import ActionStep, action
from fencepost.spec.proofs.logic import Sort, Term, both, choose, either, no
from fencepost.spec.proofs.state import NO_VERSION, ControllerTable, OfficeStatus, StateT

B, C = Sort.BROKER, Sort.CONTROLLER


def exists(s: StateT) -> Term:
    """The znode of the state."""
    return s.znodes.version > NO_VERSION


def state_leader(s: StateT) -> Term:
    """State.leader."""
    return s.znodes.leader(s.znodes.version)


def state_epoch(s: StateT) -> Term:
    """State.leader_epoch."""
    return s.znodes.leader_epoch(s.znodes.version)


def in_state_isr(s: StateT, b: Term) -> Term:
    """B in State.isr."""
    return s.znodes.isr(s.znodes.version, b)


def needs_decision(s: StateT, live: Term) -> Term:
    """NeedsDecision(live), without elections outside the ISR."""
    leader = state_leader(s)
    is_candidate_there = s.some(B, lambda b: both(in_state_isr(s, b), live(b)))
    is_affected = either(
        no(both(leader != s.no_broker, live(leader))),
        s.some(B, lambda b: both(in_state_isr(s, b), no(live(b)))),
    )
    return both(exists(s), is_affected, either(is_candidate_there, leader != s.no_broker))


def current_state(s: StateT, c: Term) -> ControllerTable:
    """`to_send` of a controller becomes CurrentState."""
    return s.controllers.at(
        c,
        has_to_send=exists(s),
        sent_leader=state_leader(s),
        sent_leader_epoch=state_epoch(s),
        sent_isr=lambda b: in_state_isr(s, b),
        sent_version=s.znodes.version,
    )


def forgotten(controllers: ControllerTable, c: Term, status: OfficeStatus) -> ControllerTable:
    """IdleController, with a status."""
    return controllers.at(
        c,
        status=status,
        controller_epoch=0,
        live_brokers=lambda _b: False,
        is_watching=True,
        is_reply_lost=False,
        has_decision=False,
        has_to_send=False,
    )


def activated(s: StateT, c: Term, epoch: Term, needs: Term) -> ControllerTable:
    """Activated(c, epoch); `needs` is whether a decision is."""
    told = forgotten(current_state(s, c), c, OfficeStatus.ACTIVE)
    return told.at(
        c,
        controller_epoch=epoch,
        live_brokers=s.znodes.registered,
        has_to_send=both(exists(s), no(needs)),
    )


@action("ElectController", C, Sort.BOOLEAN)
def elect_in_one_multi(s: StateT, c: Term, needs: Term) -> ActionStep:
    """Create /controller and raise the epoch at once."""
    epoch = s.znodes.controller_epoch + 1
    return ActionStep(
        both(
            s.controllers.status(c) == OfficeStatus.STANDING,
            s.znodes.office == s.no_controller,
            needs == needs_decision(s, s.znodes.registered),
        ),
        replace(
            s,
            znodes=s.znodes.but(office=c, controller_epoch=epoch),
            controllers=activated(s, c, epoch, needs),
        ),
    )


@action("ResignController", C)
def resign_controller(s: StateT, c: Term) -> ActionStep:
    """Forget everything when /controller is gone or another's."""
    status = s.controllers.status(c)
    return ActionStep(
        both(
            either(status == OfficeStatus.ACTIVE, status == OfficeStatus.CREATED),
            s.znodes.office != c,
        ),
        replace(s, controllers=forgotten(s.controllers, c, OfficeStatus.STANDING)),
    )


@action("DetectBrokerChange", C, Sort.BOOLEAN)
def detect_broker_change(s: StateT, c: Term, tells: Term) -> ActionStep:
    """Read the live brokers; tell the present state to one that came."""
    live, registered = s.controllers.live_brokers, s.znodes.registered
    has_arrived = s.some(B, lambda b: both(registered(b), no(live(c, b))))
    told = current_state(s, c)
    told = told.at(
        c,
        **{
            name: _either_way(tells, getattr(told, name), getattr(s.controllers, name), c)
            for name in ("has_to_send", "sent_leader", "sent_leader_epoch", "sent_version")
        },
        sent_isr=lambda b: choose(tells, in_state_isr(s, b), s.controllers.sent_isr(c, b)),
        live_brokers=registered,
    )
    return ActionStep(
        both(
            s.controllers.status(c) == OfficeStatus.ACTIVE,
            s.controllers.is_watching(c),
            s.some(B, lambda b: live(c, b) != registered(b)),
            tells == both(has_arrived, no(needs_decision(s, registered))),
        ),
        replace(s, controllers=told),
    )


def _either_way(condition: Term, then: Term, otherwise: Term, c: Term) -> Term:
    return choose(condition, then(c), otherwise(c))


def is_free(s: StateT, c: Term) -> Term:
    """IsFree(c)."""
    return both(
        s.controllers.status(c) == OfficeStatus.ACTIVE,
        no(s.controllers.has_decision(c)),
        no(s.controllers.has_to_send(c)),
    )


@action("InitLeader", C, B)
def init_leader(s: StateT, c: Term, leader: Term) -> ActionStep:
    """Any live broker leads first; the write will be a create."""
    decided = s.controllers.at(
        c,
        has_decision=True,
        decided_leader=leader,
        decided_leader_epoch=0,
        decided_isr=lambda b: s.controllers.live_brokers(c, b),
        decided_author_epoch=s.controllers.controller_epoch(c),
        expected_version=NO_VERSION,
    )
    return ActionStep(
        both(
            is_free(s, c),
            s.znodes.topic_exists,
            no(exists(s)),
            s.controllers.live_brokers(c, leader),
        ),
        replace(s, controllers=decided),
    )


def has_no_live_member(s: StateT, live: Term) -> Term:
    """No broker of the ISR is live, so that none can lead without a loss."""
    return no(s.some(B, lambda b: both(in_state_isr(s, b), live(b))))


def is_leader_to_be(s: StateT, live: Term, leader: Term) -> Term:
    """Leader in Leaders(live): the present one, else a live member of the ISR, else none."""
    present = state_leader(s)
    is_live_member = s.znodes.isr
    version = s.znodes.version
    stays = both(present != s.no_broker, in_state_isr(s, present), live(present))
    member = both(leader != s.no_broker, is_live_member(version, leader), live(leader))
    return either(
        both(stays, leader == present),
        both(no(stays), member),
        both(has_no_live_member(s, live), leader == s.no_broker),
    )


@action("ElectLeader", C, Sort.BROKER_OR_NONE)
def elect_leader(s: StateT, c: Term, leader: Term) -> ActionStep:
    """Decide on the live brokers seen earlier and the state as it is."""

    def live(b: Term) -> Term:
        return s.controllers.live_brokers(c, b)

    decided = s.controllers.at(
        c,
        has_decision=True,
        decided_leader=leader,
        decided_leader_epoch=state_epoch(s) + 1,
        decided_isr=lambda b: both(in_state_isr(s, b), either(leader == s.no_broker, live(b))),
        decided_author_epoch=s.controllers.controller_epoch(c),
        expected_version=s.znodes.version,
    )
    return ActionStep(
        both(is_free(s, c), needs_decision(s, live), is_leader_to_be(s, live, leader)),
        replace(s, controllers=decided),
    )


def is_fence_passed(s: StateT, c: Term) -> Term:
    """The checks that every write of a controller carries succeed."""
    return both(
        s.znodes.controller_epoch == s.controllers.controller_epoch(c),
        s.znodes.office != s.no_controller,
    )


def is_version_expected(s: StateT, c: Term) -> Term:
    """The conditional write meets the version; for a create, none."""
    return s.znodes.version == s.controllers.expected_version(c)


def is_write_accepted(s: StateT, c: Term) -> Term:
    """DecisionWrite(c).ok."""
    return both(is_fence_passed(s, c), is_version_expected(s, c))


def with_state_written(
    s: StateT, *, leader: Term, leader_epoch: Term, isr: Term, author: Term
) -> StateT:
    """ZooKeeper holds another state under the next version, and the history of epochs says so."""
    version = s.znodes.version + 1
    znodes = s.znodes.at(
        version, leader=leader, leader_epoch=leader_epoch, isr=isr, author_epoch=author
    )
    return replace(
        s,
        znodes=znodes.but(version=version),
        epochs=s.epochs.at(leader_epoch, leader=leader, isr=isr),
        history=s.history.but(newest_epoch=leader_epoch),
    )


def with_decision_written(s: StateT, c: Term) -> StateT:
    """ZooKeeper has applied the decision of `c`; its epoch begins with its ISR as quorum."""
    decided = s.controllers
    is_deposed = both(s.znodes.office != s.no_controller, s.znodes.office != c)

    def isr(b: Term) -> Term:
        return decided.decided_isr(c, b)

    after = with_state_written(
        s,
        leader=decided.decided_leader(c),
        leader_epoch=decided.decided_leader_epoch(c),
        isr=isr,
        author=decided.decided_author_epoch(c),
    )
    return replace(
        after,
        epochs=after.epochs.at(decided.decided_leader_epoch(c), maximal_isr=isr),
        history=after.history.but(
            stale_controller=either(s.history.stale_controller, is_deposed),
            write_out_of_office=either(s.history.write_out_of_office, s.znodes.office != c),
        ),
    )


def forget_decision(controllers: ControllerTable, c: Term) -> ControllerTable:
    """ForgetDecision(c)."""
    return controllers.at(c, has_decision=False, is_reply_lost=False)


def published(s: StateT, c: Term) -> ControllerTable:
    """Published(c): what was decided is to be sent."""
    decided = s.controllers
    return forget_decision(decided, c).at(
        c,
        has_to_send=True,
        sent_leader=decided.decided_leader(c),
        sent_leader_epoch=decided.decided_leader_epoch(c),
        sent_isr=lambda b: decided.decided_isr(c, b),
        sent_version=decided.expected_version(c) + 1,
    )


def is_own_decision(s: StateT, c: Term) -> Term:
    """IsOwnWrite of the decision: the next version, with its content."""
    decided = s.controllers
    return both(
        exists(s),
        s.znodes.version == decided.expected_version(c) + 1,
        state_leader(s) == decided.decided_leader(c),
        state_epoch(s) == decided.decided_leader_epoch(c),
        s.znodes.author_epoch(s.znodes.version) == decided.decided_author_epoch(c),
        s.every(B, lambda b: in_state_isr(s, b) == decided.decided_isr(c, b)),
    )


@action("PublishDecision", C)
def publish_accepted(s: StateT, c: Term) -> ActionStep:
    """The conditional write behind the fence succeeds."""
    return ActionStep(
        both(
            s.controllers.has_decision(c),
            no(s.controllers.is_reply_lost(c)),
            is_write_accepted(s, c),
        ),
        replace(with_decision_written(s, c), controllers=published(s, c)),
    )


@action("PublishDecision", C)
def publish_settled(s: StateT, c: Term) -> ActionStep:
    """After a lost reply the znode is read back and is the own write."""
    return ActionStep(
        both(
            s.controllers.has_decision(c),
            s.controllers.is_reply_lost(c),
            is_own_decision(s, c),
        ),
        replace(s, controllers=published(s, c)),
    )


@action("PublishDecision", C, Sort.BOOLEAN)
def publish_refused(s: StateT, c: Term, tells: Term) -> ActionStep:
    """The write is refused, or what is read back is another's: tell the state as it stands."""

    def live(b: Term) -> Term:
        return s.controllers.live_brokers(c, b)

    told = forget_decision(current_state(s, c), c)
    return ActionStep(
        both(
            s.controllers.has_decision(c),
            choose(
                s.controllers.is_reply_lost(c),
                no(is_own_decision(s, c)),
                no(is_write_accepted(s, c)),
            ),
            tells == both(is_fence_passed(s, c), no(needs_decision(s, live))),
        ),
        replace(
            s,
            controllers=told.at(c, has_to_send=both(tells, exists(s)), is_watching=True),
        ),
    )


@action("LoseReply", C)
def lose_controller_reply(s: StateT, c: Term) -> ActionStep:
    """ZooKeeper applied a decision, and its author does not know."""
    return ActionStep(
        both(s.controllers.has_decision(c), is_write_accepted(s, c)),
        replace(with_decision_written(s, c), controllers=s.controllers.at(c, is_reply_lost=True)),
    )


@action("LoseRequest", C)
def lose_controller_request(s: StateT, c: Term) -> ActionStep:
    """A decision is lost or late, and its author does not know."""
    return ActionStep(
        both(s.controllers.has_decision(c), no(s.controllers.is_reply_lost(c))),
        replace(s, controllers=s.controllers.at(c, is_reply_lost=True)),
    )


@action("SendLeaderAndIsr", C)
def send_leader_and_isr(s: StateT, c: Term) -> ActionStep:
    """One command to every broker."""
    sent, messages = s.controllers, s.messages

    def in_flight(m: Term) -> Term:
        is_sent = both(
            messages.sender(m) == c,
            messages.copy(m) == 1,
            messages.leader(m) == sent.sent_leader(c),
            messages.leader_epoch(m) == sent.sent_leader_epoch(c),
            messages.znode_version(m) == sent.sent_version(c),
            messages.controller_epoch(m) == sent.controller_epoch(c),
            s.every(B, lambda b: messages.isr(m, b) == sent.sent_isr(c, b)),
        )
        return either(messages.in_flight(m), is_sent)

    return ActionStep(
        sent.has_to_send(c),
        replace(
            s,
            messages=messages.but(in_flight=in_flight),
            controllers=sent.at(c, has_to_send=False),
        ),
    )


DECISIONS = (
    elect_in_one_multi,
    resign_controller,
    detect_broker_change,
    init_leader,
    elect_leader,
    publish_accepted,
    publish_settled,
    publish_refused,
    lose_controller_reply,
    lose_controller_request,
    send_leader_and_isr,
)
