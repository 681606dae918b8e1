"""The kazoo client: one per session, with answers in the order of ZooKeeper's replies.

The only module of `impl` that imports kazoo, besides `multi_read.py`, a request that kazoo lacks.
The connection thread only posts notifications; `sessions.py` turns them into events. No retries, no
recipes, no operation of one session under another (ZK-006).
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import (
    APIError,
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    KazooException,
    MarshallingError,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OperationTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
    SystemZookeeperError,
)
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization as wire
from kazoo.protocol.states import Callback, KazooState, WatchedEvent
from kazoo.security import OPEN_ACL_UNSAFE, READ_ACL_UNSAFE, make_digest_acl

from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import ChildrenListed, ZnodesRead, ZnodesWritten
from fencepost.impl.core.types.zookeeper import (
    Check,
    Children,
    Create,
    Delete,
    Rejected,
    SetData,
    Stat,
    Unknown,
    WriteOp,
    WriteResult,
    Written,
    ZkError,
    Znode,
)
from fencepost.impl.shell.zookeeper.multi_read import in_multi_reads
from fencepost.impl.shell.zookeeper.notifications import (
    Answer,
    Answered,
    Connected,
    Disconnected,
    Expired,
    Operation,
    Post,
    Result,
    Triggered,
)
from fencepost.spec.vocabulary import ANY_VERSION, SessionId, ZnodeVersion
from fencepost.spec.znodes import PERSISTENT_PATHS
from fencepost.spec.zookeeper import (
    ZooKeeperAddress,
    ZooKeeperCredentials,
    ZooKeeperError,
    tls_options,
)

logging.getLogger("kazoo").addHandler(logging.NullHandler())

RECONNECT_DELAY_S = 0.02
RECONNECT_DELAY_MAX_S = 0.25
EPHEMERAL = 1
NO_VERSION = ZnodeVersion(-1)

WatchKey = tuple[str, bool]
"""Path, and True for a watch on its children."""
Client = Any
"""A `KazooClient`; kazoo is untyped."""
Request = tuple[Any, WatchKey | None]
"""A kazoo request, and the watch that it sets."""

_ERRORS: dict[type[KazooException], ZkError] = {
    NoNodeError: ZkError.NO_NODE,
    NodeExistsError: ZkError.NODE_EXISTS,
    BadVersionError: ZkError.BAD_VERSION,
    NotEmptyError: ZkError.NOT_EMPTY,
    SessionExpiredError: ZkError.SESSION_EXPIRED,
    RolledBackError: ZkError.ROLLED_BACK,
    RuntimeInconsistency: ZkError.ROLLED_BACK,
}
_LOST = (ConnectionLoss, ConnectionClosedError)
_SERVER_ERRORS = (SystemZookeeperError, MarshallingError, OperationTimeoutError, APIError)
"""Errors of the server, not of a znode: the outcome of the request is unknown."""


class ConnectionThreadHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo is untyped
    """Runs every callback on the connection thread.

    kazoo's own handler has one thread for watches and one for answers: new data could be seen
    before the watch that announces it.
    """

    name = "connection_thread_handler"

    def __init__(self) -> None:
        super().__init__()
        self.retired = False
        """True: never connect again, neither for this session nor for another."""

    @property
    def running(self) -> bool:
        """False, so that kazoo calls back at once instead of through a queue."""
        return False

    def start(self) -> None:
        """Do nothing: there are no worker threads."""

    def stop(self) -> None:
        """Do nothing: there are no worker threads."""

    def dispatch_callback(self, callback: Callback) -> None:
        """Run a watch callback on the current thread."""
        callback.func(*callback.args)

    def create_connection(self, *args: object, **kwargs: object) -> Result:
        """Open a connection, unless the session is retired."""
        if self.retired:
            raise ConnectionRefusedError("the session is retired")
        return super().create_connection(*args, **kwargs)


class PendingAnswer:
    """The result object for kazoo; the first completion counts (kazoo may fail one twice)."""

    __slots__ = ("_client", "_deliver")

    def __init__(self, client: Client, deliver: Callable[[Result, int], None]) -> None:
        self._client = client
        self._deliver: Callable[[Result, int], None] | None = deliver

    def set(self, value: Result = None) -> None:
        """Deliver a result with the zxid of its reply header."""
        deliver, self._deliver = self._deliver, None
        if deliver:
            deliver(value, self._client.last_zxid)

    def set_exception(self, exception: Exception) -> None:
        """Deliver a failure."""
        self.set(exception)


class KazooSession:
    """The client of exactly one session; `post` must be thread-safe."""

    def __init__(
        self,
        address: ZooKeeperAddress,
        timeout_ms: int,
        post: Post,
        credentials: ZooKeeperCredentials | None = None,
        tls: Path | None = None,
    ) -> None:
        """With `credentials`, only sessions with the same may change what this one creates.

        With the folder of an identity, `tls`, both ends of the connection prove theirs.
        """
        self._root = address.chroot
        self._credentials = credentials
        self._acl = OPEN_ACL_UNSAFE if credentials is None else _owned(credentials)
        self._post = post
        self._armed: dict[WatchKey, object] = {}
        self._handler = ConnectionThreadHandler()
        self._client = KazooClient(
            hosts=address.servers,
            timeout=timeout_ms / 1000,
            handler=self._handler,
            randomize_hosts=False,
            auth_data=[("digest", credentials.text)] if credentials else None,
            connection_retry={
                "max_tries": -1,
                "delay": RECONNECT_DELAY_S,
                "max_delay": RECONNECT_DELAY_MAX_S,
            },
            **tls_options(tls),
        )
        self._client.add_listener(self._state_changed)
        self._client.start_async()

    @property
    def password(self) -> bytes:
        """The password of the session; empty before it is established."""
        identity = self._client.client_id
        return identity[1] if identity else b""

    def submit(self, operation: Operation) -> None:
        """Send the requests of `operation`, pipelined; `Answered` carries the results."""
        self._send(operation.op_id, self._requests(operation))

    def prepare(self, op_id: int) -> None:
        """Create the chroot and the persistent paths; `Answered` follows."""
        segments = self._root.split("/")[1:]
        roots = ["/" + "/".join(segments[: depth + 1]) for depth in range(len(segments))]
        paths = roots + [self._root + path for path in PERSISTENT_PATHS]
        requests: list[Request] = [
            (self._create(path, is_above=path in roots[:-1]), None) for path in paths
        ]
        if self._credentials:
            # A session that may write a folder may delete what is in it, or create `/controller`.
            own = (wire.SetACL(self._root or "/", self._acl, ANY_VERSION), None)
            requests.insert(len(roots), own)
        self._send(op_id, requests)

    def _create(self, path: str, *, is_above: bool) -> Result:
        """Folders above the chroot may be those of others too."""
        return wire.Create(path, b"", OPEN_ACL_UNSAFE if is_above else self._acl, 0)

    def ask_for_contact(self, op_id: int) -> None:
        """Send an `exists`: its `Answered` proves that the session lived when it was sent."""
        self._send(op_id, [(wire.Exists(self._root or "/", None), None)])

    def hang_up(self) -> None:
        """Never connect again and leave the session to its timeout in ZooKeeper."""
        self._handler.retired = True
        self._break_connection()

    def retire(self) -> threading.Thread:
        """Never connect again and close the session if ZooKeeper is reachable; join the thread."""
        self._handler.retired = True
        closer = threading.Thread(target=self._close, daemon=True, name="zookeeper-close")
        closer.start()
        return closer

    def _break_connection(self) -> None:
        """Shut the socket down; kazoo reconnects, unless the session is retired."""
        connected = self._client._connection._socket
        if connected is not None:
            with suppress(OSError):  # it has closed already
                connected.shutdown(socket.SHUT_RDWR)

    def _close(self) -> None:
        self._client.stop()
        self._client.close()

    def _send(self, op_id: int, requests: list[Request]) -> None:
        results: list[Result] = [ConnectionLoss()] * len(requests)
        last, sent_at = len(requests) - 1, time.monotonic()

        def deliver(index: int, arm: WatchKey | None, result: Result, zxid: int) -> None:
            results[index] = result
            if isinstance(result, _SERVER_ERRORS):
                self._break_connection()
            elif arm:
                self._arm(arm, result)
            # After an error of the server only the end of the connection is posted: the outcome of
            # every request on it is unknown, in the usual order.
            if index == last and not any(isinstance(one, _SERVER_ERRORS) for one in results):
                self._post(Answered(self, op_id, results, zxid, sent_at))

        for index, (request, arm) in enumerate(requests):

            def answer(
                result: Result, zxid: int, index: int = index, arm: WatchKey | None = arm
            ) -> None:
                deliver(index, arm, result, zxid)

            # `_call` and not `get_async`: the callback must be there before the request leaves,
            # else the answer may be overtaken and its zxid lost.
            self._client._call(request, PendingAnswer(self._client, answer))

    def _requests(self, operation: Operation) -> list[Request]:
        match operation:
            case ReadZnodes(paths=paths, watch=True):
                return [part for path in paths for part in self._read_watched(path)]
            case ReadZnodes(paths=(path,)):
                return [self._read(path)]
            case ReadZnodes(paths=paths):
                full = [self._root + path for path in paths]
                return [(request, None) for request in in_multi_reads(full)]
            case ListChildren(watch=watch):
                return [self._list(path, armed=watch) for path in operation.paths]
            case WriteZnodes(ops=(Create() | SetData() | Delete() as op,)):
                return [(self._write(op), None)]
            case WriteZnodes(ops=ops):
                return [(wire.Transaction([self._write(op) for op in ops]), None)]

    def _read(self, path: str) -> Request:
        return wire.GetData(self._root + path, None), None

    def _read_watched(self, path: str) -> list[Request]:
        # `exists` sets a watch whether or not the znode is there; `getData` only if it is.
        return [self._watch_data(path), self._read(path)]

    def _watch_data(self, path: str) -> Request:
        return wire.Exists(self._root + path, self._data_changed), (path, False)

    def _list(self, path: str, *, armed: bool) -> Request:
        watcher = self._children_changed if armed else None
        request = wire.GetChildren2(self._root + path, watcher)
        return request, (path, True) if armed else None

    def _write(self, op: WriteOp) -> Result:
        path = self._root + op.path
        match op:
            case Create(data=data, ephemeral=ephemeral):
                return wire.Create(path, data, self._acl, EPHEMERAL if ephemeral else 0)
            case SetData(data=data, expected_version=version):
                return wire.SetData(path, data, version)
            case Delete(expected_version=version):
                return wire.Delete(path, version)
            case Check(expected_version=version):
                return wire.CheckVersion(path, version)

    # On the connection thread

    def _state_changed(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._post(Connected(self, SessionId(self._client.client_id[0])))
            self._watch_again()
        elif state == KazooState.SUSPENDED:
            self._post(Disconnected(self))
        else:
            # kazoo would open another session and send queued requests in it.
            self._handler.retired = True
            self._post(Expired(self))

    def _arm(self, key: WatchKey, result: Result) -> None:
        if not isinstance(result, Exception):
            self._armed[key] = _fingerprint(key[1], result)

    def _data_changed(self, event: WatchedEvent) -> None:
        self._fire(event.path, children=False)

    def _children_changed(self, event: WatchedEvent) -> None:
        self._fire(event.path, children=True)

    def _fire(self, full_path: str | None, *, children: bool) -> None:
        if full_path is None:
            return  # kazoo's own event for a lost connection
        path = full_path.removeprefix(self._root)
        if (path, children) in self._armed:
            del self._armed[path, children]
            self._post(Triggered(self, path, children))

    def _watch_again(self) -> None:
        # The server forgets watches with the connection; kazoo does not set them again.
        for key, seen in list(self._armed.items()):
            path, children = key
            request = self._list(path, armed=True) if children else self._watch_data(path)

            def compare(
                result: Result, _zxid: int, key: WatchKey = key, seen: object = seen
            ) -> None:
                if isinstance(result, _SERVER_ERRORS):
                    self._break_connection()
                lost = isinstance(result, (*_LOST, *_SERVER_ERRORS))
                if not lost and _fingerprint(key[1], result) != seen:
                    self._fire(self._root + key[0], children=key[1])

            self._client._call(request[0], PendingAnswer(self._client, compare))


def _fingerprint(children: bool, result: Result) -> object:  # noqa: FBT001  # half of a watch's key
    """The zxids that are unchanged while a watch stands, of the data or the children."""
    if result is None or isinstance(result, Exception):
        return None
    return result[1].pzxid if children else (result.czxid, result.mzxid)


def _owned(credentials: ZooKeeperCredentials) -> list[Any]:
    """Others may read."""
    user, _, password = credentials.text.partition(":")
    return [make_digest_acl(user, password, all=True), *READ_ACL_UNSAFE]


def prepared(notification: Answered) -> bool:
    """True when `KazooSession.prepare` succeeded; raises `ZooKeeperError` when it was refused."""
    for result in notification.results:
        if isinstance(result, (*_LOST, SessionExpiredError)):
            return False
        if isinstance(result, Exception) and not isinstance(result, NodeExistsError):
            raise ZooKeeperError(f"ZooKeeper refused to create the base paths: {_refusal(result)}")
    return True


def _refusal(error: Exception) -> str:
    if isinstance(error, NoAuthError):
        return "they belong to other credentials than those of --zookeeper-credentials"
    return repr(error)


def in_contact(notification: Answered) -> bool:
    """True when the answers came from the server rather than from kazoo."""
    return not any(isinstance(result, _LOST) for result in notification.results)


def answer(operation: Operation, notification: Answered) -> Answer:
    """The event that answers `operation`; raises `ZooKeeperError` for unexpected errors."""
    match operation:
        case ReadZnodes(op_id=op_id, paths=paths, watch=watch):
            results = notification.results[1::2] if watch else _flat(notification.results)
            return ZnodesRead(op_id=op_id, znodes=_znodes(paths, results))
        case ListChildren(op_id=op_id, paths=paths):
            return ChildrenListed(op_id=op_id, children=_children(paths, notification.results))
        case WriteZnodes(op_id=op_id):
            return ZnodesWritten(op_id=op_id, result=_write_result(operation, notification))


def _flat(results: Sequence[Result]) -> list[Result]:
    """Flatten the lists that answer multi-reads."""
    parts = (result if isinstance(result, list) else [result] for result in results)
    return [part for group in parts for part in group]


def _znodes(paths: Sequence[str], results: Sequence[Result]) -> tuple[Znode, ...] | None:
    if _interrupted(results):
        return None
    return tuple(_znode(path, result) for path, result in zip(paths, results, strict=True))


def _znode(path: str, result: Result) -> Znode:
    if isinstance(result, NoNodeError):
        return Znode(path=path)
    data, stat = _sound(path, result)
    return Znode(
        path=path,
        data=data or b"",
        stat=Stat(
            version=ZnodeVersion(stat.version),
            czxid=stat.czxid,
            mzxid=stat.mzxid,
            ephemeral_owner=SessionId(stat.ephemeralOwner),
        ),
    )


def _children(paths: Sequence[str], results: Sequence[Result]) -> tuple[Children, ...] | None:
    if _interrupted(results):
        return None
    return tuple(_children_of(path, result) for path, result in zip(paths, results, strict=True))


def _children_of(path: str, result: Result) -> Children:
    if isinstance(result, NoNodeError):
        return Children(path=path, names=None)
    names, stat = _sound(path, result)
    return Children(path=path, names=tuple(sorted(names)), pzxid=stat.pzxid)


def _interrupted(results: Sequence[Result]) -> bool:
    return any(isinstance(result, (*_LOST, SessionExpiredError)) for result in results)


def _sound(path: str, result: Result) -> Result:
    if isinstance(result, Exception):
        raise ZooKeeperError(f"ZooKeeper refused {path}: {result!r}")
    return result


def _write_result(operation: WriteZnodes, notification: Answered) -> WriteResult:
    (result,) = notification.results
    if isinstance(result, _LOST):
        return Unknown()
    results = result if isinstance(result, list) else [result]
    if any(isinstance(part, Exception) for part in results):
        return Rejected(errors=tuple(_error(operation, part) for part in results))
    versions = tuple(map(_version, operation.ops, results))
    return Written(zxid=notification.zxid, versions=versions)


def _error(operation: WriteZnodes, result: Result) -> ZkError:
    error = _ERRORS.get(type(result))
    if error is None:
        raise ZooKeeperError(f"ZooKeeper refused {operation.ops}: {result!r}")
    return error


def _version(op: WriteOp, result: Result) -> ZnodeVersion:
    match op:
        case Create():
            return ZnodeVersion(0)
        case SetData():
            return ZnodeVersion(result.version)
        case Delete() | Check():
            return NO_VERSION
