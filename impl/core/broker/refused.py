"""Commands and fetches that a broker refuses, as lines of the trace: they change nothing."""

from fencepost.impl.core.types.effects import RefusalTold
from fencepost.impl.core.types.messages import (
    FetchRequest,
    LeaderAndIsrRequest,
    PartitionState,
    PartitionStop,
    StopReplicaRequest,
)
from fencepost.spec.vocabulary import NO_BROKER, ErrorCode, RefusalKind

_COMMANDS = frozenset(
    {
        ErrorCode.STALE_CONTROLLER_EPOCH,
        ErrorCode.STALE_BROKER_EPOCH,
        ErrorCode.STALE_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.STORAGE_ERROR,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)
"""Why a command is not obeyed, by what this broker knows or has."""

_FETCHES = frozenset({ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH})
"""Why a follower's fetch is not served: it is of another leader epoch."""


def refuse_command(
    command: PartitionState, request: LeaderAndIsrRequest, error: ErrorCode
) -> tuple[RefusalTold, ...]:
    """The line of a command that is not obeyed; none when it was, or is about what is gone."""
    if error not in _COMMANDS:
        return ()
    line = RefusalTold(
        refusal=RefusalKind.REFUSE_COMMAND,
        topic_partition=command.key,
        partition_incarnation=command.partition_incarnation,
        leader=command.leader,
        leader_epoch=command.leader_epoch,
        isr=frozenset(command.isr),
        znode_version=command.znode_version,
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch or None,
        max_broker_epoch=request.max_broker_epoch or None,
        error_code=error,
    )
    return (line,)


def refuse_stop(
    stop: PartitionStop, request: StopReplicaRequest, error: ErrorCode
) -> tuple[RefusalTold, ...]:
    """The line of a StopReplica that stops nothing, of one partition; none when it does."""
    if error not in _COMMANDS:
        return ()
    line = RefusalTold(
        refusal=RefusalKind.REFUSE_STOP,
        topic_partition=stop.key,
        partition_incarnation=stop.partition_incarnation,
        leader_epoch=stop.leader_epoch,
        controller_id=request.controller_id,
        controller_epoch=request.controller_epoch,
        broker_epoch=request.broker_epoch or None,
        max_broker_epoch=request.max_broker_epoch or None,
        error_code=error,
    )
    return (line,)


def refuse_fetch(request: FetchRequest, error: ErrorCode) -> tuple[RefusalTold, ...]:
    """The line of a follower's fetch that its leader epoch fences; none of any other."""
    if error not in _FETCHES or request.replica_id == NO_BROKER:
        return ()
    line = RefusalTold(
        refusal=RefusalKind.REFUSE_FETCH,
        topic_partition=request.key,
        leader_epoch=request.leader_epoch,
        peer=request.replica_id,
        offset=request.fetch_offset,
        error_code=error,
    )
    return (line,)
