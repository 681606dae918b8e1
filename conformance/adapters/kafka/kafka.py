"""Apache Kafka as an implementation: what both modes have in common.

Unmodified releases, each broker a process of this host. `with_zookeeper` and `kraft` say what their
mode adds: how a broker starts, where the state is published, and what is observed of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from fencepost.conformance.adapters.command_line import BrokerProcesses
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import Capability, Implementation, Site
from fencepost.conformance.adapters.kafka.classes import sharing
from fencepost.conformance.adapters.kafka.disk.flushed import LOGS, keep_record
from fencepost.conformance.adapters.kafka.jars import class_path
from fencepost.conformance.adapters.kafka.observations import observed_log
from fencepost.conformance.adapters.kafka.releases import LIBRDKAFKA, KafkaTarget, numbers
from fencepost.conformance.adapters.kafka.transport import REFUSED
from fencepost.conformance.checks.observations import (
    OF_CLIENTS,
    Fidelity,
    Observable,
    Observations,
)
from fencepost.conformance.checks.trace_dialect import (
    KAFKA_0_10,
    KAFKA_2_1,
    KAFKA_2_7,
    KAFKA_4_1,
    TraceDialect,
)
from fencepost.conformance.clients.transport import Transport
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.spec.java import JavaNotFoundError, find_java

LOG4J = Path(__file__).with_name("log4j.properties")
MAIN = "kafka.Kafka"
IDEMPOTENT_SINCE = (0, 11)
"""The first protocol that knows a record that is sent again (KIP-98)."""
FETCH_EPOCHS_SINCE = (2, 1)
"""The first release in which fetches name a leader epoch (KIP-320)."""
OBSERVED = "fencepost.observed"
"""The property by which `log4j.properties` knows that file."""
JAVA_OPTIONS = ("-Xms64m", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
PROPERTIES: Mapping[str, object] = {
    "replica.fetch.wait.max.ms": 500,
    "replica.fetch.backoff.ms": 100,
    "num.network.threads": 1,
    "num.io.threads": 2,
    "background.threads": 1,
    "num.recovery.threads.per.data.dir": 1,
    "num.replica.fetchers": 1,
    "log.cleaner.enable": "false",
    "log.index.size.max.bytes": 65536,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "auto.create.topics.enable": "false",
    "delete.topic.enable": "true",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.enable": "false",
}
"""A small broker that does nothing by itself; all else is Kafka's default."""


SHOWN: Observations = MappingProxyType(
    {
        **OF_CLIENTS,
        Observable.ELECTIONS: Fidelity.LOG,
        Observable.ROLES: Fidelity.LOG,
        Observable.APPENDS: Fidelity.DISK,
        Observable.HIGH_WATERMARKS: Fidelity.LOG,
    }
)
"""What both modes show; `docs/kafka.md` says from where."""


class KafkaProcesses(BrokerProcesses):
    """Its processes, which keep no record of what they flush: it is made when it is asked for."""

    def data_folder(self, broker_id: int) -> Path:
        """Where the broker keeps its logs, and the record of what survives a loss of power."""
        folder = super().data_folder(broker_id)
        keep_record(folder)
        return folder


class JavaError(ClusterError):
    """No Java on which the release runs; says what to do."""


def _dialect(chosen: KafkaTarget) -> TraceDialect:
    """Epochs are raised with elections since 2.1; AlterPartition is of 2.7, an empty ISR of 4.1."""
    if numbers(chosen.protocol) >= (4, 1):
        return KAFKA_4_1
    if numbers(chosen.protocol) >= (2, 7):
        return KAFKA_2_7
    return KAFKA_2_1 if chosen.release.number >= (2, 1) else KAFKA_0_10


