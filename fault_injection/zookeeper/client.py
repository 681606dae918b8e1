"""The harness's own view of ZooKeeper: small, typed, with a deadline on every call.

The only module of this room that uses kazoo's client; nothing untyped leaves it. No write is
retried: one without an answer may have happened, and the caller decides what that means. A read is
asked again until the deadline, for a server of an ensemble may go while others answer.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kazoo import exceptions as kazoo_errors
from kazoo.client import KazooClient
from kazoo.handlers.threading import KazooTimeoutError

from fencepost.fault_injection.processes.signal_delay import handlers_wait
from fencepost.spec.vocabulary import ANY_VERSION
from fencepost.spec.zookeeper import ZooKeeperError, tls_options

_SILENT = logging.getLogger("fencepost.zookeeper_client")
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False  # a lost connection is told by our exceptions, once


_WITH_TLS = {
    True: ", takes TLS, and trusts the CA of our certificate as we that of its own",
    False: ", and does not ask for TLS",
}
"""By whether we come with an identity: it hangs up on the wrong kind of connection."""


class NoZnodeError(ZooKeeperError):
    """There is no znode at the path."""


class ZnodeExistsError(ZooKeeperError):
    """There is a znode at the path already."""


class BadVersionError(ZooKeeperError):
    """The znode has another version than the one that the write asked for."""


class OutcomeUnknownError(ZooKeeperError):
    """No answer: the connection was lost or the deadline passed; a write may have happened."""


class SessionEndedError(ZooKeeperError):
    """The session ended before the request was answered; the next one is in a new session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodeContent:
    """A znode as one answer showed it."""

    data: bytes
    """Empty when only its existence was asked for."""
    znode_version: int
    czxid: int
    mzxid: int
    ephemeral_owner: int
    """The session that it ends with; 0 for a persistent one."""


def _after_signals(send: Callable[..., bool | None]) -> Callable[..., bool | None]:
    """Wrap kazoo's `_call`, which takes Ctrl-C for a lost connection: Ctrl-C waits."""

    def wrapped(*given: object) -> bool | None:
        with handlers_wait():
            return send(*given)

    return wrapped


