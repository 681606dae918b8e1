"""Three real ZooKeeper servers that are one: each a process of its own, of which one leads.

Any one of them may be killed or paused: the others elect a leader among them, and the sessions of
clients live on. With two of three away no client is served until one of them is back.
"""

import time
from pathlib import Path

from fencepost.fault_injection.network.namespaces.layout import ZOOKEEPER_PORT, NetworkNode
from fencepost.fault_injection.network.namespaces.links import NamespaceLinks
from fencepost.fault_injection.network.wiring import zookeeper_name
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.members import ZooKeeperMembers
from fencepost.fault_injection.zookeeper.server import (
    START_S,
    EnsembleMembership,
    ZooKeeperServer,
    on_free_ports,
)
from fencepost.fault_injection.zookeeper.status import MemberState
from fencepost.spec.zookeeper import ZooKeeperError

SIZE = 3
PORTS_PER_MEMBER = 3
"""For clients, for the followers of a leader, for elections."""


class ZooKeeperEnsemble(ZooKeeperMembers):
    """Its members in order; ports and data outlive `stop`, so `start` brings it back."""

    def __init__(
        self,
        supervisor: Supervisor,
        directory: Path,
        *,
        size: int = SIZE,
        tick_ms: int = 100,
        server_class: type[ZooKeeperServer] = ZooKeeperServer,
        switch: NamespaceLinks | None = None,
    ) -> None:
        """As `ZooKeeperServer`; a leader that is silent for ten ticks is given up.

        With a `switch`, each member is in a network of its own, of which it can be cut off.
        """
        super().__init__(size, tick_ms)
        self._switch = switch
        self._nodes: tuple[NetworkNode, ...] = ()
        self._supervisor = supervisor
        self._directory = directory
        self._server_class = server_class
        self._client_ports: list[int] = []
        self.members: tuple[ZooKeeperServer, ...] = ()
        """Empty until `start`; a member's number is its place, from 1."""

    @property
    def address(self) -> str:
        """`127.0.0.1:<port>,...` of all members, once started."""
        assert self.members, "the ensemble was never started"
        return ",".join(member.address for member in self.members)

    @property
    def data_dirs(self) -> tuple[Path, ...]:
        """The data folder of each member, as `transaction_log.read_committed` takes them."""
        return tuple(member.data_dir for member in self.members)

    def start(self, deadline_s: float = START_S) -> None:
        """Run all members; every one serves at return.

        Raises `ZooKeeperError` with the last log lines of the member that ended or did not serve
        within `deadline_s`; then nothing of the ensemble is left running.
        """
        deadline = time.monotonic() + deadline_s
        if self.members:
            return self._start_members(deadline)
        count = PORTS_PER_MEMBER * self.size
        return on_free_ports(count, lambda ports: self._start_anew(ports, deadline))

    def stop_all(self) -> None:
        """End all members at once: what they acknowledged is on disk, with all sessions."""
        for member in self.members:
            member.process.kill()

    def endpoint_of(self, number: int) -> tuple[str, int]:
        """Where a client of the member connects to."""
        return self._member(number).endpoint

    def process_state(self, number: int) -> MemberState:
        """Whether a member runs, stands still or has ended."""
        process = self._member(number).process
        if not process.is_running:
            return MemberState.ENDED
        return MemberState.PAUSED if process.is_paused else MemberState.RUNNING

    def pause(self, number: int) -> None:
        """Pause a member; raises `ProcessError` when it has ended."""
        self._member(number).process.pause()

    def resume(self, number: int) -> None:
        """Resume a member; raises `ProcessError` when it has ended."""
        self._member(number).process.resume()

    def kill(self, number: int) -> None:
        """Kill a member."""
        self._member(number).process.kill()

    def stop(self, number: int) -> None:
        """Ask a member to end, and wait for that."""
        self._member(number).stop()

    def prepare(self, number: int) -> None:
        """Start a member's next process, if it can wait until `restart`."""
        self._member(number).prepare(self._client_ports[number - 1])

    def is_ready(self, number: int) -> bool:
        """False while a process that was prepared is still loading what it needs."""
        return self._supervisor.is_ready(self._member(number).name)

    def restart(self, number: int) -> None:
        """Start a member that has ended again; raises `ZooKeeperError`."""
        self._member(number).begin(self._client_ports[number - 1])

    def cut_off(self, number: int) -> None:
        """Cut a running member off; raises `ZooKeeperError` on a shared network."""
        if self._switch is None:
            raise ZooKeeperError(
                f"server {number} has no network of its own; run it with --zookeeper containers "
                "or --network namespaces"
            )
        self._cut_off.add(number)
        self._switch.cut_off(self._member(number).name)

    def join(self, number: int) -> None:
        """Connect a member that was cut off again."""
        if self._switch is not None:
            self._switch.join(self._member(number).name)
        self._cut_off.discard(number)

    def _member(self, number: int) -> ZooKeeperServer:
        return self.members[number - 1]

    def _start_anew(self, ports: list[int], deadline: float) -> None:
        clients, rest = ports[: self.size], ports[self.size :]
        between = tuple(zip(rest[::2], rest[1::2], strict=True))
        if self._switch is not None:
            names = [zookeeper_name(number) for number in range(1, self.size + 1)]
            self._nodes = tuple(map(self._switch.node, names))
        self._client_ports = [ZOOKEEPER_PORT] * self.size if self._nodes else clients
        hosts = tuple(node.host for node in self._nodes)
        self.members = tuple(
            self._server_class(
                self._supervisor,
                self._directory / str(number),
                tick_ms=self.tick_ms,
                membership=EnsembleMembership(server_id=number, ports=between, hosts=hosts),
                node=self._nodes[number - 1] if self._nodes else None,
            )
            for number in range(1, self.size + 1)
        )
        try:
            self._start_members(deadline)
        except BaseException:
            self.members = ()
            raise

    def _start_members(self, deadline: float) -> None:
        """Start all at once, for none serves before most of them run."""
        begun: list[ZooKeeperServer] = []
        try:
            for member, port in zip(self.members, self._client_ports, strict=True):
                member.begin(port)
                begun.append(member)
            for member in self.members:
                member.await_serving(deadline)
        except BaseException:
            for member in begun:
                member.process.kill()
            raise
