"""Wrong rules of registration and of the controller's election (CTL, ZK-005, START-005)."""

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.controller.controller_election import (
    FIRST_VERSION,
    Candidacy,
    Elected,
    Election,
    ElectionStep,
    NodeView,
    Operations,
    Result,
    WatchedReading,
    elected_under_next_epoch,
    never,
    raised_epoch,
    taken_office,
)
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.tables import Permissions, WriteKind, Writer, ZnodeKind
from fencepost.impl.core.rules.znode_writes import write
from fencepost.impl.core.types.scripts import read
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Rejected,
    SetData,
    WriteOp,
    WriteResult,
    Written,
    Znode,
)
from fencepost.impl.mutants.mutant import allowing, hunted_at, mutant, suite_mutant
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER,
    NO_CONTROLLER_EPOCH,
    BrokerId,
    ControllerEpoch,
    Invariant,
    Liveness,
    ProtocolLevel,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    MalformedZnodeError,
    parse_controller,
    parse_controller_epoch,
)

Fence = Callable[[ControllerEpoch, ZnodeVersion], tuple[Check, ...]]


def _without(rules: Rules, is_left_out: Callable[[str], bool]) -> Fence:
    """The controller's fence without the checks of some znodes."""

    def controller_fence(
        controller_epoch: ControllerEpoch, epoch_version: ZnodeVersion
    ) -> tuple[Check, ...]:
        fence = rules.controller_fence(controller_epoch, epoch_version)
        return tuple(one for one in fence if not is_left_out(one.path))

    return controller_fence


def _epoch_in(epoch: Znode, otherwise: ControllerEpoch) -> ControllerEpoch:
    if epoch.stat is None:
        return NO_CONTROLLER_EPOCH
    try:
        return parse_controller_epoch(epoch.data)
    except MalformedZnodeError:
        return otherwise


@mutant(7, "ZK-005", {Invariant.STALE_CONTROLLER_HARMLESS}, shows="StaleControllerHarmless")
def no_controller_epoch_check(rules: Rules) -> Rules:
    """A controller's writes are not fenced by the controller epoch."""
    return replace(rules, controller_fence=_without(rules, lambda path: path == CONTROLLER_EPOCH))


@mutant(8, "CTL-005", {Invariant.ONE_CONTROLLER_PER_EPOCH, Invariant.STALE_CONTROLLER_HARMLESS})
def two_step_controller_election(rules: Rules) -> Rules:
    """A controller creates `/controller` first and raises the epoch later."""

    def win_controller(
        candidacy: Candidacy, _operations: Operations, _elected_of: Result, may_write: Permissions
    ) -> Election:
        created = yield from write(may_write, *taken_office(candidacy))
        znodes = (yield from read(CONTROLLER_EPOCH)) if isinstance(created, Written) else None
        if znodes is None:
            return None, True
        controller_epoch = _epoch_in(znodes[0], candidacy.controller_epoch)
        later = structs.replace(candidacy, epoch=znodes[0], controller_epoch=controller_epoch)
        raised, term = raised_epoch(later)
        if isinstance(raised, SetData):
            raised = structs.replace(raised, expected_version=ANY_VERSION)
        return elected_under_next_epoch(later, (yield from write(may_write, raised, term))), False

    raising = allowing(rules, Writer.CANDIDATE, ZnodeKind.CONTROLLER_EPOCH, WriteKind.SET)
    return replace(raising, win_controller=win_controller, accepts_election=lambda _node: True)


@mutant(9, "CTL-005", {Invariant.ONE_CONTROLLER_PER_EPOCH})
def controller_epoch_not_raised(rules: Rules) -> Rules:
    """An elected controller goes on under its predecessor's epoch."""

    def elected_of(candidacy: Candidacy, result: WriteResult) -> Elected | None:
        elected = rules.elected_of(candidacy, result)
        if elected is None:
            return None
        return structs.replace(elected, controller_epoch=candidacy.controller_epoch)

    def not_raised(candidacy: Candidacy) -> tuple[WriteOp, ...]:
        data = str(candidacy.controller_epoch).encode()
        return tuple(
            structs.replace(one, data=data)
            if isinstance(one, Create | SetData) and one.path == CONTROLLER_EPOCH
            else one
            for one in rules.election_operations(candidacy)
        )

    return replace(
        rules,
        election_operations=not_raised,
        elected_of=elected_of,
    )


