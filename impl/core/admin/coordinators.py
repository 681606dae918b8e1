"""Which broker coordinates a group or a transaction: the leader of an internal partition (FWD-006).

The first request creates the internal topic, as the wish of this broker and not of its client:
`BrokerAsksForTopic` of `Forwarding`. From level 5 on it asks the controller for that.
"""

from collections.abc import Generator

from fencepost.impl.core.admin.mutation_quota import MutationQuotas
from fencepost.impl.core.admin.topic_creation import TopicCreation
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.forwarding import Forwarding, Mandate
from fencepost.impl.core.types.asker import Asker
from fencepost.impl.core.types.events import RequestReceived
from fencepost.impl.core.types.messages import Response
from fencepost.impl.core.types.refusals import NO_CONNECTION
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, read
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.spec.vocabulary import FIND_COORDINATOR, INTERNAL_TOPICS, BrokerId, ErrorCode
from fencepost.spec.znodes import (
    TopicPartition,
    broker_path,
    leader_and_isr_path,
    parse_broker,
    parse_leader_and_isr,
    parse_topic,
    topic_path,
)

Found = FindCoordinatorResponse | None


class Coordinators:
    """Answers from what ZooKeeper holds, and has it created."""

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

    def on_find_coordinator(self, event: RequestReceived, request: FindCoordinatorRequest) -> None:
        """The coordinator is answered, or that there is none yet: its client asks again."""
        self._outbox.run(self._find(event, request))

    def _find(self, event: RequestReceived, request: FindCoordinatorRequest) -> Script:
        found = yield from self._look(request)
        if found is None:
            self._have_created(event, request)
        else:
            self._outbox.reply(event.token, found)

    def _have_created(self, event: RequestReceived, request: FindCoordinatorRequest) -> None:
        creation = CreateTopicRequest(
            topic=INTERNAL_TOPICS[request.kind],
            partition_count=self._config.internal_topic_partitions,
            replication_factor=self._config.internal_topic_replicas,
        )
        own = Asker(f"User:broker-{self._config.broker_id}", self._config.broker_id)
        asker = self._config.rules.asks_for_internal_topic(event.asker, own)

        def created(response: Response) -> None:
            assert isinstance(response, CreateTopicResponse), "it answers the creation"
            self._outbox.run(
                self._answer(event.token, request, response.error_code, response.message)
            )

        mandate = self._forwarding.admit(creation, asker, created, FIND_COORDINATOR)
        if mandate is not None:
            self._outbox.run(self._create(event, request, creation, mandate))

    def _create(
        self,
        event: RequestReceived,
        request: FindCoordinatorRequest,
        creation: CreateTopicRequest,
        mandate: Mandate,
    ) -> Script:
        ended = yield from self._creation.create(creation, self._quotas.free(event), mandate)
        yield from self._answer(event.token, request, *ended)

    def _answer(
        self, token: int, request: FindCoordinatorRequest, error_code: ErrorCode, message: str
    ) -> Script:
        """What is known once the topic is created, or why it is not: others may have done it."""
        found = yield from self._look(request)
        why = f"{INTERNAL_TOPICS[request.kind]}: {error_code} {message}".strip()
        self._outbox.reply(token, found or _none_yet(why))

    def _look(self, request: FindCoordinatorRequest) -> Generator[Ask, Answer, Found]:
        """What is answered; None: there is no internal topic."""
        topic = INTERNAL_TOPICS[request.kind]
        znodes = yield from read(topic_path(topic))
        if znodes is None:
            return _none_yet(NO_CONNECTION.message)
        if znodes[0].stat is None:
            return None
        partitions = sorted(parsed(parse_topic, znodes[0]) or ())
        if not partitions:
            return _none_yet(f"{topic} cannot be read")
        number = self._config.rules.coordinating_partition(request.key, len(partitions))
        key = TopicPartition(topic, number)
        states = yield from read(leader_and_isr_path(key))
        if states is None:
            return _none_yet(NO_CONNECTION.message)
        state = parsed(parse_leader_and_isr, states[0])
        if state is None:
            return _none_yet(f"{key} has no leader yet")
        return (yield from self._found(key, state.leader))

    def _found(
        self, key: TopicPartition, leader: BrokerId
    ) -> Generator[Ask, Answer, FindCoordinatorResponse]:
        """The leader, if it is there."""
        znodes = yield from read(broker_path(leader))
        document = parsed(parse_broker, znodes[0]) if znodes is not None else None
        if document is None:
            return _none_yet(f"{key} has no live leader")
        return FindCoordinatorResponse(broker_id=leader, host=document.host, port=document.port)


def _none_yet(why: str) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, message=why)
