"""The controller's agent: it walks what administrators asked for, one step after the other.

It wakes on notice and on a timer (REAS-006). Each step follows from what ZooKeeper holds at this
moment, and is one multi behind the fence: a controller that takes over, at whatever step, goes on
from there (REAS-003). A partition that must wait holds up no other (REAS-004).
"""

from collections.abc import Generator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from fencepost.impl.core.controller.topic_view import TopicView, read_topic_view
from fencepost.impl.core.rules.leadership import (
    elect_leader,
    elect_preferred,
    init_leader,
    is_unclean,
)
from fencepost.impl.core.rules.partition_change_step import (
    Seen,
    Step,
    assignment_in,
    leaving_in,
    with_steps,
)
from fencepost.impl.core.rules.partition_requests import PartitionRequest, Requests, read_requests
from fencepost.impl.core.rules.partitions import add_partitions, remove_partitions
from fencepost.impl.core.rules.reassignment import (
    Assignment,
    advance_reassignment,
    complete_reassignment,
)
from fencepost.impl.core.types.effects import ActionTaken
from fencepost.impl.core.types.messages import PartitionStop
from fencepost.impl.core.types.scripts import Answer, Ask, Script
from fencepost.impl.core.types.zookeeper import Create, Rejected, SetData, WriteOp, Written, ZkError
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
    TopicDocument,
    TopicPartition,
    document_bytes,
    topic_path,
)

if TYPE_CHECKING:
    from fencepost.impl.core.controller.controller import Controller

STEPS_MAX = 50
"""Partitions of one topic that change in one multi."""
ROUNDS_MAX = 10
"""Multis for one topic in a row: then it is the next one's turn."""


