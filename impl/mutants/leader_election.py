"""Wrong rules of the controller's decisions and of their writes (FAIL, ZK-006 to 008, CTL-011)."""

from collections.abc import Sequence
from dataclasses import replace
from sys import maxsize

from msgspec import structs

from fencepost.impl.core.rules.controller.controller_election import FIRST_VERSION
from fencepost.impl.core.rules.controller.leadership import Decided, PartitionFacts
from fencepost.impl.core.rules.controller.publication import (
    AfterReading,
    EndedPlaces,
    MultiLimits,
)
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.types.messages import PartitionState
from fencepost.impl.core.types.zookeeper import (
    Rejected,
    SetData,
    WriteOp,
    WriteResult,
    Written,
)
from fencepost.impl.mutants.commands import obeying_also
from fencepost.impl.mutants.mutant import mutant
from fencepost.spec.vocabulary import (
    NO_BROKER,
    ControllerEpoch,
    Invariant,
    Liveness,
    ZnodeVersion,
)
from fencepost.spec.znodes import LeaderAndIsr, leader_and_isr_path


def _changed(decided: Decided, state: LeaderAndIsr) -> Decided:
    """The decision with another state, also in the trace."""
    taken = structs.replace(decided[1], leader_epoch=state.leader_epoch, isr=state.isr)
    return state, taken


def _as_if_written(ops: tuple[WriteOp, ...]) -> Written:
    """A refused multi read wrongly: what has no error of its own was done (H7d)."""
    sets = [op for op in ops if isinstance(op, SetData)]
    return Written(zxid=0, versions=tuple(ZnodeVersion(op.expected_version + 1) for op in sets))


@mutant(
    6,
    requirement="FAIL-004",
    caught_by={Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES},
)
def leader_epoch_not_raised(rules: Rules) -> Rules:
    """The controller publishes a new leader under the old leader epoch."""

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        decided = rules.elect_leader(facts, controller_epoch)
        if decided is None or facts.state is None:
            return decided
        return _changed(decided, structs.replace(decided[0], leader_epoch=facts.state.leader_epoch))

    def is_later_version(replica: Replica, command: PartitionState) -> bool:
        return command.znode_version > replica.znode_version

    return obeying_also(replace(rules, elect_leader=elect_leader), is_later_version)


@mutant(
    12,
    requirement="FAIL-008",
    caught_by={Liveness.EVENTUALLY_LEADER},
    seed=36,
)
def no_election_on_arrival(rules: Rules) -> Rules:
    """A member of the ISR comes back to a partition without leader, and is not elected."""

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        if facts.state is not None and facts.state.leader == NO_BROKER:
            return None
        return rules.elect_leader(facts, controller_epoch)

    return replace(rules, elect_leader=elect_leader)


@mutant(
    13,
    requirement="ZK-006",
    caught_by={Liveness.EVENTUALLY_LEADER},
    seed=19,
)
def forget_unsettled_decision(rules: Rules) -> Rules:
    """A decision that was written, with a lost reply, is taken for another's."""

    def after_reading(decision: LeaderAndIsr | None, read: LeaderAndIsr | None) -> AfterReading:
        after = rules.after_reading(decision, read)
        return AfterReading.DECIDE_ONLY if after is AfterReading.PUBLISH else after

    return replace(rules, after_reading=after_reading)


@mutant(
    21,
    requirement="FAIL-003",
    caught_by={Invariant.LEADER_IN_ISR},
    shows="LeaderInIsr",
)
def shrink_on_election_empties_isr(rules: Rules) -> Rules:
    """A partition without a live ISR member gets an empty ISR."""

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        decided = rules.elect_leader(facts, controller_epoch)
        if decided is None:
            return None
        return _changed(decided, structs.replace(decided[0], isr=decided[0].isr & facts.live))

    return replace(rules, elect_leader=elect_leader)


