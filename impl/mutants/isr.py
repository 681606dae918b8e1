"""Wrong rules of how a leader changes the ISR (ISR, ZK-003)."""

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.controller.leadership import Decided, PartitionFacts
from fencepost.impl.core.rules.isr import (
    Settlement,
    admit,
    adopt_isr,
    asked,
    drop_lagging,
    first_lags_at_ms,
)
from fencepost.impl.core.rules.replica import Acted, Replica
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.tables import WriteKind, Writer, ZnodeKind
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState
from fencepost.impl.core.types.zookeeper import SetData, WriteOp
from fencepost.impl.mutants.mutant import allowing, hunted_at, mutant, suite_mutant
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    BrokerId,
    ControllerEpoch,
    Invariant,
    Liveness,
    Offset,
    ProtocolLevel,
    ZnodeVersion,
)
from fencepost.spec.znodes import LeaderAndIsr, topic_id_path

Wish = Callable[[Replica, int, int], Acted]


@mutant(1, "ZK-003", {Invariant.LINEARIZABLE_ZNODE, Invariant.ONLY_AUTHORISED_WRITES})
def no_znode_version_check(rules: Rules) -> Rules:
    """Writes of LeaderAndISR are unconditional instead of tied to the version read."""

    def isr_operations(replica: Replica, folder_version: ZnodeVersion) -> tuple[WriteOp, ...]:
        *checks, write = rules.isr_operations(replica, folder_version)
        assert isinstance(write, SetData)
        return (*checks, structs.replace(write, expected_version=ANY_VERSION))

    def elect_leader(facts: PartitionFacts, controller_epoch: ControllerEpoch) -> Decided | None:
        unchecked = structs.replace(facts, znode_version=ANY_VERSION)
        return rules.elect_leader(unchecked, controller_epoch)

    for writer in (Writer.CONTROLLER, Writer.LEADER):
        rules = allowing(rules, writer, ZnodeKind.LEADER_AND_ISR, WriteKind.SET)
    return replace(rules, isr_operations=isr_operations, elect_leader=elect_leader)


@mutant(
    2,
    "ISR-004",
    {
        Invariant.ACKNOWLEDGED_DURABLE,
        Invariant.LEADER_COMPLETE,
        Invariant.LINEARIZABLE_LOG,
        Invariant.LOG_MATCHING,
        Invariant.ONE_COMMITTER_PER_EPOCH,
    },
    seed=7,
)
def no_step_down(rules: Rules) -> Rules:
    """A leader leads on with the ISR it wanted when its write met another version."""

    def fence_leader(replica: Replica) -> Acted:
        assert replica.wanted_isr is not None
        return adopt_isr(replica, replica.wanted_isr, replica.znode_version)

    return replace(rules, fence_leader=fence_leader)


@mutant(96, "ZK-006", {Invariant.ONLY_AUTHORISED_WRITES, Invariant.LEADER_COMPLETE})
def trust_unsettled_write(rules: Rules) -> Rules:
    """A leader takes whatever it reads back for its own write, and goes on."""

    def settle_isr(
        replica: Replica, found: LeaderAndIsr, _znode_version: ZnodeVersion
    ) -> tuple[Settlement, frozenset[BrokerId]]:
        return Settlement.ADOPT, replica.wanted_isr or found.isr

    return replace(rules, settle_isr=settle_isr)


@mutant(20, "ISR-006", {Invariant.LEADER_IN_ISR})
def leader_may_leave_isr(rules: Rules) -> Rules:
    """A leader that finds itself lagging leaves the ISR."""

    def shrink_isr(replica: Replica, now_ms: int, replica_lag_time_ms: int) -> Acted:
        wanting = drop_lagging(replica, replica.isr, now_ms - replica_lag_time_ms)
        return asked(shrink_isr, replica, wanting)

    def lags_at_ms(replica: Replica, replica_lag_time_ms: int) -> int | None:
        return first_lags_at_ms(replica, replica.isr, replica_lag_time_ms)

    return replace(rules, shrink_isr=shrink_isr, lags_at_ms=lags_at_ms)


@mutant(
    22,
    "ISR-002",
    {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE, Invariant.LINEARIZABLE_LOG},
    shows="CommittedDurable",
)
def expand_laggards(rules: Rules) -> Rules:
    """A replica joins the ISR when it is behind all members, as V3's test says."""

    def expand_isr(replica: Replica, _now_ms: int, _replica_lag_time_ms: int) -> Acted:
        members = replica.isr & replica.followers.keys() - {replica.broker_id}
        ends = [replica.followers[member].log_end_offset for member in members]
        smallest = min([replica.log_end_offset, *ends])
        wanting = admit(replica, lambda one: one.log_end_offset <= smallest)
        return asked(expand_isr, replica, wanting)

    return replace(rules, expand_isr=expand_isr)


