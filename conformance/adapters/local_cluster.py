"""A cluster that stays after the command that started it: `fencepost cluster up`, `down`, `status`.

Its folder holds `cluster.json` while it is up, and its data also afterwards.
"""

import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

import msgspec

from fencepost.conformance.adapters.choices import PROXY
from fencepost.conformance.adapters.cluster import START_DEADLINE_S, STOP_GRACE_S, ClusterUnderTest
from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.adapters.folders import Folders
from fencepost.conformance.adapters.reference import implementation_of
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.adapters.zookeepers import ZooKeeperInUse
from fencepost.fault_injection.injectors.processes import is_standing
from fencepost.fault_injection.network.certificates import CertificateAuthority, write_secret
from fencepost.fault_injection.network.links import LinkError
from fencepost.fault_injection.network.proxy.links import ProxyLinks, ProxyWiring
from fencepost.fault_injection.processes.managed_process import ProcessError
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.secured import SecuredZooKeeperServer
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer
from fencepost.spec.wire.tls import ADMIN, CREDENTIALS_FILE, ZOOKEEPER
from fencepost.spec.wire.tokens import KEY_FILE as TOKEN_KEY_FILE
from fencepost.spec.zookeeper import ZooKeeperError

STATE_FILE = "cluster.json"
LEAVE_S = 10.0
"""How long a broker may take to let others lead, and to end."""
DEFAULT_FOLDER = Path(".fencepost") / "cluster"
"""Where commands look when no folder is named."""


