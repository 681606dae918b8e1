"""A cluster of paced brokers that makes a list of moves: real processes, real ZooKeeper.

Nothing happens but what a move says, and every move is waited for; what a broker's protocol reports
at a move is compared with what the list says that it does.
"""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from fencepost.conformance.adapters.command_line import version_flags
from fencepost.conformance.adapters.implementation import Implementation, Site, StartedBroker
from fencepost.conformance.adapters.local_cluster import make_identities
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.liveness_state import Views, owed, read_liveness_state
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.whitebox.stepped_clients import SteppedClients
from fencepost.fault_injection.engine import data_folder
from fencepost.fault_injection.engine.rpc_rules import BrokerSession
from fencepost.fault_injection.network.certificates import CertificateAuthority
from fencepost.fault_injection.processes.pacing import PacedBroker, PacingError
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.sessions import expire_session
from fencepost.spec.pacing import Move, MoveList, Verb
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import ANY_VERSION, BrokerVersion, Liveness, ProtocolLevel
from fencepost.spec.wire.tls import ADMIN, read_identity
from fencepost.spec.znodes import broker_path

SESSION_TIMEOUT_MS = 60_000
"""No session may end by itself: the list says when one does."""


OF_THE_LIST = BrokerVersion(0, 0)
"""Of a start that names no version."""
_TAKEN = Move(verb=Verb.REQUEST)
_TIMES = ("at_ms", "idle_ms", "wall_ms")
"""Of a request, at its receiver."""


