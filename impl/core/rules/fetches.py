"""What leaders answer to fetches, and what followers make of the answers (REPL, CMD-005, CLI).

Below level 2 a fetch carries no leader epoch: a follower knows its leader by the broker's id, and
truncates to its high watermark. From level 2 on, epochs decide both (KIP-101, KIP-279, KIP-320).
"""

from msgspec.structs import replace

from fencepost.impl.core.rules.commands import are_different
from fencepost.impl.core.rules.replica import Replica, truncate_log
from fencepost.impl.core.rules.tables import SERVING
from fencepost.impl.core.types.messages import FetchRequest, FetchResponse
from fencepost.spec.vocabulary import NO_BROKER, NO_EPOCH, ErrorCode, LeaderEpoch, Offset

# The leader


def fetch_error(
    replica: Replica | None, request: FetchRequest, *, is_fenced: bool = False
) -> ErrorCode:
    """Why a fetch gets no records; `NONE` when it is served, whatever its leader epoch."""
    if replica is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    error = _serving_error(replica, request)
    if error is ErrorCode.NONE and is_fenced:
        error = fence_leader_epoch(replica, request.leader_epoch)
    return _range_error(replica, request) if error is ErrorCode.NONE else error


def fenced_fetch_error(replica: Replica | None, request: FetchRequest) -> ErrorCode:
    """The same; a follower must have the leader's epoch (REPL-006, KIP-320).

    So must a consumer that names one.
    """
    is_fenced = request.replica_id != NO_BROKER or request.leader_epoch != NO_EPOCH
    return fetch_error(replica, request, is_fenced=is_fenced)


def fence_leader_epoch(replica: Replica, leader_epoch: LeaderEpoch) -> ErrorCode:
    """`NONE` when the fetch names the leader's own epoch."""
    if leader_epoch < replica.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if leader_epoch > replica.leader_epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    return ErrorCode.NONE


def _serving_error(replica: Replica, request: FetchRequest) -> ErrorCode:
    if not replica.is_leader:
        return SERVING[replica.role]
    if are_different(request.partition_incarnation, replica.partition_incarnation):
        return ErrorCode.UNKNOWN_TOPIC_ID
    return ErrorCode.NONE


def _range_error(replica: Replica, request: FetchRequest) -> ErrorCode:
    is_in_log = 0 <= request.fetch_offset <= replica.log_end_offset
    return ErrorCode.NONE if is_in_log else ErrorCode.OFFSET_OUT_OF_RANGE


def committed_end(replica: Replica) -> Offset:
    """The high watermark is the first offset that is not committed (REPL-002, H0)."""
    return replica.high_watermark


# The follower


def no_fetch_epoch(_replica: Replica) -> LeaderEpoch:
    """Fetches carry no epoch below level 2."""
    return NO_EPOCH


def fetch_epoch(replica: Replica) -> LeaderEpoch:
    """Fetches carry the epoch in which this replica follows (KIP-320)."""
    return replica.leader_epoch


def is_awaited(asked: int | None, answered: int) -> bool:
    """True of the answer to the request that is out: a stopped fetcher awaits none (CMD-004)."""
    return asked == answered


def is_from_leader(replica: Replica, response: FetchResponse) -> bool:
    """True when the answer is the followed broker's, in whatever epoch it leads."""
    return response.broker_id == replica.leader


def is_of_epoch(replica: Replica, response: FetchResponse) -> bool:
    """True when the answer was given in the epoch in which this replica follows (KIP-320)."""
    return response.leader_epoch == replica.leader_epoch


def asks_again(_error: ErrorCode) -> bool:
    """True for any error: the leader may know another epoch for a while (REPL-006, KAFKA-7786)."""
    return True


def truncate_to_committed(committed: Offset) -> Offset | None:
    """A follower of a new leader keeps what it knows to be committed, and nothing else (V3 C)."""
    return committed


def keep_log(_committed: Offset) -> Offset | None:
    """The log is kept until it is compared with the new leader's (KIP-101)."""
    return None


def cut_to_leader(replica: Replica, response: FetchResponse) -> Replica:
    """The leader's log is shorter: this replica drops what is beyond it, as V3 has no other way."""
    return truncate_log(replica, response.log_end_offset)[0]


def compare_again(replica: Replica, _response: FetchResponse) -> Replica:
    """The leader's log is shorter than this one: the two are compared anew by epoch."""
    return replace(replica, needs_truncation=True)