class LocalCluster(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `cluster.json` says."""

    run_id: str
    zookeeper: str
    brokers: int
    level: int
    command: str
    tls: str = ""
    """The folder of the identities; empty: connections are plain."""
    authorizer: bool = False
    """Users but the administrator need permissions."""
    extra: tuple[str, ...] = ()
    """More flags for every broker."""
    network: str = ""
    """`proxy` when its connections go through one, so that they can be cut."""

    @property
    def settings(self) -> ClusterSettings:
        """As the brokers were started."""
        return ClusterSettings(
            implementation=implementation_of(self.command),
            brokers=self.brokers,
            level=self.level,
            tls=Path(self.tls) if self.tls else None,
            authorizer=self.authorizer,
            extra=self.extra,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """One broker now."""

    broker_id: int
    pid: int | None
    """None when it does not run."""
    is_paused: bool
    """It stands still."""
    address: str | None
    """None when it is not registered."""
    is_controller: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """The local cluster now."""

    zookeeper: str
    level: int
    brokers: tuple[BrokerStatus, ...]


def up(
    folder: Path,
    *,
    settings: ClusterSettings | None = None,
    zookeeper_port: int | None = None,
    is_wired: bool = False,
) -> ClusterStatus:
    """The cluster runs, and goes on after this process; wired, its connections can be cut.

    Raises `ClusterError` when it is up already or does not come up, and `ZooKeeperError`, for one
    when the port is in use; then nothing of it is left running, nor when this process is killed.
    """
    settings = settings or ClusterSettings()
    require_down(folder)
    if settings.tls:
        make_identities(settings.tls, settings.broker_ids)
    run_id = f"local-{secrets.token_hex(3)}"
    supervisor = Supervisor(Folders(root=folder).processes, run_id, detached=True)
    try:
        state = _begin(folder, settings, supervisor, zookeeper_port)
        if is_wired:
            state = msgspec.structs.replace(state, network=PROXY)
        found = _start(folder, state, supervisor)
        supervisor.close()
    except BaseException:
        supervisor.end()
        (folder / STATE_FILE).unlink(missing_ok=True)
        raise
    return found


def down(folder: Path) -> None:
    """No process of the cluster runs; its data stays. Raises `ClusterError` when it is not up.

    What `cluster.json` says is not needed: the ledger names the processes.
    """
    if not (folder / STATE_FILE).exists():
        raise _not_up(folder)
    with _adopted(folder) as supervisor:
        supervisor.stop_all(STOP_GRACE_S)
    (folder / STATE_FILE).unlink()


def status(folder: Path) -> ClusterStatus:
    """The processes and registrations now; raises `ClusterError` when the cluster is not up."""
    with found_in(folder) as cluster:
        return _status(cluster)


def stop_broker(folder: Path, broker_id: int) -> None:
    """The broker has ended; others lead what it led, as far as they can (BEP-005).

    Raises `ClusterError` when it does not run, and when it had to be killed.
    """
    with found_in(folder) as cluster:
        require_known(cluster, broker_id)
        processes = cluster.running_processes()
        if broker_id not in processes:
            raise ClusterError(f"broker {broker_id} does not run")
        processes[broker_id].terminate(LEAVE_S)
        if cluster.registration(broker_id) is not None:
            raise ClusterError(
                f"broker {broker_id} did not end within {LEAVE_S:g} s and was killed; "
                "others lead when its session has expired"
            )


def start_broker(folder: Path, broker_id: int) -> None:
    """The broker is registered again, on its data; raises `ClusterError` when it runs already."""
    with found_in(folder) as cluster:
        require_known(cluster, broker_id)
        running = cluster.running_processes().get(broker_id)
        if running is not None:
            raise ClusterError(f"broker {broker_id} runs already, as pid {running.pid}")
        cluster.restart(broker_id)
        cluster.await_state(
            lambda: cluster.registration(broker_id) is not None,
            START_DEADLINE_S,
            f"a registration of broker {broker_id}",
        )


def addresses(folder: Path) -> list[str]:
    """Where its registered brokers listen; raises `ClusterError` when the cluster is not up."""
    return [broker.address for broker in status(folder).brokers if broker.address]


def make_identities(folder: Path, broker_ids: Iterable[int]) -> None:
    """Brokers, the administrator and ZooKeeper have an identity in `folder`, brokers also secrets.

    The secrets are what they show to ZooKeeper, and the key of delegation tokens.
    """
    authority = CertificateAuthority(folder)
    for broker_id in broker_ids:
        authority.add_broker(broker_id)
    authority.add_user(ADMIN)
    authority.add_zookeeper()
    credentials = folder / CREDENTIALS_FILE
    if not credentials.exists():
        write_secret(credentials, f"fencepost:{secrets.token_hex(16)}\n".encode())
    token_key = folder / TOKEN_KEY_FILE
    if not token_key.exists():
        write_secret(token_key, f"{secrets.token_hex(32)}\n".encode())


def load(folder: Path) -> LocalCluster:
    """What is up in `folder`; raises `ClusterError` when nothing is."""
    path = folder / STATE_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=LocalCluster)
    except FileNotFoundError as error:
        raise _not_up(folder) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ClusterError(
            f"{path} is damaged ({error}); end what may still run, and remove that file, with: "
            f"{command('down', folder)}"
        ) from error


def command(word: str, folder: Path) -> str:
    """What a person types to do `word` with the cluster in `folder`."""
    elsewhere = "" if folder == DEFAULT_FOLDER else f" --cluster {quote(str(folder))}"
    return f"fencepost cluster {word}{elsewhere}"


def _not_up(folder: Path) -> ClusterError:
    return ClusterError(f"no cluster is up in {folder}; start one with: {command('up', folder)}")


def require_down(folder: Path) -> None:
    """Raise `ClusterError` while a process of it runs; what ended unasked may be started again."""
    is_up = (folder / STATE_FILE).exists()
    if is_up:
        load(folder)
    if not _runs(folder):
        return
    if is_up:
        end = command("down", folder)
        raise ClusterError(f"the cluster in {folder} is up already; end it with: {end}")
    raise ClusterError(
        f"the cluster in {folder} is being started by another command; if that was killed, end "
        f"what it has left with: fencepost heal {quote(str(folder))}"
    )


def _runs(folder: Path) -> bool:
    """True while a process of its ledger lives."""
    try:
        supervisor = Supervisor.adopt(Folders(root=folder).processes)
    except ProcessError:
        return False
    with supervisor:
        return any(process.is_running for process in supervisor.processes.values())


def _begin(
    folder: Path, settings: ClusterSettings, supervisor: Supervisor, port: int | None
) -> LocalCluster:
    """Its ZooKeeper runs."""
    directory, tls = Folders(root=folder).zookeeper, settings.tls
    server = (
        SecuredZooKeeperServer(supervisor, directory, tls / ZOOKEEPER, port=port)
        if tls
        else ZooKeeperServer(supervisor, directory, port=port)
    )
    server.start()
    return LocalCluster(
        run_id=supervisor.run_id,
        zookeeper=server.address,
        brokers=settings.brokers,
        level=settings.level,
        command=settings.implementation.target,
        tls=str(settings.tls) if settings.tls else "",
        authorizer=settings.authorizer,
        extra=settings.extra,
    )


def _start(folder: Path, state: LocalCluster, supervisor: Supervisor) -> ClusterStatus:
    links = ProxyLinks.start(supervisor) if state.network == PROXY else None
    cluster = _cluster(folder, state, supervisor, links)
    try:
        cluster.start()
        found = _status(cluster)
    finally:
        cluster.close()
    (folder / STATE_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(state)) + b"\n")
    return found


@contextmanager
def found_in(folder: Path) -> Iterator[ClusterUnderTest]:
    """The cluster that is up in the folder, for a look or a change."""
    state = load(folder)
    with _adopted(folder) as supervisor:
        try:
            links = ProxyLinks.found(supervisor) if state.network == PROXY else None
            cluster = _cluster(folder, state, supervisor, links)
        except LinkError as error:
            raise ClusterError(
                f"{error}; end what is left with: {command('down', folder)}"
            ) from error
        except ZooKeeperError as error:
            raise ClusterError(
                f"the ZooKeeper of the cluster in {folder} does not answer; "
                f"end what is left with: {command('down', folder)}"
            ) from error
        try:
            yield cluster
        finally:
            cluster.close()


def require_known(cluster: ClusterUnderTest, broker_id: int) -> None:
    """Raise `ClusterError` when it has no such broker."""
    known = cluster.settings.broker_ids
    if broker_id not in known:
        choice = ", ".join(map(str, known))
        raise ClusterError(f"there is no broker {broker_id}; choose one of {choice}")


def _cluster(
    folder: Path, state: LocalCluster, supervisor: Supervisor, links: ProxyLinks | None
) -> ClusterUnderTest:
    wiring = None
    if links is not None:
        broker_ids = state.settings.broker_ids
        wiring = ProxyWiring(links=links, zookeeper=state.zookeeper, broker_ids=broker_ids)
    return ClusterUnderTest(
        state.settings,
        folder=folder,
        run_id=state.run_id,
        supervisor=supervisor,
        zookeeper=ZooKeeperInUse(
            address=state.zookeeper, tls=Path(state.tls) / ADMIN if state.tls else None
        ),
        wiring=wiring,
    )


def _adopted(folder: Path) -> Supervisor:
    try:
        return Supervisor.adopt(Folders(root=folder).processes)
    except ProcessError as error:
        raise ClusterError(
            f"the cluster in {folder} has no ledger, so nothing of it can be found ({error}); "
            f"remove {folder / STATE_FILE}"
        ) from error


def _status(cluster: ClusterUnderTest) -> ClusterStatus:
    controller, processes = cluster.state.controller(), cluster.running_processes()
    brokers = []
    for broker_id in cluster.settings.broker_ids:
        registration = cluster.registration(broker_id)
        brokers.append(
            BrokerStatus(
                broker_id=broker_id,
                pid=processes[broker_id].pid if broker_id in processes else None,
                is_paused=broker_id in processes and is_standing(processes[broker_id].pid),
                address=registration.address if registration else None,
                is_controller=broker_id == controller,
            )
        )
    return ClusterStatus(
        zookeeper=cluster.zookeeper.address, level=cluster.settings.level, brokers=tuple(brokers)
    )
