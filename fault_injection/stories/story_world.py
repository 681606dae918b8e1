"""Whether the brokers, topics and partitions that a story names are there.

A file alone does not know: how many brokers a cluster has unless it says, and which topics, is the
matter of the cluster on which it is played.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from fencepost.fault_injection.faults.admin_faults import AddPartitions
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.targets import FaultError, Target, TargetRole
from fencepost.fault_injection.stories.story import (
    AfterEvent,
    Operator,
    Story,
    StoryAction,
    Trigger,
)
from fencepost.fault_injection.stories.story_file import VICTIM
from fencepost.fault_injection.stories.story_refusal import StoryError, instead

TOPIC = "orders"
"""The topic of the clients that work beside a story."""
ASSIGNMENT = ((1, 2, 3), (2, 3, 1), (3, 1, 2))
"""Of its partitions: every broker leads one and follows two."""
BROKER_FIELDS = ("broker_id", "leader", "controller_id")
"""Of a trace line; none is -1."""
BROKERS_FIELDS = ("isr", "maximal_isr", "assigned_replicas", "live_brokers")


def assignment_among(broker_ids: Collection[int]) -> list[tuple[int, ...]]:
    """`ASSIGNMENT`; of fewer brokers each partition has what they can hold."""
    return [tuple(one for one in replicas if one in broker_ids) for replicas in ASSIGNMENT]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryWorld:
    """The brokers and topics of a cluster."""

    brokers: Sequence[int]
    topics: Mapping[str, int] | None = field(default_factory=dict)
    """Topic -> how many partitions; None: not known yet, so any will do."""

    def why_no_brokers(self, *ids: int) -> str:
        """What is wrong with these broker ids; empty: nothing."""
        strange = [one for one in ids if one not in self.brokers]
        if not strange:
            return ""
        return f"there is no broker {strange[0]}; choose among {', '.join(map(str, self.brokers))}"

    def why_no_partition(self, topic: str | None, partition: int | None = None) -> str:
        """What is wrong with a topic, or one of its partitions; empty: nothing."""
        if self.topics is None:
            return ""
        if topic is not None and topic not in self.topics:
            known = ", ".join(self.topics)
            there = f"there is {known}" if known else "clients of profile none make none"
            return f"there is no topic {topic!r}; {instead(topic, self.topics, there)}"
        counts = self.topics.values() if topic is None else [self.topics[topic]]
        count = max(counts, default=0)
        if partition is None or partition < count:
            return ""
        of = "" if topic is None else f" of {topic}"
        return f"there is no partition {partition}{of}; choose one of 0 to {count - 1}"

    def why_no_target(self, target: Target) -> str:
        """What is wrong with a broker or role; empty: nothing."""
        if target.role is TargetRole.BROKER:
            return self.why_no_brokers(target.broker_id)
        if target.partition is None:
            return ""
        followers = len(self.brokers) - 1
        if target.role is TargetRole.FOLLOWER and target.position >= followers:
            return f"there are {followers} followers at most, counted from 0; give a smaller number"
        return self.why_no_partition(target.partition.topic, target.partition.partition)


def require_there(story: Story, world: StoryWorld) -> None:
    """Raise `StoryError` for the first broker, topic or partition that is not there.

    A story with steps makes topics of its own: what it names is found when it is played.
    """
    if story.steps:
        return
    world = _grown(world, story)
    for index, action in enumerate(story.actions):
        for name, value, why in _named(action, world):
            if why:
                where = f"actions[{index}] ({action.action_id}): {name}"
                raise StoryError(f"{where} is {value}: {why}")


def require_fault_there(fault: Fault, world: StoryWorld) -> None:
    """Raise `FaultError` when the fault names a broker, topic or partition that is not there."""
    for name, value, why in _by_fault(fault, world):
        if why:
            raise FaultError(f"{fault.kind}: {name} is {value}: {why}")


def _grown(world: StoryWorld, story: Story) -> StoryWorld:
    """With the partitions that the story itself adds, whenever it does."""
    topics = None if world.topics is None else dict(world.topics)
    for fault in (action.fault for action in story.actions):
        if topics and isinstance(fault, AddPartitions) and fault.topic in topics:
            topics[fault.topic] += fault.count
    return replace(world, topics=topics)


Named = tuple[str, object, str]
"""The name of a field, its value, and what is wrong with it."""


def _named(action: StoryAction, world: StoryWorld) -> Iterator[Named]:
    yield from _by_fault(action.fault, world)
    yield from _by_trigger("when", action.when, world)
    if action.until is not None:
        yield from _by_trigger("until", action.until, world)


def _by_fault(fault: Fault, world: StoryWorld) -> Iterator[Named]:
    given = msgspec.structs.asdict(fault)
    for name, value in given.items():
        if isinstance(value, Target):
            yield "target" if name in VICTIM else name, value, world.why_no_target(value)
        elif isinstance(value, tuple):
            yield name, list(value), world.why_no_brokers(*value)
    if topic := given.get("topic"):
        yield "topic", topic, world.why_no_partition(topic)
        number = given.get("partition")
        yield "partition", number, world.why_no_partition(topic, number)


def _by_trigger(name: str, trigger: Trigger, world: StoryWorld) -> Iterator[Named]:
    """Refuse to wait for a line that no node of the cluster can write."""
    if not isinstance(trigger, AfterEvent):
        return
    if trigger.by is not None:
        yield f"{name}: by", trigger.by, world.why_no_target(trigger.by)
    equal = {one.name: one.value for one in trigger.match if one.operator is Operator.EQ}
    topic, number = equal.get("topic"), equal.get("partition")
    yield f"{name}: topic", topic, world.why_no_partition(topic)
    yield f"{name}: partition", number, world.why_no_partition(topic, number)
    for one in BROKER_FIELDS:
        if equal.get(one, -1) != -1:
            yield f"{name}: {one}", equal[one], world.why_no_brokers(equal[one])
    for one in BROKERS_FIELDS:
        yield f"{name}: {one}", list(equal.get(one, ())), world.why_no_brokers(*equal.get(one, ()))
