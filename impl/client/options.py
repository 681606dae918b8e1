"""Timeouts of a client, by Kafka's names, its identity, and what it says of itself."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.spec.wire.tls import IDENTITY_VARIABLE
from fencepost.spec.wire.tokens import TOKEN_VARIABLE


def own_identity() -> Path | None:
    """The folder that the environment names as the client's identity."""
    folder = os.environ.get(IDENTITY_VARIABLE)
    return Path(folder) if folder else None


def own_token() -> Path | None:
    """The file that the environment names as the client's delegation token."""
    file = os.environ.get(TOKEN_VARIABLE)
    return Path(file) if file else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """One client. Timeouts in milliseconds; `api` and `delivery` include all retries of a call."""

    api_timeout_ms: int = 15_000
    """For a read or a call of the admin (Kafka: `default.api.timeout.ms`)."""
    bootstrap_timeout_ms: int | None = None
    """For reaching any broker at all, the first time; None: as long as the call may take."""
    delivery_timeout_ms: int = 30_000
    """For a record (Kafka: `delivery.timeout.ms`); afterwards `send` raises."""
    request_timeout_ms: int = 3_000
    """For one request to one broker (Kafka: `request.timeout.ms`)."""
    retry_backoff_ms: int = 50
    """Pause between tries (Kafka: `retry.backoff.ms`)."""
    tls: Path | None = field(default_factory=own_identity)
    """The folder of the client's identity (`spec/wire/tls.py`); None: connections are plain."""
    token: Path | None = field(default_factory=own_token)
    """The file of a delegation token: all calls are made for its owner; needs `tls`."""
    client_id: str = ""
    """How the program calls itself (Kafka: `client.id`); quotas may be set for it."""
    user: str = ""
    """Of the quotas, as long as connections are not authenticated."""
    retry_on_quota_violation: bool = True
    """The admin waits until the quota admits what it refused, until the API times out (KIP-599)."""
