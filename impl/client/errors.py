"""How a call may fail: the type says whether it may have taken effect all the same (CLI-005)."""


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
