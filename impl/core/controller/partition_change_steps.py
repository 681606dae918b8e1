"""Which step a partition change takes next, decided on what ZooKeeper holds of one topic."""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from msgspec.structs import replace

from fencepost.impl.core.controller.controller_generation import ControllerResources
from fencepost.impl.core.controller.partition_change_view import TopicView
from fencepost.impl.core.rules.controller.leadership import (
    choose_leader,
    elect_preferred,
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
    Assignment,
    complete_reassignment,
)
from fencepost.impl.core.types.messages import PartitionStop
from fencepost.spec.vocabulary import (
    NO_BROKER,
    Action,
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
    TopicPartition,
)


@dataclass(slots=True)
class NextSteps:
    """The steps that can be taken now, and what else follows from the reading."""

    steps: list[Step] = field(default_factory=list)
    without_state: list[TopicPartition] = field(default_factory=list)
    """Partitions that wait for their first leader."""
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
            asked = requests.get(key, {})
            step = self._step(key, asked, busy) if self._view.document else end_requests(key, asked)
            if step is not None:
                self._next.steps.append(step)
            if len(self._next.steps) == most:
                break
        return self._next

    def _step(
        self, key: TopicPartition, asked: Requests, busy: AbstractSet[TopicPartition]
    ) -> Step | None:
        assert self._view.document is not None
        if key in busy:
            self._next.must_retry = True
            return None
        named = assignment_in(self._view.document, key.partition)
        seen = self._view.seen.get(key)
        leaving = leaving_in(self._view.document, key.partition)
        if PARTITIONS_REMOVE in asked or (named is None and leaving.removing):
            return self._remove(key, asked.get(PARTITIONS_REMOVE), named, leaving, seen)
        if PARTITIONS_ADD in asked:
            return self._add(key, asked[PARTITIONS_ADD], named, seen)
        if named is None:
            return end_requests(key, asked)
        if seen is None or not self._is_at_rest(key, seen):
            return None
        if PARTITIONS_REASSIGNED in asked or named.adding or named.removing:
            step = self._reassign(key, named, asked.get(PARTITIONS_REASSIGNED), seen)
            if step is not None:
                return step
        election = asked.get(LEADER_ELECTION)
        return self._elect(key, named, election, seen) if election is not None else None

    def _is_at_rest(self, key: TopicPartition, seen: Seen) -> bool:
        """No decision of the controller is due: those go first."""
        is_led = seen.state.leader == NO_BROKER or seen.state.leader in self._context.live_for(key)
        is_at_rest = is_led and not self._context.bounced.get(key)
        self._next.must_retry |= not is_at_rest
        return is_at_rest

    def _remove(
        self,
        key: TopicPartition,
        request: PartitionRequest | None,
        named: Assignment | None,
        leaving: Assignment,
        seen: Seen | None,
    ) -> Step | None:
        zxid = PartitionIncarnation(self._view.last_zxid)
        stopped = named is None and self._have_stopped(key, leaving.removing, zxid)
        if named is not None and seen is not None:
            action, assigned = Action.REMOVE_PARTITIONS, frozenset(named.assigned)
            first = self._config.rules.stopped_before(action, assigned)
            if not self._have_stopped(key, first, seen.incarnation, seen):
                return None
        return remove_partitions(key, request, named, leaving, seen, is_stopped=stopped)

    def _add(
        self,
        key: TopicPartition,
        request: PartitionRequest,
        named: Assignment | None,
        seen: Seen | None,
    ) -> Step | None:
        facts = ChangeFacts(
            key=key,
            named=named,
            seen=seen,
            live=self._context.live_for(key),
            controller_epoch=self._resources.generation.controller_epoch,
        )
        step = self._config.rules.add_partitions(facts, request)
        if step is None:
            self._next.without_state.append(key)
        return step

    def _reassign(
        self, key: TopicPartition, named: Assignment, request: PartitionRequest | None, seen: Seen
    ) -> Step | None:
        if request is not None:
            request = self._config.rules.followed_request(key, request)
        target = request.replicas if request is not None else None
        checks = (request.check(),) if request is not None else ()
        live = self._context.live_for(key)
        advance = self._config.rules.advance_reassignment(named, seen.state, target, live)
        if advance is not None:
            action, removing = Action.ADVANCE_REASSIGNMENT, advance.assignment.removing
            first = self._config.rules.stopped_before(action, removing)
            if not self._have_stopped(key, first, seen.incarnation, seen):
                return None
            return Step(
                key=key,
                action=Action.ADVANCE_REASSIGNMENT,
                requests=checks,
                assignment=advance.assignment,
                seen=seen,
                state=self._of_this_epoch(advance.state),
            )
        done = complete_reassignment(named, target, is_stopped=True)
        if done is None or not self._have_stopped(key, named.removing, seen.incarnation, seen):
            return None
        ends = (request.end(),) if request is not None else ()
        return Step(key=key, action=Action.COMPLETE_REASSIGNMENT, requests=ends, assignment=done)

    def _elect(
        self, key: TopicPartition, named: Assignment, request: PartitionRequest, seen: Seen
    ) -> Step:
        """The leader that was asked for; the request also ends when it cannot be elected."""
        context = self._context
        if request.election is ElectionKind.PREFERRED:
            elected = elect_preferred(seen.state, named.assigned, context.live_for(key))
        else:
            assert self._view.registered is not None
            elected = choose_leader(
                seen.state,
                named.assigned,
                self._view.registered - context.offline_in(key),
                context.bounced.get(key, frozenset()),
                unclean_leader_election=True,
            )
        if elected is None or elected.leader == NO_BROKER:
            return Step(key=key, action=None, requests=(request.end(),))
        return Step(
            key=key,
            action=Action.ELECT_LEADER,
            requests=(request.end(),),
            seen=seen,
            state=self._of_this_epoch(elected),
            is_unclean=is_unclean(seen.state, elected),
        )

    def _of_this_epoch(self, state: LeaderAndIsr) -> LeaderAndIsr:
        return replace(state, controller_epoch=self._resources.generation.controller_epoch)

    def _have_stopped(
        self,
        key: TopicPartition,
        leaving: frozenset[BrokerId],
        incarnation: PartitionIncarnation,
        seen: Seen | None = None,
    ) -> bool:
        """All live brokers of `leaving` have given the replica up; each is told to once."""
        stop = PartitionStop(
            topic=key.topic, partition=key.partition, partition_incarnation=incarnation
        )
        if seen is not None:
            stop = replace(stop, leader_epoch=seen.state.leader_epoch)
        channel = self._resources.channel
        live = sorted(leaving & self._context.live.keys())
        stopped = {broker_id for broker_id in live if channel.stop_once(broker_id, stop)}
        return len(stopped) == len(live)


def end_requests(key: TopicPartition, asked: Requests) -> Step | None:
    """Requests about what does not exist end."""
    ends = tuple(asked[kind].end() for kind in sorted(asked))
    return Step(key=key, action=None, requests=ends) if ends else None


def remaining(
    requests: dict[TopicPartition, Requests], steps: list[Step]
) -> dict[TopicPartition, Requests]:
    """The requests that the steps have not ended."""
    ended = {op.path for step in steps for op in step.ended()}
    return {
        key: {kind: request for kind, request in asked.items() if request.path not in ended}
        for key, asked in requests.items()
    }
