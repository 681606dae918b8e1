"""Wrong rules of commands: INITs, stops, incarnations, retries (CMD, CTL-006, TOP, ZK-009)."""

from collections.abc import Mapping
from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.commands import are_different, trust_any_controller
from fencepost.impl.core.rules.controller.leadership import FIRST_LEADER_EPOCH
from fencepost.impl.core.rules.replica import Acted, Replica
from fencepost.impl.core.rules.rules import ReplicaJudgement, Rules
from fencepost.impl.core.rules.tables import CommandKind, Role
from fencepost.impl.core.types.effects import DiskEffect
from fencepost.impl.core.types.messages import LeaderAndIsrRequest, PartitionState, PartitionStop
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.impl.mutants.mutant import hunted_at, mutant, suite_mutant
from fencepost.spec.vocabulary import (
    NO_EPOCH,
    ControllerEpoch,
    Ending,
    ErrorCode,
    Invariant,
    LeaderEpoch,
    Liveness,
    PartitionIncarnation,
    ProtocolLevel,
)
from fencepost.spec.znodes import LeaderAndIsr, TopicPartition

Replicas = Mapping[TopicPartition, Replica]


def obeying_also(rules: Rules, is_obeyed: ReplicaJudgement) -> Rules:
    """Commands for which `is_obeyed` are obeyed as if the replica had heard of no leader epoch."""

    def skips_epochs(replica: Replica, command: PartitionState) -> bool:
        if is_obeyed(replica, command):
            return command.leader_epoch > FIRST_LEADER_EPOCH
        return rules.skips_epochs(replica, command)

    return replace(
        rules,
        is_newer=lambda replica, command: (
            is_obeyed(replica, command) or rules.is_newer(replica, command)
        ),
        skips_epochs=skips_epochs,
    )


@hunted_at(ProtocolLevel.BROKER_EPOCH)
@mutant(4, "CTL-006", {Invariant.STALE_CONTROLLER_HARMLESS}, seed=285)
def accept_older_controller_epoch(rules: Rules) -> Rules:
    """A command with a smaller controller epoch than already seen is obeyed."""
    return replace(rules, is_stale_controller=trust_any_controller)


@mutant(10, "CMD-002", {Invariant.STALE_CONTROLLER_HARMLESS})
def accept_older_leader_epoch(rules: Rules) -> Rules:
    """A command is obeyed whatever its leader epoch is."""
    return obeying_also(rules, lambda _replica, _command: True)


@mutant(11, "CMD-003", {Liveness.EVENTUALLY_LEADER})
def leader_ignores_command(rules: Rules) -> Rules:
    """A leader ignores a command that says again that it leads."""
    ignoring = {**rules.commands, (Role.LEADER, CommandKind.LEAD): ErrorCode.NONE}
    return replace(rules, commands=ignoring)


@mutant(19, "CMD-002", {Invariant.STALE_CONTROLLER_HARMLESS}, shows="QuorumSuperset")
def refresh_without_version(rules: Rules) -> Rules:
    """A leader takes the ISR of any command that names it leader, however old."""

    def is_other_version(replica: Replica, command: PartitionState) -> bool:
        is_same_epoch = command.leader_epoch == replica.leader_epoch
        return is_same_epoch and command.znode_version != replica.znode_version

    return obeying_also(rules, is_other_version)


@mutant(28, "CMD-003", {Invariant.LEADER_COMPLETE}, shows="CommittedDurable")
def remember_end_offsets(rules: Rules) -> Rules:
    """A new leader believes what followers had under an earlier epoch."""

    def remembering(after: Replica, before: Replica) -> Replica:
        under = before.follower_broker_epochs
        return structs.replace(after, followers=before.followers, follower_broker_epochs=under)

    def become_leader(
        replica: Replica, command: PartitionState, request: LeaderAndIsrRequest, now_ms: int
    ) -> Acted:
        after, line = rules.become_leader(replica, command, request, now_ms)
        return remembering(after, replica), line

    def become_follower(
        replica: Replica, command: PartitionState, request: LeaderAndIsrRequest
    ) -> Acted:
        after, line = rules.become_follower(replica, command, request)
        return remembering(after, replica), line

    return replace(rules, become_leader=become_leader, become_follower=become_follower)


