"""What is done for clients in ZooKeeper: topics are created, and the routing view is told.

Below level 5 every broker writes the topics that clients ask it for (V3 Paths 3), of which the
controller learns by its watch; from level 5 on the controller writes them (FWD-001).
"""

from collections.abc import Generator, Iterable, Iterator

from fencepost.impl.core.admin.mutation_quota import Charges
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.forwarding import Mandate
from fencepost.impl.core.types.actions import action, taken
from fencepost.impl.core.types.messages import BrokerEndpoint, MetadataResponse, PartitionState
from fencepost.impl.core.types.node_session import NodeSession
from fencepost.impl.core.types.refusals import NO_CONNECTION, NOT_CONTROLLER, REPLY_LOST
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, list_children, read
from fencepost.impl.core.types.topic_messages import CreateTopicRequest, CreateTopicResponse
from fencepost.impl.core.types.znode_reading import parsed, registered
from fencepost.impl.core.types.zookeeper import (
    Create,
    Rejected,
    WriteResult,
    Written,
    ZkError,
    Znode,
)
from fencepost.spec.vocabulary import (
    NO_BROKER,
    NO_CONTROLLER_EPOCH,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    PartitionIncarnation,
)
from fencepost.spec.znodes import (
    BROKER_IDS,
    CONTROLLER,
    CONTROLLER_EPOCH,
    TOPICS,
    TopicDocument,
    TopicPartition,
    broker_path,
    document_bytes,
    leader_and_isr_path,
    parse_broker,
    parse_controller,
    parse_controller_epoch,
    parse_leader_and_isr,
    parse_topic,
    topic_id_path,
    topic_ids_path,
    topic_path,
)


