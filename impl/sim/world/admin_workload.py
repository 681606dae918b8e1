"""The simulated administrator: asks any broker for one change after the other, out of a mix.

A mix draws what is asked next, and of which broker: deletions and creations of
the topic, moves of partitions, or every kind of request.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from fencepost.fault_injection.workload.config_operations import (
    ALTER_CONFIGS,
    DESCRIBE_CONFIGS,
    DESCRIBES,
    ENTRIES,
    ENTRIES_METHOD,
    ConfigChange,
    answered_config,
    asked_config,
)
from fencepost.fault_injection.workload.operations import Fields
from fencepost.impl.core.types.broker_reports import PartitionId
from fencepost.impl.core.types.config_messages import (
    RESPONSES,
    DescribeConfigsRequest,
    EntityChange,
    EntryChange,
    EntryOperation,
)
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    CreatePartitionsRequest,
    ElectLeadersRequest,
    Reassignment,
    RemovePartitionsRequest,
    Request,
    Response,
)
from fencepost.impl.core.types.request_header import (
    CONTROLLER_VERSION,
    OLD_VERSION,
    RequestHeader,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    DeleteTopicRequest,
    ReplicaList,
)
from fencepost.impl.core.types.zookeeper import Create, Delete, Written
from fencepost.impl.sim.engine.options import TOPIC
from fencepost.impl.sim.world.clients import SimulatedClient
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.spec.config_store import ConfigEntity, EntityKind
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    BrokerId,
    ElectionKind,
    ProtocolLevel,
)
from fencepost.spec.znodes import (
    CONTROLLER,
    TopicPartition,
    topic_path,
)

BETWEEN_MS = (100, 1_500)
ADDED_MAX = 2
"""Partitions that a topic may have beyond those of the options."""
OTHER_TOPICS = ("u", "v")
PARTITIONS_MAX = 3
"""Of one topic, where everything is asked for."""
AGAIN_MS = 300
MISTAKES = 0.1
"""Share of the lists of replicas that name a broker that does not exist."""
BAD_TOPIC = topic_path("bad")
CHANGE_REQUESTS = {one.__name__.removesuffix("Request"): one for one in RESPONSES}
"""By the method that takes them."""

Mix = Callable[["SimulatedAdministrator"], tuple[BrokerId, Request]]
"""Draws the next request, and the broker that gets it."""


class SimulatedAdministrator(SimulatedClient):
    """Asks for one change after the other until it is stopped."""

    def __init__(
        self,
        cluster: VirtualCluster,
        name: str,
        mix: Mix,
        *,
        between_ms: tuple[int, int] = BETWEEN_MS,
        restores_topic: bool = False,
    ) -> None:
        """One that restores the topic goes on when it is stopped while there is none.

        A late request may delete the topic at any time: the run ends with one all the same.
        """
        super().__init__(cluster, name)
        self._mix = mix
        self._between_ms = between_ms
        self._restores_topic = restores_topic

    def begin_work(self) -> None:
        """Ask for the next change after a while."""
        self.cluster.scheduler.after_ms(self.random.randint(*self._between_ms), self._change)

    def _change(self) -> None:
        if self.is_stopped and not self._restores_topic:
            return
        if self.is_stopped and self.partitions(TOPIC):
            self.begin_work()
            return
        to, request = self._mix(self)
        self.ask(to, request, lambda _: self.begin_work())

    def keep_topic(self) -> None:
        """Create the topic whenever there is none, without end."""
        if not self.partitions(TOPIC):
            request = self.creation_with_replicas(TOPIC)
            self.ask(self.any_broker(), request, lambda _: None)
        self.cluster.scheduler.after_ms(AGAIN_MS, self.keep_topic)

    # What a mix draws from

    def partitions(self, topic: str) -> list[TopicPartition]:
        """The partitions that the topic has now."""
        return [key for key in self.cluster.assignments() if key.topic == topic]

    def some_brokers(self, count: int) -> tuple[BrokerId, ...]:
        """So many brokers."""
        return tuple(self.random.sample(sorted(self.cluster.disks), count))

    def creation(self, topic: str, count: int) -> Request:
        """Create a topic; the broker chooses the replicas."""
        factor = self.cluster.options.replication_factor
        return CreateTopicRequest(topic=topic, partition_count=count, replication_factor=factor)

    def creation_with_replicas(self, topic: str) -> Request:
        """Create a topic; half of the time with named replicas, now and then wrong ones."""
        count = self.cluster.options.partitions if topic == TOPIC else self.random.choice((1, 2))
        if self.random.random() >= 0.5:
            return self.creation(topic, count)
        is_mistake = self.random.random() < MISTAKES
        replicas = self._missing_broker if is_mistake else self.usual_replicas
        lists = tuple(ReplicaList(replicas=replicas()) for _ in range(count))
        return CreateTopicRequest(topic=topic, assignment=lists)

    def usual_replicas(self) -> tuple[BrokerId, ...]:
        """As many as usual, or one."""
        factor = self.cluster.options.replication_factor
        return self.some_brokers(factor if self.random.random() < 0.8 else 1)

    def _missing_broker(self) -> tuple[BrokerId, ...]:
        return (BrokerId(max(self.cluster.disks) + 1),)


# Mixes


def topic_changes(admin: SimulatedAdministrator) -> tuple[BrokerId, Request]:
    """The topic is deleted and created again, and resized, with clients at work on it."""
    return admin.any_broker(), _topic_change(admin)


def _topic_change(admin: SimulatedAdministrator) -> Request:
    there = admin.partitions(TOPIC)
    options = admin.cluster.options
    if not there:
        return admin.creation(TOPIC, options.partitions)
    draw = admin.random.random()
    if draw < 0.3:
        return DeleteTopicRequest(topic=TOPIC)
    if draw < 0.6 and len(there) > 1:
        return removal(max(there))
    if draw < 0.9:
        return addition(TOPIC, min(len(there) + 1, options.partitions + ADDED_MAX))
    return election(admin.random.choice(there))


def keys_of_topic_changes(cluster: VirtualCluster) -> list[TopicPartition]:
    """All partitions that `topic_changes` may ever create."""
    count = cluster.options.partitions + ADDED_MAX
    return [TopicPartition(TOPIC, partition) for partition in range(count)]


def moves_of(keys: Sequence[TopicPartition]) -> Mix:
    """The partitions move, change leaders, and are joined by others for a while.

    Only partitions that were added here are removed, which hold no records of the clients, and none
    is added after that: partitions that come again are for `topic_changes`.
    """
    has_removed = False

    def draw_move(admin: SimulatedAdministrator) -> tuple[BrokerId, Request]:
        return admin.any_broker(), move(admin)

    def move(admin: SimulatedAdministrator) -> Request:
        key = admin.random.choice(keys)
        draw = admin.random.random()
        if draw < 0.55:
            factor = admin.cluster.options.replication_factor
            return reassignment(key, admin.some_brokers(factor))
        if draw < 0.7:
            return reassignment(key, ())
        if draw < 0.85 or has_removed:
            return election(key)
        return resizing(admin, key.topic)

    def resizing(admin: SimulatedAdministrator, topic: str) -> Request:
        nonlocal has_removed
        there = admin.partitions(topic)
        added = sorted(set(there) - set(keys))
        if added and admin.random.random() < 0.6:
            has_removed = True
            return removal(added[-1])
        return addition(topic, min(len(there) + 1, len(keys) + ADDED_MAX))

    return draw_move


def everything(admin: SimulatedAdministrator) -> tuple[BrokerId, Request]:
    """Topics come, go and come again, grow and shrink, and their partitions move."""
    request = _anything(admin)
    return admin.any_broker(), request


def _anything(admin: SimulatedAdministrator) -> Request:
    known = sorted(admin.cluster.assignments())
    if not any(key.topic == TOPIC for key in known):
        return admin.creation_with_replicas(TOPIC)
    key = admin.random.choice(known)
    draw = admin.random.random()
    if draw < 0.3:
        return reassignment(key, admin.usual_replicas())
    if draw < 0.45:
        return reassignment(key, ())
    if draw < 0.55:
        return election(key, _kind_of_election(admin))
    if draw < 0.75:
        return _resizing(admin, [one for one in known if one.topic == key.topic])
    topic = admin.random.choice((TOPIC, *OTHER_TOPICS))
    if any(one.topic == topic for one in known):
        return DeleteTopicRequest(topic=topic)
    return admin.creation_with_replicas(topic)


def _kind_of_election(admin: SimulatedAdministrator) -> ElectionKind:
    """Now and then one that may lose records, where everything is asked for all the time."""
    is_bold = admin.cluster.options.asks and admin.random.random() < 0.3
    return ElectionKind.UNCLEAN if is_bold else ElectionKind.PREFERRED


def _resizing(admin: SimulatedAdministrator, there: list[TopicPartition]) -> Request:
    if len(there) > 1 and admin.random.random() < 0.5:
        return removal(max(there))
    return addition(there[0].topic, min(len(there) + 1, PARTITIONS_MAX))


KEYS_OF_EVERYTHING = tuple(
    TopicPartition(topic, n) for topic in (TOPIC, *OTHER_TOPICS) for n in range(PARTITIONS_MAX)
)
"""All partitions that `everything` may ever create."""


# Requests


def reassignment(key: TopicPartition, replicas: Iterable[int]) -> Request:
    """Ask for these replicas; without any a move is cancelled."""
    ids = tuple(map(BrokerId, replicas))
    one = Reassignment(topic=key.topic, partition=key.partition, replicas=ids)
    return AlterPartitionReassignmentsRequest(reassignments=(one,))


def election(key: TopicPartition, kind: ElectionKind = ElectionKind.PREFERRED) -> Request:
    """Ask that another replica leads: the first assigned one, or any."""
    one = PartitionId(topic=key.topic, partition=key.partition)
    return ElectLeadersRequest(kind=kind, partitions=(one,))


def removal(key: TopicPartition) -> Request:
    """Ask that the partition goes."""
    return RemovePartitionsRequest(topic=key.topic, partitions=(key.partition,))


def addition(topic: str, count: int) -> Request:
    """Ask for so many partitions in all."""
    return CreatePartitionsRequest(topic=topic, partition_count=count)


# A znode that holds no topic


def write_bad_topic(cluster: VirtualCluster) -> None:
    """Write a znode beside the topics that holds no document, unless it is there."""
    if cluster.zookeeper.peek(BAD_TOPIC).stat is None:
        cluster.write_by_hand(Create(path=BAD_TOPIC, data=b"{"))


def remove_bad_topic(cluster: VirtualCluster) -> None:
    """Delete the znode that holds no topic."""
    if cluster.zookeeper.peek(BAD_TOPIC).stat is not None:
        cluster.write_by_hand(Delete(path=BAD_TOPIC, expected_version=ANY_VERSION))


# Writes by hand


def delete_controller(cluster: VirtualCluster) -> bool:
    """Delete `/controller` in a session that no broker has; False when it was not there."""
    result = cluster.write_by_hand(Delete(path=CONTROLLER, expected_version=ANY_VERSION))
    return isinstance(result, Written)


# The configuration, from level 5 on; every value is set once: a trace tells what became of it

CONFIG_CLIENTS = 3
ENTITIES = tuple(ConfigEntity(EntityKind.TOPIC, (name,)) for name in ("t",))
THINK_MS = (5, 120)
FORGED = 0.15
"""Share of the changes in which the client claims another name, as if it forwarded."""
FORGED_NAME = "User:root"


def start_config_clients(cluster: VirtualCluster) -> list[SimulatedClient]:
    """Those of the run; none below the level at which the controller alone makes changes."""
    if cluster.options.newest_level < ProtocolLevel.CONTROLLER_MUTATIONS:
        return []
    clients = [ConfigClient(cluster, f"client-config-{n + 1}") for n in range(CONFIG_CLIENTS)]
    for client in clients:
        client.go_on_later()
    return [*clients]


def alteration(change: ConfigChange, header: RequestHeader) -> tuple[Fields, Request]:
    """What a trace tells of it, and the request for it."""
    entity, operation = change.entity, EntryOperation(change.operation)
    changes = tuple(
        EntryChange(operation=operation, name=name, value=value)
        for name, value in change.entries.items()
    )
    wanted = EntityChange(kind=entity.kind, names=entity.names, changes=changes)
    request = CHANGE_REQUESTS[change.method](header=header, entities=(wanted,))
    return asked_config(entity, change.entries), request


class ConfigClient(SimulatedClient):
    """Alters entries and describes them, one operation after the other, until it is stopped."""

    _begun = 0

    def go_on_later(self) -> None:
        """Do the next thing after a while."""
        self.cluster.scheduler.after_ms(self.random.randint(*THINK_MS), self._go_on)

    def _go_on(self) -> None:
        if self.is_stopped:
            return
        self._begun += 1
        entity = self.random.choice(ENTITIES)
        if self.random.random() < DESCRIBES:
            described = DescribeConfigsRequest(kind=entity.kind, names=entity.names)
            self._perform(DESCRIBE_CONFIGS, asked_config(entity, {}), described)
            return
        name, value = self.random.choice(ENTRIES), f"{self.name}/{self._begun}"
        change = ConfigChange(ENTRIES_METHOD, entity, {name: value})
        asked, request = alteration(change, self._header())
        self._perform(ALTER_CONFIGS, asked, request)

    def _header(self) -> RequestHeader:
        version = self.random.choice((OLD_VERSION, CONTROLLER_VERSION))
        if self.random.random() < FORGED:
            return RequestHeader(api_version=version, principal=FORGED_NAME)
        return RequestHeader(api_version=version)

    def _perform(self, action: str, asked: Mapping[str, object], request: Request) -> None:
        line, inv_ns = self.invoke(action, asked)

        def end(response: Response | None) -> None:
            self.complete(line, inv_ns, answered_config(action, response))
            self.go_on_later()

        self.ask(self.any_broker(), request, end)
