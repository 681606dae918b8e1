"""Timeouts of a client, by Kafka's names."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """Timeouts in milliseconds; `api` and `delivery` include all retries of a call."""

    api_timeout_ms: int = 15_000
    """For a read or a call of the admin (Kafka: `default.api.timeout.ms`)."""
    delivery_timeout_ms: int = 30_000
    """For a record (Kafka: `delivery.timeout.ms`); afterwards `send` raises."""
    request_timeout_ms: int = 3_000
    """For one request to one broker (Kafka: `request.timeout.ms`)."""
    retry_backoff_ms: int = 50
    """Pause between tries (Kafka: `retry.backoff.ms`)."""
