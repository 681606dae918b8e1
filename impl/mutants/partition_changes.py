"""Wrong rules of partitions that move, are added or removed (REAS, PART)."""

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import replace

from msgspec import structs

from fencepost.impl.core.rules.controller.leadership import first_leader
from fencepost.impl.core.rules.controller.partition_change_step import ChangeFacts, Step
from fencepost.impl.core.rules.controller.partition_requests import PartitionRequest
from fencepost.impl.core.rules.controller.reassignment import Advance, Assignment, Replicas
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.rules.tables import WriteKind, Writer, ZnodeKind
from fencepost.impl.core.types.zookeeper import Create, Rejected, WriteOp, WriteResult, ZkError
from fencepost.impl.mutants.mutant import allowing, mutant, suite_mutant
from fencepost.spec.vocabulary import Action, BrokerId, Invariant, Liveness
from fencepost.spec.znodes import (
    LeaderAndIsr,
    TopicDocument,
    TopicPartition,
    document_bytes,
    topic_path,
)


def _is_switch(named: Assignment, target: Replicas | None) -> bool:
    """The old and new replicas are all assigned: the next step leaves the new ones alone."""
    return set(named.assigned) == set(named.old_and_new(target))


def _stopping_before(rules: Rules, wrong: Action) -> Rules:
    """Brokers give their replica up before this step of a change is written."""

    def stopped_before(step: Action, leaving: frozenset[BrokerId]) -> frozenset[BrokerId]:
        return leaving if step is wrong else rules.stopped_before(step, leaving)

    return replace(
        rules, stopped_before=stopped_before, stop_stands=lambda _broker_id, _leaving: True
    )


@mutant(38, "REAS-002", {Invariant.LEADER_IN_ISR}, shows="LeaderInIsr")
def leader_stays_outside(rules: Rules) -> Rules:
    """The switch of a reassignment keeps the leader, though it is not in the new ISR."""

    def advance_reassignment(
        named: Assignment, state: LeaderAndIsr, target: Replicas | None, live: AbstractSet[BrokerId]
    ) -> Advance | None:
        step = rules.advance_reassignment(named, state, target, live)
        if step is None or not _is_switch(named, target):
            return step
        return structs.replace(step, state=structs.replace(step.state, leader=state.leader))

    return replace(rules, advance_reassignment=advance_reassignment)


@mutant(40, "PART-002", {Invariant.DELETE_ONLY_IF_UNASSIGNED}, shows="DeleteOnlyIfUnassigned")
def stop_before_unassign(rules: Rules) -> Rules:
    """The brokers of a partition that is removed are stopped before the topic drops it."""
    return _stopping_before(rules, Action.REMOVE_PARTITIONS)


@mutant(47, "REAS-005", {Liveness.REASSIGNMENT_COMPLETES}, shows="ReassignmentCompletes")
def wait_for_whole_isr(rules: Rules) -> Rules:
    """The switch of a reassignment waits until the old replicas are in the ISR too."""

    def advance_reassignment(
        named: Assignment, state: LeaderAndIsr, target: Replicas | None, live: AbstractSet[BrokerId]
    ) -> Advance | None:
        if _is_switch(named, target) and not frozenset(named.assigned) <= state.isr:
            return None
        return rules.advance_reassignment(named, state, target, live)

    return replace(rules, advance_reassignment=advance_reassignment)


@mutant(48, "REAS-005", {Invariant.DELETE_ONLY_IF_UNASSIGNED}, shows="DeleteOnlyIfUnassigned")
def delete_before_assignment(rules: Rules) -> Rules:
    """The old replicas are stopped before the switch of a reassignment is written."""
    return _stopping_before(rules, Action.ADVANCE_REASSIGNMENT)


@mutant(49, "REAS-001", {Liveness.REASSIGNMENT_COMPLETES}, shows="ReassignmentCompletes")
def ignore_changed_target(rules: Rules) -> Rules:
    """The controller keeps the first request for a partition, whatever is asked for later."""
    first: dict[TopicPartition, PartitionRequest] = {}
    return replace(rules, followed_request=first.setdefault)