@mutant(34, "CMD-002", {Invariant.STALE_CONTROLLER_HARMLESS})
def commands_without_epochs(rules: Rules) -> Rules:
    """A command is obeyed whatever its controller epoch and its leader epoch are."""
    trusting = replace(rules, is_stale_controller=trust_any_controller)
    return obeying_also(trusting, lambda _replica, _command: True)


@mutant(
    39,
    "REAS-001",
    {Liveness.EVENTUALLY_ISR_FULL, Liveness.REASSIGNMENT_COMPLETES},
    shows="ReassignmentCompletes",
)
def leader_ignores_new_replicas(rules: Rules) -> Rules:
    """A leader admits only the replicas that it was first told to be assigned."""

    def become_leader(
        replica: Replica, command: PartitionState, request: LeaderAndIsrRequest, now_ms: int
    ) -> Acted:
        after, line = rules.become_leader(replica, command, request, now_ms)
        known = replica.assigned_replicas or after.assigned_replicas
        return structs.replace(after, assigned_replicas=known), line

    return replace(rules, become_leader=become_leader)


@mutant(52, "CMD-008", {Invariant.DELETE_ONLY_IF_UNASSIGNED}, shows="DeleteOnlyIfUnassigned")
def stop_replica_without_epoch(rules: Rules) -> Rules:
    """A stop is obeyed although the replica has obeyed a later decision."""
    return replace(
        rules,
        is_newer_than_stop=lambda one, stop: one.partition_incarnation > stop.partition_incarnation,
    )


@suite_mutant("CMD-008")
def obey_last_stop(rules: Rules) -> Rules:
    """A stop that is exactly one leader epoch old is obeyed."""

    def is_newer_than_stop(replica: Replica, stop: PartitionStop) -> bool:
        is_last = stop.leader_epoch == replica.leader_epoch - 1
        is_same = stop.partition_incarnation == replica.partition_incarnation
        return not (is_same and is_last) and rules.is_newer_than_stop(replica, stop)

    return replace(rules, is_newer_than_stop=is_newer_than_stop)


@mutant(55, "CMD-008", {Invariant.DELETE_ONLY_IF_UNASSIGNED}, shows="DeleteOnlyIfUnassigned")
def stop_replica_without_incarnation(rules: Rules) -> Rules:
    """A stop is obeyed by a replica of a newer incarnation."""

    def is_newer_than_stop(replica: Replica, stop: PartitionStop) -> bool:
        is_same = replica.partition_incarnation == stop.partition_incarnation
        return is_same and rules.is_newer_than_stop(replica, stop)

    return replace(rules, is_newer_than_stop=is_newer_than_stop)


@mutant(56, "TOP-003", {Invariant.LINEARIZABLE_LOG}, shows="LinearizableLog")
def directory_without_incarnation(rules: Rules) -> Rules:
    """A replica starts with the log of another topic of that name."""

    def begin_incarnation(
        old: Replica, incarnation: PartitionIncarnation
    ) -> tuple[Replica, tuple[DiskEffect, ...]]:
        fresh, _ = rules.begin_incarnation(old, incarnation)
        end, starts = old.log_end_offset, old.epoch_starts
        return structs.replace(fresh, log_end_offset=end, epoch_starts=starts), ()

    return replace(rules, begin_incarnation=begin_incarnation)


@mutant(57, "TOP-002", {Liveness.DELETION_COMPLETES}, shows="DeletionCompletes")
def forget_stopped_incarnation(rules: Rules) -> Rules:
    """A broker forgets what it stopped, and starts it again on an older command."""
    return replace(rules, is_overtaken=lambda _command, _stopped, _oldest: False)


