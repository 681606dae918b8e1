"""What a client asks of coordinators in a healed cluster: all brokers name one (FWD-006)."""

from fencepost.impl.core.types.topic_messages import FindCoordinatorRequest, FindCoordinatorResponse
from fencepost.impl.sim.requests.asking import AskingClient, Step
from fencepost.impl.sim.world.cluster import INTERNAL_PARTITIONS
from fencepost.spec.vocabulary import INTERNAL_TOPICS, CoordinatorKind, ErrorCode
from fencepost.spec.znodes import TopicPartition

HASHES = {"orders": -1_008_770_331, "billing": -109_829_509, "\N{MOUSE FACE}": 1_772_432}
"""Name -> its `hashCode()`, as Java 17 prints it: the core does not judge itself."""
FIRST = "orders"
NOT_YET = ErrorCode.COORDINATOR_NOT_AVAILABLE


class LastCoordinators:
    """The part of the last requests that is about coordinators."""

    def __init__(self, client: AskingClient) -> None:
        """The client asks, and notes what is wrong."""
        self._client = client
        self._cluster = client.cluster

    def script(self) -> Step:
        """For each kind the first request creates the topic, and the next ones are answered."""
        for kind in CoordinatorKind:
            yield from self._topic_is_created(kind)
            for key in HASHES:
                yield from self._leader_is_named(kind, key)

    def _topic_is_created(self, kind: CoordinatorKind) -> Step:
        """By brokers that two clients ask first; leaders follow."""
        for to in sorted(self._cluster.disks):
            told = yield to, FindCoordinatorRequest(key=FIRST, kind=kind)
            code = told.error_code if isinstance(told, FindCoordinatorResponse) else None
            if code not in (ErrorCode.NONE, NOT_YET):
                self._client.wrong.append(f"the first request for a coordinator: {code}")
        keys = [TopicPartition(INTERNAL_TOPICS[kind], one) for one in range(INTERNAL_PARTITIONS)]
        for key in keys:
            yield self._client.served(key)
        yield self._client.rest()

    def _leader_is_named(self, kind: CoordinatorKind, key: str) -> Step:
        """The same by every broker."""
        number = (HASHES[key] & 0x7FFFFFFF) % INTERNAL_PARTITIONS
        leader = self._client.leader_of(TopicPartition(INTERNAL_TOPICS[kind], number))
        for to in sorted(self._cluster.disks):
            told = yield to, FindCoordinatorRequest(key=key, kind=kind)
            found = None
            if isinstance(told, FindCoordinatorResponse):
                found = told.error_code, told.broker_id
            if found != (ErrorCode.NONE, leader):
                self._client.wrong.append(f"broker {to} names {found} for {kind} {key}")
