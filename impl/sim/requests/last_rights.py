"""What callers with certificates ask of a healed cluster: each right holds, and no other (SEC-001).

The access control lists are those of `RULES`; what they come to is written down beside each caller
by hand, and asked of every broker: the gate decides, and the node has the last word on the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from msgspec import structs

from fencepost.impl.core.rules.security.access import ProvenCaller
from fencepost.impl.core.types.broker_reports import (
    ControlledShutdownRequest,
    IsrChangedRequest,
    LogsFailedRequest,
)
from fencepost.impl.core.types.config_messages import (
    AlterClientQuotasRequest,
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeConfigsRequest,
    EntityChange,
    EntryChange,
    EntryOperation,
    IncrementalAlterConfigsRequest,
)
from fencepost.impl.core.types.messages import (
    CreatePartitionsRequest,
    FetchRequest,
    InitProducerIdRequest,
    LeaderAndIsrRequest,
    ListOffsetsRequest,
    ListPartitionReassignmentsRequest,
    MetadataRequest,
    MetadataResponse,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
    RemovePartitionsRequest,
    Request,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION, RequestHeader
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
)
from fencepost.impl.sim.engine.listener import SUPER_USER, CertifiedCaller, broker_caller
from fencepost.impl.sim.requests.asking import AskingClient, Step, Until
from fencepost.impl.sim.requests.by_hand import write_config_by_hand
from fencepost.impl.sim.world.admin_workload import election
from fencepost.spec.config_store import CONFIG_CHANGES, ConfigEntity, EntityKind
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    NO_BROKER_EPOCH,
    NO_EPOCH,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    Offset,
    ProtocolLevel,
)
from fencepost.spec.znodes import TopicPartition

TOPIC = "last"
KEY = TopicPartition(TOPIC, 0)
NO_PARTITION = TopicPartition(TOPIC, 9)
NEW, FOREIGN = "secret-1", "foreign"
START = Offset(0)
HERE, THERE = "10.0.0.1", "10.0.0.2"
OK = ErrorCode.NONE
NOT_OF_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NOT_OF_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
RULES: Mapping[tuple[str, str, str], tuple[str, ...]] = {
    ("literal", "topic", TOPIC): (
        f"ALLOW Read {HERE} User:ann",
        "ALLOW All * User:bob",
        f"DENY Write {THERE} User:bob",
        "ALLOW Write * User:dan",
        "ALLOW Describe_Configs * User:dan",
        "DENY All * User:dan",
        "ALLOW AlterConfigs * User:eve",
        "DENY DescribeConfigs * User:fay",
    ),
    ("prefixed", "Topic", "la"): ("ALLOW Describe * User:cyn", "ALLOW Alter * User:fay"),
    ("literal", "topic", "la"): ("ALLOW Write * User:cyn",),
    ("literal", "topic", "*"): ("ALLOW AlterConfigs * User:fay",),
    ("prefixed", "topic", "secret-"): ("ALLOW Create * User:*", "ALLOW Delete * User:ann"),
    ("literal", "cluster", "kafka-cluster"): (
        "ALLOW IdempotentWrite * User:ann",
        "ALLOW Alter * User:bob",
        "ALLOW Alter_Configs * User:cyn",
    ),
}
"""Pattern, type and name of a resource -> its entries."""


def user(name: str, host: str = HERE) -> CertifiedCaller:
    """A user with a certificate, at a host."""
    return CertifiedCaller(ProvenCaller(name=name, host=host))


ROOT, BOB = user(SUPER_USER), user("bob")
TOPICS_OWN = "read write describe alter remove describe_configs alter_configs"
OF_CLUSTER = "write_ids elect list_moves describe_all alter_quotas"
RIGHTS: tuple[tuple[CertifiedCaller, str], ...] = (
    (ROOT, f"{TOPICS_OWN} {OF_CLUSTER} create"),
    (user("ann"), "read describe write_ids"),
    (user("ann", THERE), "write_ids"),
    (BOB, f"{TOPICS_OWN} create elect list_moves"),
    (user("bob", THERE), f"{TOPICS_OWN} create elect list_moves".replace("write ", "")),
    (user("cyn"), "describe describe_all alter_quotas"),
    (user("dan"), ""),
    (user("eve"), "describe_configs alter_configs"),
    (user("fay"), "describe alter alter_configs"),
    (user("gus"), ""),
    (user(""), ""),
)
"""Caller -> what of `attempts` the entries come to."""
SEEN: tuple[tuple[CertifiedCaller, bool, bool], ...] = (
    (ROOT, True, True),
    (broker_caller(BrokerId(1)), True, True),
    (user("ann"), True, False),
    (user("ann", THERE), False, False),
    (user("cyn"), True, False),
    (user("eve"), False, False),
    (user("gus"), False, False),
)
"""Caller -> whether metadata show the topic, and other topics, which are not about it."""


class Attempt(NamedTuple):
    """A request that changes nothing, and how it is answered if it is taken."""

    request: Request
    code: ErrorCode
    refused: ErrorCode = NOT_OF_TOPIC


def attempts() -> dict[str, Attempt]:
    """By name, those that `RIGHTS` are about."""
    change = EntityChange(kind=EntityKind.TOPIC, names=(TOPIC,), changes=())
    quota = EntityChange(kind=EntityKind.USER, names=("u",), changes=())
    return {
        "read": Attempt(FetchRequest(topic=TOPIC, partition=0, fetch_offset=START), OK),
        "write": Attempt(
            ProduceRequest(topic=TOPIC, partition=0, values=()), ErrorCode.INVALID_REQUEST
        ),
        "describe": Attempt(ListOffsetsRequest(topic=TOPIC, partition=0), OK),
        "create": Attempt(
            CreateTopicRequest(topic=TOPIC, validate_only=True), ErrorCode.TOPIC_ALREADY_EXISTS
        ),
        "alter": Attempt(
            CreatePartitionsRequest(topic=TOPIC, partition_count=1, validate_only=True),
            ErrorCode.INVALID_PARTITIONS,
        ),
        "remove": Attempt(
            RemovePartitionsRequest(topic=TOPIC, partitions=()), ErrorCode.INVALID_PARTITIONS
        ),
        "describe_configs": Attempt(
            DescribeConfigsRequest(kind=EntityKind.TOPIC, names=(TOPIC,)), OK
        ),
        "alter_configs": Attempt(
            IncrementalAlterConfigsRequest(entities=(change,), validate_only=True), OK
        ),
        "write_ids": Attempt(InitProducerIdRequest(), OK, NOT_OF_CLUSTER),
        "elect": Attempt(
            election(NO_PARTITION), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NOT_OF_CLUSTER
        ),
        "list_moves": Attempt(ListPartitionReassignmentsRequest(), OK, NOT_OF_CLUSTER),
        "describe_all": Attempt(DescribeConfigsRequest(kind=EntityKind.TOPIC), OK, NOT_OF_CLUSTER),
        "alter_quotas": Attempt(
            AlterClientQuotasRequest(entities=(quota,), validate_only=True), OK, NOT_OF_CLUSTER
        ),
    }


@dataclass(frozen=True, slots=True)
class LastRights:
    """The part of the last requests that is about rights."""

    client: AskingClient
    meanwhile: Callable[["LastRights"], Step]
    """What is asked for while the lists hold."""

    def script(self) -> Step:
        """The lists are written, asked about, and taken away."""
        for to in sorted(self.client.cluster.disks):  # which begins to read what is asked for
            yield to, DescribeConfigsRequest(kind=EntityKind.ACL)
        yield self.all_read()
        for names, texts in RULES.items():
            yield from self._change(CreateAclsRequest, names, EntryOperation.SET, texts)
        yield self.all_read()
        for caller, rights in RIGHTS:
            yield from self._has_rights(caller, rights.split())
        yield from self._many_are_judged_together()
        yield from self._metadata_are_shown()
        yield from self._brokers_alone_ask()
        yield from self._forwarders_are_believed()
        yield from self.meanwhile(self)
        if self.client.cluster.options.newest_level < ProtocolLevel.CONTROLLER_MUTATIONS:
            yield from self._what_cannot_be_read_denies()  # later, the controller alone writes them
        for names, texts in RULES.items():
            yield from self._change(DeleteAclsRequest, names, EntryOperation.DELETE, texts)
        yield self.all_read()
        yield from self._has_rights(BOB, [])

    def all_read(self) -> Until:
        """Every broker knows the configuration as it is."""
        cluster = self.client.cluster
        stat = cluster.zookeeper.peek(CONFIG_CHANGES).stat
        version = stat.version if stat is not None else ANY_VERSION
        stores = [one.node.configs for one in cluster.processes.values()]
        return Until(
            "the change", lambda: all(one.is_read and one.version == version for one in stores)
        )

    def _change(
        self,
        kind: type[CreateAclsRequest | DeleteAclsRequest],
        names: tuple[str, str, str],
        operation: EntryOperation,
        texts: tuple[str, ...],
    ) -> Step:
        """By the super user, and by no other."""
        changes = tuple(EntryChange(operation=operation, name=text) for text in texts)
        entity = ConfigEntity(EntityKind.ACL, names)
        request = kind(entities=(EntityChange(kind=entity.kind, names=names, changes=changes),))
        yield from self.client.expect(request, NOT_OF_CLUSTER, caller=user("eve"))
        gone = texts if kind is DeleteAclsRequest else ()
        asked = self.client.expect(request, OK, caller=ROOT)
        yield from self.client.drops(entity, gone, asked)

    def _has_rights(self, caller: CertifiedCaller, rights: list[str]) -> Step:
        """What the caller may ask for is answered as ever, and all else refused."""
        for name, (request, code, refused) in attempts().items():
            is_stranger = not caller.proven.name
            expected = code if name in rights else NOT_OF_CLUSTER if is_stranger else refused
            leader = self.client.leader_of(KEY) if name in ("read", "write", "describe") else None
            yield from self.client.expect(request, expected, to=leader, caller=caller)

    def _many_are_judged_together(self) -> Step:
        """One topic that the caller may not ask for is enough."""
        new, foreign = (CreateTopicRequest(topic=one) for one in (NEW, FOREIGN))
        for caller, some, codes in (
            (user("gus"), (new,), (OK,)),
            (user("gus"), (new, foreign), (NOT_OF_TOPIC,)),
            (user("gus"), (foreign, new), (NOT_OF_TOPIC,)),
            (ROOT, (new, foreign), (OK, OK)),
        ):
            request = CreateTopicsRequest(topics=some, validate_only=True)
            yield from self.client.expect(request, *codes, caller=caller)
        for caller, topics, codes in (
            (user("ann"), (NEW,), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)),
            (user("ann"), (NEW, FOREIGN), (NOT_OF_TOPIC,)),
            (user("gus"), (NEW,), (NOT_OF_TOPIC,)),
        ):
            yield from self.client.expect(DeleteTopicsRequest(topics=topics), *codes, caller=caller)

    def _metadata_are_shown(self) -> Step:
        """Of topics that the caller may know of, and of no others."""
        for caller, sees_topic, sees_others in SEEN:
            told = yield None, MetadataRequest(), caller
            partitions = told.partitions if isinstance(told, MetadataResponse) else ()
            shown = {one.topic for one in partitions}
            others = {one.topic for one in self.client.cluster.assignments()} - {TOPIC}
            of_others = {one for one in others if not one.startswith(TOPIC[:2])}
            expected = {TOPIC} if sees_topic else set()
            expected |= of_others if sees_others else set()
            if {one for one in shown if one == TOPIC or one in of_others} != expected:
                self.client.wrong.append(f"metadata show {sorted(shown)} to {caller.proven.name}")
        yield from self.client.expect(MetadataRequest(), NOT_OF_CLUSTER, caller=user(""))

    def _brokers_alone_ask(self) -> Step:
        """What brokers say to each other is taken from the one that it names alone (SEC-002)."""
        leader = self.client.leader_of(KEY)
        peers = sorted(one for one in self.client.cluster.disks if one != leader)
        for request, code in self._of_broker(peers[0]):
            for caller in (ROOT, user(""), broker_caller(peers[1]), broker_caller(leader)):
                yield from self.client.expect(request, NOT_OF_CLUSTER, to=leader, caller=caller)
            if code is not None:
                caller = broker_caller(peers[0])
                yield from self.client.expect(request, code, to=leader, caller=caller)

    def _of_broker(self, sender: BrokerId) -> Iterator[tuple[Request, ErrorCode | None]]:
        """Requests of one broker, and the answers to those that change nothing if it sends them."""
        behind, nothing = ErrorCode.FENCED_LEADER_EPOCH, NO_BROKER_EPOCH
        fetch = FetchRequest(topic=TOPIC, partition=0, fetch_offset=START)
        yield structs.replace(fetch, replica_id=sender), behind
        compared = OffsetForLeaderEpochRequest(
            topic=TOPIC,
            partition=0,
            replica_id=sender,
            current_leader_epoch=NO_EPOCH,
            leader_epoch=NO_EPOCH,
        )
        yield compared, behind
        first = ControllerEpoch(1)
        command = LeaderAndIsrRequest(controller_id=sender, controller_epoch=first, partitions=())
        yield command, None
        yield StopReplicaRequest(controller_id=sender, controller_epoch=first, partitions=()), None
        metadata = UpdateMetadataRequest(
            controller_id=sender,
            controller_epoch=first,
            max_broker_epoch=nothing,
            metadata_version=0,
        )
        yield metadata, None
        yield LogsFailedRequest(broker_id=sender, broker_epoch=nothing, partitions=()), None
        yield IsrChangedRequest(broker_id=sender, broker_epoch=nothing, partitions=()), None
        yield ControlledShutdownRequest(broker_id=sender, broker_epoch=nothing), None

    def _what_cannot_be_read_denies(self) -> Step:
        """It may have been a denial; of no resource that there is, it is nothing (SEC-001)."""
        cluster = self.client.cluster
        everything = {"DENY All * User:*": ""}
        for names in (("fuzzy", "topic", TOPIC), ("literal", "thing", TOPIC)):
            write_config_by_hand(cluster, ConfigEntity(EntityKind.ACL, names), everything)
        yield self.all_read()
        yield from self._has_rights(BOB, dict(RIGHTS)[BOB].split())
        yield from self._denies(("prefixed", "topic", TOPIC[:3]), "MAYBE Read * User:ann")
        of_cluster = {*dict(RIGHTS)[BOB].split()} & {*OF_CLUSTER.split()}
        yield from self._has_rights(BOB, sorted(of_cluster))
        yield from self._denies(("prefixed", "cluster", "kafka"), "ALLOW Look * User:ann")
        yield from self._has_rights(BOB, [])
        yield from self._denies(("prefixed", "topic", NEW[:3]), "ALLOW Create")
        new = CreateTopicRequest(topic=NEW, validate_only=True)
        yield from self.client.expect(new, NOT_OF_TOPIC, caller=user("gus"))
        yield from self.client.expect(new, OK, caller=ROOT)
        yield from self._has_rights(ROOT, dict(RIGHTS)[ROOT].split())

    def _denies(self, names: tuple[str, str, str], text: str) -> Step:
        entity = ConfigEntity(EntityKind.ACL, names)
        write_config_by_hand(self.client.cluster, entity, {text: ""})
        yield self.all_read()

    def _forwarders_are_believed(self) -> Step:
        """A request in another's name comes from the broker that it names alone (FWD-005)."""
        elected = self.client.cluster.controller()
        if elected is None:
            self.client.wrong.append("a cluster at rest has no controller")
            return
        at, generation = elected.broker_id, elected.node.controller.generation
        peers = sorted(one for one in self.client.cluster.disks if one != at)
        header = RequestHeader(
            api_version=CONTROLLER_VERSION,
            principal="User:gus",
            forwards=1,
            forwarder=peers[0],
            number=1,
            controller_epoch=generation.controller_epoch,
        )
        change = EntityChange(kind=EntityKind.TOPIC, names=(TOPIC,), changes=())
        request = IncrementalAlterConfigsRequest(
            header=header, entities=(change,), validate_only=True
        )
        for caller, code in (
            (ROOT, NOT_OF_CLUSTER),
            (broker_caller(peers[1]), NOT_OF_CLUSTER),
            (broker_caller(peers[0]), OK),
            (broker_caller(peers[0]), ErrorCode.REQUEST_TIMED_OUT),
        ):
            yield from self.client.expect(request, code, to=at, caller=caller)