class Agent:
    """Of the active controller; all that it remembers may be forgotten."""

    def __init__(self, controller: "Controller") -> None:
        self._controller = controller
        self._config = controller.config
        self._outbox = controller.outbox
        self.forget()

    def forget(self) -> None:
        """A new term begins, or none."""
        self._is_walking = False
        self._must_walk_again = False
        self._must_retry = False
        """True when something could not be decided now, and nothing will tell when it can."""
        self._next_ms = 0
        self._steps_max = STEPS_MAX
        self._told: dict[TopicPartition, frozenset[BrokerId]] = {}
        """Which of those who leave a partition were told to give it up."""
        self._unsure: set[TopicPartition] = set()
        """Partitions of which it is not known whether our write is there."""
        self._first: dict[TopicPartition, PartitionRequest] = {}
        """A mutant's map: the requests that it saw first."""

    # Waking

    def wake(self) -> None:
        """There may be something to do; nothing is before the whole state is known."""
        if not self._controller.is_loaded:
            return
        if self._is_walking:
            self._must_walk_again = True
            return
        self._is_walking = True
        self._outbox.run(self._walk())

    def tick(self) -> None:
        """The timer: it also finds what no watch tells of."""
        if self._config.mutant == "agent_without_timer":
            return
        if self._next_ms <= self._outbox.now_ms:
            self.wake()

    def on_broker_change(self, changed: frozenset[BrokerId]) -> None:
        """What a broker was told before it came or went is void."""
        self._told = {key: told - changed for key, told in self._told.items()}
        self.wake()

    def _walk(self) -> Script:
        term = self._controller.term
        self._must_walk_again = True
        while self._must_walk_again:
            self._must_walk_again = self._must_retry = False
            yield from self._walk_once()
            if self._controller.term != term:
                return
        self._is_walking = False
        pause_ms = self._config.retry_ms if self._must_retry else self._config.agent_ms
        self._next_ms = self._outbox.now_ms + pause_ms

    def _walk_once(self) -> Script:
        """Everything that can be done now is."""
        term = self._controller.term
        requests = yield from read_requests(self._controller.decisions.report)
        if self._controller.term != term:
            return
        if requests is None:
            self._must_retry = True
            return
        by_request_only = self._config.mutant == "move_by_request_only"
        begun = frozenset() if by_request_only else self._controller.context.moving
        by_topic: dict[str, dict[TopicPartition, Requests]] = {}
        for key, asked in requests.items():
            by_topic.setdefault(key.topic, {})[key] = asked
        for topic in sorted(by_topic.keys() | {key.topic for key in self._unsure} | begun):
            yield from self._walk_topic(topic, by_topic.get(topic, {}))
            if self._controller.term != term:
                return

    def _walk_topic(self, topic: str, requests: dict[TopicPartition, Requests]) -> Script:
        term = self._controller.term
        for _ in range(ROUNDS_MAX):
            view = yield from read_topic_view(topic, requests, self._controller.decisions.report)
            if self._controller.term != term:
                return
            if view is None or not self._is_known(view):
                self._must_retry = True
                return
            self._learn(view)
            steps = self._steps(view, requests)
            if not steps:
                return
            is_written = yield from self._take(view, steps)
            if self._controller.term != term:
                return
            if not is_written:
                self._must_retry = True
                return
            requests = _left(requests, steps)
        self._must_walk_again = True

    def _is_known(self, view: TopicView) -> bool:
        """False of another incarnation than the controller knows: the topic's watch will tell."""
        known = self._controller.context.topics.get(view.topic)
        return view.document is None or (known is not None and known.czxid == view.czxid)

    def _learn(self, view: TopicView) -> None:
        """The controller knows the assignment as read: a write of ours may have come unheard."""
        context = self._controller.context
        context.note_moving(view.topic, view.document)
        if view.document is None:
            self._unsure = {key for key in self._unsure if key.topic != view.topic}
            return
        for key in view.keys:
            self._forget_told(key, leaving_in(view.document, key.partition).removing)
            assignment = assignment_in(view.document, key.partition)
            if assignment is None:
                context.end(key)
            elif context.assignments.get(key) != assignment.assigned:
                context.assign(key, assignment.assigned)
        unsure = sorted(key for key in self._unsure if key.topic == view.topic)
        self._unsure.difference_update(unsure)
        self._controller.decisions.reread(unsure)

    # Steps

    def _steps(self, view: TopicView, requests: dict[TopicPartition, Requests]) -> list[Step]:
        """What can be done now about each partition, and all of it in one multi."""
        steps = []
        for key in view.keys:
            asked = requests.get(key, {})
            step = self._step(view, key, asked) if view.document else _ends(key, asked)
            if step is not None:
                steps.append(step)
            if len(steps) == self._steps_max:
                break
        return steps

    def _step(self, view: TopicView, key: TopicPartition, asked: Requests) -> Step | None:
        assert view.document is not None
        if self._controller.decisions.is_busy(key):
            self._must_retry = True
            return None
        named = assignment_in(view.document, key.partition)
        seen = view.seen.get(key)
        leaving = leaving_in(view.document, key.partition)
        if PARTITIONS_REMOVE in asked or (named is None and leaving.removing):
            zxid = PartitionIncarnation(view.last_zxid)
            stopped = named is None and self._are_stopped(key, leaving, zxid)
            request = asked.get(PARTITIONS_REMOVE)
            stops_first = self._config.mutant == "stop_before_unassign"
            if stops_first and named is not None and seen is not None:
                told = Assignment(assigned=(), removing=frozenset(named.assigned))
                if not self._are_stopped(key, told, seen.incarnation, seen):
                    return None
            return remove_partitions(key, request, named, leaving, seen, is_stopped=stopped)
        if PARTITIONS_ADD in asked:
            return self._add(key, asked[PARTITIONS_ADD], named, seen)
        if named is None:
            return _ends(key, asked)
        if seen is None or not self._is_at_rest(key, seen):
            return None
        if PARTITIONS_REASSIGNED in asked or named.adding or named.removing:
            step = self._reassign(key, named, asked.get(PARTITIONS_REASSIGNED), seen)
            if step is not None:
                return step
        election = asked.get(LEADER_ELECTION)
        return self._elect(view, key, named, election, seen) if election is not None else None

    def _add(
        self,
        key: TopicPartition,
        request: PartitionRequest,
        named: Assignment | None,
        seen: Seen | None,
    ) -> Step | None:
        step = add_partitions(key, request, named, seen)
        if step is None:
            self._controller.decisions.decide([key])
        is_replayed = self._config.mutant == "replay_trigger"
        if step is None or named is None or seen is None or not is_replayed:
            return step
        epoch = self._controller.controller_epoch
        state = init_leader(named.assigned, self._controller.context.live_for(key), epoch)
        if state is None or seen.state.controller_epoch == epoch:
            return step
        return replace(step, seen=seen, state=replace(state, topic_id=seen.state.topic_id))

    def _is_at_rest(self, key: TopicPartition, seen: Seen) -> bool:
        """No decision of the controller is due: those go first."""
        context = self._controller.context
        is_led = seen.state.leader == NO_BROKER or seen.state.leader in context.live_for(key)
        is_at_rest = is_led and not context.bounced.get(key)
        self._must_retry |= not is_at_rest
        return is_at_rest

    def _reassign(
        self, key: TopicPartition, named: Assignment, request: PartitionRequest | None, seen: Seen
    ) -> Step | None:
        if request is not None and self._config.mutant == "ignore_changed_target":
            request = self._first.setdefault(key, request)
        target = request.replicas if request is not None else None
        checks = (request.check(),) if request is not None else ()
        advance = advance_reassignment(
            named,
            seen.state,
            target,
            self._controller.context.live_for(key),
            leader_stays=self._config.mutant == "leader_stays_outside",
            whole_isr=self._config.mutant == "wait_for_whole_isr",
        )
        stops_first = self._config.mutant == "delete_before_assignment"
        leaving = advance.assignment if advance is not None and stops_first else None
        if leaving and not self._are_stopped(key, leaving, seen.incarnation, seen):
            return None
        if advance is not None:
            state = replace(advance.state, controller_epoch=self._controller.controller_epoch)
            return Step(
                key=key,
                action=Action.ADVANCE_REASSIGNMENT,
                requests=checks,
                assignment=advance.assignment,
                seen=seen,
                state=state,
            )
        is_there = complete_reassignment(named, target, is_stopped=True) is not None
        if not is_there or not self._are_stopped(key, named, seen.incarnation, seen):
            return None
        done = complete_reassignment(named, target, is_stopped=True)
        ends = (request.end(),) if request is not None else ()
        return Step(key=key, action=Action.COMPLETE_REASSIGNMENT, requests=ends, assignment=done)

    def _elect(
        self,
        view: TopicView,
        key: TopicPartition,
        named: Assignment,
        request: PartitionRequest,
        seen: Seen,
    ) -> Step:
        """The leader that was asked for; the request goes also when no other one is to be had."""
        context = self._controller.context
        if request.election is ElectionKind.PREFERRED:
            elected = elect_preferred(seen.state, named.assigned, context.live_for(key))
        else:
            assert view.registered is not None
            elected = elect_leader(
                seen.state,
                named.assigned,
                view.registered - context.offline_in(key),
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
            state=replace(elected, controller_epoch=self._controller.controller_epoch),
            is_unclean=is_unclean(seen.state, elected),
        )

    # Stopping

    def _forget_told(self, key: TopicPartition, leaving: frozenset[BrokerId]) -> None:
        """Who does not leave now is told again when it leaves the next time."""
        if self._config.mutant == "stop_before_unassign":
            return
        if self._config.mutant == "delete_before_assignment":
            return
        if key in self._told:
            self._told[key] &= leaving

    def _are_stopped(
        self,
        key: TopicPartition,
        leaving: Assignment,
        incarnation: PartitionIncarnation,
        seen: Seen | None = None,
    ) -> bool:
        """All live brokers of `removing` have given the replica up; those not told yet are told."""
        commands = self._controller.commands
        is_stopped = True
        for broker_id in sorted(leaving.removing & self._controller.context.live.keys()):
            told = self._told.get(key, frozenset())
            if broker_id not in told:
                stop = PartitionStop(
                    topic=key.topic,
                    partition=key.partition,
                    partition_incarnation=incarnation,
                )
                if seen is not None:
                    stop = replace(stop, leader_epoch=seen.state.leader_epoch)
                self._told[key] = told | {broker_id}
                commands.stop(broker_id, stop)
            is_stopped &= not commands.is_stopping(broker_id, key)
        return is_stopped

    # Taking steps

    def _take(self, view: TopicView, steps: list[Step]) -> Generator[Ask, Answer, bool]:
        """One multi: requests as they were read, the topic if it changes, and the states."""
        term = self._controller.term
        check = self._controller.context.id_check(view.topic) if view.document is not None else ()
        ops: list[WriteOp] = [*check, *(op for step in steps for op in step.requests)]
        document = with_steps(view.document, steps) if view.document is not None else None
        if document is not None and any(step.changes_topic for step in steps):
            data = document_bytes(document)
            path = topic_path(view.topic)
            ops.append(SetData(path=path, data=data, expected_version=view.version))
        first_state = len(ops)
        ops += [op for step in steps for op in step.state_ops()]
        keys = [step.key for step in steps]
        for step in steps:
            self._took(step)
        self._controller.decisions.hold(keys)
        result = yield from self._controller.writes.write(*ops)
        if self._controller.term != term:
            return False
        is_gone = isinstance(result, Rejected) and result.error is ZkError.NO_NODE
        if is_gone and document and self._config.mutant == "write_assignment_creates":
            creation = Create(path=topic_path(view.topic), data=document_bytes(document))
            yield from self._controller.writes.write(creation)
        self._controller.decisions.release(keys)
        if not isinstance(result, Written):
            self._steps_max = 1
            self._unsure.update(keys)
            return False
        self._steps_max = STEPS_MAX
        self._apply(view.topic, document, steps, result, first_state)
        return True

    def _apply(
        self,
        topic: str,
        document: TopicDocument | None,
        steps: list[Step],
        result: Written,
        first_state: int,
    ) -> None:
        """ZooKeeper holds the steps: the controller knows them and tells the brokers."""
        context, decisions = self._controller.context, self._controller.decisions
        context.note_moving(topic, document)
        versions = iter(result.versions[first_state:])
        for step in steps:
            if step.is_removal:
                context.end(step.key)
            elif step.assignment is not None and step.assignment.assigned:
                context.assign(step.key, step.assignment.assigned)
            elif step.assignment is not None:
                context.forget(step.key)
            for _ in step.state_ops():
                version = next(versions)
                if step.state is None:
                    continue
                if step.seen is not None:
                    context.note_incarnation(step.key, step.seen.incarnation)
                decisions.publish_decision(step.key, step.state, version, result.zxid)
        decisions.decide([step.key for step in steps])

    def _took(self, step: Step) -> None:
        if step.action is None:
            return
        state = step.state
        self._outbox.took(
            ActionTaken(
                action=step.action,
                topic_partition=step.key,
                leader=state.leader if state is not None else None,
                leader_epoch=state.leader_epoch if state is not None else None,
                isr=state.isr if state is not None else None,
                controller_epoch=self._controller.controller_epoch,
                assigned_replicas=step.assignment.assigned if step.assignment is not None else None,
                expected_version=step.seen.version if step.seen is not None else None,
                is_unclean=step.is_unclean or None,
            )
        )


def _ends(key: TopicPartition, asked: Requests) -> Step | None:
    """Requests about what does not exist go."""
    ends = tuple(asked[kind].end() for kind in sorted(asked))
    return Step(key=key, action=None, requests=ends) if ends else None


def _left(
    requests: dict[TopicPartition, Requests], steps: list[Step]
) -> dict[TopicPartition, Requests]:
    """The requests that the steps have not ended."""
    ended = {op.path for step in steps for op in step.ended()}
    return {
        key: {kind: request for kind, request in asked.items() if request.path not in ended}
        for key, asked in requests.items()
    }
