"""Errors of calls; the class says whether the call may have taken effect (CLI-005)."""

from fencepost.spec.vocabulary import ErrorCode

EXIT_WORLD = 3
EXIT_USAGE = 4
"""Exit codes of a process that makes one call."""

RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_LEADER_AFTER_APPEND,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.STORAGE_ERROR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)
"""Errors that pass when a leader moves, a broker starts or an ISR grows."""
RETRIABLE_ANYWHERE = RETRIABLE - {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION} | {ErrorCode.NOT_CONTROLLER}
"""The same for calls that no leader answers: an unknown topic does not exist, and
another broker may be the controller."""


class ClientError(Exception):
    """A call failed; the text names the call and the reason."""

    def __init__(self, message: str, error_code: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        """A name of `spec.vocabulary.ErrorCode`, or of a gRPC status when there was no answer."""


class DefiniteError(ClientError):
    """The call certainly had no effect and may be repeated."""


class IndefiniteError(ClientError):
    """The call may have taken effect; read the state before repeating it."""


class NoBrokerError(DefiniteError):
    """No known broker could be reached."""


class ThrottledError(DefiniteError):
    """The quota of this client is exhausted (KIP-599)."""

    def __init__(self, message: str, throttle_time_ms: int) -> None:
        super().__init__(message, ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self.throttle_time_ms = throttle_time_ms
        """After it the same call is admitted, unless others of the same quota come first."""


class OffsetOutOfRangeError(DefiniteError):
    """The position is below the log start or above the high watermark (CLI-002)."""


def exit_code_of(error: Exception) -> int:
    """4 when the same call cannot succeed on the cluster as it is, 3 when it may."""
    if isinstance(error, ValueError):
        return EXIT_USAGE
    if not isinstance(error, DefiniteError) or error.error_code not in ErrorCode.__members__:
        return EXIT_WORLD
    may_pass = error.error_code in RETRIABLE_ANYWHERE
    return EXIT_WORLD if may_pass else EXIT_USAGE