class ZooKeeperClient:
    """One session with a ZooKeeper, closed on exit. Paths are below the chroot of the address."""

    def __init__(
        self,
        address: str,
        *,
        session_timeout_s: float = 10.0,
        deadline_s: float = 10.0,
        tls: Path | None = None,
    ) -> None:
        """With the folder of an identity, `tls`, the connection is encrypted and both ends prove.

        Nothing is sent before `connect`.
        """
        self.address = address
        self.deadline_s = deadline_s
        self._tls = tls
        self._client: Any = KazooClient(
            hosts=address, timeout=session_timeout_s, logger=_SILENT, **tls_options(tls)
        )
        self._client._call = _after_signals(self._client._call)

    def __enter__(self) -> Self:
        self.connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def connect(self) -> None:
        """Open the session; raises `ZooKeeperError` when none is granted within the deadline."""
        try:
            self._client.start(timeout=self.deadline_s)
        except KazooTimeoutError as error:
            self._client.close()
            raise ZooKeeperError(
                f"no ZooKeeper answers at {self.address} within {self.deadline_s:g} s; "
                f"check the address and that the server runs{_WITH_TLS[self._tls is not None]}"
            ) from error

    def close(self) -> None:
        """End the session, and with it its ephemeral znodes; may be called twice."""
        self._client.stop()
        self._client.close()

    @property
    def session_id(self) -> int:
        """The id of the session in use, signed as ZooKeeper logs it."""
        return int(self._credentials()[0])

    @property
    def session_password(self) -> bytes:
        """The password of the session; with its id, it gives control of the session."""
        return bytes(self._credentials()[1])

    def read(self, path: str) -> ZnodeContent:
        """The znode at `path`; raises `NoZnodeError`."""
        data, stat = self._read(path, self._client.get_async)
        return _znode(data, stat)

    def exists(self, path: str) -> ZnodeContent | None:
        """The znode at `path` without its data, or None."""
        stat = self._read(path, self._client.exists_async)
        return None if stat is None else _znode(b"", stat)

    def children(self, path: str) -> list[str]:
        """The names of the children of `path`, ascending; raises `NoZnodeError`."""
        return sorted(map(str, self._read(path, self._client.get_children_async)))

    def create(self, path: str, data: bytes = b"", *, ephemeral: bool = False) -> None:
        """Create the znode at `path`; raises `ZnodeExistsError`, or `NoZnodeError` (no parent)."""
        self._answer(path, self._client.create_async(path, data, ephemeral=ephemeral))

    def create_all(self, znodes: Sequence[tuple[str, bytes]]) -> None:
        """Create all of these persistent znodes in one multi, or none; raises `ZooKeeperError`."""
        transaction = self._client.transaction()
        for path, data in znodes:
            transaction.create(path, data)
        results = self._answer(znodes[0][0], transaction.commit_async())
        failed = [result for result in results if isinstance(result, Exception)]
        if failed:
            raise ZooKeeperError(f"{len(znodes)} znodes were not created: {failed[0]!r}")

    def create_path(self, path: str) -> None:
        """Create the persistent znode at `path` and those above it, where they are missing."""
        self._read(path, self._client.ensure_path_async)

    def set(self, path: str, data: bytes, *, version: int) -> int:
        """Write `data` if the znode has `version` (-1: any); the new version.

        Raises `BadVersionError`, `NoZnodeError`, or `OutcomeUnknownError`.
        """
        stat = self._answer(path, self._client.set_async(path, data, version=version))
        return int(stat.version)

    def rewrite(self, path: str, znode: ZnodeContent) -> ZnodeContent:
        """Write the data of `znode` if it still has its version; the new znode. Raises as `set`."""
        pending = self._client.set_async(path, znode.data, version=znode.znode_version)
        return _znode(znode.data, self._answer(path, pending))

    def delete(self, path: str, *, version: int = ANY_VERSION) -> None:
        """Delete the znode at `path` if it has `version` (-1: any)."""
        self._answer(path, self._client.delete_async(path, version=version))

    def delete_recursively(self, path: str) -> None:
        """Delete the znode at `path` with all below it; nothing there is fine."""
        try:
            for name in self.children(path):
                self.delete_recursively(f"{path.rstrip('/')}/{name}")
            self.delete(path)
        except NoZnodeError:
            return

    def _credentials(self) -> tuple[Any, Any]:
        credentials: tuple[Any, Any] | None = self._client.client_id
        if credentials is None:
            raise ZooKeeperError(f"there is no session with {self.address}; connect first")
        return credentials

    def _read(self, path: str, ask: Callable[[str], Any]) -> Any:  # noqa: ANN401 - as `_answer`
        deadline = time.monotonic() + self.deadline_s
        while True:
            try:
                return self._answer(path, ask(path))
            except (OutcomeUnknownError, SessionEndedError):
                if time.monotonic() > deadline:
                    raise

    def _answer(self, path: str, pending: Any) -> Any:  # noqa: ANN401 - kazoo's, and it ends here
        """Wait for kazoo's answer about `path`; kazoo's exceptions become ours."""
        where = f"{path} at {self.address}"
        try:
            return pending.get(timeout=self.deadline_s)
        except kazoo_errors.NoNodeError as error:
            raise NoZnodeError(f"there is no znode {where}") from error
        except kazoo_errors.NodeExistsError as error:
            raise ZnodeExistsError(f"there is a znode {where} already") from error
        except kazoo_errors.BadVersionError as error:
            raise BadVersionError(f"znode {where} has another version") from error
        except (KazooTimeoutError, kazoo_errors.ConnectionLoss) as error:
            raise OutcomeUnknownError(f"no answer about znode {where}") from error
        except kazoo_errors.ConnectionClosedError as error:
            raise ZooKeeperError(f"the session with {self.address} was closed") from error
        except kazoo_errors.SessionExpiredError as error:
            raise SessionEndedError(f"the session ended before the answer about {where}") from error
        except kazoo_errors.KazooException as error:
            raise ZooKeeperError(f"znode {where}: {type(error).__name__}") from error


def _znode(data: bytes, stat: Any) -> ZnodeContent:  # noqa: ANN401 - kazoo's, and it ends here
    return ZnodeContent(
        data=data,
        znode_version=int(stat.version),
        czxid=int(stat.czxid),
        mzxid=int(stat.mzxid),
        ephemeral_owner=int(stat.ephemeralOwner),
    )
