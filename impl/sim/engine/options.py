"""The settings of one simulated run; `impl/sim/draw/drawn_run.py` draws them from a seed."""

from dataclasses import dataclass

from fencepost.fault_injection.faults.process_faults import RollBrokers
from fencepost.fault_injection.stories.story import Story
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.sim.world.network import Weather
from fencepost.spec.vocabulary import ProtocolLevel

BROKERS = (1, 2, 3)
TOPIC = "t"
BATCH_RECORDS_MAX = 3
"""Of an idempotent producer; any other appends one record at a time."""
CALM = Weather()
SETTLE_MS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """One run. Times in virtual milliseconds."""

    seed: int
    level: ProtocolLevel
    judged_level: ProtocolLevel | None = None
    """The level by which writes are judged; None: that which each broker speaks."""
    mutant: MutantName | None = None
    brokers: int = len(BROKERS)
    replication_factor: int = len(BROKERS)
    partitions: int = 1
    late_topics: int = 0
    """So many more are created while the run goes on."""
    producers: int = 2
    consumers: int = 1
    duration_ms: int = 12_000
    settle_ms: int = SETTLE_MS
    """How long healing may take before the run counts as not converged."""
    session_timeout_ms: int = 1_200
    replica_lag_time_ms: int = 900
    checkpoint_ms: int = 500
    flush_ms: int = 0
    """How long records may wait for the disk; 0: they are flushed before anything is sent."""
    min_insync_replicas: int = 1
    unclean_leader_election: bool = False
    idempotent: bool = False
    """Producers have ids and retry; else every attempt is an operation of its own."""
    in_flight: int = 1
    """So many batches of an idempotent producer may be unanswered at one time."""
    fetch_records_max: int = 200
    """Of followers."""
    reads_max: int = 1000
    """Partition states that a controller asks for at once; with few it puts off what it puts off
    elsewhere with thousands of partitions."""
    think_ms: tuple[int, int] = (1, 60)
    """Between two operations of one client."""
    operations: int = 0
    """After so many a client has done its work; 0: it goes on to the end of the run."""
    unacknowledged: float = 0.0
    """Share of the records that are produced with acks=1."""
    moves: bool = False
    """An administrator moves, adds and removes partitions while the clients work."""
    founds: bool = False
    """An administrator deletes and creates the topic, and resizes it, while the clients work."""
    asks: bool = False
    """An administrator asks for everything: topics come, go and come again, and partitions move."""
    bad_topic: bool = False
    """Until all is healed, a znode beside the topics holds no topic."""
    asks_last: bool = False
    """Once all is healed, an administrator asks for all that can be asked for, and for wrong
    things (`last_requests.py`)."""
    secured: bool = False
    """Brokers prove their names to each other, and take nothing from others that only brokers
    may ask for (SEC-002); users do in the last requests."""
    token_check_ms: int = 1_000
    """Between two looks of the controller for tokens that are over."""
    mutation_quota: bool = False
    """Quotas limit what clients create and delete, beside the topic that is written and read."""
    by_hand: bool = False
    """The znodes of the controller's election are written by hand while brokers work."""
    asks_by_hand: bool = False
    """Requests below `/admin` are written by hand, malformed ones among them; registrations and
    `/controller` are deleted or garbled, and a topic is half made for a while."""
    request_bytes_max: int = 1 << 20
    """ZooKeeper hangs up on a multi with more paths and data (`jute.maxbuffer`)."""
    connection_breaks: float = 0.0
    """Per broker and second: how often its connection to ZooKeeper breaks."""
    weather: Weather = CALM
    story: Story
    hurt_last: bool = False
    """Partitions must be served before a broker is healed that alone is hurt until the end."""
    survivors_first: bool = False
    """The surviving brokers must heal before brokers return that were killed until the end."""

    @property
    def is_by_hand(self) -> bool:
        """True where people write what only brokers should."""
        return self.by_hand or self.asks_by_hand

    @property
    def newest_level(self) -> int:
        """The highest level that a broker may come to speak; the usual one without upgrades."""
        faults = [one.fault for one in self.story.actions]
        told = [one.inter_broker_protocol for one in faults if isinstance(one, RollBrokers)]
        return max([int(self.level), *(level for level in told if level is not None)])


def healing_ms(options: RunOptions) -> int:
    """How long healing may take where sessions have to end first, perhaps three in turn."""
    return SETTLE_MS + 3 * options.session_timeout_ms
