"""What clients ask of topics and partitions, as far as this node does it (FWD-001)."""

from functools import partial

from msgspec.structs import replace

from fencepost.impl.core.admin.mutation_quota import MutationQuotas
from fencepost.impl.core.admin.partition_admin import PartitionAdmin
from fencepost.impl.core.admin.topic_batches import TopicBatches
from fencepost.impl.core.admin.topic_creation import TopicCreation
from fencepost.impl.core.admin.topic_deletion import TopicDeletion
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.forwarding import Forwarding, Mandate
from fencepost.impl.core.types.events import RequestReceived
from fencepost.impl.core.types.messages import CreatePartitionsRequest, TopicRequest
from fencepost.impl.core.types.request_header import CONTROLLER_VERSION
from fencepost.impl.core.types.scripts import Outbox
from fencepost.impl.core.types.topic_messages import (
    CountedRequest,
    CreateTopicRequest,
    CreateTopicsRequest,
    DeleteTopicRequest,
    DeleteTopicsRequest,
)


class TopicAdmin:
    """Hands each request to what does it, with what it is charged and the fence of its writes."""

    def __init__(
        self,
        config: Config,
        outbox: Outbox,
        forwarding: Forwarding,
        quotas: MutationQuotas,
        creation: TopicCreation,
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._forwarding = forwarding
        self._quotas = quotas
        self._creation = creation
        self._deletion = TopicDeletion(config, outbox)
        self._batches = TopicBatches(config, outbox, creation, self._deletion)

    def on_request(self, event: RequestReceived, request: TopicRequest) -> None:
        """It is done here, asked of the controller, or refused; the answer tells."""
        reply = partial(self._outbox.reply, event.token)
        mandate = self._forwarding.admit(self._as_counted(request), event.asker, reply)
        if mandate is not None:
            self._do(event, request, mandate)

    def _as_counted(self, request: TopicRequest) -> TopicRequest:
        """With the quota on, what it counts is for the controller alone, which knows the client."""
        if not (self._config.has_mutation_quota and isinstance(request, CountedRequest)):
            return request
        return replace(request, header=replace(request.header, api_version=CONTROLLER_VERSION))

    def _do(self, event: RequestReceived, request: TopicRequest, mandate: Mandate) -> None:
        token, charges = event.token, self._quotas.charges
        match request:
            case CreateTopicRequest():
                counted = charges(event, "CreateTopics", request)
                self._creation.on_create_topic(token, request, counted, mandate)
            case DeleteTopicRequest():
                counted = charges(event, "DeleteTopics", request)
                self._deletion.on_delete_topic(token, request, counted, mandate)
            case CreateTopicsRequest():
                counted = charges(event, "CreateTopics", request)
                self._batches.on_create_topics(token, request, counted, mandate)
            case DeleteTopicsRequest():
                counted = charges(event, "DeleteTopics", request)
                self._batches.on_delete_topics(token, request, counted, mandate)
            case CreatePartitionsRequest():
                counted = charges(event, "CreatePartitions", request)
                admin = PartitionAdmin(self._config, self._outbox, mandate)
                admin.on_create_partitions(token, request, counted)
            case _:
                PartitionAdmin(self._config, self._outbox, mandate).on_request(token, request)