@dataclass(frozen=True, kw_only=True)
class Kafka(Implementation):
    """One release at one protocol."""

    name: str = field(init=False)
    levels: tuple[int, ...] = (2,)
    capabilities: frozenset[Capability] = frozenset(
        {
            Capability.PROCESSES,
            Capability.FLUSH_RECORD,
            Capability.UNCLEAN_ELECTIONS,
            Capability.MIN_INSYNC_REPLICAS,
        }
    )
    wire_protocol: WireProtocol = WireProtocol.KAFKA
    observes: Observations = field(default_factory=lambda: SHOWN)
    takes_flags: bool = True
    names_incarnations: bool = False
    ends_together: bool = True
    chosen: KafkaTarget
    properties: Mapping[str, object] = field(default_factory=dict)
    """Of every broker, beside `PROPERTIES` and in place of them."""
    java_options: Sequence[str] = JAVA_OPTIONS
    """Of every broker; the last word on what it logs, too."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.chosen.name)
        object.__setattr__(self, "trace_dialect", _dialect(self.chosen))
        if self.chosen.release.number >= FETCH_EPOCHS_SINCE:
            found = self.capabilities | {Capability.FETCH_EPOCHS}
            object.__setattr__(self, "capabilities", found)

    @property
    def target(self) -> str:
        """As it is chosen."""
        return self.chosen.chosen_as

    @property
    def told(self) -> Mapping[str, object]:
        """What the trace's `RunStarted` says of it."""
        return {"command": self.target, "dialect": self.trace_dialect.name}

    @property
    def definite_errors(self) -> frozenset[str]:
        """Fewer than Kafka's own client takes for definite; see `REFUSED`."""
        if self.chosen.client != LIBRDKAFKA:
            return frozenset(code.name.upper() for code in REFUSED)
        from confluent_kafka import KafkaError

        from fencepost.conformance.adapters.kafka.librdkafka import INESCAPABLE

        return frozenset(KafkaError(code).name() for code in INESCAPABLE)

    def workload_transport(self) -> Transport | None:
        """How the clients of the workload reach brokers; None: by wire, as all others."""
        if self.chosen.client != LIBRDKAFKA:
            return None
        from fencepost.conformance.adapters.kafka.librdkafka import LibrdkafkaTransport

        return LibrdkafkaTransport(can_produce=numbers(self.chosen.protocol) >= IDEMPOTENT_SINCE)

    def java_command(self) -> list[str]:
        """Java with the classes of the release; raises `JarsError` or `JavaError`."""
        jars, java = class_path(self.chosen), self._java()
        options = [f"-Dlog4j.configuration=file:{LOG4J}", *self.java_options]
        shared = sharing(java, self.java_options, jars)
        return [str(java), *options, *shared, "-cp", ":".join(map(str, jars))]

    def main_command(self, java: Sequence[str], site: Site, broker_id: int, main: str) -> list[str]:
        """`java` runs the main class, which writes what is observed of it in the broker's file."""
        return [*java, f"-D{OBSERVED}={observed_log(site.folder, broker_id)}", main]

    def write_properties(self, site: Site, broker_id: int, of_mode: Mapping[str, object]) -> Path:
        """The file of the broker's properties, beside its log."""
        told: dict[str, object] = {
            "log.dirs": Folders(root=site.folder).data(broker_id) / LOGS,
            "replica.lag.time.max.ms": site.replica_lag_ms,
            **of_mode,
            **PROPERTIES,
            "unclean.leader.election.enable": str(site.unclean_leader_election).lower(),
            "min.insync.replicas": site.min_insync_replicas,
            **self.chosen.properties,
            **self.properties,
        }
        path = Folders(root=site.folder).processes / f"{broker_name(broker_id)}.properties"
        path.write_text("".join(f"{k}={v}\n" for k, v in told.items()), encoding="utf-8")
        return path

    def _java(self) -> Path:
        release = self.chosen.release
        try:
            java = find_java()
        except JavaNotFoundError as error:
            raise JavaError(
                f"Kafka {release.version} needs Java {release.java}: {error}"
            ) from error
        if java.version < release.java:
            raise JavaError(
                f"Kafka {release.version} needs Java {release.java} or newer, and "
                f"{java.executable} is Java {java.version}; set JAVA_HOME to a newer one"
            )
        return java.executable