class TopicCreation:
    """Requests that are answered from ZooKeeper."""

    def __init__(self, config: Config, outbox: Outbox, session: NodeSession) -> None:
        self._config = config
        self._outbox = outbox
        self._session = session
        self._asking: list[int] = []
        """The tokens of Metadata requests that wait for a reading to begin."""
        self._is_reading = False

    def on_create_topic(
        self, token: int, request: CreateTopicRequest, charges: Charges, mandate: Mandate
    ) -> None:
        """The topic znode is written, or the request refused with a reason (TOP-004)."""
        self._outbox.run(self._create_topic(token, request, charges, mandate))

    def on_metadata(self, token: int, *, is_started: bool) -> None:
        """The published state is answered, as read now; a broker that still starts has none.

        One reading at a time: it is of all states, and answers all requests that came before it.
        """
        if not is_started:
            self._no_metadata(token)
            return
        self._asking.append(token)
        if not self._is_reading:
            self._outbox.run(self._metadata())

    def _create_topic(
        self, token: int, request: CreateTopicRequest, charges: Charges, mandate: Mandate
    ) -> Script:
        error_code, message = yield from self.create(request, charges, mandate)
        response = CreateTopicResponse(
            error_code=error_code, message=message, throttle_time_ms=charges.end()
        )
        self._outbox.reply(token, response)

    def create(
        self, request: CreateTopicRequest, charges: Charges, mandate: Mandate
    ) -> Generator[Ask, Answer, tuple[ErrorCode, str]]:
        """What becomes of the topic, and why."""
        elsewhere = charges.refuse_all()
        if elsewhere is not None:
            return elsewhere
        listed = yield from list_children(BROKER_IDS)
        if listed is None:
            return NO_CONNECTION
        live = registered(listed[0])
        judged = self._config.rules.refuse_topic(request, live)
        if judged is not None:
            return judged
        is_validated = request.validate_only
        known = yield from self.known(charges, [request.topic], is_validated=is_validated)
        refusal = self.admit(request, charges, known, is_validated=is_validated)
        if refusal is not None or is_validated:
            return refusal or (ErrorCode.NONE, "")
        may_write, ops = self._config.rules.may_write, self.creation(request, live)
        result = yield from mandate.write(may_write, *ops)
        return self.create_topic(request.topic, result, mandate)

    def known(
        self, charges: Charges, topics: list[str], *, is_validated: bool
    ) -> Generator[Ask, Answer, frozenset[str] | None]:
        """Which of the topics there are, if that has to be known; None without a connection."""
        asked = [topic for topic in topics if is_validated or charges.is_known(topic)]
        znodes = yield from read(*map(topic_path, asked))
        if znodes is None:
            return None
        found = zip(asked, znodes, strict=True)
        return frozenset(topic for topic, znode in found if znode.stat is not None)

    def admit(
        self,
        request: CreateTopicRequest,
        charges: Charges,
        known: frozenset[str] | None,
        *,
        is_validated: bool,
    ) -> tuple[ErrorCode, str] | None:
        """Why a well-formed topic is not created; one that exists costs nothing."""
        if known is None:
            return NO_CONNECTION
        if request.topic in known:
            return self._config.rules.existing_topic(request.topic)
        partitions = len(request.assignment) or request.partition_count
        if is_validated:
            charges.validate_mutation(request.topic, partitions)
            return None
        return charges.admit(request.topic, partitions)

    def creation(self, request: CreateTopicRequest, live: list[BrokerId]) -> tuple[Create, ...]:
        """What creates an incarnation of the topic, which only its id tells from another one."""
        topic_id = f"{self._session.session_id:x}-{self._outbox.new_id():x}"
        document = TopicDocument(partitions=_assign(request, live), topic_id=topic_id)
        return (
            Create(path=topic_path(request.topic), data=document_bytes(document)),
            Create(path=topic_ids_path(request.topic), data=b""),
            Create(path=topic_id_path(request.topic, topic_id), data=b""),
        )

    @action
    def create_topic(
        self, topic: str, result: WriteResult | None, mandate: Mandate
    ) -> tuple[ErrorCode, str]:
        """The topic exists; otherwise what the end of `creation` means to the client, and why."""
        match result:
            case None:
                return NOT_CONTROLLER
            case Written():
                self._outbox.took(taken(self.create_topic, topic=topic, **mandate.told))
                return ErrorCode.NONE, ""
            case Rejected(errors=(ZkError.NODE_EXISTS, *_)):
                return self._config.rules.existing_topic(topic)
            case Rejected():
                return ErrorCode.BROKER_NOT_AVAILABLE, str(result.error)
            case _:
                return REPLY_LOST

    def _metadata(self) -> Script:
        self._is_reading = True
        while self._asking:
            tokens, self._asking = self._asking, []
            response = yield from self._read_metadata()
            for token in tokens:
                if response is None:
                    self._no_metadata(token)
                else:
                    self._outbox.reply(token, response)
        self._is_reading = False

    def _read_metadata(self) -> Generator[Ask, Answer, MetadataResponse | None]:
        """What ZooKeeper holds; None when the connection was lost."""
        listed = yield from list_children(BROKER_IDS, TOPICS)
        if listed is None:
            return None
        live, topics = registered(listed[0]), listed[1].names or ()
        znodes = yield from read(
            CONTROLLER, CONTROLLER_EPOCH, *map(broker_path, live), *map(topic_path, topics)
        )
        if znodes is None:
            return None
        controller, epoch, *others = znodes
        brokers, documents = others[: len(live)], others[len(live) :]
        assignments = _assignments(topics, documents)
        keys = sorted(assignments)
        states = yield from read(*(leader_and_isr_path(key) for key in keys))
        if states is None:
            return None
        elected = parsed(parse_controller, controller)
        partitions = zip(keys, states, strict=True)
        return MetadataResponse(
            broker_id=self._config.broker_id,
            controller_id=BrokerId(elected.brokerid) if elected is not None else NO_BROKER,
            controller_epoch=parsed(_parse_epoch, epoch) or NO_CONTROLLER_EPOCH,
            brokers=tuple(endpoint for one in brokers for endpoint in _endpoint(one)),
            partitions=tuple(
                told
                for key, znode in partitions
                for told in self._partition_state(key, assignments[key], znode)
            ),
        )

    def _partition_state(
        self, key: TopicPartition, assigned_replicas: tuple[BrokerId, ...], znode: Znode
    ) -> Iterator[PartitionState]:
        """One, if the partition has a state."""
        state = parsed(parse_leader_and_isr, znode)
        if state is None:
            return
        assert znode.stat is not None, "it was parsed"
        yield PartitionState(
            topic=key.topic,
            partition=key.partition,
            leader=self._config.rules.routed_leader(state, assigned_replicas),
            leader_epoch=state.leader_epoch,
            isr=tuple(sorted(state.isr)),
            znode_version=znode.stat.version,
            assigned_replicas=assigned_replicas,
            topic_id=state.topic_id,
            partition_incarnation=PartitionIncarnation(znode.stat.czxid),
        )

    def _no_metadata(self, token: int) -> None:
        response = MetadataResponse(
            error_code=ErrorCode.BROKER_NOT_AVAILABLE, broker_id=self._config.broker_id
        )
        self._outbox.reply(token, response)


def _assign(request: CreateTopicRequest, live: list[BrokerId]) -> dict[str, list[int]]:
    """Brokers in turn, so that leaders are spread; the given assignment if there is one."""
    if request.assignment:
        return {str(p): list(entry.replicas) for p, entry in enumerate(request.assignment)}
    return {
        str(p): [live[(p + i) % len(live)] for i in range(request.replication_factor)]
        for p in range(request.partition_count)
    }


def _assignments(
    topics: Iterable[str], documents: Iterable[Znode]
) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    return {
        TopicPartition(topic, partition): replicas
        for topic, znode in zip(topics, documents, strict=True)
        for partition, replicas in (parsed(parse_topic, znode) or {}).items()
    }


def _endpoint(znode: Znode) -> Iterator[BrokerEndpoint]:
    """One, if the registration stands and is well-formed."""
    document = parsed(parse_broker, znode)
    if document is not None:
        broker_id = BrokerId(int(znode.path.rpartition("/")[2]))
        yield BrokerEndpoint(broker_id=broker_id, host=document.host, port=document.port)


def _parse_epoch(_path: str, data: bytes) -> ControllerEpoch:
    return parse_controller_epoch(data)
