"""Wrong rules of brokers that start, and of logs that fail (START)."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.controller.partition_change_step import assignment_in
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.tables import WriteKind, Writer, ZnodeKind
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.impl.mutants.mutant import allowing, hunted_at, mutant, suite_mutant
from fencepost.spec.vocabulary import BrokerId, Invariant, Liveness, ProtocolLevel
from fencepost.spec.znodes import LeaderAndIsr, assignment_of, parse_topic_document


@mutant(18, "START-001", {Invariant.STALE_CONTROLLER_HARMLESS}, shows="QuorumSuperset")
def restart_ignores_znode(rules: Rules) -> Rules:
    """A starting broker does not read what ZooKeeper holds about its partitions."""
    return replace(rules, floor_of=lambda _znode, _state: None)


@mutant(
    45,
    "START-006",
    {
        Invariant.ACKNOWLEDGED_DURABLE,
        Invariant.LEADER_COMPLETE,
        Invariant.LINEARIZABLE_LOG,
        Invariant.ONE_COMMITTER_PER_EPOCH,
    },
    seed=51,
)
def go_on_without_log(rules: Rules) -> Rules:
    """A replica goes on when its log fails, and claims what it could not write."""
    return replace(rules, go_offline=lambda replica: replica)


@hunted_at(ProtocolLevel.BROKER_EPOCH)
@mutant(94, "START-006", {Liveness.EVENTUALLY_LEADER}, seed=19)
def tell_no_failed_log(rules: Rules) -> Rules:
    """A broker with a log that failed tells no controller, so that no other one leads."""
    return replace(rules, tells_failure=lambda _replica: False)


@mutant(
    46,
    "REAS-002",
    {Invariant.ACKNOWLEDGED_DURABLE, Invariant.LEADER_COMPLETE},
    shows="LeaderComplete",
)
def delete_what_assignment_omits(rules: Rules) -> Rules:
    """A starting broker keeps only what the settled assignment gives it."""

    def replicas_in(topic: Znode) -> Mapping[int, Sequence[BrokerId]]:
        document = parse_topic_document(topic.path, topic.data)
        found = {number: assignment_in(document, number) for number in assignment_of(document)}
        return {number: one.without_added for number, one in found.items() if one}

    def is_kept(replica: Replica, znode: Znode, state: LeaderAndIsr | None, is_own: bool) -> bool:  # noqa: FBT001
        return is_own and rules.is_kept(replica, znode, state, is_own)

    return replace(rules, replicas_in=replicas_in, is_kept=is_kept)


@mutant(77, "START-003", {Invariant.LOG_MATCHING}, shows="LogMatching")
def recover_above_checkpoint(rules: Rules) -> Rules:
    """A replica that starts takes all that it has for committed."""
    return replace(rules, recovered_high_watermark=lambda log: log.log_end_offset)


@suite_mutant("START-003")
def start_empty(rules: Rules) -> Rules:
    """A starting broker keeps none of its logs."""
    return replace(rules, is_kept=lambda _replica, _znode, _state, _is_own: False)


@suite_mutant("START-004")
def serve_log_of_old_topic(rules: Rules) -> Rules:
    """A starting broker keeps the log of a topic that is gone, for the next of that name."""
    return replace(
        rules,
        is_kept=lambda _replica, _znode, _state, _is_own: True,
        is_of_other_incarnation=lambda _replica, _command: False,
    )


@suite_mutant("BEP-001")
def persistent_registration(rules: Rules) -> Rules:
    """A broker registers in a persistent znode, and takes over what it finds there."""
    keeping = allowing(rules, Writer.BROKER, ZnodeKind.REGISTRATION, WriteKind.CREATE)
    return replace(
        keeping,
        registration_znode=lambda path, data: structs.replace(
            rules.registration_znode(path, data), ephemeral=False
        ),
    )
