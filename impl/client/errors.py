"""How a call may fail: the type says whether it may have taken effect all the same (CLI-005)."""

from fencepost.spec.vocabulary import ErrorCode

EXIT_WORLD = 3
EXIT_USAGE = 4
"""Of a process that makes one call."""

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
    }
)
"""A leader may be moving, a broker starting, an ISR growing."""
RETRIABLE_ANYWHERE = RETRIABLE - {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
"""Of what any broker answers from ZooKeeper: there, what is unknown does not exist."""


class ClientError(Exception):
    """A call that did not succeed in its time; the text says what was asked and why it failed."""

    def __init__(self, message: str, error_code: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        """A name of `spec.vocabulary.ErrorCode`, or of a gRPC status when there was no answer."""


class DefiniteError(ClientError):
    """Surely without effect: it may be asked again."""


class IndefiniteError(ClientError):
    """Perhaps with effect: look before asking again."""


class NoBrokerError(DefiniteError):
    """None of the brokers that are known could be reached."""


class OffsetOutOfRangeError(DefiniteError):
    """A consumer asked for an offset below the log's start or above its end (CLI-002)."""


def exit_code_of(error: Exception) -> int:
    """4 when the same call can never succeed on this cluster as it is, 3 when it may."""
    if isinstance(error, ValueError):
        return EXIT_USAGE
    if not isinstance(error, DefiniteError) or error.error_code not in ErrorCode.__members__:
        return EXIT_WORLD
    may_pass = error.error_code in RETRIABLE_ANYWHERE
    return EXIT_WORLD if may_pass else EXIT_USAGE
