"""Apache Kafka in ZooKeeper mode: unmodified releases, each broker a process of this host."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fencepost.conformance.adapters.command_line import BrokerProcesses
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import (
    Capability,
    ClusterParts,
    Implementation,
    RunSite,
    Site,
    TraceSource,
)
from fencepost.conformance.adapters.kafka.dialect import KAFKA_DIALECT, in_words
from fencepost.conformance.adapters.kafka.flushed import LOGS, keep_record
from fencepost.conformance.adapters.kafka.jars import class_path
from fencepost.conformance.adapters.kafka.observations import broker_lines
from fencepost.conformance.adapters.kafka.releases import KafkaTarget, numbers
from fencepost.conformance.adapters.kafka.transport import KafkaTransport
from fencepost.conformance.adapters.znode_dialect import ZnodeAccess
from fencepost.conformance.adapters.zookeeper_state import ZooKeeperState
from fencepost.conformance.checks.trace_dialect import (
    KAFKA_0_10,
    KAFKA_2_1,
    KAFKA_2_7,
    TraceDialect,
)
from fencepost.fault_injection.network.wiring import BrokerPlace, broker_name
from fencepost.fault_injection.processes.ports import HOST, free_ports
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.transaction_log import Transaction
from fencepost.spec.java import find_java
from fencepost.spec.trace import TraceEvent

LOG4J = Path(__file__).with_name("log4j.properties")
LAUNCH = "fencepost.conformance.adapters.kafka.launch"
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
    "auto.leader.rebalance.enable": "false",
    "unclean.leader.election.enable": "false",
    "min.insync.replicas": 1,
    "controlled.shutdown.enable": "false",
}
"""A small broker that does nothing by itself; all else is Kafka's default."""


class KafkaProcesses(BrokerProcesses):
    """Its processes, which keep no record of what they flush: it is made when it is asked for."""

    def data_folder(self, broker_id: int) -> Path:
        """Where the broker keeps its logs, and the record of what survives a loss of power."""
        folder = super().data_folder(broker_id)
        keep_record(folder)
        return folder


def _dialect(chosen: KafkaTarget) -> TraceDialect:
    """The epoch is raised with the election since 2.1; AlterPartition comes with protocol 2.7."""
    if numbers(chosen.protocol) >= (2, 7):
        return KAFKA_2_7
    return KAFKA_2_1 if chosen.release.number >= (2, 1) else KAFKA_0_10


@dataclass(frozen=True, kw_only=True)
class Kafka(Implementation):
    """One release at one protocol."""

    name: str = field(init=False)
    levels: tuple[int, ...] = (2,)
    capabilities: frozenset[Capability] = frozenset(
        {Capability.PROCESSES, Capability.ZOOKEEPER, Capability.FLUSH_RECORD}
    )
    observes: frozenset[TraceSource] = frozenset(TraceSource)
    chosen: KafkaTarget
    kafka_dir: Path | None = None
    """An unpacked distribution in place of the jars of the release."""
    properties: Mapping[str, object] = field(default_factory=dict)
    """Of every broker, beside `PROPERTIES` and in place of them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.chosen.name)
        object.__setattr__(self, "trace_dialect", _dialect(self.chosen))

    @property
    def target(self) -> str:
        """As it is chosen."""
        return self.chosen.name

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster, of which no broker runs; raises `JarsError`, `ZooKeeperError`."""
        jars = class_path(self.chosen.release, self.kafka_dir)
        client = ZooKeeperClient(site.zookeeper, session_timeout_s=site.session_timeout_ms / 1000)
        client.connect()
        znodes = ZnodeAccess(client, KAFKA_DIALECT)
        ports = dict(zip(site.broker_ids, free_ports(len(site.broker_ids)), strict=True))
        return ClusterParts(
            lifecycle=KafkaProcesses(site, partial(self._command, site, jars, ports)),
            state=ZooKeeperState(znodes),
            transport=KafkaTransport(),
            znodes=znodes,
        )

    def _command(
        self,
        site: Site,
        jars: list[Path],
        ports: Mapping[int, int],
        broker_id: int,
        place: BrokerPlace,
    ) -> list[str]:
        """The command line of one broker; its properties are written beside its log."""
        listens = place.listens or f"{HOST}:{ports[broker_id]}"
        told: dict[str, object] = {
            "broker.id": broker_id,
            "listeners": f"PLAINTEXT://{listens}",
            "advertised.listeners": f"PLAINTEXT://{place.advertised or listens}",
            "log.dirs": Folders(root=site.folder).data(broker_id) / LOGS,
            "zookeeper.connect": place.zookeeper,
            "zookeeper.session.timeout.ms": site.session_timeout_ms,
            "replica.lag.time.max.ms": site.replica_lag_ms,
            **PROPERTIES,
            **self.chosen.properties,
            **self.properties,
        }
        folder = Folders(root=site.folder).processes
        path = folder / f"{broker_name(broker_id)}.properties"
        path.write_text("".join(f"{k}={v}\n" for k, v in told.items()), encoding="utf-8")
        classes = ":".join(map(str, jars))
        java = str(find_java().executable)
        logging = f"-Dlog4j.configuration=file:{LOG4J}"
        launch = [
            sys.executable,
            "-m",
            LAUNCH,
            place.zookeeper,
            KAFKA_DIALECT.broker_path(broker_id),
        ]
        return [*launch, java, *JAVA_OPTIONS, logging, "-cp", classes, "kafka.Kafka", str(path)]

    @property
    def told(self) -> Mapping[str, object]:
        """What the trace's `RunStarted` says of it."""
        return {"command": self.target, "dialect": self.trace_dialect.name}

    def in_words(self, transaction: Transaction, /) -> Transaction:
        """A change of its ZooKeeper in the words of `spec/znodes.py`."""
        return in_words(transaction)

    def observed(self, site: RunSite, zookeeper: Sequence[TraceEvent], /) -> Iterable[TraceEvent]:
        """What ZooKeeper, the log of state changes and the disk tell of each broker."""
        return broker_lines(site.folder, site.run_id, site.broker_ids, zookeeper)
