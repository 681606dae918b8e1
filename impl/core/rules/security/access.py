"""Which request is taken from which caller: the one table, and the decision by it (SEC-002).

What brokers say to each other is taken from brokers alone, and from the one that the request names.
All else needs the permission that Kafka's table asks for, when there is an authorizer. A request
that has no row is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from fencepost.impl.core.rules.security.acls import (
    CLUSTER,
    USER,
    Actor,
    Authorizer,
    Operation,
    Resource,
    ResourceType,
)
from fencepost.impl.core.types import (
    broker_reports,
    config_messages as configs,
    messages,
    topic_messages as topics,
)
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.refusals import Refusal
from fencepost.impl.core.types.request_header import ForwardableRequest
from fencepost.spec.config_store import EntityKind
from fencepost.spec.vocabulary import NO_BROKER, BrokerId, ErrorCode


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvenCaller:
    """The other end of a connection, as its certificate proves it."""

    name: str
    broker_id: BrokerId | None = None
    """None for a user."""
    host: str = ""
    by_token: bool = False
    """It has shown a delegation token, and is called by the name of the owner."""

    @property
    def asker(self) -> Asker:
        """The same, as the core knows senders of requests."""
        return Asker(
            USER + self.name,
            NO_BROKER if self.broker_id is None else self.broker_id,
            is_proven=True,
        )

    @property
    def actor(self) -> Actor:
        """The same, as access control lists know it."""
        return Actor(USER + self.name, self.host)


@dataclass(frozen=True, slots=True, kw_only=True)
class FromBroker:
    """A request of the broker that it names."""

    sender: str
    """The field with the id of that broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Permitted:
    """A request that needs a permission for each of its resources."""

    operation: Operation
    resources: Callable[[object], tuple[Resource, ...]]


@dataclass(frozen=True, slots=True)
class Authenticated:
    """A request of any broker or user; what the answer shows is judged by itself."""


@dataclass(frozen=True, slots=True)
class WithoutToken:
    """As `Authenticated`, but of none that has shown a delegation token (KIP-48)."""


Access = FromBroker | Permitted | Authenticated | WithoutToken


_CONTROLLER = FromBroker(sender="controller_id")
_REPORTER = FromBroker(sender="broker_id")
_REPLICA = FromBroker(sender="replica_id")


def _topic(name: str) -> Resource:
    return Resource(ResourceType.TOPIC, name)


def _one_topic(request: object) -> tuple[Resource, ...]:
    return (_topic(attrgetter("topic")(request)),)


def _created(request: object) -> tuple[Resource, ...]:
    return tuple(_topic(one.topic) for one in attrgetter("topics")(request))


def _deleted(request: object) -> tuple[Resource, ...]:
    return tuple(_topic(name) for name in attrgetter("topics")(request))


def _cluster(_request: object) -> tuple[Resource, ...]:
    return (Resource(ResourceType.CLUSTER, CLUSTER),)


def _configured(kind: EntityKind, names: tuple[str, ...]) -> Resource:
    """Topics are resources of their own, all other entities are the cluster's."""
    if kind is EntityKind.TOPIC and names:
        return _topic(names[0])
    return Resource(ResourceType.CLUSTER, CLUSTER)


def _changed(request: object) -> tuple[Resource, ...]:
    return tuple(_configured(one.kind, one.names) for one in attrgetter("entities")(request))


def _described(request: object) -> tuple[Resource, ...]:
    kind, names = attrgetter("kind", "names")(request)
    return (_configured(kind, names),)


ON_TOPIC = {
    messages.ProduceRequest: Operation.WRITE,
    messages.FetchRequest: Operation.READ,
    messages.ListOffsetsRequest: Operation.DESCRIBE,
    topics.CreateTopicRequest: Operation.CREATE,
    topics.DeleteTopicRequest: Operation.DELETE,
    messages.CreatePartitionsRequest: Operation.ALTER,
    messages.RemovePartitionsRequest: Operation.DELETE,
}
ON_CLUSTER = {
    messages.InitProducerIdRequest: Operation.IDEMPOTENT_WRITE,
    messages.ElectLeadersRequest: Operation.ALTER,
    messages.AlterPartitionReassignmentsRequest: Operation.ALTER,
    messages.ListPartitionReassignmentsRequest: Operation.DESCRIBE,
    topics.FindCoordinatorRequest: Operation.DESCRIBE,
    configs.AlterClientQuotasRequest: Operation.ALTER_CONFIGS,
    configs.DescribeMutationQuotasRequest: Operation.DESCRIBE_CONFIGS,
    configs.CreateAclsRequest: Operation.ALTER,
    configs.DeleteAclsRequest: Operation.ALTER,
}
ON_CONFIGS = {
    configs.AlterConfigsRequest: Operation.ALTER_CONFIGS,
    configs.IncrementalAlterConfigsRequest: Operation.ALTER_CONFIGS,
}
ACCESS: Mapping[type, Access] = {
    messages.LeaderAndIsrRequest: _CONTROLLER,
    messages.StopReplicaRequest: _CONTROLLER,
    messages.UpdateMetadataRequest: _CONTROLLER,
    broker_reports.LogsFailedRequest: _REPORTER,
    broker_reports.IsrChangedRequest: _REPORTER,
    broker_reports.ControlledShutdownRequest: _REPORTER,
    messages.OffsetForLeaderEpochRequest: _REPLICA,
    messages.MetadataRequest: Authenticated(),
    topics.CreateTopicsRequest: Permitted(operation=Operation.CREATE, resources=_created),
    topics.DeleteTopicsRequest: Permitted(operation=Operation.DELETE, resources=_deleted),
    **{kind: Permitted(operation=op, resources=_one_topic) for kind, op in ON_TOPIC.items()},
    **{kind: Permitted(operation=op, resources=_cluster) for kind, op in ON_CLUSTER.items()},
    **{kind: Permitted(operation=op, resources=_changed) for kind, op in ON_CONFIGS.items()},
    configs.CreateDelegationTokenRequest: WithoutToken(),
    configs.RenewDelegationTokenRequest: WithoutToken(),
    configs.ExpireDelegationTokenRequest: WithoutToken(),
    configs.DescribeDelegationTokenRequest: WithoutToken(),
    configs.DescribeConfigsRequest: Permitted(
        operation=Operation.DESCRIBE_CONFIGS, resources=_described
    ),
}
"""Type of the request -> what is asked of its sender."""
_NO_NAME = "the certificate does not name exactly one user"
_AS_HOLDER = "the holder of a token makes, changes and sees none: call as the owner"
NOT_FROM_BROKER = Refusal(
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    "it is taken only from the broker that it names, by that broker's certificate",
)