@mutant(
    33,
    requirement="FAIL-006",
    caught_by={Invariant.LINEARIZABLE_ZNODE},
    shows="CommandReflectsZk",
)
def send_unwritten_decisions(rules: Rules) -> Rules:
    """A decision that ZooKeeper refused is sent all the same."""

    def published_as(op: WriteOp, result: WriteResult) -> tuple[ZnodeVersion, int | None] | None:
        if not isinstance(result, Rejected):
            return rules.published_as(op, result)
        version = op.expected_version + 1 if isinstance(op, SetData) else FIRST_VERSION
        return ZnodeVersion(version), None

    return replace(rules, published_as=published_as)


@mutant(
    35,
    requirement="CTL-011",
    caught_by={Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES},
)
def init_is_unconditional(rules: Rules) -> Rules:
    """A new controller initialises anew what its predecessors had decided."""

    def is_uninitialised(state: LeaderAndIsr | None, controller_epoch: ControllerEpoch) -> bool:
        return state is None or state.controller_epoch < controller_epoch

    def first_state_operations(facts: PartitionFacts, state: LeaderAndIsr) -> tuple[WriteOp, ...]:
        if facts.state is None:
            return rules.first_state_operations(facts, state)
        path, version = leader_and_isr_path(facts.key), facts.znode_version
        return (SetData(path=path, data=state.document(), expected_version=version),)

    return replace(
        rules,
        is_uninitialised=is_uninitialised,
        first_state_operations=first_state_operations,
    )


@mutant(
    37,
    requirement="FAIL-002",
    shows="UncleanOnlyIfIsrDead",
)
def unclean_on_old_live_list(rules: Rules) -> Rules:
    """A leader outside the ISR is chosen on live brokers that were read before the state."""
    return replace(rules, needs_newer_brokers=lambda _facts, _decided: False)


@mutant(
    64,
    requirement="ZK-007",
    caught_by={Liveness.EVENTUALLY_LEADER},
    shows="EventuallyLeader",
)
def unbounded_batch(rules: Rules) -> Rules:
    """All decisions go out in one multi, however many they are."""
    return replace(rules, multi_limits=MultiLimits(ops_max=maxsize, bytes_max=maxsize))


@mutant(
    65,
    requirement="FAIL-006",
    caught_by={Invariant.LINEARIZABLE_ZNODE},
    shows="LinearizableZnode",
)
def tell_partial_batch(rules: Rules) -> Rules:
    """What has no error of its own in a refused multi is taken as written."""

    def sort_out_refusal(
        writes: Sequence[tuple[WriteOp, ...]], refusal: Rejected
    ) -> tuple[EndedPlaces, list[int]]:
        ended, again = rules.sort_out_refusal(writes, refusal)
        return [*ended, *((place, _as_if_written(writes[place])) for place in again)], []

    return replace(rules, sort_out_refusal=sort_out_refusal)


@mutant(
    74,
    requirement="FAIL-005",
    caught_by={Invariant.LEADER_COMPLETE},
    shows="LeaderComplete",
)
def leave_isr_to_leader(rules: Rules) -> Rules:
    """A dead member of the ISR is left to the leader, if that one lives."""

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        decided = rules.elect_leader(facts, controller_epoch)
        if decided is None or facts.state is None or decided[0].leader == facts.state.leader:
            return None
        return decided

    return replace(rules, elect_leader=elect_leader)


@mutant(
    82,
    requirement="ZK-008",
    caught_by={Invariant.ONLY_AUTHORISED_WRITES},
    shows="OnlyAuthorisedWrites",
)
def last_replica_is_preferred(rules: Rules) -> Rules:
    """The last of the assigned replicas leads first."""

    def init_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        replicas = facts.assigned_replicas
        turned = structs.replace(facts, assigned_replicas=replicas[::-1])
        decided = rules.init_leader(turned, controller_epoch)
        if decided is None:
            return None
        return decided[0], structs.replace(decided[1], assigned_replicas=replicas)

    return replace(rules, init_leader=init_leader)
