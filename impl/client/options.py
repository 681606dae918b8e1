"""Times of a client, by Kafka's names."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """All in milliseconds; the deadlines cover every retry of a call."""

    api_timeout_ms: int = 15_000
    """Of a read, or a call of the admin."""
    delivery_timeout_ms: int = 30_000
    """Of a record: then the producer says whether it may have been delivered."""
    request_timeout_ms: int = 3_000
    """Of one request to one broker."""
    retry_backoff_ms: int = 50
    """Between a failed try and the next one."""