def access_of(request: object) -> Access | None:
    """The row of the request; a fetch that names a replica is a broker's."""
    if isinstance(request, messages.FetchRequest) and request.replica_id != NO_BROKER:
        return _REPLICA
    return ACCESS.get(type(request))


def is_broker(caller: ProvenCaller, broker_id: BrokerId) -> bool:
    """True when the certificate says so."""
    return caller.broker_id == broker_id


def may_ask_for_tokens(caller: ProvenCaller) -> bool:
    """True but of the holder of one: a loan is not lent on."""
    return not caller.by_token


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """The rules of the table by name."""

    is_sender: Callable[[ProvenCaller, BrokerId], bool]
    """Of the caller, and of the broker that the request names."""
    is_forwarder: Callable[[ProvenCaller, BrokerId], bool]
    """Of the caller, and of the broker that a forwarded request names."""
    may_ask_for_tokens: Callable[[ProvenCaller], bool]


ACCESS_RULES = AccessRules(
    is_sender=is_broker, is_forwarder=is_broker, may_ask_for_tokens=may_ask_for_tokens
)


def refuse_kind(kind: type, caller: ProvenCaller) -> Refusal | None:
    """Why no request of this type is taken from the caller, whatever it says; None: some are."""
    is_for_brokers = isinstance(ACCESS.get(kind), FromBroker)
    return NOT_FROM_BROKER if is_for_brokers and caller.broker_id is None else None


def refuse_request(
    request: object,
    caller: ProvenCaller,
    authorizer: Authorizer | None,
    rules: AccessRules = ACCESS_RULES,
) -> Refusal | None:
    """Why the request of this caller is not taken; None: it is.

    Without an authorizer every user may do what users do.
    """
    if not caller.name:
        return Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, _NO_NAME)
    if isinstance(request, ForwardableRequest) and request.header.forwards:
        # The first broker has judged it for its principal; that one alone is believed (FWD-005).
        is_believed = rules.is_forwarder(caller, request.header.forwarder)
        return None if is_believed else NOT_FROM_BROKER
    match access_of(request):
        case None:
            return Refusal(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "this request has no rule")
        case FromBroker(sender=sender):
            is_sender = rules.is_sender(caller, getattr(request, sender))
            return None if is_sender else NOT_FROM_BROKER
        case Permitted(operation=operation, resources=resources) if authorizer is not None:
            return _refuse_operation(operation, resources(request), caller.actor, authorizer)
        case WithoutToken() if not rules.may_ask_for_tokens(caller):
            return Refusal(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, _AS_HOLDER)
        case _:
            return None


def _refuse_operation(
    operation: Operation, resources: tuple[Resource, ...], actor: Actor, authorizer: Authorizer
) -> Refusal | None:
    for resource in resources:
        if not authorizer.allows(actor, operation, resource):
            kind, name = resource
            is_topic = kind is ResourceType.TOPIC
            code = (
                ErrorCode.TOPIC_AUTHORIZATION_FAILED
                if is_topic
                else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            )
            text = f"{actor.principal} has no permission {operation} for {kind} {name}"
            return Refusal(code, text)
    return None


def may_see(topic: str, caller: ProvenCaller, authorizer: Authorizer | None) -> bool:
    """True when the caller may know of the topic."""
    if authorizer is None or caller.broker_id is not None:
        return True
    return authorizer.allows(caller.actor, Operation.DESCRIBE, _topic(topic))


def may_see_token(
    token: configs.TokenDescription, caller: ProvenCaller, authorizer: Authorizer | None
) -> bool:
    """True when the caller may know of the token: its owner, its renewers, and administrators."""
    principal = caller.actor.principal
    if authorizer is None or principal == token.owner or principal in token.renewers:
        return True
    return authorizer.allows(caller.actor, Operation.DESCRIBE, *_cluster(None))
