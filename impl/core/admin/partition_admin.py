"""What is done for administrators of partitions: what they ask is written down (V3 F, H).

Requests stand in ZooKeeper until the controller has done what they ask: no crash forgets one.
`RequestPartitions`, `StartReassignment` and `CancelReassignment` of the specs.
"""

from collections.abc import Generator, Iterable, Iterator

from fencepost.impl.core.admin.mutation_quota import Charges
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.forwarding import Mandate
from fencepost.impl.core.rules.controller.partition_change_step import assignment_in
from fencepost.impl.core.rules.controller.partition_requests import read_requests
from fencepost.impl.core.rules.controller.partition_rules import (
    View,
    new_partitions,
    refuse_removal,
)
from fencepost.impl.core.types.actions import Named, action, taken
from fencepost.impl.core.types.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsResponse,
    OngoingReassignment,
    PartitionResult,
    Reassignment,
    RemovePartitionsRequest,
    RemovePartitionsResponse,
    TopicRequest,
)
from fencepost.impl.core.types.refusals import NO_CONNECTION, NOT_CONTROLLER, REPLY_LOST, Refusal
from fencepost.impl.core.types.scripts import (
    Answer,
    Ask,
    Outbox,
    Script,
    list_children,
    read,
)
from fencepost.impl.core.types.znode_reading import parsed, registered
from fencepost.impl.core.types.zookeeper import (
    Create,
    Delete,
    Rejected,
    SetData,
    WriteOp,
    WriteResult,
    Written,
    ZkError,
    Znode,
)
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId, ErrorCode
from fencepost.spec.znodes import (
    BROKER_IDS,
    LEADER_ELECTION,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    TOPICS,
    ElectionDocument,
    MalformedZnodeError,
    ReplicasDocument,
    TopicDocument,
    TopicPartition,
    document_bytes,
    leader_and_isr_path,
    parse_leader_and_isr,
    parse_topic_document,
    request_path,
    topic_path,
)

Asked = Generator[Ask, Answer, Refusal | None]
RACES_MAX = 8
"""Tries to ask or to take a request back, against what is done to the same at the same time."""