class SteppedProcesses:
    """The brokers of one list of moves; a context manager that ends them."""

    def __init__(
        self,
        listed: MoveList,
        implementation: Implementation,
        *,
        folder: Path,
        run_id: str,
        supervisor: Supervisor,
        zookeeper: str,
    ) -> None:
        """`zookeeper` has a chroot of its own, which is empty. Raises `ZooKeeperError`."""
        self.listed = listed
        self.folder = folder
        self.run_id = run_id
        self.zookeeper = zookeeper
        self.brokers: dict[int, PacedBroker] = {}
        self.numbers = (*listed.controllers, *listed.brokers)
        self._tls = self._made_identities() if listed.is_secured else None
        self._parts = replace(
            implementation, broken_rule=listed.mutant if listed.is_free else ""
        ).open(
            Site(
                folder=folder,
                run_id=run_id,
                broker_ids=self.numbers,
                level=listed.level,
                session_timeout_ms=SESSION_TIMEOUT_MS,
                replica_lag_ms=ClusterSettings().replica_lag_ms,
                supervisor=supervisor,
                zookeeper=zookeeper,
                tls=self._tls,
            )
        )
        self._starts = dict.fromkeys(self.numbers, 0)
        self._spoken: dict[int, int] = {}
        """Broker -> the level that its process speaks; below 4 it reads ZooKeeper to answer."""
        self._sessions: dict[tuple[int, int], BrokerSession] = {}
        """Broker, and which of its sessions -> what ends that."""
        self._early: set[int] = set()
        """Brokers with a process that runs ahead of its move and does nothing yet."""
        self._is_awake = False
        self.clients = SteppedClients(folder, run_id=run_id, clock=LamportClock(), tls=self._tls)

    def __enter__(self) -> "SteppedProcesses":
        for number in self.numbers:
            self._start(number)
            self._early.add(number)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running().values():
            process.kill()
        for broker in self.brokers.values():
            broker.close()
        self.clients.close()
        self._parts.close()
        if self._tls:
            shutil.rmtree(self._tls)  # no key is left behind

    def _made_identities(self) -> Path:
        """Their folder: of the brokers, of the clients, and of the administrator, which leads."""
        folder = self.folder / "tls"
        make_identities(folder, self.numbers)
        authority = CertificateAuthority(folder)
        for client in {move.client for move in self.listed.moves} - {""}:
            authority.add_user(client)
        return folder

    def owed(self) -> tuple[Liveness, ...]:
        """What the brokers that run should have come to, and have not.

        Raises `ZooKeeperError` and `PacingError`.
        """
        published, running = read_liveness_state(self._parts.state), self._running()
        told = [one for one in running if self._spoken[one] >= ProtocolLevel.MAX_BROKER_EPOCH]
        views: Views = {one: self.clients.routing_view(self.brokers[one]) for one in told}
        return owed(published, read_folder(self.folder, "broker-*")[0], running, views)

    def _running(self) -> dict[int, StartedBroker]:
        return self._parts.running(self.numbers)

    @property
    def _znodes(self) -> ZooKeeperClient:
        assert self._parts.znodes is not None, "stepped brokers have their state in ZooKeeper"
        return self._parts.znodes.client

    def make(self, move: Move) -> None:
        """The move is made; raises `PacingError` when it cannot be, or shows something else."""
        alone = _ALONE.get(move.verb)
        if alone is not None:
            alone(self, move)
            return
        if move.verb is Verb.HEARD and move.client:
            self.clients.heard(move)
            return
        if move.verb is Verb.SEND:
            address = self.brokers[move.to].where()
            self.brokers[move.broker].take(move, address=address)
            request = structs.replace(_TAKEN, **{one: getattr(move, one) for one in _TIMES})
            taken = self.brokers[move.to].take(request)
        else:
            taken = self.brokers[move.broker].take(move)
        self._compare(move, taken)

    def _compare(self, move: Move, taken: Sequence[str]) -> None:
        if list(taken) != move.takes:
            raise PacingError(f"at {move} the broker reported {list(taken)}, not {move.takes}")

    # Processes

    def start(self, move: Move) -> None:
        """The process runs."""
        if move.broker in self._early:
            self._early.discard(move.broker)
            return
        version = BrokerVersion(move.code_level, move.inter_broker_protocol)
        self._start(move.broker, checkpoint=move.checkpoint, version=version)
        if self._is_awake:
            self.brokers[move.broker].take(Move(verb=Verb.AWAKEN, mutant=self.listed.mutant))

    def _start(
        self, number: int, *, checkpoint: int = -1, version: BrokerVersion = OF_THE_LIST
    ) -> None:
        self._starts[number] += 1
        self._spoken[number] = version.inter_broker_protocol or self.listed.level
        pacer = f"unix-abstract:{self.run_id}-{number}-{self._starts[number]}"
        options = {"paced": pacer, **self.listed.flags}
        if checkpoint >= 0:
            options["recover-from"] = checkpoint
        flags = [text for name, value in options.items() for text in (f"--{name}", str(value))]
        if self.listed.unclean_leader_election:
            flags.append("--unclean-leader-election")
        if self.listed.mutation_quota:
            flags.append("--mutation-quota")
        if self.listed.is_free:
            flags.append("--own-pace")
        if version != OF_THE_LIST:
            flags += version_flags(version)
        self._parts.lifecycle.start(number, *flags)
        identity = read_identity(self._tls / ADMIN) if self._tls else None
        self.brokers[number] = PacedBroker(number, pacer, identity)

    def kill(self, move: Move) -> None:
        """The process is gone; its session is not."""
        for process in self._parts.running([move.broker]).values():
            process.kill()
        self.brokers[move.broker].close()

    def lose_power(self, move: Move) -> None:
        """What it had not flushed is gone; raises `InjectionError`."""
        folder = self._parts.lifecycle.data_folder(move.broker)
        data_folder.cut(data_folder.tails(folder))

    def awaken(self, move: Move) -> None:
        """The broker has the wrong rule of the list."""
        self._is_awake = True
        self.brokers[move.broker].take(move)

    def establish(self, move: Move) -> None:
        """The broker has heard of its session, which can be ended from now on."""
        broker = self.brokers[move.broker]
        self._compare(move, broker.take(move))
        self._sessions[move.broker, move.number] = broker.session()

    def post(self, move: Move) -> None:
        """The request has arrived, and its receiver keeps it for later."""
        address = self.brokers[move.to].where()
        sent = Move(verb=Verb.SEND, number=move.number, to=move.to)
        self.brokers[move.broker].take(sent, address=address)
        self.brokers[move.to].take(Move(verb=Verb.KEEP, number=move.copy))

    def forget_session(self, move: Move) -> None:
        """The broker takes its session for lost; ZooKeeper does not."""
        self.brokers[move.broker].forget_session()

    def end_session(self, move: Move) -> None:
        """The session has ended at ZooKeeper; its broker may be dead."""
        session = self._sessions[move.broker, move.number]
        expire_session(self.zookeeper, session.session_id, session.password)

    # An administrator

    def create(self, move: Move) -> None:
        """The znode is there."""
        self._znodes.create(move.path, move.data.encode())

    def overwrite(self, move: Move) -> None:
        """The znode has other data."""
        self._znodes.set(move.path, move.data.encode(), version=ANY_VERSION)

    def delete(self, move: Move) -> None:
        """The znode is gone."""
        self._znodes.delete(move.path)

    def request(self, move: Move) -> None:
        """Send a client's request, and let the broker take it."""
        broker = self.brokers[move.broker]
        body = self.clients.body_of(move)
        self.clients.request(structs.replace(move, body=self._of_this_run(body)), broker)
        self._compare(move, broker.take(move))

    def _of_this_run(self, body: dict[str, Any]) -> dict[str, Any]:
        """A made-up fetch, or request to end, names the registration that its broker has here."""
        if not body.get("broker_epoch"):
            return body
        sender = body["replica_id"] if "replica_id" in body else body["broker_id"]
        registered = self._znodes.exists(broker_path(sender))
        return {**body, "broker_epoch": registered.czxid if registered is not None else 0}


_ALONE: dict[Verb, Callable[[SteppedProcesses, Move], None]] = {
    Verb.START: SteppedProcesses.start,
    Verb.KILL: SteppedProcesses.kill,
    Verb.LOSE_POWER: SteppedProcesses.lose_power,
    Verb.AWAKEN: SteppedProcesses.awaken,
    Verb.ESTABLISH: SteppedProcesses.establish,
    Verb.POST: SteppedProcesses.post,
    Verb.FORGET_SESSION: SteppedProcesses.forget_session,
    Verb.END_SESSION: SteppedProcesses.end_session,
    Verb.CREATE: SteppedProcesses.create,
    Verb.SET: SteppedProcesses.overwrite,
    Verb.DELETE: SteppedProcesses.delete,
    Verb.INVOKE: lambda processes, move: processes.clients.invoke(move),
    Verb.REQUEST: SteppedProcesses.request,
    Verb.COMPLETED: lambda processes, move: processes.clients.completed(move),
}
"""Moves that are more than one broker's."""
