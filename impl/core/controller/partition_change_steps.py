"""Which step a partition change takes next, decided on what ZooKeeper holds of one topic."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from msgspec.structs import replace

from fencepost.impl.core.controller.controller_generation import ControllerResources
from fencepost.impl.core.controller.partition_change_view import TopicView
from fencepost.impl.core.rules.controller.leadership import (
    choose_leader,
    elect_leader,
    is_loss_possible,
    is_unclean,
)
from fencepost.impl.core.rules.controller.partition_change_step import (
    ChangeFacts,
    Seen,
    Step,
    assignment_in,
    leaving_in,
)
from fencepost.impl.core.rules.controller.partition_requests import PartitionRequest, Requests
from fencepost.impl.core.rules.controller.partitions import remove_partitions
from fencepost.impl.core.rules.controller.reassignment import (
    advance_reassignment,
    complete_reassignment,
)
from fencepost.impl.core.rules.tables import (
    ElectionCause,
    PartitionEvent,
    PartitionStage,
    PartitionStep,
)
from fencepost.impl.core.types.actions import action_of
from fencepost.impl.core.types.messages import PartitionStop
from fencepost.spec.vocabulary import (
    NO_BROKER,
    BrokerId,
    ElectionKind,
    PartitionIncarnation,
)
from fencepost.spec.znodes import (
    LEADER_ELECTION,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    LeaderAndIsr,
    TopicDocument,
    TopicPartition,
)


@dataclass(slots=True)
class NextSteps:
    """The steps that can be taken now, and what else follows from the reading."""

    steps: list[Step] = field(default_factory=list)
    undecided: list[TopicPartition] = field(default_factory=list)
    """What an election must come first for, on a state that the controller has yet to read."""
    must_retry: bool = False
    """True when something cannot be decided now, and no watch will tell when it can."""


class StepDecisions:
    """Decides for one topic; brokers that leave a partition are told to give it up."""

    def __init__(self, resources: ControllerResources, view: TopicView) -> None:
        self._resources = resources
        self._context = resources.context
        self._config = resources.config
        self._view = view
        self._next = NextSteps()

    def steps(
        self, requests: dict[TopicPartition, Requests], busy: AbstractSet[TopicPartition], most: int
    ) -> NextSteps:
        """At most so many steps about partitions that are not busy: one multi."""
        for key in self._view.keys:
            step = None
            if key in busy:
                self._next.must_retry = True
            else:
                step = self._step(key, requests.get(key, {}))
            if step is not None:
                self._next.steps.append(step)
            if len(self._next.steps) == most:
                break
        return self._next

    def _step(self, key: TopicPartition, asked: Requests) -> Step | None:
        """What `Rules.partitions` says of the first event; of an election after a move that waits.

        The events are what is asked, and what was begun.
        """
        document = self._view.document or TopicDocument(partitions={})
        facts = ChangeFacts(
            key=key,
            named=assignment_in(document, key.partition),
            leaving=leaving_in(document, key.partition),
            seen=self._view.seen.get(key),
            live=self._context.live_for(key),
            controller_epoch=self._resources.generation.controller_epoch,
        )
        stage = self._stage(facts)
        for event in _events(facts, asked):
            step = self._take(self._config.rules.partitions[stage, event], facts, asked)
            if step is not None or event is not PartitionEvent.REASSIGNMENT:
                return step
        return None

    def _take(self, step: PartitionStep, facts: ChangeFacts, asked: Requests) -> Step | None:
        match step:
            case PartitionStep.REMOVE:
                return self._remove(facts, asked.get(PARTITIONS_REMOVE))
            case PartitionStep.ADD:
                return self._add(facts, asked[PARTITIONS_ADD])
            case PartitionStep.REASSIGN:
                return self._reassign(facts, asked.get(PARTITIONS_REASSIGNED))
            case PartitionStep.ELECT_AS_ASKED:
                return self._elect(facts, asked[LEADER_ELECTION])
            case PartitionStep.END_REQUESTS:
                ends = tuple(asked[kind].end() for kind in sorted(asked))
                return Step(key=facts.key, action=None, requests=ends)
            case _:
                self._next.must_retry |= step is PartitionStep.RETRY
                return None

    def _stage(self, facts: ChangeFacts) -> PartitionStage:
        if self._view.document is None:
            return PartitionStage.NO_TOPIC
        if facts.named is None:
            return PartitionStage.LEAVING if facts.leaving else PartitionStage.UNNAMED
        if facts.seen is None:
            return PartitionStage.NEW
        leader = facts.seen.state.leader
        is_led = leader == NO_BROKER or leader in facts.live
        if is_led and not self._context.bounced_in(facts.key, facts.seen.state):
            return PartitionStage.SETTLED
        if facts.seen.state != self._context.state(facts.key):
            self._next.undecided.append(facts.key)
        return PartitionStage.UNSETTLED

    def _remove(self, facts: ChangeFacts, request: PartitionRequest | None) -> Step | None:
        if facts.named is None:
            is_stopped = self._have_stopped(facts.key, facts.leaving, None)
        else:
            action, assigned = action_of(remove_partitions), frozenset(facts.named.assigned)
            first = self._config.rules.stopped_before(action, assigned)
            is_stopped = self._have_stopped(facts.key, first, facts.seen)
        return remove_partitions(facts, request) if is_stopped else None

    def _add(self, facts: ChangeFacts, request: PartitionRequest) -> Step | None:
        return self._config.rules.add_partitions(facts, request)

    def _reassign(self, facts: ChangeFacts, request: PartitionRequest | None) -> Step | None:
        key, named, seen = facts.key, facts.named, facts.seen
        assert named is not None, "it is settled"
        assert seen is not None, "it is settled"
        if request is not None:
            request = self._config.rules.followed_request(key, request)
        target = request.replicas if request is not None else None
        checks = (request.check(),) if request is not None else ()
        advance = self._config.rules.advance_reassignment(named, seen.state, target, facts.live)
        if advance is not None:
            action = action_of(advance_reassignment)
            first = self._config.rules.stopped_before(action, advance.assignment.removing)
            if not self._have_stopped(key, first, seen):
                return None
            return Step(
                key=key,
                action=action,
                requests=checks,
                assignment=advance.assignment,
                seen=seen,
                state=self._of_this_epoch(advance.state),
            )
        done = complete_reassignment(named, target)
        if done is None or not self._have_stopped(key, named.removing, seen):
            return None
        ends = (request.end(),) if request is not None else ()
        action = action_of(complete_reassignment)
        return Step(key=key, action=action, requests=ends, assignment=done)

    def _elect(self, facts: ChangeFacts, request: PartitionRequest) -> Step:
        """The leader that was asked for; the request also ends when it cannot be elected."""
        key, named, seen, context = facts.key, facts.named, facts.seen, self._context
        assert named is not None, "it is settled"
        assert seen is not None, "it is settled"
        cause, live = ElectionCause.PREFERRED_ASKED, facts.live
        if request.election is ElectionKind.UNCLEAN:
            assert self._view.registered is not None
            cause = ElectionCause.UNCLEAN_ALLOWED
            live = self._view.registered - context.offline_in(key)
        bounced = context.bounced_in(key, seen.state)
        elected = choose_leader(seen.state, named.assigned, live, bounced, cause)
        if elected is None:
            return Step(key=key, action=None, requests=(request.end(),))
        is_lossy = is_loss_possible(seen.state, bounced, elected)
        return Step(
            key=key,
            action=action_of(elect_leader),
            requests=(request.end(),),
            seen=seen,
            state=self._of_this_epoch(elected),
            is_unclean=is_unclean(seen.state, elected) or is_lossy,
            is_loss_possible=is_lossy,
        )

    def _of_this_epoch(self, state: LeaderAndIsr) -> LeaderAndIsr:
        epoch = self._resources.generation.controller_epoch
        named = self._config.rules.with_incarnations(state, self._context.live)
        return replace(named, controller_epoch=epoch)

    def _have_stopped(
        self,
        key: TopicPartition,
        leaving: frozenset[BrokerId],
        seen: Seen | None,
    ) -> bool:
        """All live brokers of `leaving` have given the replica up; each is told to once."""
        stop = PartitionStop(
            topic=key.topic,
            partition=key.partition,
            partition_incarnation=PartitionIncarnation(self._view.last_zxid),
        )
        if seen is not None:
            stop = replace(
                stop,
                partition_incarnation=seen.incarnation,
                leader_epoch=seen.state.leader_epoch,
            )
        channel = self._resources.channel
        live = sorted(leaving & self._context.live.keys())
        stopped = {broker_id for broker_id in live if channel.stop_once(broker_id, stop)}
        return len(stopped) == len(live)


def _events(facts: ChangeFacts, asked: Requests) -> list[PartitionEvent]:
    """What stands, in the order of its turn."""
    named = facts.named
    is_moving = named is not None and bool(named.adding or named.removing)
    is_leaving = named is None and bool(facts.leaving)
    stands = {
        PartitionEvent.REMOVAL: PARTITIONS_REMOVE in asked or is_leaving,
        PartitionEvent.ADDITION: PARTITIONS_ADD in asked,
        PartitionEvent.REASSIGNMENT: PARTITIONS_REASSIGNED in asked or is_moving,
        PartitionEvent.ELECTION: LEADER_ELECTION in asked,
    }
    return [event for event in stands if stands[event]] or [PartitionEvent.LOOK]


def remaining(
    requests: dict[TopicPartition, Requests], steps: list[Step]
) -> dict[TopicPartition, Requests]:
    """The requests that the steps have not ended."""
    ended = {op.path for step in steps for op in step.ended()}
    return {
        key: {kind: request for kind, request in asked.items() if request.path not in ended}
        for key, asked in requests.items()
    }
