"""Apache Kafka in KRaft mode: each node is broker and controller, and there is no ZooKeeper."""

import base64
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import (
    Capability,
    ClusterParts,
    RunSite,
    Site,
)
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

    capabilities: frozenset[Capability] = Kafka.capabilities | {
        Capability.LINKS,
        Capability.REQUESTS,
    }

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster, of which no node runs; raises `JarsError` or `JavaError`."""
        java, listeners = self.java_command(), _listeners(site.broker_ids)
        places = _places(site, listeners)
        written = {
            node: self.write_properties(site, node, _properties(site, listeners, places, node))
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
            workload_transport=self.workload_transport(),
        )

    def observed(self, site: RunSite, _zookeeper: Sequence[TraceEvent], /) -> Iterable[TraceEvent]:
        """What the nodes' logs and disks tell of each broker."""
        return broker_lines(site.folder, site.run_id, site.broker_ids)


def _properties(
    site: Site, listeners: Listeners, places: Listeners, node: int
) -> dict[str, object]:
    """What a node is told because of its mode."""
    timeout_ms = site.session_timeout_ms
    voters = (f"{one}@{where}" for one, where in places.controllers.items())
    return {
        "process.roles": "broker,controller",
        "node.id": node,
        "listeners": _both(listeners, node),
        "advertised.listeners": _both(places, node),
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
    formats = [  # with `=`, for an id may begin with a hyphen, which is no option
        site.supervisor.start(f"format-{node}", [*command, f"--cluster-id={cluster_id}"])
        for node, command in commands.items()
    ]
    for one in formats:
        if one.wait(FORMAT_DEADLINE_S) != 0:
            raise ClusterError(f"the storage of a node could not be formatted: {one.log_tail()}")


def _both(of: Listeners, node: int) -> str:
    return f"PLAINTEXT://{of.brokers[node]},CONTROLLER://{of.controllers[node]}"


def _places(site: Site, listeners: Listeners) -> Listeners:
    """Where others find each listener: where it listens, or a place at the proxy."""
    wiring = site.wiring
    if wiring is None:
        return listeners
    found = {
        name: {node: wiring.fixed_place(node, name, address) for node, address in own.items()}
        # that of brokers last, for it is what clients are told
        for name, own in (("controller", listeners.controllers), ("broker", listeners.brokers))
    }
    return Listeners(brokers=found["broker"], controllers=found["controller"])


def _listeners(nodes: Sequence[int]) -> Listeners:
    addresses = [f"{HOST}:{port}" for port in free_ports(2 * len(nodes))]
    return Listeners(
        brokers=dict(zip(nodes, addresses[: len(nodes)], strict=True)),
        controllers=dict(zip(nodes, addresses[len(nodes) :], strict=True)),
    )
