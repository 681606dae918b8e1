"""Wrong rules of the controller's decisions and of their writes (FAIL, ZK-006 to 008, CTL-011)."""

from collections.abc import Callable, Sequence
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
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.types.zookeeper import (
    Rejected,
    SetData,
    WriteOp,
    WriteResult,
    Written,
)
from fencepost.impl.mutants.commands import obeying_also
from fencepost.impl.mutants.mutant import hunted_at, mutant, suite_mutant
from fencepost.spec.vocabulary import (
    NO_BROKER,
    ControllerEpoch,
    Invariant,
    Liveness,
    ProtocolLevel,
    ZnodeVersion,
)
from fencepost.spec.znodes import LeaderAndIsr, leader_and_isr_path

DECIDED_MAX = 32
"""So many partitions of a topic `fail_over_in_part` decides on."""


def _changed(decided: Decided, state: LeaderAndIsr) -> Decided:
    """The decision with another state, also in the trace."""
    taken = structs.replace(decided[1], leader_epoch=state.leader_epoch, isr=state.isr)
    return state, taken


def _electing(
    rules: Rules, change: Callable[[LeaderAndIsr, Decided, PartitionFacts], Decided | None]
) -> Rules:
    """Elections end otherwise: of the state before, the right decision, and what it was made on."""

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        decided = rules.elect_leader(facts, controller_epoch)
        assert facts.state is not None
        return change(facts.state, decided, facts) if decided is not None else None

    return replace(rules, elect_leader=elect_leader)


def _as_if_written(ops: tuple[WriteOp, ...]) -> Written:
    """A refused multi read wrongly: what has no error of its own was done (H7d)."""
    sets = [op for op in ops if isinstance(op, SetData)]
    return Written(zxid=0, versions=tuple(ZnodeVersion(op.expected_version + 1) for op in sets))


@mutant(6, "FAIL-004", {Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES})
def leader_epoch_not_raised(rules: Rules) -> Rules:
    """The controller publishes a new leader under the old leader epoch."""

    def keep_epoch(before: LeaderAndIsr, decided: Decided, _facts: PartitionFacts) -> Decided:
        return _changed(decided, structs.replace(decided[0], leader_epoch=before.leader_epoch))

    return obeying_also(
        _electing(rules, keep_epoch),
        lambda replica, command: command.znode_version > replica.znode_version,
    )


@mutant(12, "FAIL-008", {Liveness.EVENTUALLY_LEADER})
def no_election_on_arrival(rules: Rules) -> Rules:
    """A member of the ISR comes back to a partition without leader, and is not elected."""
    return _electing(
        rules, lambda before, decided, _facts: decided if before.leader != NO_BROKER else None
    )


@hunted_at(ProtocolLevel.BROKER_EPOCH)
@mutant(13, "ZK-006", {Liveness.EVENTUALLY_LEADER}, seed=136)
def forget_unsettled_decision(rules: Rules) -> Rules:
    """A decision that was written, with a lost reply, is taken for another's."""

    def after_reading(decision: LeaderAndIsr | None, read: LeaderAndIsr | None) -> AfterReading:
        after = rules.after_reading(decision, read)
        return AfterReading.DECIDE_ONLY if after is AfterReading.PUBLISH else after

    return replace(rules, after_reading=after_reading)


@mutant(21, "FAIL-003", {Invariant.LEADER_IN_ISR}, shows="LeaderInIsr")
def shrink_on_election_empties_isr(rules: Rules) -> Rules:
    """A partition without a live ISR member gets an empty ISR."""

    def shrink(_before: LeaderAndIsr, decided: Decided, facts: PartitionFacts) -> Decided:
        return _changed(decided, structs.replace(decided[0], isr=decided[0].isr & facts.live))

    return _electing(rules, shrink)


@mutant(33, "FAIL-006", {Invariant.LINEARIZABLE_ZNODE}, shows="CommandReflectsZk")
def send_unwritten_decisions(rules: Rules) -> Rules:
    """A decision that ZooKeeper refused is sent all the same."""

    def published_as(op: WriteOp, result: WriteResult) -> tuple[ZnodeVersion, int | None] | None:
        if not isinstance(result, Rejected):
            return rules.published_as(op, result)
        version = op.expected_version + 1 if isinstance(op, SetData) else FIRST_VERSION
        return ZnodeVersion(version), None

    return replace(rules, published_as=published_as)


@mutant(35, "CTL-011", {Invariant.ONE_LEADER_PER_EPOCH, Invariant.ONLY_AUTHORISED_WRITES})
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


@mutant(37, "FAIL-002", shows="UncleanOnlyIfIsrDead")
def unclean_on_old_live_list(rules: Rules) -> Rules:
    """A leader outside the ISR is chosen on live brokers that were read before the state."""
    return replace(rules, needs_newer_brokers=lambda _facts, _decided: False)


