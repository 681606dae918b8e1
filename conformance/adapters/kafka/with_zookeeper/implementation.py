"""Apache Kafka in ZooKeeper mode: its state is in a ZooKeeper that the harness starts."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from fencepost.conformance.adapters.implementation import (
    Capability,
    ClusterParts,
    RunSite,
    Site,
)
from fencepost.conformance.adapters.kafka.kafka import MAIN, SHOWN, Kafka, KafkaProcesses
from fencepost.conformance.adapters.kafka.transport import KafkaTransport
from fencepost.conformance.adapters.kafka.with_zookeeper.dialect import KAFKA_DIALECT, in_words
from fencepost.conformance.adapters.kafka.with_zookeeper.observations import broker_lines
from fencepost.conformance.adapters.znode_dialect import ZnodeDialect
from fencepost.conformance.adapters.zookeeper_state import ZooKeeperState
from fencepost.conformance.checks.observations import Fidelity, Observable, Observations
from fencepost.fault_injection.network.wiring import BrokerPlace
from fencepost.fault_injection.processes.ports import HOST, free_ports
from fencepost.fault_injection.zookeeper.transaction_log import Transaction
from fencepost.spec.trace import TraceEvent

LAUNCH = "fencepost.conformance.adapters.kafka.with_zookeeper.launch"


@dataclass(frozen=True, kw_only=True)
class KafkaWithZooKeeper(Kafka):
    """One release at one protocol, its brokers under a ZooKeeper."""

    capabilities: frozenset[Capability] = Kafka.capabilities | {
        Capability.LINKS,
        Capability.REQUESTS,
        Capability.ZOOKEEPER,
        Capability.INCARNATIONS,
        Capability.CONTROL,
        Capability.UPDATE_METADATA,
        Capability.CONTROLLED_SHUTDOWN,
    }
    znode_dialect: ZnodeDialect = KAFKA_DIALECT
    observes: Observations = field(
        default_factory=lambda: {
            **SHOWN,
            Observable.STATE_WRITES: Fidelity.EXACT,
            Observable.ELECTIONS: Fidelity.EXACT,
        }
    )

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster, of which no broker runs.

        Raises `JarsError`, `JavaError` or `ZooKeeperError`.
        """
        java = self.java_command()
        znodes = site.znodes(self.znode_dialect)
        ports = dict(zip(site.broker_ids, free_ports(len(site.broker_ids)), strict=True))
        return ClusterParts(
            lifecycle=KafkaProcesses(site, partial(self._command, site, java, ports)),
            state=ZooKeeperState(znodes),
            transport=KafkaTransport(),
            workload_transport=self.workload_transport(),
            znodes=znodes,
        )

    def _command(
        self,
        site: Site,
        java: list[str],
        ports: Mapping[int, int],
        broker_id: int,
        place: BrokerPlace,
    ) -> list[str]:
        listens = place.listens or f"{HOST}:{ports[broker_id]}"
        of_mode = {
            "broker.id": broker_id,
            "listeners": f"PLAINTEXT://{listens}",
            "advertised.listeners": f"PLAINTEXT://{place.advertised or listens}",
            "zookeeper.connect": place.zookeeper,
            "zookeeper.session.timeout.ms": site.session_timeout_ms,
        }
        path = self.write_properties(site, broker_id, of_mode)
        registration = self.znode_dialect.broker_path(broker_id)
        launch = [sys.executable, "-m", LAUNCH, place.zookeeper, registration]
        return [*launch, *self.main_command(java, site, broker_id, MAIN), str(path), *site.extra]

    def in_words(self, transaction: Transaction, /) -> Transaction:
        """A change of its ZooKeeper in the words of `spec/znodes.py`."""
        return in_words(transaction)

    def observed(self, site: RunSite, zookeeper: Sequence[TraceEvent], /) -> Iterable[TraceEvent]:
        """What ZooKeeper, the log of state changes and the disk tell of each broker."""
        return broker_lines(site, zookeeper)
