"""Apache Kafka in KRaft mode: a quorum of controllers beside the brokers, and no ZooKeeper.

No node is both: the quorum outlives any number of dead brokers, as it does in production.
"""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import (
    Capability,
    ClusterParts,
    RunSite,
    Site,
)
from fencepost.conformance.adapters.kafka.disk.flushed import LOGS
from fencepost.conformance.adapters.kafka.kafka import MAIN, SHOWN, Kafka, KafkaProcesses
from fencepost.conformance.adapters.kafka.kraft import storage
from fencepost.conformance.adapters.kafka.kraft.metadata_log import read_history
from fencepost.conformance.adapters.kafka.kraft.observations import broker_lines
from fencepost.conformance.adapters.kafka.kraft.state import MetadataState
from fencepost.conformance.adapters.kafka.observations import broker_log, observed_log
from fencepost.conformance.adapters.kafka.transport import KafkaTransport
from fencepost.conformance.checks.observations import Fidelity, Observable, Observations
from fencepost.fault_injection.injectors.injector import InjectionError
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.fault_injection.processes.ports import HOST, free_ports
from fencepost.fault_injection.zookeeper.transaction_log import Transaction
from fencepost.spec.trace import TraceEvent

LAUNCH = (sys.executable, "-m", "fencepost.conformance.adapters.kafka.started")
CONTROLLERS = (101, 102, 103)
"""The nodes of the quorum, which one of them may leave; ids that no broker has."""
HEARTBEATS = 5
"""So many come in one session timeout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Where each node listens."""

    brokers: Mapping[int, str]
    controllers: Mapping[int, str]


class KraftProcesses(KafkaProcesses):
    """Brokers and controllers; an emptied disk is formatted before its broker starts."""

    def __init__(self, site: Site, commands: Mapping[int, list[str]], cluster_id: str) -> None:
        super().__init__(site, lambda node_id, _: [*LAUNCH, *commands[node_id], *site.extra])
        self._folders = Folders(root=site.folder)
        self._cluster_id = cluster_id

    @property
    def controllers(self) -> tuple[int, ...]:
        """The quorum."""
        return CONTROLLERS

    def start(self, broker_id: int, /, *flags: str) -> None:
        """The node is starting."""
        if broker_id not in CONTROLLERS:
            for folder in (
                self._folders.data(broker_id) / LOGS,
                _metadata(self._folders, broker_id),
            ):
                storage.require_formatted(folder, broker_id, self._cluster_id)
        super().start(broker_id, *flags)

    def data_folder(self, broker_id: int) -> Path:
        """Where a broker keeps its logs; raises `InjectionError` for a controller."""
        if broker_id in CONTROLLERS:
            raise InjectionError(f"controller {broker_id} keeps no logs of partitions")
        return super().data_folder(broker_id)


@dataclass(frozen=True, kw_only=True)
class KafkaInKraft(Kafka):
    """One release, its brokers under a quorum of controllers."""

    capabilities: frozenset[Capability] = Kafka.capabilities | {
        Capability.LINKS,
        Capability.REQUESTS,
        Capability.INCARNATIONS,
        Capability.PROMPT_DELETION,
    }
    observes: Observations = field(
        default_factory=lambda: {**SHOWN, Observable.STATE_WRITES: Fidelity.LOG}
    )

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster, of which no node runs; raises `JarsError` or `JavaError`."""
        java, listeners = self.java_command(), _listeners(site.broker_ids)
        places = _places(site, listeners)
        nodes = (*CONTROLLERS, *site.broker_ids)
        written = {
            node: self.write_properties(site, node, _properties(site, listeners, places, node))
            for node in nodes
        }
        first, cluster_id = CONTROLLERS[0], storage.new_id()
        tool = self.main_command(java, site, first, storage.STORAGE_TOOL)
        storage.run_tool(site.supervisor, [*tool, *storage.FORMAT, str(written[first])], cluster_id)
        folders = Folders(root=site.folder)
        for other in CONTROLLERS[1:]:
            storage.copy_controller(
                _metadata(folders, first), _metadata(folders, other), other, cluster_id
            )
        commands = {
            node: [*self.main_command(java, site, node, MAIN), str(written[node])] for node in nodes
        }
        return ClusterParts(
            lifecycle=KraftProcesses(site, commands, cluster_id),
            state=MetadataState(
                listeners.brokers,
                listeners.controllers,
                {node: observed_log(site.folder, node) for node in site.broker_ids}
                | {node: broker_log(site.folder, node) for node in CONTROLLERS},
            ),
            transport=KafkaTransport(forwards=True),
            workload_transport=self.workload_transport(),
        )

    def history(self, site: RunSite, /) -> Sequence[Transaction]:
        """What the metadata logs of most controllers tell; raises `MetadataLogError`."""
        folders = Folders(root=site.folder)
        return read_history([_metadata(folders, node) for node in CONTROLLERS])

    def observed(self, site: RunSite, history: Sequence[TraceEvent], /) -> Iterable[TraceEvent]:
        """What the nodes' logs and disks tell of each."""
        return broker_lines(site, (*site.broker_ids, *CONTROLLERS), history)


def _properties(
    site: Site, listeners: Listeners, places: Listeners, node: int
) -> dict[str, object]:
    """What a node is told because of its mode."""
    timeout_ms = site.session_timeout_ms
    voters = (f"{one}@{where}" for one, where in places.controllers.items())
    metadata = _metadata(Folders(root=site.folder), node)
    own: dict[str, object] = {
        "process.roles": "broker",
        "listeners": f"PLAINTEXT://{listeners.brokers.get(node)}",
        "advertised.listeners": f"PLAINTEXT://{places.brokers.get(node)}",
    }
    if node in CONTROLLERS:
        own = {
            "process.roles": "controller",
            "listeners": f"CONTROLLER://{listeners.controllers[node]}",
            "advertised.listeners": f"CONTROLLER://{places.controllers[node]}",
            "log.dirs": metadata,
        }
    return own | {
        "node.id": node,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": ",".join(voters),
        # Apart from the replicas: a fault that wipes these leaves the node its metadata.
        "metadata.log.dir": metadata,
        "broker.session.timeout.ms": timeout_ms,
        "broker.heartbeat.interval.ms": timeout_ms // HEARTBEATS,
        "controller.quorum.fetch.timeout.ms": timeout_ms,
        "controller.quorum.election.timeout.ms": timeout_ms // 2,
    }


def _metadata(folders: Folders, node: int) -> Path:
    return folders.metadata / broker_name(node)


def _places(site: Site, listeners: Listeners) -> Listeners:
    """Where others find each listener: where it listens, or a place at the proxy."""
    wiring = site.wiring
    if wiring is None:
        return listeners
    found = {
        name: {node: wiring.fixed_place(node, name, address) for node, address in own.items()}
        for name, own in (("controller", listeners.controllers), ("broker", listeners.brokers))
    }
    return Listeners(brokers=found["broker"], controllers=found["controller"])


def _listeners(brokers: Sequence[int]) -> Listeners:
    nodes = (*brokers, *CONTROLLERS)
    at = {node: f"{HOST}:{port}" for node, port in zip(nodes, free_ports(len(nodes)), strict=True)}
    return Listeners(
        brokers={node: at[node] for node in brokers},
        controllers={node: at[node] for node in CONTROLLERS},
    )