@mutant(95, "FAIL-002", {Invariant.LEADER_COMPLETE}, shows="AcknowledgedDurable")
def unrecorded_last_replica(rules: Rules) -> Rules:
    """A member that was away leads alone, and nothing says that records may be lost."""
    return _electing(
        rules,
        lambda _before, decided, _facts: (
            decided[0],
            structs.replace(decided[1], is_loss_possible=None, is_unclean=None),
        ),
    )


@mutant(64, "ZK-007", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def unbounded_batch(rules: Rules) -> Rules:
    """All decisions go out in one multi, however many they are."""
    return replace(rules, multi_limits=MultiLimits(ops_max=maxsize, bytes_max=maxsize))


@mutant(65, "FAIL-006", {Invariant.LINEARIZABLE_ZNODE}, shows="LinearizableZnode")
def tell_partial_batch(rules: Rules) -> Rules:
    """What has no error of its own in a refused multi is taken as written."""

    def sort_out_refusal(
        writes: Sequence[tuple[WriteOp, ...]], refusal: Rejected
    ) -> tuple[EndedPlaces, list[int]]:
        ended, again = rules.sort_out_refusal(writes, refusal)
        return [*ended, *((place, _as_if_written(writes[place])) for place in again)], []

    return replace(rules, sort_out_refusal=sort_out_refusal)


@mutant(74, "FAIL-005", {Invariant.LEADER_COMPLETE}, shows="LeaderComplete")
def leave_isr_to_leader(rules: Rules) -> Rules:
    """A dead member of the ISR is left to the leader, if that one lives."""
    return _electing(
        rules,
        lambda before, decided, _facts: decided if decided[0].leader != before.leader else None,
    )


@mutant(82, "ZK-008", {Invariant.ONLY_AUTHORISED_WRITES}, shows="OnlyAuthorisedWrites")
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


@mutant(242, "FAIL-005", {Invariant.DECIDED_AS_REGISTERED})
def leave_isr_to_its_leader(rules: Rules) -> Rules:
    """A dead member of the ISR is left to a leader that lives and was never away."""

    def leave(before: LeaderAndIsr, decided: Decided, facts: PartitionFacts) -> Decided | None:
        is_shaken = bool(facts.bounced & facts.live & before.isr)
        return decided if is_shaken or before.leader not in facts.live else None

    return _electing(rules, leave)


@mutant(243, "TOP-001", {Invariant.DECIDED_AS_REGISTERED})
def first_leader_alone(rules: Rules) -> Rules:
    """A new partition has its first leader alone in the ISR."""

    def init_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        decided = rules.init_leader(facts, controller_epoch)
        if decided is None:
            return None
        state = decided[0]
        return _changed(decided, structs.replace(state, isr=frozenset({state.leader})))

    return replace(rules, init_leader=init_leader)


@suite_mutant("FAIL-001")
def isr_keeps_the_dead(rules: Rules) -> Rules:
    """A new leader gets the ISR of the old one, with its dead members."""

    def keep_isr(before: LeaderAndIsr, decided: Decided, facts: PartitionFacts) -> Decided | None:
        if before.leader in facts.live:
            return None
        return _changed(decided, structs.replace(decided[0], isr=before.isr))

    return _electing(rules, keep_isr)


@suite_mutant("FAIL-002")
def elect_from_outside(rules: Rules) -> Rules:
    """A replica outside the ISR leads when no member is alive, also where that is not allowed."""

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        allowed = structs.replace(facts, unclean_leader_election=True, is_confirmed=True)
        return rules.elect_leader(allowed, controller_epoch)

    return replace(rules, elect_leader=elect_leader, needs_newer_brokers=lambda _facts, _one: False)


@suite_mutant("TOP-001")
def init_first_partition_only(rules: Rules) -> Rules:
    """Of a new topic only the first partition gets a leader."""

    def init_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        return None if facts.key.partition else rules.init_leader(facts, controller_epoch)

    return replace(rules, init_leader=init_leader)


@suite_mutant("FAIL-005")
def fail_over_in_part(rules: Rules) -> Rules:
    """A fail-over decides on the first partitions of each topic, and forgets the others."""

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        is_first = facts.key.partition < DECIDED_MAX
        return rules.elect_leader(facts, controller_epoch) if is_first else None

    return replace(rules, elect_leader=elect_leader)


@suite_mutant("FAIL-004")
def successor_elects_anew(rules: Rules) -> Rules:
    """A new controller gives every partition a new epoch, also where the leader is alive."""

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        assert facts.state is not None
        is_of_another = facts.state.controller_epoch != controller_epoch
        shaken = structs.replace(facts, bounced=facts.live if is_of_another else facts.bounced)
        return rules.elect_leader(shaken, controller_epoch)

    return replace(rules, elect_leader=elect_leader)
