"""Implementations that are started by a command line with the flags of the reference.

Such a command registers in ZooKeeper as `spec/znodes.py` says, speaks `spec/wire`, and writes its
trace as `spec/docs/trace.md` says. Only where connections go through a proxy it also gets
`--advertised HOST:PORT`, the address to register instead of the one at which it listens, and must
listen at one port. In a network of its own it also gets `--host` and `--port`: where to listen.
"""

import shlex
from dataclasses import dataclass

from fencepost.conformance.adapters.broker_processes import BrokerProcesses
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import (
    Capability,
    ClusterParts,
    Implementation,
    Site,
    TraceSource,
)
from fencepost.conformance.adapters.znode_dialect import SPEC_DIALECT, ZnodeAccess, ZnodeDialect
from fencepost.conformance.adapters.zookeeper_state import ZooKeeperState
from fencepost.fault_injection.network.wiring import BrokerPlace
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.spec.vocabulary import ProtocolLevel

LEVELS = tuple(level.value for level in ProtocolLevel)


@dataclass(frozen=True, kw_only=True)
class CommandLine(Implementation):
    """Brokers as processes under a ZooKeeper, each started by `command` and flags."""

    name: str = "command"
    levels: tuple[int, ...] = LEVELS
    capabilities: frozenset[Capability] = frozenset({Capability.PROCESSES, Capability.ZOOKEEPER})
    observes: frozenset[TraceSource] = frozenset(TraceSource)
    command: str
    dialect: ZnodeDialect = SPEC_DIALECT

    def __post_init__(self) -> None:
        if not shlex.split(self.command):
            raise ChoiceError("the command of the implementation is empty; name a program")

    @property
    def target(self) -> str:
        """The command."""
        return self.command

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster, of which no broker runs; raises `ZooKeeperError`."""
        from fencepost.conformance.adapters.grpc_transport import GrpcTransport

        # As short as the brokers': a server that stands still is left as soon as they leave it.
        client = ZooKeeperClient(site.zookeeper, session_timeout_s=site.session_timeout_ms / 1000)
        client.connect()
        znodes = ZnodeAccess(client, self.dialect)
        can_wait = Capability.PREPARED_START in self.capabilities
        return ClusterParts(
            lifecycle=BrokerProcesses(
                site,
                lambda broker_id, place: self.broker_command(site, broker_id, place),
                prepared=shlex.split(self.command) if can_wait else (),
            ),
            state=ZooKeeperState(znodes),
            transport=GrpcTransport(),
            znodes=znodes,
        )

    def broker_command(self, site: Site, broker_id: int, place: BrokerPlace) -> list[str]:
        """The command line of one broker at its place."""
        flags = {
            "--broker-id": broker_id,
            "--zookeeper": place.zookeeper,
            "--data": Folders(root=site.folder).data(broker_id),
            "--trace": site.folder,
            "--run-id": site.run_id,
            "--level": site.level,
            "--session-timeout-ms": site.session_timeout_ms,
            "--replica-lag-ms": site.replica_lag_ms,
        }
        given = [text for name, value in flags.items() for text in (name, str(value))]
        if place.listens:
            host, _, port = place.listens.rpartition(":")
            given += ["--host", host, "--port", port]
        given += ["--advertised", place.advertised] if place.advertised else []
        if Capability.FAULT_CONTROL in self.capabilities:
            given.append("--fault-control")
        return [*shlex.split(self.command), *given, *self.own_flags, *site.extra]

    @property
    def own_flags(self) -> tuple[str, ...]:
        """More flags for every broker, which only this implementation knows."""
        return ()
