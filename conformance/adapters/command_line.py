"""Implementations that are started by a command line with the flags of the reference.

Such a command registers in ZooKeeper as `spec/znodes.py` says, speaks `spec/wire`, and writes its
trace as `spec/docs/trace.md` says. Only where connections go through a proxy it also gets
`--advertised HOST:PORT`, the address to register instead of the one at which it listens, and must
listen at one port. In a network of its own it also gets `--host` and `--port`: where to listen.
Where a story allows elections outside the ISR it gets `--unclean-leader-election`, where it asks
for more than one replica in sync `--min-insync-replicas`.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.implementation import (
    Capability,
    ClusterParts,
    Implementation,
    Site,
)
from fencepost.conformance.adapters.zookeeper_state import ZooKeeperState
from fencepost.conformance.checks.observations import EVERYTHING, Observations
from fencepost.fault_injection.network.wiring import BrokerPlace, broker_name
from fencepost.fault_injection.processes.managed_process import ManagedProcess
from fencepost.spec.vocabulary import BrokerVersion, ProtocolLevel
from fencepost.spec.wire.tls import (
    ADMIN,
    CREDENTIALS_FILE,
    broker_common_name,
    read_identity,
)
from fencepost.spec.wire.tokens import KEY_FILE as TOKEN_KEY_FILE

LEVELS = tuple(level.value for level in ProtocolLevel)


@dataclass(frozen=True, kw_only=True)
class CommandLine(Implementation):
    """Brokers as processes under a ZooKeeper, each started by `command` and flags."""

    name: str = "command"
    levels: tuple[int, ...] = LEVELS
    capabilities: frozenset[Capability] = frozenset(
        {
            Capability.PROCESSES,
            Capability.LINKS,
            Capability.ZOOKEEPER,
            Capability.INCARNATIONS,
            Capability.PROMPT_DELETION,
            Capability.UNCLEAN_ELECTIONS,
            Capability.MIN_INSYNC_REPLICAS,
            Capability.LIVE_TRACE,
        }
    )
    takes_flags: bool = True
    observes: Observations = field(default_factory=lambda: EVERYTHING)
    command: str

    def __post_init__(self) -> None:
        try:
            words = shlex.split(self.command)
        except ValueError as error:
            raise ChoiceError(f"the command {self.command!r} is no command: {error}") from error
        if not words:
            raise ChoiceError("the command of the implementation is empty; name a program")

    @property
    def target(self) -> str:
        """The command."""
        return self.command

    def open(self, site: Site, /) -> ClusterParts:
        """The parts of a cluster, of which no broker runs; raises `ZooKeeperError`."""
        from fencepost.conformance.adapters.grpc_transport import GrpcTransport

        znodes = site.znodes(self.znode_dialect)
        can_wait = Capability.PREPARED_START in self.capabilities
        return ClusterParts(
            lifecycle=BrokerProcesses(
                site,
                lambda broker_id, place: self.broker_command(site, broker_id, place),
                prepared=shlex.split(self.command) if can_wait else (),
            ),
            state=ZooKeeperState(znodes),
            transport=GrpcTransport(read_identity(site.tls / ADMIN) if site.tls else None),
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
        given += ["--unclean-leader-election"] if site.unclean_leader_election else []
        if site.min_insync_replicas > 1:
            given += ["--min-insync-replicas", str(site.min_insync_replicas)]
        if site.tls:
            given += ["--tls", str(site.tls / broker_common_name(broker_id))]
            given += ["--zookeeper-credentials", str(site.tls / CREDENTIALS_FILE)]
            given += ["--zookeeper-tls"] if site.zookeeper_tls else []
            given += ["--token-key", str(site.tls / TOKEN_KEY_FILE)]
            given += ["--authorizer", "--super-user", ADMIN] if site.authorizer else []
        given += ["--fault-control"] if Capability.FAULT_CONTROL in self.capabilities else []
        return [*shlex.split(self.command), *given, *self.own_flags, *site.extra]

    @property
    def own_flags(self) -> tuple[str, ...]:
        """More flags for every broker, which only this implementation knows."""
        return ()


def version_flags(version: BrokerVersion) -> tuple[str, ...]:
    """What the command line of a broker of that version ends with: the last flag counts."""
    code, protocol = version
    return ("--level", f"{protocol:d}", "--code-level", f"{code:d}")


class BrokerProcesses:
    """One process per broker, each with its own data folder at the site."""

    def __init__(
        self,
        site: Site,
        command_of: Callable[[int, BrokerPlace], Sequence[str]],
        *,
        prepared: Sequence[str] = (),
    ) -> None:
        """`command_of` gives a broker's command line at its place.

        `prepared` are the words with which a command can load ahead of its start; empty: it cannot.
        """
        self._site = site
        self._command_of = command_of
        self._prepared = prepared

    @property
    def controllers(self) -> tuple[int, ...]:
        """None: brokers elect one of themselves."""
        return ()

    def start(self, broker_id: int, /, *flags: str) -> None:
        """Start the broker at its place."""
        wiring, place = self._site.wiring, self._site.place_of(broker_id)
        command = self._command_of(broker_id, place)
        process = self._site.supervisor.start(
            broker_name(broker_id), [*command, *flags], namespace=place.namespace
        )
        if wiring:
            wiring.started(broker_id, process.pid)

    def prepare(self, broker_id: int) -> None:
        """The next process loads and waits for `start`, if the implementation can do that."""
        if self._prepared:
            wiring = self._site.wiring
            network = wiring.network_of(broker_id) if wiring else None
            name = broker_name(broker_id)
            self._site.supervisor.prepare(name, list(self._prepared), namespace=network)

    def is_ready(self, broker_id: int) -> bool:
        """False while a prepared process is still loading what it needs."""
        return self._site.supervisor.is_ready(broker_name(broker_id))

    def started(self, broker_id: int) -> ManagedProcess | None:
        """The broker's last process; None when it was never started."""
        return self._site.supervisor.processes.get(broker_name(broker_id))

    def data_folder(self, broker_id: int) -> Path:
        """Where the broker keeps its logs."""
        return Folders(root=self._site.folder).data(broker_id)
