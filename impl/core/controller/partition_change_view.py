"""What the controller reads of one topic before it changes partitions there."""

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

from fencepost.impl.core.rules.controller.partition_change_step import Seen
from fencepost.impl.core.rules.controller.partition_requests import Requests
from fencepost.impl.core.types.scripts import Answer, Ask, list_children, read
from fencepost.impl.core.types.znode_reading import Report, parsed, registered
from fencepost.impl.core.types.zookeeper import Znode
from fencepost.spec.vocabulary import (
    ANY_VERSION,
    BrokerId,
    ElectionKind,
    PartitionIncarnation,
    ZnodeVersion,
)
from fencepost.spec.znodes import (
    BROKER_IDS,
    TopicDocument,
    TopicPartition,
    leader_and_isr_path,
    parse_leader_and_isr,
    parse_topic_document,
    topic_path,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicView:
    """A topic and those of its partitions that something is to be done about."""

    topic: str
    document: TopicDocument | None
    """None when there is no such topic."""
    czxid: int = 0
    version: ZnodeVersion = ANY_VERSION
    last_zxid: int = 0
    """Of the topic znode: larger than any of an incarnation that it had named before."""
    keys: tuple[TopicPartition, ...] = ()
    seen: dict[TopicPartition, Seen] = field(default_factory=dict)
    """The partitions that have a state."""
    registered: frozenset[BrokerId] | None = None
    """The live brokers as read after the states; None when no request needs them (H8c)."""


def moving_partitions(topic: str, document: TopicDocument) -> set[TopicPartition]:
    """The partitions that a request has begun to change, whether or not it still stands."""
    named = {**(document.adding or {}), **(document.removing or {})}
    return {TopicPartition(topic, int(name)) for name in named if name.isdecimal()}


def read_topic_view(
    topic: str, requests: dict[TopicPartition, Requests], report: Report
) -> Generator[Ask, Answer, TopicView | None]:
    """The topic now, with watches on the states; None when it cannot be known."""
    znodes = yield from read(topic_path(topic))
    if znodes is None:
        return None
    (znode,) = znodes
    if znode.stat is None:
        return TopicView(topic=topic, document=None, keys=tuple(sorted(requests)))
    document = parsed(parse_topic_document, znode, report)
    if document is None:
        return None
    keys = tuple(sorted({*requests, *moving_partitions(topic, document)}))
    states = yield from read(*(leader_and_isr_path(key) for key in keys), watch=True)
    if states is None:
        return None
    live = None
    if _asks_for_unclean(requests.values()):
        listed = yield from list_children(BROKER_IDS)
        if listed is None:
            return None
        live = frozenset(registered(listed[0]))
    pairs = ((key, _see(state, report)) for key, state in zip(keys, states, strict=True))
    return TopicView(
        topic=topic,
        document=document,
        czxid=znode.stat.czxid,
        version=znode.stat.version,
        last_zxid=znode.stat.mzxid,
        keys=keys,
        seen={key: seen for key, seen in pairs if seen is not None},
        registered=live,
    )


def _asks_for_unclean(requests: Iterable[Requests]) -> bool:
    return any(
        request.election is ElectionKind.UNCLEAN for asked in requests for request in asked.values()
    )


def _see(znode: Znode, report: Report) -> Seen | None:
    state = parsed(parse_leader_and_isr, znode, report)
    if state is None:
        return None
    assert znode.stat is not None, "it was parsed"
    incarnation = PartitionIncarnation(znode.stat.czxid)
    return Seen(state=state, version=znode.stat.version, incarnation=incarnation)