@hunted_at(ProtocolLevel.MAX_BROKER_EPOCH)
@mutant(17, "ZK-006", {Liveness.CONTROLLER_EVENTUALLY_EXISTS}, seed=3)
def forget_own_controller_znode(rules: Rules) -> Rules:
    """A broker that won without hearing of it takes its own `/controller` for another's."""
    return replace(
        rules,
        holds_controller=lambda node, holder: (
            node.is_active and rules.holds_controller(node, holder)
        ),
    )


@mutant(30, "ZK-005", shows="UncleanOnlyIfIsrDead")
def no_controller_znode_check(rules: Rules) -> Rules:
    """A deposed controller writes until its successor has raised the epoch."""
    return replace(rules, controller_fence=_without(rules, lambda path: path != CONTROLLER_EPOCH))


@mutant(43, "CTL-008", {Liveness.CONTROLLER_EVENTUALLY_EXISTS}, shows="ControllerEventuallyExists")
def resign_on_expiry_only(rules: Rules) -> Rules:
    """A controller stays one as long as its session, even when `/controller` is deleted."""
    return replace(
        rules,
        election_step=lambda node, holder: (
            ElectionStep.LEAD_ON if node.is_active else rules.election_step(node, holder)
        ),
    )


@mutant(67, "CTL-001", {Liveness.CONTROLLER_EVENTUALLY_EXISTS}, shows="ControllerEventuallyExists")
def persistent_controller_znode(rules: Rules) -> Rules:
    """`/controller` is created as a persistent znode."""
    keeping = allowing(rules, Writer.CANDIDATE, ZnodeKind.CONTROLLER, WriteKind.CREATE)
    return replace(
        keeping,
        candidate_znode=lambda broker_id, now_ms: structs.replace(
            rules.candidate_znode(broker_id, now_ms), ephemeral=False
        ),
        belongs_to_no_session=never,  # or the brokers would depose one another for ever
    )


@mutant(68, "CTL-002", {Invariant.ONE_CONTROLLER_PER_EPOCH}, shows="OneControllerPerEpoch")
def loser_takes_office(rules: Rules) -> Rules:
    """A broker that fails to create `/controller` acts as controller all the same."""

    def elected_of(candidacy: Candidacy, result: WriteResult) -> Elected | None:
        if not isinstance(result, Rejected):
            return rules.elected_of(candidacy, result)
        epoch, version = candidacy.next_epoch, FIRST_VERSION
        return Elected(controller_epoch=epoch, epoch_version=version, zxid=0)

    return replace(rules, elected_of=elected_of)


@mutant(69, "CTL-003", {Liveness.CONTROLLER_EVENTUALLY_EXISTS}, shows="ControllerEventuallyExists")
def stand_after_another_only(rules: Rules) -> Rules:
    """A starting broker that finds no `/controller` does not stand."""
    return replace(
        rules,
        election_step=lambda node, holder: (
            ElectionStep.FOLLOW
            if node.controller_id == NO_BROKER
            else rules.election_step(node, holder)
        ),
    )


@mutant(70, "CTL-004", {Liveness.CONTROLLER_EVENTUALLY_EXISTS}, shows="ControllerEventuallyExists")
def controller_not_watched(rules: Rules) -> Rules:
    """A broker reads `/controller` once and sets no watch."""
    return replace(rules, watched=rules.watched - {WatchedReading.CONTROLLER})


@mutant(
    76, "START-005", {Liveness.BROKER_EVENTUALLY_LEARNS_ROLE}, shows="BrokerEventuallyLearnsRole"
)
def registration_not_watched(rules: Rules) -> Rules:
    """A broker that finds the registration of its former process gives up."""
    return replace(rules, watched=rules.watched - {WatchedReading.OWN_REGISTRATION})


@mutant(89, "ZK-005", shows="UncleanOnlyIfIsrDead")
def fence_by_first_version(rules: Rules) -> Rules:
    """`/controller` is not written again by its election: one made by hand has its version."""

    def controller_fence(
        controller_epoch: ControllerEpoch, epoch_version: ZnodeVersion
    ) -> tuple[Check, ...]:
        fence = rules.controller_fence(controller_epoch, epoch_version)
        first = Check(path=CONTROLLER, expected_version=FIRST_VERSION)
        return tuple(first if one.path == CONTROLLER else one for one in fence)

    def only_created(candidacy: Candidacy) -> tuple[WriteOp, ...]:
        operations = rules.election_operations(candidacy)
        return tuple(
            one for one in operations if not isinstance(one, SetData) or one.path != CONTROLLER
        )

    return replace(
        rules,
        controller_fence=controller_fence,
        election_operations=only_created,
        is_overwritten=lambda holder: (
            holder.stat is not None and holder.stat.version != FIRST_VERSION
        ),
    )


