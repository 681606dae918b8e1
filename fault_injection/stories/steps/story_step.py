"""The steps of a story: each begins when the one before it is done.

A step is an object, and its first field is the verb: `{produce: t/0, records: [a]}`. What it prints
stands beside it as `expected`. msgspec reads the structs, and the JSON Schema is made of them.
"""

import re
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from fencepost.fault_injection.faults.catalogue import kind_of
from fencepost.fault_injection.faults.parameters import milliseconds, number
from fencepost.fault_injection.faults.targets import FaultError, Target
from fencepost.fault_injection.stories.steps.fields import (
    CURRENT,
    Also,
    Asks,
    AtPoint,
    BrokerIds,
    Epoch,
    LastsMs,
    Number,
    OneBroker,
    Page,
    Partition,
    Positive,
    Printed,
    Told,
    TopicName,
    Wanted,
)
from fencepost.fault_injection.stories.steps.observation import Observation, require_wanted
from fencepost.fault_injection.stories.steps.point import Method, Point
from fencepost.fault_injection.workload.commands import ControlMethod
from fencepost.spec.vocabulary import NO_EPOCH, NO_PRODUCER, ElectionKind
from fencepost.spec.znodes import TOPIC_NAME

UNTIL_MS = 10_000
"""How long `until` waits without a time of its own."""


class StoryStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step, and what it prints."""

    expected: Printed = ""


class OrderStep(StoryStep, frozen=True, kw_only=True):
    """A step that can be put off."""

    after_ms: Annotated[int, milliseconds("so much later; the next step begins at once", ge=0)] = 0


# Topics and clients


class CreateTopicStep(StoryStep, frozen=True, kw_only=True):
    """Create a topic, and wait until its replicas know their roles."""

    create_topic: Annotated[str, Meta(description="a name, or what is refused")]
    also: Also = ()
    replicas: Annotated[BrokerIds, Meta(description="of each partition; none: any broker")] = ()
    partitions: Positive | UnsetType = UNSET
    broker: OneBroker = UNSET
    wait: Asks = True
    user: Annotated[str, Meta(description="that the quota counts; empty: the connection's")] = ""
    client_id: Annotated[str, Meta(description="that the quota counts")] = ""
    api_version: Annotated[int, number("of the request, as Kafka counts them", ge=0)] = 0
    validate_only: Annotated[bool, Meta(description="true: nothing is created")] = False

    def __post_init__(self) -> None:
        if not self.expected and not re.fullmatch(TOPIC_NAME.pattern, self.create_topic):
            raise FaultError(f"create_topic is {self.create_topic!r}; give a name of a topic")


class ProduceStep(OrderStep, frozen=True, kw_only=True):
    """Append records in one request to the leader that ZooKeeper names, or to `broker`."""

    produce: Partition
    records: tuple[str, ...]
    acks: Literal["all", 1, 0] = "all"
    broker: OneBroker = UNSET
    wait: Asks = True
    timeout_ms: Annotated[int, milliseconds("of the request; 0: the usual", ge=0)] = 0
    producer_id: Annotated[int, number("of an idempotent producer", ge=NO_PRODUCER)] = NO_PRODUCER
    producer_epoch: Number = 0
    base_sequence: Number = 0


class RetryStep(OrderStep, frozen=True, kw_only=True):
    """Send the open produce of an idempotent producer again, as it was."""

    retry: Partition
    broker: OneBroker = UNSET
    wait: Asks = True


class ConsumeStep(OrderStep, frozen=True, kw_only=True):
    """Fetch committed records."""

    consume: Partition
    offset: Number = 0
    leader_epoch: Epoch = NO_EPOCH
    broker: OneBroker = UNSET
    wait: Asks = True


class ListOffsetsStep(OrderStep, frozen=True, kw_only=True):
    """Ask for the high watermark and the log end offset."""

    list_offsets: Partition
    broker: OneBroker = UNSET
    wait: Asks = True


class WorkloadStep(OrderStep, frozen=True, kw_only=True):
    """Start the producers and consumers of a random run."""

    workload: None


# Orders of an administrator, to any live broker; an answer that is no success is printed


class AdminStep(OrderStep, frozen=True, kw_only=True):
    """An order of an administrator."""

    broker: OneBroker = UNSET
    wait: Asks = True


class DeleteTopicStep(AdminStep, frozen=True, kw_only=True):
    """Delete a topic; `until: {topics: []}` waits until it is gone."""

    delete_topic: TopicName
    also: Also = ()


class CreatePartitionsStep(AdminStep, frozen=True, kw_only=True):
    """Add partitions to a topic, up to a number of them."""

    create_partitions: TopicName
    partition_count: Positive


class RemovePartitionsStep(AdminStep, frozen=True, kw_only=True):
    """Remove partitions of a topic."""

    remove_partitions: TopicName
    partitions: tuple[Number, ...]


class ElectStep(AdminStep, frozen=True, kw_only=True):
    """Elect the preferred replica; or with `election: unclean` any replica."""

    elect: Partition
    election: ElectionKind = ElectionKind.PREFERRED


class ReassignStep(AdminStep, frozen=True, kw_only=True):
    """Move a partition to other replicas."""

    reassign: Partition
    replicas: Annotated[BrokerIds, Meta(description="none: a move is cancelled")] = ()


class FindCoordinatorStep(AdminStep, frozen=True, kw_only=True):
    """Look for the coordinator of a group; the first use creates the internal topic."""

    find_coordinator: Annotated[str, Meta(description="the name of a group")]


# Waiting


class RunMsStep(StoryStep, frozen=True, kw_only=True):
    """Let time pass."""

    run_ms: Annotated[int, milliseconds("how long", ge=0)]


class UntilStep(StoryStep, frozen=True, kw_only=True):
    """Let time pass until all of it is so; else what is seen is printed."""

    until: Wanted
    within_ms: Annotated[int, milliseconds("at most", ge=0)] = UNTIL_MS

    def __post_init__(self) -> None:
        require_wanted("until", self.until)


class MustStep(StoryStep, frozen=True, kw_only=True):
    """The same, and with `for_ms` it stays so; else the run has failed, and goes on."""

    must: Wanted
    within_ms: Annotated[int, milliseconds("at most", ge=0)] = UNTIL_MS
    for_ms: Annotated[int, milliseconds("how long it stays so", ge=0)] = 0

    def __post_init__(self) -> None:
        require_wanted("must", self.must)


class NoteStep(StoryStep, frozen=True, kw_only=True):
    """Note what is seen now; `until` may want the same, more, or a sum as "+1" afterwards."""

    note: tuple[str, ...]

    def __post_init__(self) -> None:
        for name in self.note:
            Observation.parsed(name)


class WaitForStep(StoryStep, frozen=True, kw_only=True):
    """Let time pass until a line of a trace or a phase of a fault has come, as `after` says it."""

    wait_for: dict[str, Any]
    within_ms: Annotated[int, milliseconds("at most", ge=0)] = UNTIL_MS


# Processes and ZooKeeper


class StopStep(OrderStep, frozen=True, kw_only=True):
    """A process stops: now, or just before it performs what `at` names."""

    at: AtPoint = ""
    nth: Annotated[int, number("at which time of those", ge=1)] = 1

    def __post_init__(self) -> None:
        if self.at:
            Point.parsed(self.at)


class KillStep(StopStep, frozen=True, kw_only=True):
    """A process dies."""

    kill: Target


class PauseStep(StopStep, frozen=True, kw_only=True):
    """A process stands still."""

    pause: Target


class ResumeStep(OrderStep, frozen=True, kw_only=True):
    """A process that stands still goes on."""

    resume: Target


class RestartStep(OrderStep, frozen=True, kw_only=True):
    """A broker starts anew on its disk; it dies first if it lives."""

    restart: Target


class ExpireStep(OrderStep, frozen=True, kw_only=True):
    """ZooKeeper ends the session of a broker."""

    expire: Target


class DisconnectStep(OrderStep, frozen=True, kw_only=True):
    """A broker cannot reach ZooKeeper, for a time or until `connect`."""

    disconnect: Target
    for_ms: LastsMs = 0


class ConnectStep(OrderStep, frozen=True, kw_only=True):
    """A broker can reach ZooKeeper again."""

    connect: Target


class LoseReplyStep(OrderStep, frozen=True, kw_only=True):
    """The next write of a broker is done, and its reply is lost with the connection."""

    lose_reply: Target
    path: Annotated[str, Meta(description="a part of the path that is written")] = "/"
    for_ms: Annotated[int, milliseconds("how long it cannot reach ZooKeeper then", ge=0)] = 0


class BreakConnectionsStep(OrderStep, frozen=True, kw_only=True):
    """Connections to ZooKeeper break at random, as often as the cluster's settings say."""

    break_connections: None


class DeleteZnodeStep(OrderStep, frozen=True, kw_only=True):
    """Delete a znode by hand, in a session that no broker has."""

    delete_znode: str


class CreateZnodeStep(OrderStep, frozen=True, kw_only=True):
    """Create a znode by hand."""

    create_znode: str
    data: str = ""


class SetZnodeStep(OrderStep, frozen=True, kw_only=True):
    """Write over a znode by hand."""

    set_znode: str
    data: str = ""


class ZnodeStep(StoryStep, frozen=True, kw_only=True):
    """Read a znode, and print what it does not hold."""

    znode: str
    holds: Annotated[
        dict[str, Any],
        Meta(description="fields of its JSON: a value, a list of which one, or null for any"),
    ] = {}
    ephemeral: Annotated[bool | UnsetType, Meta(description="whether it ends with a session")] = (
        UNSET
    )
    exists: Annotated[bool, Meta(description="false: there is none")] = True


