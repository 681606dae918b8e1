"""When a produce is answered, and how its wait ends (REPL-008, CLI-005)."""

from collections.abc import Mapping
from enum import Enum, auto

from fencepost.impl.core.rules.producers import ProducerState, ProducerTable
from fencepost.impl.core.rules.replica import Replica
from fencepost.impl.core.rules.tables import SERVING
from fencepost.impl.core.types.messages import ACKS_ALL, ProduceRequest
from fencepost.spec.vocabulary import ErrorCode, Offset, ProducerId


class ProduceEnd(Enum):
    """How the wait of an appended produce ends."""

    COMMITTED = auto()
    NO_LEADER = auto()
    """The replica leads no more, or another may have led in between."""
    EXPIRED = auto()


PRODUCE_ENDS: Mapping[ProduceEnd, ErrorCode] = {
    ProduceEnd.COMMITTED: ErrorCode.NONE,
    ProduceEnd.NO_LEADER: ErrorCode.NOT_LEADER_AFTER_APPEND,
    ProduceEnd.EXPIRED: ErrorCode.REQUEST_TIMED_OUT,
}
"""What the producer is answered (REPL-008, CMD-004): an error says that nothing is certain."""


def answers_at_once(request: ProduceRequest) -> bool:
    """True when the leader's own append is enough (REPL-008)."""
    return request.acks != ACKS_ALL


def has_too_few_in_sync(leader: Replica, request: ProduceRequest, min_insync_replicas: int) -> bool:
    """True when a record that must reach the whole ISR would reach too few (REPL-008)."""
    return request.acks == ACKS_ALL and len(leader.isr) < min_insync_replicas


def produce_error(replica: Replica) -> ErrorCode:
    """`NONE` when the replica takes records of producers; a fenced leader takes none (ISR-004)."""
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if replica.is_fenced else SERVING[replica.role]


def acknowledged_offset(base_offset: Offset, _end_offset: Offset) -> Offset:
    """A producer is told the offset of the first of its records (CLI-004)."""
    return base_offset


def known_of_producer(
    _leader: Replica, producers: ProducerTable, producer_id: ProducerId
) -> ProducerState:
    """A leader knows of a producer all that its log holds, of every leader before (CLI-005)."""
    return producers[producer_id]