class PartitionAdmin:
    """Requests about partitions: judged by what ZooKeeper holds now, then written there."""

    def __init__(self, config: Config, outbox: Outbox, mandate: Mandate) -> None:
        self._config = config
        self._outbox = outbox
        self._mandate = mandate

    def on_request(self, token: int, request: TopicRequest) -> None:
        """What is asked stands in ZooKeeper, or is refused with a reason; the answer tells."""
        match request:
            case ElectLeadersRequest():
                script = self._elect(token, request)
            case AlterPartitionReassignmentsRequest():
                script = self._reassign(token, request)
            case RemovePartitionsRequest():
                script = self._remove(token, request)
            case _:
                raise AssertionError(f"{request} is about no partition")
        self._outbox.run(script)

    def on_list(self, token: int) -> None:
        """What moves is answered, as read now."""
        self._outbox.run(self._list(token))

    def on_create_partitions(
        self, token: int, request: CreatePartitionsRequest, charges: Charges
    ) -> None:
        """As above, of more partitions of a topic, which the quota counts."""
        self._outbox.run(self._create(token, request, charges))

    # Elections

    def _elect(self, token: int, request: ElectLeadersRequest) -> Script:
        keys = [one.key for one in request.partitions]
        view = yield from _read_view(keys)
        data = document_bytes(ElectionDocument(kind=request.kind))
        refuse, results = self._config.rules.refuse_election, []
        for key in keys:
            refusal = refuse(view, request.kind, key) if view else NO_CONNECTION
            if refusal is None:
                refusal = yield from self._ask(LEADER_ELECTION, key, data)
            results.append(_result(key, refusal))
        self._outbox.reply(token, ElectLeadersResponse(partitions=tuple(results)))

    # Reassignment

    def _reassign(self, token: int, request: AlterPartitionReassignmentsRequest) -> Script:
        view = yield from _read_view([one.key for one in request.reassignments])
        refuse, results = self._config.rules.refuse_reassignment, []
        for one in request.reassignments:
            refusal = refuse(view, one.key, one.replicas) if view else NO_CONNECTION
            if refusal is None and one.replicas:
                refusal = yield from self.start_reassignment(one)
            elif refusal is None:
                refusal = yield from self.cancel_reassignment(one.key)
            results.append(_result(one.key, refusal))
        self._outbox.reply(token, AlterPartitionReassignmentsResponse(partitions=tuple(results)))

    @action
    def start_reassignment(self, wanted: Reassignment) -> Asked:
        """The target is asked for, or another one instead of that which was (REAS-001)."""
        data = document_bytes(ReplicasDocument(replicas=list(wanted.replicas)))
        refusal = yield from self._ask(PARTITIONS_REASSIGNED, wanted.key, data)
        if refusal is None:
            key, target = wanted.key, wanted.replicas
            self._tell(self.start_reassignment, key, target)
        return refusal

    @action
    def cancel_reassignment(self, key: TopicPartition) -> Asked:
        """The request is taken back: what is assigned without it stands (REAS-004)."""
        end = Delete(path=request_path(PARTITIONS_REASSIGNED, key), expected_version=ANY_VERSION)
        for _ in range(RACES_MAX):
            znodes = yield from read(topic_path(key.topic))
            if znodes is None:
                return NO_CONNECTION
            match (yield from self._write(end, *_as_it_is(znodes[0]))):
                case Written():
                    self._tell(self.cancel_reassignment, key)
                    return None
                case Rejected(error=ZkError.BAD_VERSION):
                    continue
                case Rejected(error=ZkError.NO_NODE):
                    return Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"{key} does not move")
                case result:
                    return _refusal(result)
        reason = f"topic {key.topic} changed {RACES_MAX} times meanwhile"
        return Refusal(ErrorCode.BROKER_NOT_AVAILABLE, reason)

    def _list(self, token: int) -> Script:
        """What moves: asked for, being undone, or with replicas still to be stopped."""
        moves = yield from _read_moves()
        if moves is None:
            response = ListPartitionReassignmentsResponse(error_code=NO_CONNECTION.error_code)
        else:
            response = ListPartitionReassignmentsResponse(reassignments=tuple(moves))
        self._outbox.reply(token, response)

    # Number of partitions

    def _create(self, token: int, request: CreatePartitionsRequest, charges: Charges) -> Script:
        refusal = charges.refuse_all()
        refusal = refusal or (yield from self._new_partitions(request, charges))
        error_code, message = refusal or Refusal(ErrorCode.NONE, "")
        response = CreatePartitionsResponse(
            error_code=error_code, message=message, throttle_time_ms=charges.end()
        )
        self._outbox.reply(token, response)

    def _new_partitions(self, request: CreatePartitionsRequest, charges: Charges) -> Asked:
        view = yield from _read_view([TopicPartition(request.topic, 0)])
        if view is None:
            return NO_CONNECTION
        refusal = self._config.rules.refuse_creation(view, request)
        if refusal is not None:
            return refusal
        wanted = new_partitions(view, request)
        if request.validate_only:
            charges.validate_mutation(request.topic, len(wanted))
            return None
        refusal = charges.admit(request.topic, len(wanted))
        for key, replicas in wanted.items():
            refusal = refusal or (yield from self.request_partitions(key, replicas))
        return refusal

    def _remove(self, token: int, request: RemovePartitionsRequest) -> Script:
        keys = [TopicPartition(request.topic, number) for number in sorted(set(request.partitions))]
        view = yield from _read_view([TopicPartition(request.topic, 0), *keys])
        refusal = refuse_removal(view, request) if view else NO_CONNECTION
        for key in keys:
            refusal = refusal or (yield from self.request_partitions(key))
        refusal = refusal or Refusal(ErrorCode.NONE, "")
        response = RemovePartitionsResponse(error_code=refusal.error_code, message=refusal.message)
        self._outbox.reply(token, response)

    @action
    def request_partitions(
        self, key: TopicPartition, replicas: tuple[BrokerId, ...] | None = None
    ) -> Asked:
        """The partition is to be added, with replicas, or to be removed, without (V3 H)."""
        if replicas is None:
            refusal = yield from self._ask(PARTITIONS_REMOVE, key, b"{}")
        else:
            data = document_bytes(ReplicasDocument(replicas=list(replicas)))
            refusal = yield from self._ask(PARTITIONS_ADD, key, data)
        if refusal is None:
            self._tell(self.request_partitions, key, replicas)
        return refusal

    # Writing

    def _tell(
        self, function: Named, key: TopicPartition, replicas: tuple[BrokerId, ...] | None = None
    ) -> None:
        told = {"topic_partition": key, "assigned_replicas": replicas, **self._mandate.told}
        self._outbox.took(taken(function, **told))

    def _ask(self, kind: str, key: TopicPartition, data: bytes) -> Asked:
        """The request stands, instead of one that stood; one that is done meanwhile is none."""
        path = request_path(kind, key)
        for _ in range(RACES_MAX):
            yield from self._write(Create(path=path.rpartition("/")[0], data=b""))
            result = yield from self._write(Create(path=path, data=data))
            if isinstance(result, Rejected):
                instead = SetData(path=path, data=data, expected_version=ANY_VERSION)
                result = yield from self._write(instead)
            if not (isinstance(result, Rejected) and result.error is ZkError.NO_NODE):
                return _refusal(result)
        reason = f"requests about {key} were done {RACES_MAX} times meanwhile"
        return Refusal(ErrorCode.BROKER_NOT_AVAILABLE, reason)

    def _write(self, *ops: WriteOp) -> Generator[Ask, Answer, WriteResult | None]:
        """None when this node may not write any more."""
        return self._mandate.write(self._config.rules.may_write, *ops)


