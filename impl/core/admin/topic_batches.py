"""Many topics in one request: multis of many topics, several in flight; each topic ends alone.

The writes are those of `topic_creation.py` and `topic_deletion.py`, and the actions are the same.
A topic with a refused write takes no other with it (`fenced_writes.py`); one that cannot be
deleted by what its document names is looked at and deleted alone.
"""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from functools import partial

from fencepost.impl.core.admin.mutation_quota import Charges
from fencepost.impl.core.admin.topic_creation import TopicCreation
from fencepost.impl.core.admin.topic_deletion import TopicDeletion
from fencepost.impl.core.config import Config
from fencepost.impl.core.configuration.forwarding import Mandate
from fencepost.impl.core.controller.fenced_writes import (
    Ended,
    FencedWrite,
    FencedWrites,
    WriteFence,
)
from fencepost.impl.core.rules.controller.topic_tree import (
    TopicTree,
    deletion,
    partition_deletion,
)
from fencepost.impl.core.types.refusals import NO_CONNECTION, NOT_CONTROLLER, REPLY_LOST
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script, list_children, read
from fencepost.impl.core.types.topic_messages import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    TopicResult,
)
from fencepost.impl.core.types.znode_reading import parsed, registered
from fencepost.impl.core.types.zookeeper import Rejected, Written, Znode
from fencepost.spec.vocabulary import BrokerId, ErrorCode
from fencepost.spec.znodes import (
    BROKER_IDS,
    TopicPartition,
    leader_and_isr_path,
    parse_topic,
    topic_path,
)

CREATIONS_MAX = 500
"""Topics of which the documents are made at once: the node has other things to do in between."""
DELETIONS_MAX = 250
"""Topics of which the partitions are read at once."""


@dataclass(slots=True)
class Asked:
    """A request for many topics, and what is known of them."""

    token: int
    names: tuple[str, ...]
    charges: Charges
    mandate: Mandate
    results: dict[int, TopicResult] = field(default_factory=dict)
    """By place in the request: a name may stand there twice."""

    def end(self, place: int, error: tuple[ErrorCode, str]) -> None:
        """This is what became of the topic."""
        error_code, message = error
        name = self.names[place]
        self.results[place] = TopicResult(topic=name, error_code=error_code, message=message)

    @property
    def is_done(self) -> bool:
        """True when every topic has ended."""
        return len(self.results) == len(self.names)

    def topics(self) -> tuple[TopicResult, ...]:
        """In the order of the request."""
        return tuple(self.results[place] for place in range(len(self.names)))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicWrite(FencedWrite):
    """The creation or deletion of one topic."""

    place: int
    czxid: int | None = None
    """Of the topic that is to go."""


