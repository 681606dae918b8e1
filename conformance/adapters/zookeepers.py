"""Which ZooKeeper a run has: a server or an ensemble of the harness, or an external one."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fencepost.conformance.adapters.choices import CONTAINER, CONTAINERS, EMBEDDED, ENSEMBLE, OWN
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.folders import Folders
from fencepost.fault_injection.network.namespaces.links import NamespaceLinks
from fencepost.fault_injection.network.wiring import ZOOKEEPER
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.control import ControlledServer, end_in_ensemble
from fencepost.fault_injection.zookeeper.ensemble import SIZE, ZooKeeperEnsemble
from fencepost.fault_injection.zookeeper.members import ZooKeeperMembers
from fencepost.fault_injection.zookeeper.server import check_external
from fencepost.fault_injection.zookeeper.transaction_log import Transaction, read_committed
from fencepost.spec.zookeeper import AddressError, ZooKeeperAddress, ZooKeeperError

ANSWER_S = 5.0
"""A ZooKeeper that takes longer to grant a session is not one to measure failovers on."""


def require_zookeeper(choice: str) -> None:
    """Return when it is one of our own, or an address where a ZooKeeper answers.

    Raises `ChoiceError` for what is no address, `ZooKeeperError` without an answer.
    """
    if choice in OWN:
        return
    try:
        check_external(choice, deadline_s=ANSWER_S)
    except AddressError as error:
        raise ChoiceError(f"{error}, or {' or '.join(OWN)}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ZooKeeperInUse:
    """An empty ZooKeeper that runs."""

    address: str
    """With the chroot that the run has for itself."""
    tls: Path | None = None
    """The folder of the harness's identity for it; None: it takes plain connections."""
    data_dirs: tuple[Path, ...] = ()
    """Of the harness's servers; those of an external ZooKeeper cannot be read."""
    ensemble: ZooKeeperMembers | None = None
    """The members that faults may hurt; None for a single server and an external one."""
    end_session: Callable[[int], None] | None = None
    """Makes it end a session by itself; None where it takes no such command."""

    def transactions(self) -> Sequence[Transaction] | None:
        """What it wrote down of sessions, and below the chroot; None when it cannot be read."""
        if not self.data_dirs:
            return None
        written = read_committed(self.data_dirs)
        chroot = ZooKeeperAddress.parse(self.address).chroot
        return list(_below(chroot, written)) if chroot else written

    @contextmanager
    def shared(self, run_id: str) -> Iterator["ZooKeeperInUse"]:
        """The same with a chroot for this run alone, which is gone afterwards."""
        where = ZooKeeperAddress.parse(self.address)
        chroot = f"{where.chroot}/{run_id}"
        with ZooKeeperClient(where.servers) as client:
            client.create_path(chroot)
            try:
                yield replace(self, address=f"{where.servers}{chroot}")
            finally:
                with suppress(ZooKeeperError):  # a failing clean-up must not hide what happened
                    client.delete_recursively(chroot)


def _below(chroot: str, transactions: Sequence[Transaction]) -> Iterator[Transaction]:
    """Sessions, and the changes of znodes below the chroot, with paths that begin there."""
    for one in transactions:
        if one.path is None:
            yield one
        elif one.path.startswith(f"{chroot}/"):
            yield replace(one, path=one.path.removeprefix(chroot))


@contextmanager
def zookeeper_for(
    run_id: str,
    *,
    supervisor: Supervisor,
    folder: Path,
    choice: str = EMBEDDED,
    switch: NamespaceLinks | None = None,
) -> Iterator[ZooKeeperInUse]:
    """An empty ZooKeeper: one of `OWN`, or one that runs at the address `choice`.

    An external one gets a chroot of its own for this run, which is gone afterwards.
    With a `switch`, servers that are processes are in networks of their own.
    Raises `ZooKeeperError`.
    """
    directory = Folders(root=folder).zookeeper
    with ExitStack() as stack:
        if choice == EMBEDDED:
            node = switch.node(ZOOKEEPER) if switch else None
            server = ControlledServer(supervisor, directory, node=node)
            server.start()
            # What it acknowledged is on disk, and it is never started again.
            stack.callback(server.process.kill)
            yield ZooKeeperInUse(
                address=server.address,
                data_dirs=(server.data_dir,),
                end_session=server.end_session,
            )
        elif choice == ENSEMBLE:
            ensemble = ZooKeeperEnsemble(
                supervisor, directory, server_class=ControlledServer, switch=switch
            )
            ensemble.start()
            stack.callback(ensemble.stop_all)
            yield ZooKeeperInUse(
                address=ensemble.address,
                data_dirs=ensemble.data_dirs,
                ensemble=ensemble,
                end_session=partial(end_in_ensemble, ensemble),
            )
        elif choice in (CONTAINER, CONTAINERS):
            yield _in_containers(stack, run_id, supervisor, directory, choice)
        else:
            yield stack.enter_context(ZooKeeperInUse(address=choice).shared(run_id))


def _in_containers(
    stack: ExitStack, run_id: str, supervisor: Supervisor, directory: Path, choice: str
) -> ZooKeeperInUse:
    from fencepost.fault_injection.processes.container_engine import container_engine
    from fencepost.fault_injection.zookeeper.containers import ZooKeeperContainers

    supervisor.watch()
    size = SIZE if choice == CONTAINERS else 1
    engine = stack.enter_context(container_engine(supervisor))
    servers = ZooKeeperContainers(engine, directory, supervisor.ledger, run_id=run_id, size=size)
    servers.start()
    stack.callback(servers.stop_all)
    return ZooKeeperInUse(
        address=servers.address,
        data_dirs=servers.data_dirs,
        ensemble=servers if size > 1 else None,
    )