@mutant(50, "REAS-003", {Liveness.REASSIGNMENT_COMPLETES}, shows="ReassignmentCompletes")
def move_by_request_only(rules: Rules) -> Rules:
    """The controller looks at moves that are asked for, not at those that were begun."""
    return replace(
        rules,
        changing_topics=lambda requested, unsure, _begun: rules.changing_topics(
            requested, unsure, frozenset()
        ),
    )


@mutant(51, "REAS-006", {Liveness.REASSIGNMENT_COMPLETES}, shows="ReassignmentCompletes")
def agent_without_timer(rules: Rules) -> Rules:
    """The controller looks at reassignments only when it is told to."""
    return replace(rules, is_look_due=lambda _next_ms, _now_ms: False)


@mutant(53, "PART-001", {Invariant.ONLY_AUTHORISED_WRITES}, shows="OnlyAuthorisedWrites")
def replay_trigger(rules: Rules) -> Rules:
    """A new controller initialises an added partition that its predecessor initialised."""

    def add_partitions(facts: ChangeFacts, request: PartitionRequest) -> Step | None:
        step, seen = rules.add_partitions(facts, request), facts.seen
        if step is None or facts.named is None or seen is None:
            return step
        state = first_leader(facts.named.assigned, facts.live, facts.controller_epoch)
        if state is None or seen.state.controller_epoch == facts.controller_epoch:
            return step
        state = structs.replace(state, topic_id=seen.state.topic_id)
        return structs.replace(step, seen=seen, state=state)

    return replace(rules, add_partitions=add_partitions)


@mutant(54, "TOP-003", {Liveness.EVENTUALLY_LEADER}, shows="EventuallyLeader")
def write_assignment_creates(rules: Rules) -> Rules:
    """An assignment is written although the topic is gone: it is there again."""

    def written_instead(
        topic: str, document: TopicDocument | None, result: WriteResult | None
    ) -> tuple[WriteOp, ...]:
        is_gone = isinstance(result, Rejected) and result.error is ZkError.NO_NODE
        if not is_gone or document is None:
            return rules.written_instead(topic, document, result)
        return (Create(path=topic_path(topic), data=document_bytes(document)),)

    creating = allowing(rules, Writer.CONTROLLER, ZnodeKind.TOPIC, WriteKind.CREATE)
    return replace(creating, written_instead=written_instead)


@suite_mutant("PART-001")
def ignore_additions(rules: Rules) -> Rules:
    """The controller does nothing about partitions that are asked for."""
    return replace(rules, add_partitions=lambda _facts, _request: None)


@suite_mutant("PART-001")
def grant_fewer_partitions(rules: Rules) -> Rules:
    """A number of partitions that a topic cannot have is granted, and does nothing."""
    return replace(rules, refuse_creation=lambda _view, _request: None)


@suite_mutant("REAS-002")
def move_anywhere(rules: Rules) -> Rules:
    """A move is begun to any brokers, also to those that there are not."""
    return replace(rules, refuse_reassignment=lambda _view, _key, _replicas: None)


@suite_mutant("FAIL-001")
def grant_any_election(rules: Rules) -> Rules:
    """An election is granted, also of a replica that is dead."""
    return replace(rules, refuse_election=lambda _view, _kind, _key: None)


@suite_mutant("REAS-004")
def move_one_topic_at_a_time(rules: Rules) -> Rules:
    """The controller looks at the next topic that moves when the one before is done."""
    return replace(
        rules,
        changing_topics=lambda requested, unsure, begun: rules.changing_topics(
            requested, unsure, begun
        )[:1],
    )


@suite_mutant("REAS-003")
def forget_moves_at_fail_over(rules: Rules) -> Rules:
    """A new controller leaves alone what moves already."""
    ignored: set[str] = set()
    began: list[bool] = []

    def told_at_fail_over(keys: Sequence[TopicPartition]) -> Sequence[TopicPartition]:
        began.append(True)
        return rules.told_at_fail_over(keys)

    def changing_topics(
        requested: AbstractSet[str], unsure: AbstractSet[str], begun: AbstractSet[str]
    ) -> list[str]:
        if began:
            began.clear()
            ignored.update(requested | begun)
        return rules.changing_topics(requested - ignored, unsure, begun - ignored)

    return replace(rules, told_at_fail_over=told_at_fail_over, changing_topics=changing_topics)