class TopicBatches:
    """What is done about many topics in one request."""

    def __init__(
        self, config: Config, outbox: Outbox, creation: TopicCreation, deletion: TopicDeletion
    ) -> None:
        self._config = config
        self._outbox = outbox
        self._creation = creation
        self._deletion = deletion
        self._writes: FencedWrites | None = None
        self._fence: WriteFence | None = None
        """Of the writes, which are bounded in number as long as it stands."""

    def _submit(
        self,
        asked: Asked,
        writes: Iterable[TopicWrite],
        done: Callable[[Asked, Ended[TopicWrite]], None],
    ) -> None:
        fence = asked.mandate.fence
        if fence.is_over():
            for one in writes:
                asked.end(one.place, NOT_CONTROLLER)
            return
        if self._fence is not fence:
            self._writes = FencedWrites(self._config, self._outbox, fence)
            self._fence = fence
        assert self._writes is not None, "they are of this fence"
        self._writes.submit(writes, partial(done, asked))

    # Creation

    def on_create_topics(
        self, token: int, request: CreateTopicsRequest, charges: Charges, mandate: Mandate
    ) -> None:
        """Each topic is written, or refused with a reason (TOP-004)."""
        refusal = charges.refuse_all()
        if refusal is not None:
            error_code, message = refusal
            response = CreateTopicsResponse(error_code=error_code, message=message)
            self._outbox.reply(token, response)
            return
        asked = Asked(token, tuple(one.topic for one in request.topics), charges, mandate)
        self._outbox.run(self._create_topics(asked, request))

    def _create_topics(self, asked: Asked, request: CreateTopicsRequest) -> Script:
        for begin in range(0, len(request.topics), CREATIONS_MAX):
            places = range(begin, min(begin + CREATIONS_MAX, len(request.topics)))
            if self._is_refused_early(asked, request, places):
                continue
            listed = yield from list_children(BROKER_IDS)
            # Many such requests may have waited for that; those before this one were charged.
            if self._is_refused_early(asked, request, places):
                continue
            live = None if listed is None else registered(listed[0])
            writes = yield from self._read_creations(asked, request, places, live)
            self._submit(asked, writes, self._created)
        self._reply_created(asked)

    def _is_refused_early(self, asked: Asked, request: CreateTopicsRequest, places: range) -> bool:
        topics = asked.names[places.start : places.stop]
        refusal = None if request.validate_only else asked.charges.refuse_creations(topics)
        if refusal is None:
            return False
        for place in places:
            asked.end(place, refusal)
        return True

    def _read_creations(
        self,
        asked: Asked,
        request: CreateTopicsRequest,
        places: range,
        live: list[BrokerId] | None,
    ) -> Generator[Ask, Answer, list[TopicWrite]]:
        """What creates the topics at these places that may be; without a connection none."""
        writes, is_validated = [], request.validate_only
        topics = list(asked.names[places.start : places.stop])
        known = yield from self._creation.known(asked.charges, topics, is_validated=is_validated)
        for place in places:
            one = request.topics[place]
            if live is None:
                asked.end(place, NO_CONNECTION)
                continue
            refusal = self._config.rules.refuse_topic(one, live) or self._creation.admit(
                one, asked.charges, known, is_validated=is_validated
            )
            if refusal is not None or is_validated:
                asked.end(place, refusal or (ErrorCode.NONE, ""))
                continue
            writes.append(TopicWrite(place=place, ops=self._creation.creation(one, live)))
        return writes

    def _created(self, asked: Asked, ended: Ended[TopicWrite]) -> None:
        for one, result in ended:
            topic = asked.names[one.place]
            asked.end(one.place, self._creation.create_topic(topic, result, asked.mandate))
        self._reply_created(asked)

    def _reply_created(self, asked: Asked) -> None:
        if asked.is_done:
            response = CreateTopicsResponse(
                topics=asked.topics(), throttle_time_ms=asked.charges.end()
            )
            self._outbox.reply(asked.token, response)

    # Deletion

    def on_delete_topics(
        self, token: int, request: DeleteTopicsRequest, charges: Charges, mandate: Mandate
    ) -> None:
        """Each topic is deleted, or refused with a reason (TOP-002)."""
        refusal = charges.refuse_all()
        if refusal is not None:
            error_code, message = refusal
            response = DeleteTopicsResponse(error_code=error_code, message=message)
            self._outbox.reply(token, response)
            return
        self._outbox.run(self._delete_topics(Asked(token, request.topics, charges, mandate)))

    def _delete_topics(self, asked: Asked) -> Script:
        for begin in range(0, len(asked.names), DELETIONS_MAX):
            places = range(begin, min(begin + DELETIONS_MAX, len(asked.names)))
            refusal = asked.charges.refuse_deletions(asked.names[begin : places.stop])
            if refusal is not None:
                for place in places:
                    asked.end(place, refusal)
                continue
            writes = yield from self._read_deletions(asked, places)
            for place in places if writes is None else ():
                asked.end(place, NO_CONNECTION)
            self._submit(asked, writes or (), self._deleted)
        self._reply_deleted(asked)

    def _read_deletions(
        self, asked: Asked, places: range
    ) -> Generator[Ask, Answer, list[TopicWrite] | None]:
        """What deletes the topics at these places that there are; None without a connection."""
        znodes = yield from read(*(topic_path(asked.names[place]) for place in places))
        if znodes is None:
            return None
        found = dict(zip(places, znodes, strict=True))
        keys = {place: _keys(asked.names[place], znode) for place, znode in found.items()}
        paths = [leader_and_isr_path(key) for some in keys.values() for key in some]
        states = yield from read(*paths)
        if states is None:
            return None
        by_path = {state.path: state for state in states}
        writes = []
        for place, znode in found.items():
            if znode.stat is None:
                asked.end(place, self._config.rules.missing_topic(asked.names[place]))
                continue
            refusal = asked.charges.admit(asked.names[place], len(keys[place]))
            if refusal is not None:
                asked.end(place, refusal)
                continue
            below = [by_path[leader_and_isr_path(key)] for key in keys[place]]
            tree = TopicTree(partitions=tuple(map(partition_deletion, below)), has_ids=True)
            ops = deletion(asked.names[place], znode, tree)
            writes.append(TopicWrite(place=place, ops=ops, czxid=znode.stat.czxid))
        return writes

    def _deleted(self, asked: Asked, ended: Ended[TopicWrite]) -> None:
        for one, result in ended:
            match result:
                case Written(zxid=zxid):
                    self._deletion.delete_topic(asked.names[one.place], zxid, asked.mandate)
                    asked.end(one.place, (ErrorCode.NONE, ""))
                case Rejected():
                    self._outbox.run(self._delete_alone(asked, one.place, one.czxid))
                case _:
                    asked.end(one.place, REPLY_LOST)
        self._reply_deleted(asked)

    def _delete_alone(self, asked: Asked, place: int, czxid: int | None) -> Script:
        error = yield from self._deletion.delete(asked.names[place], asked.mandate, czxid)
        asked.end(place, error)
        self._reply_deleted(asked)

    def _reply_deleted(self, asked: Asked) -> None:
        if asked.is_done:
            response = DeleteTopicsResponse(
                topics=asked.topics(), throttle_time_ms=asked.charges.end()
            )
            self._outbox.reply(asked.token, response)


def _keys(topic: str, znode: Znode) -> list[TopicPartition]:
    """The partitions that the topic names, if it is well-formed and there at all."""
    return [TopicPartition(topic, one) for one in sorted(parsed(parse_topic, znode) or ())]
