"""The deletion of a topic: in one multi, or, if it has many partitions, begun in one.

`DeleteTopic` of `TopicLifecycle`. The znode of the topic id goes first: from then on every write
about this incarnation fails. A large deletion leaves a znode of another name in its place, so that
what finishes it writes about this incarnation too: the controller does, after any crash.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass

from fencepost.impl.core.admin.admin_actions import delete_topic
from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.fenced_writes import FencedWrites
from fencepost.impl.core.types.effects import Reply
from fencepost.impl.core.types.refusals import NO_CONNECTION, REPLY_LOST
from fencepost.impl.core.types.scripts import (
    Answer,
    Ask,
    Outbox,
    Script,
    list_children,
    read,
    write,
)
from fencepost.impl.core.types.topic_messages import DeleteTopicRequest, DeleteTopicResponse
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Delete,
    Rejected,
    SetData,
    WriteOp,
    Written,
    ZkError,
    Znode,
)
from fencepost.spec.vocabulary import ANY_VERSION, ErrorCode
from fencepost.spec.znodes import (
    MalformedZnodeError,
    TopicDocument,
    TopicPartition,
    document_bytes,
    leader_and_isr_path,
    parse_topic_id,
    topic_id_path,
    topic_ids_path,
    topic_path,
)

OPS_MAX = 500
"""Deletions in one multi."""
LOOKS_MAX = 8
"""Changes of the topic by others that a deletion survives, before it is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """What is below a topic's znode."""

    partitions: tuple[tuple[Delete, ...], ...]
    """What removes each of them."""
    has_ids: bool


class TopicDeletion:
    """What any broker does when a topic is to be deleted."""

    def __init__(self, config: Config, outbox: Outbox) -> None:
        self._config = config
        self._outbox = outbox

    def on_delete_topic(self, token: int, request: DeleteTopicRequest) -> None:
        """The topic is deleted, or the request refused with a reason."""
        self._outbox.run(self._delete_topic(token, request.topic))

    def _delete_topic(self, token: int, topic: str) -> Script:
        error, message = yield from self.delete(topic)
        response = DeleteTopicResponse(error_code=error, message=message)
        self._outbox.emit(Reply(token=token, response=response))

    def delete(
        self, topic: str, first: int | None = None
    ) -> Generator[Ask, Answer, tuple[ErrorCode, str]]:
        """What becomes of the topic, and why.

        The answer is about the incarnation that the first look found, no other; `first` is its
        czxid if that look was before.
        """
        path = topic_path(topic)
        for _ in range(LOOKS_MAX):
            znodes = yield from read(path)
            tree = (yield from read_tree(topic)) if znodes is not None else None
            if znodes is None or tree is None:
                return NO_CONNECTION
            stat = znodes[0].stat
            if stat is None or first not in (None, stat.czxid):
                return no_topic(topic)
            first = stat.czxid
            result = yield from write(*_deletion(topic, znodes[0], tree))
            if isinstance(result, Written):
                self._outbox.took(delete_topic(topic, result.zxid))
                return ErrorCode.NONE, ""
            if not isinstance(result, Rejected):
                return REPLY_LOST
            if result.error is ZkError.SESSION_EXPIRED:
                return ErrorCode.BROKER_NOT_AVAILABLE, str(result.error)
        reason = f"topic {topic} changed {LOOKS_MAX} times meanwhile"
        return ErrorCode.BROKER_NOT_AVAILABLE, reason


def no_topic(topic: str) -> tuple[ErrorCode, str]:
    """There is nothing to delete."""
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} does not exist"


def read_tree(topic: str) -> Generator[Ask, Answer, Tree | None]:
    """What is below the topic's znode, nothing if there is none; None without a connection."""
    listed = yield from list_children(topic_path(topic), topic_ids_path(topic))
    if listed is None:
        return None
    below, ids = listed
    keys = [TopicPartition(topic, int(name)) for name in below.names or () if name.isdecimal()]
    states = yield from read(*(leader_and_isr_path(key) for key in keys))
    if states is None:
        return None
    return Tree(
        partitions=tuple(_partition_deletion(state) for state in states),
        has_ids=ids.names is not None,
    )


def finish_deletion(
    writes: FencedWrites, topic: str, topic_id: str
) -> Generator[Ask, Answer, bool]:
    """Nothing is left of an incarnation whose deletion was begun; false if that is not known."""
    begun = Check(path=_begun_path(topic, topic_id), expected_version=ANY_VERSION)
    tree = yield from read_tree(topic)
    if tree is None:
        return False
    *batches, last = _batches(tree.partitions)
    for batch in batches:
        if not isinstance((yield from writes.write(begun, *batch)), Written):
            return False
    end = (_delete(begun.path), _delete(topic_ids_path(topic)), _delete(topic_path(topic)))
    return isinstance((yield from writes.write(begun, *last, *end)), Written)


def _deletion(topic: str, znode: Znode, tree: Tree) -> tuple[WriteOp, ...]:
    try:
        topic_id = parse_topic_id(znode.path, znode.data)
    except MalformedZnodeError:
        topic_id = ""
    below = tuple(op for partition in tree.partitions for op in partition)
    if topic_id and len(below) > OPS_MAX:
        assert znode.stat is not None
        begun = TopicDocument(partitions={}, topic_id=topic_id, is_deleted=True)
        return (
            _delete(topic_id_path(topic, topic_id)),
            Create(path=_begun_path(topic, topic_id), data=b""),
            SetData(
                path=topic_path(topic),
                data=document_bytes(begun),
                expected_version=znode.stat.version,
            ),
        )
    ids = (_delete(topic_id_path(topic, topic_id)),) if topic_id else ()
    folder = (_delete(topic_ids_path(topic)),) if tree.has_ids else ()
    return (*ids, *folder, *below, _delete(topic_path(topic)))


def _begun_path(topic: str, topic_id: str) -> str:
    return topic_id_path(topic, f"{topic_id}-deleted")


def whole_deletion(topic: str, topic_id: str, states: Iterable[Znode]) -> tuple[WriteOp, ...]:
    """What removes a topic whose partitions are all of `states`; refused if it is another."""
    ids = (_delete(topic_id_path(topic, topic_id)), _delete(topic_ids_path(topic)))
    below = (op for state in states for op in _partition_deletion(state))
    return (*ids, *below, _delete(topic_path(topic)))


def _partition_deletion(state: Znode) -> tuple[Delete, ...]:
    folder = _delete(state.path.rpartition("/")[0])
    return (_delete(state.path), folder) if state.stat is not None else (folder,)


def _delete(path: str) -> Delete:
    return Delete(path=path, expected_version=ANY_VERSION)


def _batches(partitions: tuple[tuple[Delete, ...], ...]) -> list[list[Delete]]:
    """At least one, each of a bounded size."""
    batches: list[list[Delete]] = [[]]
    for partition in partitions:
        if len(batches[-1]) + len(partition) > OPS_MAX:
            batches.append([])
        batches[-1] += partition
    return batches