def _as_it_is(topic: Znode) -> tuple[SetData, ...]:
    """A write that makes every step fail that was decided on the request that goes (H33c)."""
    if topic.stat is None:
        return ()
    return (SetData(path=topic.path, data=topic.data, expected_version=topic.stat.version),)


def _refusal(result: WriteResult | None) -> Refusal | None:
    match result:
        case None:
            return NOT_CONTROLLER
        case Written():
            return None
        case Rejected():
            return Refusal(ErrorCode.BROKER_NOT_AVAILABLE, str(result.error))
        case _:
            return REPLY_LOST


def _result(key: TopicPartition, refusal: Refusal | None) -> PartitionResult:
    refusal = refusal or Refusal(ErrorCode.NONE, "")
    return PartitionResult(
        topic=key.topic,
        partition=key.partition,
        error_code=refusal.error_code,
        message=refusal.message,
    )


def _read_view(keys: Iterable[TopicPartition]) -> Generator[Ask, Answer, View | None]:
    """What is known of the partitions and their topics; None when the connection was lost."""
    wanted = sorted(set(keys))
    topics = sorted({key.topic for key in wanted})
    listed = yield from list_children(BROKER_IDS)
    if listed is None:
        return None
    live = frozenset(registered(listed[0]))
    requests = [request_path(PARTITIONS_REASSIGNED, key) for key in wanted]
    states = [leader_and_isr_path(key) for key in wanted]
    znodes = yield from read(*(topic_path(topic) for topic in topics), *states, *requests)
    if znodes is None:
        return None
    by_path = {znode.path: znode for znode in znodes if znode.stat is not None}
    documents, found = {}, {}
    try:
        for topic in topics:
            if topic_path(topic) in by_path:
                path = topic_path(topic)
                documents[topic] = parse_topic_document(path, by_path[path].data)
        for key, path in zip(wanted, states, strict=True):
            if path in by_path:
                found[key] = parse_leader_and_isr(path, by_path[path].data)
    except MalformedZnodeError:
        return None
    return View(
        live=live,
        documents=documents,
        states=found,
        requests=frozenset(by_path) & frozenset(requests),
    )


def _read_moves() -> Generator[Ask, Answer, list[OngoingReassignment] | None]:
    """The partitions that move, in order; None when the connection was lost."""
    requests = yield from read_requests(lambda _: None, watch=False)
    if requests is None:
        return None
    targets = {
        key: asked[PARTITIONS_REASSIGNED].replicas
        for key, asked in requests.items()
        if PARTITIONS_REASSIGNED in asked
    }
    listed = yield from list_children(TOPICS)
    if listed is None:
        return None
    topics = listed[0].names or ()
    znodes = yield from read(*(topic_path(topic) for topic in topics))
    if znodes is None:
        return None
    found: list[OngoingReassignment] = []
    for topic, znode in zip(topics, znodes, strict=True):
        document = parsed(parse_topic_document, znode) or TopicDocument(partitions={})
        for key in sorted(TopicPartition(topic, int(name)) for name in document.partitions):
            found += _moves(document, key, targets.get(key, ()))
    return found


def _moves(
    document: TopicDocument, key: TopicPartition, target: tuple[BrokerId, ...]
) -> Iterator[OngoingReassignment]:
    """One, if the partition moves: to the target, or back where it was if there is none."""
    assignment = assignment_in(document, key.partition)
    assert assignment is not None, "the topic names it"
    if target or assignment.adding or assignment.removing:
        yield OngoingReassignment(
            topic=key.topic,
            partition=key.partition,
            replicas=target,
            assigned_replicas=assignment.assigned,
            adding=tuple(sorted(assignment.adding)),
            removing=tuple(sorted(assignment.removing)),
        )