@mutant(23, "ISR-002", {Invariant.LEADER_COMPLETE}, shows="CommittedDurable")
def expand_below_epoch_start(rules: Rules) -> Rules:
    """A replica joins the ISR at the high watermark, though the epoch began above."""

    def expand_isr(replica: Replica, now_ms: int, replica_lag_time_ms: int) -> Acted:
        oldest_ms, needed = now_ms - replica_lag_time_ms, replica.high_watermark
        wanting = admit(
            replica, lambda one: one.log_end_offset >= needed and one.caught_up_ms >= oldest_ms
        )
        return asked(expand_isr, replica, wanting)

    return replace(rules, expand_isr=expand_isr)


@mutant(31, "ISR-003", shows="QuorumSuperset")
def expand_overwrites_shrink(rules: Rules) -> Rules:
    """A change of the ISR does not wait for the one in flight; the last one is remembered."""

    def forgetful(wish: Wish) -> Wish:
        def changed(replica: Replica, now_ms: int, replica_lag_time_ms: int) -> Acted:
            before = structs.replace(replica, wanted_isr=None)
            after, line = wish(before, now_ms, replica_lag_time_ms)
            return (after, line) if line is not None else (replica, None)

        return changed

    return replace(
        rules,
        shrink_isr=forgetful(rules.shrink_isr),
        expand_isr=forgetful(rules.expand_isr),
        lags_at_ms=lambda replica, replica_lag_time_ms: rules.lags_at_ms(
            structs.replace(replica, wanted_isr=None), replica_lag_time_ms
        ),
    )


@mutant(86, "CMD-003", {Liveness.EVENTUALLY_ISR_FULL}, shows="EventuallyIsrFull")
def wait_for_isr_of_earlier_epoch(rules: Rules) -> Rules:
    """A leader that goes on in a newer epoch waits for the ISR that it asked for in the earlier."""

    def become_leader(
        replica: Replica, command: PartitionState, request: LeaderAndIsrRequest, now_ms: int
    ) -> Acted:
        after, line = rules.become_leader(replica, command, request, now_ms)
        return structs.replace(after, wanted_isr=replica.wanted_isr), line

    return replace(rules, become_leader=become_leader)


@mutant(59, "ZK-003", {Invariant.ONLY_AUTHORISED_WRITES}, shows="OnlyAuthorisedWrites")
def trust_version_across_incarnations(rules: Rules) -> Rules:
    """A leader's write does not check that the topic is the one that it leads."""

    def isr_operations(replica: Replica, folder_version: ZnodeVersion) -> tuple[WriteOp, ...]:
        path = topic_id_path(replica.topic_partition.topic, replica.topic_id)
        operations = rules.isr_operations(replica, folder_version)
        return tuple(op for op in operations if op.path != path)

    return replace(rules, isr_operations=isr_operations)


@hunted_at(ProtocolLevel.BROKER_EPOCH)
@mutant(244, "ISR-004", {Invariant.ACTS_IN_ITS_ROLE}, shows="ActsInItsRole")
def fenced_leader_commits(rules: Rules) -> Rules:
    """A leader that found another state in ZooKeeper than its own commits on."""

    def advance_high_watermark(replica: Replica) -> Acted:
        after, line = rules.advance_high_watermark(structs.replace(replica, is_fenced=False))
        return structs.replace(after, is_fenced=replica.is_fenced), line

    return replace(rules, advance_high_watermark=advance_high_watermark)


@mutant(83, "ISR-001", {Liveness.EVENTUALLY_ISR_FULL}, shows="EventuallyIsrFull")
def shrink_nobody(rules: Rules) -> Rules:
    """A leader never drops a member that lags."""
    return replace(rules, shrink_isr=lambda replica, _now_ms, _lag_ms: (replica, None))


@mutant(84, "ISR-005", {Liveness.EVENTUALLY_ACKED_OR_FAILED}, shows="EventuallyAckedOrFailed")
def shrink_on_fetch_only(rules: Rules) -> Rules:
    """A leader looks for lagging members only while a follower fetches."""

    def expand_isr(replica: Replica, now_ms: int, replica_lag_time_ms: int) -> Acted:
        after, line = rules.expand_isr(replica, now_ms, replica_lag_time_ms)
        if line is not None:
            return after, line
        return rules.shrink_isr(replica, now_ms, replica_lag_time_ms)

    return replace(
        rules, shrink_isr=lambda replica, _now_ms, _lag_ms: (replica, None), expand_isr=expand_isr
    )


@suite_mutant("ISR-001")
def idle_followers_lag(rules: Rules) -> Rules:
    """A follower that copied nothing lags, also when there was nothing to copy (V3's wording)."""

    def serve_fetch(
        replica: Replica, follower: BrokerId, fetch_offset: Offset, now_ms: int
    ) -> Acted:
        known = replica.followers.get(follower)
        after, line = rules.serve_fetch(replica, follower, fetch_offset, now_ms)
        if known is None or known.log_end_offset != fetch_offset:
            return after, line
        idle = structs.replace(after.followers[follower], caught_up_ms=known.caught_up_ms)
        return structs.replace(after, followers={**after.followers, follower: idle}), line

    return replace(rules, serve_fetch=serve_fetch)


@suite_mutant("ISR-002")
def expand_nobody(rules: Rules) -> Rules:
    """A replica that has caught up stays outside the ISR."""
    return replace(rules, expand_isr=lambda replica, _now_ms, _lag_ms: (replica, None))
