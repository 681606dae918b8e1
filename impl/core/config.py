"""What a node is told when it starts."""

from dataclasses import dataclass

from msgspec import UNSET, UnsetType

from fencepost.impl.core.levels import level_5
from fencepost.impl.core.rules.rules import Rules
from fencepost.spec.vocabulary import BrokerId


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Times in milliseconds, sizes in records. Defaults suit a test cluster on one host."""

    broker_id: BrokerId
    host: str = "127.0.0.1"
    port: int = 0
    rules: Rules = level_5.RULES
    """Of a level, see `impl/core/levels`."""
    inter_broker_protocol: int | UnsetType = UNSET
    """The level, as the registration tells it; no rule asks for it."""
    replica_lag_time_ms: int = 2000
    """A member of the ISR that was not caught up for longer is removed (ISR-001)."""
    fetch_wait_ms: int = 300
    """How long a leader may hold a follower's empty fetch."""
    fetch_records_max: int = 200
    request_timeout_ms: int = 1000
    """After it a request to a peer counts as failed."""
    partition_change_ms: int = 2000
    """Between two looks of the controller at `/admin`, when nothing wakes it (REAS-006)."""
    retry_ms: int = 100
    """Pause before a failed fetch, command or election is tried again."""
    reads_max: int = 1000
    """Partition states that a controller asks for at once: it has other things to do in between."""
    controlled_shutdown_ms: int = 3000
    """How long a broker that is to end waits until others lead what it led."""
    checkpoint_ms: int = 500
    """Between two high-watermark checkpoints."""
    min_insync_replicas: int = 1
    """A produce with acks=all is refused when fewer are in the ISR (REPL-008)."""
    reads_configuration: bool = False
    """The configuration is read from the first session on: an authorizer needs it (SEC-001)."""
    unclean_leader_election: bool = False
    """A broker outside the ISR may lead when no member is there; records may be lost (FAIL-002).

    What the controller's configuration says counts; an administrator may ask for one such election.
    """
    internal_topic_partitions: int = 50
    """Of the topic that the first request for a coordinator creates (FWD-006)."""
    internal_topic_replicas: int = 3
    """Of each: while fewer brokers are live there is no coordinator, as in Kafka (KIP-115)."""
    token_check_ms: int = 3_600_000
    """Between two looks of the controller for delegation tokens that are over (SEC-003).

    `delegation.token.expiry.check.interval.ms`.
    """
    has_mutation_quota: bool = False
    """The controller alone takes mutations of topics, and admits them by quotas (KIP-599)."""
    quota_window_num: int = 11
    """So many windows of unused rate are kept: `controller.quota.window.num` (QUOTA-006)."""
    quota_window_size_s: int = 1
    """`controller.quota.window.size.seconds`."""

    def retry_at_ms(self, now_ms: int) -> int:
        """When what has failed now is tried again."""
        return self.rules.retry_after_pause(now_ms, self.retry_ms)

    @property
    def follower_wait_ms(self) -> int:
        """How long a follower lets its leader hold a fetch: idle must not look like lagging."""
        return min(self.fetch_wait_ms, self.replica_lag_time_ms // 3)