@mutant(62, "CMD-007", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def init_deletes_by_omission(rules: Rules) -> Rules:
    """Every INIT deletes what it does not name, however late it is."""
    return replace(
        rules,
        is_first_init=lambda _init, _obeyed: True,
        is_omitted=lambda _replica, _zxid: True,
    )


@mutant(63, "CMD-007", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def init_omits_newer_topics(rules: Rules) -> Rules:
    """An INIT deletes also what is newer than the reading that it rests on."""
    return replace(rules, is_omitted=lambda _replica, _zxid: True)


@mutant(66, "START-004", {Invariant.LINEARIZABLE_LOG}, shows="LinearizableLog")
def keep_log_of_old_incarnation(rules: Rules) -> Rules:
    """A log of a topic that is gone serves the next topic of that name."""

    def is_kept(replica: Replica, znode: Znode, state: LeaderAndIsr | None, is_own: bool) -> bool:  # noqa: FBT001
        if znode.stat is None:
            return rules.is_kept(replica, znode, state, is_own)
        czxid = PartitionIncarnation(znode.stat.czxid)
        if are_different(replica.partition_incarnation, czxid):
            return is_own
        return rules.is_kept(replica, znode, state, is_own)

    keeping = replace(
        rules, is_kept=is_kept, is_of_other_incarnation=lambda _replica, _command: False
    )
    return obeying_also(keeping, rules.is_of_other_incarnation)


@mutant(71, "CTL-007", {Invariant.STALE_CONTROLLER_HARMLESS}, shows="StaleControllerHarmless")
def adopt_epoch_from_zookeeper_only(rules: Rules) -> Rules:
    """A broker does not remember the controller epoch of a command that it obeys."""
    return replace(rules, adopt_controller_epoch=lambda known, _command: known)


@mutant(79, "CMD-006", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def refuse_unknown_partition(rules: Rules) -> Rules:
    """A broker obeys no command about a partition that it does not have."""
    return replace(
        rules,
        is_over=lambda command, request, replicas: (
            command.key not in replicas or rules.is_over(command, request, replicas)
        ),
    )


@mutant(80, "CMD-009", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def refuse_together(rules: Rules) -> Rules:
    """One partition of a request that is refused makes all be refused."""

    def is_over(command: PartitionState, request: LeaderAndIsrRequest, replicas: Replicas) -> bool:
        known = ((replicas[one.key], one) for one in request.partitions if one.key in replicas)
        is_spoilt = any(not rules.is_newer(replica, one) for replica, one in known)
        return is_spoilt or rules.is_over(command, request, replicas)

    return replace(rules, is_over=is_over)


@mutant(151, "ZK-009", {Ending.RETRIES})
def retry_at_once(rules: Rules) -> Rules:
    """What has failed is tried again at once."""
    return replace(rules, retry_after_pause=lambda now_ms, _pause_ms: now_ms)


@mutant(152, "CMD-008", {Ending.ANSWERS, Invariant.DELETE_ONLY_IF_UNASSIGNED}, seed=25)
def obey_stop_of_last_epoch(rules: Rules) -> Rules:
    """A replica obeys a stop that is one leader epoch old."""

    def is_newer_than_stop(replica: Replica, stop: PartitionStop) -> bool:
        later = LeaderEpoch(stop.leader_epoch + (stop.leader_epoch != NO_EPOCH))
        return rules.is_newer_than_stop(replica, structs.replace(stop, leader_epoch=later))

    return replace(rules, is_newer_than_stop=is_newer_than_stop)


@suite_mutant("CMD-008")
def keep_what_is_stopped(rules: Rules) -> Rules:
    """A broker that is told to stop a replica says that it did, and goes on."""
    stops = {(role, CommandKind.STOP): ErrorCode.NONE for role in Role}
    return replace(rules, commands={**rules.commands, **stops})


@mutant(109, "CTL-006", {Invariant.OBEYED_AS_SENT}, shows="ObeyedAsSent")
def follow_for_next_controller(rules: Rules) -> Rules:
    """A follower takes a command for one of the next controller."""

    def follow(replica: Replica, command: PartitionState, request: LeaderAndIsrRequest) -> Acted:
        later = ControllerEpoch(request.controller_epoch + 1)
        return rules.become_follower(
            replica, command, structs.replace(request, controller_epoch=later)
        )

    return replace(rules, become_follower=follow)
