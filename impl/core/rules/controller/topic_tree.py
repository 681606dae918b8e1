"""What is below a topic's znode, and what deletes it: in one multi, or, if it is much, in steps.

The znode of the topic id goes first: from then on every write about this incarnation fails. A large
deletion leaves a znode of another name in its place, so that what finishes it writes about this
incarnation too: the controller does, after any crash (TOP-003).
"""

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from fencepost.impl.core.types.scripts import Answer, Ask, list_children, read
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Check, Create, Delete, SetData, WriteOp, Znode
from fencepost.spec.vocabulary import ANY_VERSION
from fencepost.spec.znodes import (
    TopicDocument,
    TopicPartition,
    document_bytes,
    leader_and_isr_path,
    parse_topic_id,
    topic_id_path,
    topic_ids_path,
    topic_path,
)

TOGETHER_MAX = 50
"""Partitions that go in one multi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicTree:
    """What is below a topic's znode."""

    partitions: tuple[tuple[Delete, ...], ...]
    """What removes each of them."""
    has_ids: bool


def read_tree(topic: str) -> Generator[Ask, Answer, TopicTree | None]:
    """What is below the topic's znode, nothing if there is none; None without a connection."""
    listed = yield from list_children(topic_path(topic), topic_ids_path(topic))
    if listed is None:
        return None
    below, ids = listed
    keys = [TopicPartition(topic, int(name)) for name in below.names or () if name.isdecimal()]
    states = yield from read(*(leader_and_isr_path(key) for key in keys))
    if states is None:
        return None
    return TopicTree(
        partitions=tuple(map(partition_deletion, states)), has_ids=ids.names is not None
    )


def partition_deletion(state: Znode) -> tuple[Delete, ...]:
    """What removes a partition after its LeaderAndISR was read."""
    folder = _delete(state.path.rpartition("/")[0])
    return (_delete(state.path), folder) if state.stat is not None else (folder,)


def deletion(topic: str, znode: Znode, tree: TopicTree) -> tuple[WriteOp, ...]:
    """What deletes the topic; refused when it is another one by then."""
    topic_id = parsed(parse_topic_id, znode)
    if topic_id and len(tree.partitions) > TOGETHER_MAX:
        assert znode.stat is not None
        begun = TopicDocument(partitions={}, topic_id=topic_id, is_deleted=True)
        data, version = document_bytes(begun), znode.stat.version
        return (
            _delete(topic_id_path(topic, topic_id)),
            Create(path=_begun_path(topic, topic_id), data=b""),
            SetData(path=topic_path(topic), data=data, expected_version=version),
        )
    ids = (_delete(topic_id_path(topic, topic_id)),) if topic_id else ()
    folder = (_delete(topic_ids_path(topic)),) if tree.has_ids else ()
    return (*ids, *folder, *_operations(tree.partitions), _delete(topic_path(topic)))


def finishing_multis(topic: str, topic_id: str, tree: TopicTree) -> list[tuple[WriteOp, ...]]:
    """What ends a deletion that was begun, in this order; each refused when it is over."""
    begun = Check(path=_begun_path(topic, topic_id), expected_version=ANY_VERSION)
    left = iter(tree.partitions)
    multis: list[tuple[WriteOp, ...]] = [
        (begun, *_operations(some)) for some in iter(lambda: tuple(islice(left, TOGETHER_MAX)), ())
    ]
    end = (_delete(begun.path), _delete(topic_ids_path(topic)), _delete(topic_path(topic)))
    return [*multis, end]


def _operations(partitions: Iterable[tuple[Delete, ...]]) -> Iterator[Delete]:
    return (op for partition in partitions for op in partition)


def _begun_path(topic: str, topic_id: str) -> str:
    return topic_id_path(topic, f"{topic_id}-deleted")


def _delete(path: str) -> Delete:
    return Delete(path=path, expected_version=ANY_VERSION)