# Messages


class RequestsStep(OrderStep, frozen=True, kw_only=True):
    """What is said of requests between brokers, and of those of clients."""

    sender: Target | UnsetType = UNSET
    receiver: Target | UnsetType = UNSET
    topic: str = ""
    count: Annotated[int, number("to how many requests it applies; 0: all", ge=0)] = 0


class HoldRequestStep(RequestsStep, frozen=True, kw_only=True):
    """Such requests wait until they are delivered."""

    hold_request: Method


class DropRequestStep(RequestsStep, frozen=True, kw_only=True):
    """Such requests are lost."""

    drop_request: Method


class HoldResponseStep(RequestsStep, frozen=True, kw_only=True):
    """The responses to such requests wait until they are delivered."""

    hold_response: Method


class DropResponseStep(RequestsStep, frozen=True, kw_only=True):
    """The responses to such requests are lost."""

    drop_response: Method


class DeliverStep(RequestsStep, frozen=True, kw_only=True):
    """What is held arrives, in order."""

    deliver: Method | None
    keep: Annotated[bool, Meta(description="true: what comes later is held too")] = False


class LiftStep(RequestsStep, frozen=True, kw_only=True):
    """No such requests are held or lost any more; what is held is lost."""

    lift: Method | None


class ControlStep(OrderStep, frozen=True, kw_only=True):
    """Send one command to one broker, as a controller would; prints the answer.

    What the step does not say is as it is published.
    """

    control: ControlMethod
    to: Target
    partition: Partition | UnsetType = UNSET
    controller_epoch: Epoch = CURRENT
    broker_epoch: Epoch = CURRENT
    leader_epoch: Epoch = CURRENT
    leader: Annotated[int, number("the new leader; -1: none", ge=-1)] | UnsetType = UNSET
    isr: BrokerIds | UnsetType = UNSET
    partition_incarnation: Epoch = CURRENT
    init: Annotated[bool, Meta(description="true: LeaderAndIsr names all that the broker has")] = (
        False
    )
    delete: Annotated[bool, Meta(description="true: StopReplica removes the data too")] = False
    shuts_down: Positive | UnsetType = UNSET
    wait: Asks = True

    def __post_init__(self) -> None:
        needs_partition = self.control in (ControlMethod.LEADER_AND_ISR, ControlMethod.STOP_REPLICA)
        is_shutdown = self.control is ControlMethod.CONTROLLED_SHUTDOWN
        if needs_partition and isinstance(self.partition, UnsetType):
            raise FaultError(f"{self.control} is about a partition; name it, as in partition: t/0")
        if is_shutdown == isinstance(self.shuts_down, UnsetType):
            raise FaultError("shuts_down names the broker that ControlledShutdown is about")


# Faults of the catalogue


class FaultStep(OrderStep, frozen=True, kw_only=True):
    """A fault of the catalogue begins, recorded as in any run."""

    kind: str
    id: Annotated[str, Meta(description="a name, by which it is healed")] = ""
    target: Annotated[Any, Meta(description="the broker that it hurts")] = UNSET
    params: dict[str, Any] = {}
    for_ms: Annotated[Any, Meta(description="how long it lasts")] = UNSET

    def __post_init__(self) -> None:
        kind_of(self.kind)


class HealStep(OrderStep, frozen=True, kw_only=True):
    """The fault of that id ends."""

    heal: str


class HealAllStep(StoryStep, frozen=True, kw_only=True):
    """End all faults, start all brokers, and wait; prints what does not come to hold."""

    heal_all: None
    without: Annotated[BrokerIds, Meta(description="brokers that stay dead")] = ()


# Looking


class SayStep(StoryStep, frozen=True, kw_only=True):
    """Nothing is done: words for a reader, up to the next ones, at which a lab stops."""

    say: Annotated[Told, Meta(description="what is done next, and why")]
    look: Annotated[Told, Meta(description="what to look at when it is done")] = ""


class ShowStep(StoryStep, frozen=True, kw_only=True):
    """Print what ZooKeeper, replicas or a broker say, or the outcome of what was not waited for."""

    show: Page


class ReadStep(StoryStep, frozen=True, kw_only=True):
    """Read every partition from its start, once; prints it when that fails."""

    read: None


class CheckStep(StoryStep, frozen=True, kw_only=True):
    """Print the invariants that the run violates."""

    check: None


class ReplayStep(StoryStep, frozen=True, kw_only=True):
    """Play a counterexample of the specs, with its mutant if the run has one."""

    replay: str


def verb_of(step: StoryStep) -> str:
    """The verb of a step."""
    return next(iter(type(step).__annotations__))


def seen_by(step: StoryStep) -> tuple[str, ...]:
    """The names of the observations that a step makes."""
    if isinstance(step, UntilStep):
        return tuple(step.until)
    if isinstance(step, MustStep):
        return tuple(step.must)
    return step.note if isinstance(step, NoteStep) else ()