@mutant(90, "CTL-009", shows="ControllerEventuallyExists")
def create_over_foreign_znode(rules: Rules) -> Rules:
    """A broker that finds a persistent `/controller` only tries to create its own."""
    return replace(
        rules,
        election_operations=lambda one: rules.election_operations(
            structs.replace(one, replaced=None)
        ),
    )


@mutant(97, "CTL-009", shows="ControllerEventuallyExists")
def keep_overwritten_znode(rules: Rules) -> Rules:
    """A controller with a `/controller` that was overwritten resigns, and leaves it there."""
    return replace(
        rules,
        holds_controller=lambda node, holder: (
            rules.holds_controller(node, holder) and not rules.is_overwritten(holder)
        ),
    )


@mutant(98, "CTL-005", {Invariant.ONE_CONTROLLER_PER_EPOCH}, shows="OneControllerPerEpoch")
def absent_epoch_is_one(rules: Rules) -> Rules:
    """Before the first election the controller epoch is 1."""

    def begun(candidacy: Candidacy) -> Candidacy:
        if candidacy.epoch.stat is not None:
            return candidacy
        return structs.replace(candidacy, controller_epoch=ControllerEpoch(1))

    return replace(
        rules,
        election_operations=lambda one: rules.election_operations(begun(one)),
        elected_of=lambda one, result: rules.elected_of(begun(one), result),
    )


@mutant(99, "CTL-002", {Invariant.ONE_CONTROLLER_PER_EPOCH}, shows="OneControllerPerEpoch")
def own_name_is_own_session(rules: Rules) -> Rules:
    """A broker that finds its name in `/controller` goes on where its former process ended."""

    def holds_controller(node: NodeView, holder: Znode) -> bool:
        if holder.stat is None:
            return False
        try:
            return parse_controller(holder.path, holder.data).brokerid == node.broker_id
        except MalformedZnodeError:
            return False

    return replace(rules, holds_controller=holds_controller)


@mutant(100, "CTL-007", {Invariant.STALE_CONTROLLER_HARMLESS}, shows="StaleControllerHarmless")
def ignore_newer_controller_epoch(rules: Rules) -> Rules:
    """A controller that obeys another one of a newer epoch stays controller."""
    return replace(rules, deposes_controller=lambda _own, _command: False)


@mutant(101, "CTL-005", {Invariant.ONE_CONTROLLER_PER_EPOCH}, shows="OneControllerPerEpoch")
def take_epoch_as_written(rules: Rules) -> Rules:
    """The next controller epoch is one more than what stands there, also by hand."""

    def as_written(candidacy: Candidacy) -> Candidacy:
        stat = candidacy.epoch.stat
        if stat is None or stat.version <= candidacy.controller_epoch:
            return candidacy
        before = structs.replace(stat, version=ZnodeVersion(candidacy.controller_epoch))
        epoch = structs.replace(candidacy.epoch, stat=before)
        return structs.replace(candidacy, epoch=epoch)

    def operations(candidacy: Candidacy) -> tuple[WriteOp, ...]:
        stat = candidacy.epoch.stat
        return tuple(
            structs.replace(one, expected_version=stat.version)
            if stat is not None and isinstance(one, SetData) and one.path == CONTROLLER_EPOCH
            else one
            for one in rules.election_operations(as_written(candidacy))
        )

    return replace(
        rules,
        election_operations=operations,
        elected_of=lambda one, result: rules.elected_of(as_written(one), result),
    )


@mutant(241, "CTL-003", {Invariant.CONTROLLER_IN_ORDER}, seed=7)
def stand_after_reading_another(rules: Rules) -> Rules:
    """A broker that has read another's name in `/controller` tries to create it all the same."""

    def election_step(node: NodeView, holder: BrokerId) -> ElectionStep:
        step = rules.election_step(node, holder)
        return ElectionStep.STAND if step is ElectionStep.FOLLOW else step

    return replace(rules, election_step=election_step)


@suite_mutant("CTL-003")
def stand_beside_the_controller(rules: Rules) -> Rules:
    """A broker that finds another's `/controller` stands all the same, and acts as controller."""
    return stand_after_reading_another.change(loser_takes_office.change(rules))
