"""What administrators asked for about partitions, carried out one step after the other.

The controller looks on notice and on a timer (REAS-006). Each step follows from what ZooKeeper
holds at this moment, and is one fenced multi: a controller that takes over, at whatever step, goes
on from there (REAS-003). A partition that must wait holds up no other (REAS-004).
"""

from collections.abc import Generator

from fencepost.impl.core.controller.controller_generation import ControllerResources
from fencepost.impl.core.controller.leader_election import LeaderElections
from fencepost.impl.core.controller.partition_change_steps import StepDecisions, remaining
from fencepost.impl.core.controller.partition_change_view import TopicView, read_topic_view
from fencepost.impl.core.rules.controller.partition_change_step import (
    Step,
    assignment_in,
    leaving_in,
    with_steps,
)
from fencepost.impl.core.rules.controller.partition_requests import Requests, read_requests
from fencepost.impl.core.types.scripts import Answer, Ask, Script
from fencepost.impl.core.types.zookeeper import SetData, WriteOp, Written
from fencepost.spec.znodes import TopicDocument, TopicPartition, document_bytes, topic_path

STEPS_MAX = 50
"""Partitions of one topic that change in one multi."""
ROUNDS_MAX = 10
"""Multis for one topic in a row: then it is the next one's turn."""


class PartitionChanges:
    """Of one controller generation; a successor needs nothing of what is remembered here."""

    def __init__(self, resources: ControllerResources, elections: LeaderElections) -> None:
        self._resources = resources
        self._config = resources.config
        self._outbox = resources.outbox
        self._generation = resources.generation
        self._context = resources.context
        self._elections = elections
        self._is_walking = False
        self._must_walk_again = False
        self._must_retry = False
        """True when something could not be decided now, and no watch will tell when it can."""
        self._next_ms = 0
        self._steps_max = STEPS_MAX
        self._unsure: set[TopicPartition] = set()
        """Partitions of which it is not known whether our write is there."""

    # Waking

    def wake(self) -> None:
        """There may be something to do."""
        if self._is_walking:
            self._must_walk_again = True
            return
        self._is_walking = True
        self._outbox.run(self._walk())

    def tick(self) -> None:
        """The timer: it also finds what no watch tells of."""
        if self._config.rules.is_look_due(self._next_ms, self._outbox.now_ms):
            self.wake()

    def _walk(self) -> Script:
        self._must_walk_again = True
        while self._must_walk_again:
            self._must_walk_again = self._must_retry = False
            yield from self._walk_once()
        self._is_walking = False
        now_ms = self._outbox.now_ms
        later_ms = now_ms + self._config.partition_change_ms
        self._next_ms = self._config.retry_at_ms(now_ms) if self._must_retry else later_ms

    def _walk_once(self) -> Script:
        """Everything that can be done now is."""
        requests = yield from read_requests(self._resources.report)
        if requests is None:
            self._must_retry = True
            return
        by_topic: dict[str, dict[TopicPartition, Requests]] = {}
        for key, asked in requests.items():
            by_topic.setdefault(key.topic, {})[key] = asked
        unsure = {key.topic for key in self._unsure}
        for topic in self._config.rules.changing_topics(
            by_topic.keys(), unsure, self._context.moving.keys()
        ):
            yield from self._walk_topic(topic, by_topic.get(topic, {}))

    def _walk_topic(self, topic: str, requests: dict[TopicPartition, Requests]) -> Script:
        for _ in range(ROUNDS_MAX):
            view = yield from read_topic_view(topic, requests, self._resources.report)
            if self._generation.is_over():
                return
            if view is None or not self._is_known(view):
                self._must_retry = True
                return
            self._learn(view)
            steps = self._next_steps(view, requests)
            if not steps:
                return
            is_written = yield from self._take(view, steps)
            if not is_written:
                self._must_retry = True
                return
            requests = remaining(requests, steps)
        self._must_walk_again = True

    def _is_known(self, view: TopicView) -> bool:
        """False of another incarnation than the controller knows: the topic's watch will tell."""
        known = self._context.topics.get(view.topic)
        return view.document is None or (known is not None and known.czxid == view.czxid)

    def _learn(self, view: TopicView) -> None:
        """The controller knows the assignment as read: a write of ours may have come unheard."""
        context = self._context
        context.note_moving(view.topic, view.document)
        unsure = sorted(key for key in self._unsure if key.topic == view.topic)
        self._unsure.difference_update(unsure)
        if view.document is None:
            return
        for key in view.keys:
            leaving = leaving_in(view.document, key.partition)
            self._resources.channel.forget_stops(key, leaving)
            assignment = assignment_in(view.document, key.partition)
            if assignment is None:
                context.end(key)
            else:
                context.assign(key, assignment.assigned)
        self._elections.reread(unsure)

    def _next_steps(self, view: TopicView, requests: dict[TopicPartition, Requests]) -> list[Step]:
        """The steps that can be taken now."""
        decisions = StepDecisions(self._resources, view)
        found = decisions.steps(requests, self._elections.busy, self._steps_max)
        self._must_retry |= found.must_retry
        taken = {step.key for step in found.steps}
        self._elections.reread(sorted({*found.undecided} - taken))
        return found.steps

    # Taking steps

    def _take(self, view: TopicView, steps: list[Step]) -> Generator[Ask, Answer, bool]:
        """One multi: requests as they were read, the topic if it changes, and the states."""
        writes = self._resources.writes
        check = self._context.id_check(view.topic) if view.document is not None else ()
        ops: list[WriteOp] = [*check, *(op for step in steps for op in step.requests)]
        document = with_steps(view.document, steps) if view.document is not None else None
        if any(step.assignment is not None for step in steps):
            assert document is not None, "without a topic requests only end"
            data = document_bytes(document)
            path = topic_path(view.topic)
            ops.append(SetData(path=path, data=data, expected_version=view.version))
        first_state = len(ops)
        ops += [op for step in steps for op in step.state_ops()]
        keys = [step.key for step in steps]
        for step in steps:
            taken = step.taken(self._generation.controller_epoch)
            if taken is not None:
                self._outbox.took(taken)
        self._elections.hold(keys)
        result = yield from writes.write(*ops)
        instead = self._config.rules.written_instead(view.topic, document, result)
        if instead:
            yield from writes.write(*instead)
        self._elections.release(keys)
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
        context = self._context
        context.note_moving(topic, document)
        versions = iter(result.versions[first_state:])
        for step in steps:
            if step.is_removal:
                context.end(step.key)
            elif step.assignment is not None and step.assignment.assigned:
                context.assign(step.key, step.assignment.assigned)
            for _ in step.state_ops():
                version = next(versions)
                if step.state is None:
                    continue
                assert step.seen is not None, "it replaces what was seen"
                context.note_incarnation(step.key, step.seen.incarnation)
                self._elections.publish_decision(step.key, step.state, version, result.zxid)
        self._elections.decide([step.key for step in steps])
