"""Apache Kafka in KRaft mode: each node is broker and controller, and there is no ZooKeeper."""

import base64
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import ClusterParts, RunSite, Site
from fencepost.conformance.adapters.kafka.kafka import MAIN, Kafka, KafkaProcesses
from fencepost.conformance.adapters.kafka.kraft.observations import broker_lines
from fencepost.conformance.adapters.kafka.kraft.state import MetadataState
from fencepost.conformance.adapters.kafka.observations import observed_log
from fencepost.conformance.adapters.kafka.transport import KafkaTransport
from fencepost.fault_injection.network.wiring import broker_name
from fencepost.fault_injection.processes.ports import HOST, free_ports
from fencepost.spec.trace import TraceEvent

LAUNCH = (sys.executable, "-m", "fencepost.conformance.adapters.kafka.started")
STORAGE_TOOL = "kafka.tools.StorageTool"
FORMAT = ("format", "-c")
FORMAT_DEADLINE_S = 30.0
HEARTBEATS = 5
"""So many come in one session timeout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listeners:
    """Where each node listens."""

    brokers: Mapping[int, str]
    controllers: Mapping[int, str]


@dataclass(frozen=True, kw_only=True)
class KafkaInKraft(Kafka):
    """One release, its nodes with a quorum of their own."""

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster, of which no node runs; raises `JarsError` or `JavaError`."""
        if site.wiring is not None:
            raise ClusterError(
                f"the connections of {self.name} cannot be cut: its controllers have listeners of "
                "their own; choose a release in ZooKeeper mode"
            )
        java, listeners = self.java_command(), _listeners(site.broker_ids)
        written = {
            node: self.write_properties(site, node, _properties(site, listeners, node))
            for node in site.broker_ids
        }
        _format(
            site,
            {
                node: [*self.main_command(java, site, node, STORAGE_TOOL), *FORMAT, str(path)]
                for node, path in written.items()
            },
        )
        return ClusterParts(
            lifecycle=KafkaProcesses(
                site,
                lambda node, _: [
                    *LAUNCH,
                    *self.main_command(java, site, node, MAIN),
                    str(written[node]),
                    *site.extra,
                ],
            ),
            state=MetadataState(
                listeners.brokers,
                listeners.controllers,
                {node: observed_log(site.folder, node) for node in site.broker_ids},
            ),
            transport=KafkaTransport(),
        )

    def observed(self, site: RunSite, _zookeeper: Sequence[TraceEvent], /) -> Iterable[TraceEvent]:
        """What the nodes' logs and disks tell of each broker."""
        return broker_lines(site.folder, site.run_id, site.broker_ids)


def _properties(site: Site, listeners: Listeners, node: int) -> dict[str, object]:
    """What a node is told because of its mode."""
    address, timeout_ms = listeners.brokers[node], site.session_timeout_ms
    voters = (f"{one}@{where}" for one, where in listeners.controllers.items())
    return {
        "process.roles": "broker,controller",
        "node.id": node,
        "listeners": f"PLAINTEXT://{address},CONTROLLER://{listeners.controllers[node]}",
        "advertised.listeners": f"PLAINTEXT://{address}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": ",".join(voters),
        # Apart from the replicas: a fault that wipes these leaves the node its metadata.
        "metadata.log.dir": Folders(root=site.folder).metadata / broker_name(node),
        "broker.session.timeout.ms": timeout_ms,
        "broker.heartbeat.interval.ms": timeout_ms // HEARTBEATS,
        "controller.quorum.fetch.timeout.ms": timeout_ms,
        "controller.quorum.election.timeout.ms": timeout_ms // 2,
    }


def _format(site: Site, commands: Mapping[int, list[str]]) -> None:
    """Each node has the folders that an operator makes before its first start."""
    cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    formats = [
        site.supervisor.start(f"format-{node}", [*command, "-t", cluster_id])
        for node, command in commands.items()
    ]
    for one in formats:
        if one.wait(FORMAT_DEADLINE_S) != 0:
            raise ClusterError(f"the storage of a node could not be formatted: {one.log_tail()}")


def _listeners(nodes: Sequence[int]) -> Listeners:
    addresses = [f"{HOST}:{port}" for port in free_ports(2 * len(nodes))]
    return Listeners(
        brokers=dict(zip(nodes, addresses[: len(nodes)], strict=True)),
        controllers=dict(zip(nodes, addresses[len(nodes) :], strict=True)),
    )
