"""ZooKeeper in memory: znodes, versions, zxids, sessions, ephemerals, multi, one-shot watches.

It passes the test file of the real server (`tests/impl/zookeeper_contract`). Time and delivery are
the caller's: the server answers at once, and tells watches through `on_watch`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from fencepost.impl.core.types.effects import ListChildren, ReadZnodes, WriteZnodes
from fencepost.impl.core.types.events import ChildrenListed, WatchFired, ZnodesRead, ZnodesWritten
from fencepost.impl.core.types.scripts import Answer, Ask
from fencepost.impl.core.types.zookeeper import (
    Check,
    Children,
    Create,
    Delete,
    Rejected,
    SetData,
    Stat,
    WriteOp,
    Written,
    ZkError,
    Znode,
)
from fencepost.impl.sim.world.slow_sync import SlowSyncQueue
from fencepost.spec.vocabulary import ANY_VERSION, SessionId, ZnodeVersion

FIRST_SESSION = 0x1000
NO_OWNER = SessionId(0)
REQUEST_BYTES_MAX = 1 << 20
"""`jute.maxbuffer`, as ZooKeeper has it by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZnodeChange:
    """One change that the server logged; the changes of one multi share a zxid."""

    action: str
    """As `kind: zookeeper` lines of the trace: `Create`, `SetData`, `CloseSession` and so on."""
    zxid: int
    session_id: SessionId
    path: str | None = None
    data: bytes | None = None
    znode_version: ZnodeVersion | None = None


@dataclass(frozen=True, slots=True)
class _Node:
    data: bytes
    stat: Stat


@dataclass(slots=True)
class _Session:
    timeout_ms: int
    heard_ms: int
    data_watches: set[str] = field(default_factory=set)
    child_watches: set[str] = field(default_factory=set)


class SimulatedZooKeeper:
    """A standalone server: every write is one transaction, every read sees all writes before it."""

    def __init__(
        self,
        *,
        now_ms: Callable[[], int],
        on_watch: Callable[[SessionId, WatchFired], None],
        on_session_end: Callable[[SessionId], None],
        on_transaction: Callable[[ZnodeChange], None] = lambda _: None,
    ) -> None:
        self._now_ms = now_ms
        self._on_watch = on_watch
        self._on_session_end = on_session_end
        self._on_transaction = on_transaction
        self._zxid = 0
        self._last_session = FIRST_SESSION
        self._nodes: dict[str, _Node] = {}
        self._names: dict[str, set[str]] = {}
        """Path -> names of its children."""
        self._pzxids: dict[str, int] = {}
        """Path -> the last transaction that created or deleted a child."""
        self._sessions: dict[SessionId, _Session] = {}
        self.request_bytes_max = REQUEST_BYTES_MAX
        """The server closes the connection of a client that sends a larger multi."""
        self.is_serving = True
        """False while the servers elect a leader: no request is answered, and no session ends."""
        self.slow_sync: SlowSyncQueue | None = None
        """What requests have to go through since its disk was slow for the first time."""

    # Sessions

    def stop_serving(self) -> None:
        """An election begins."""
        self.is_serving = False

    def serve(self) -> None:
        """A leader is elected; it gives every session its whole timeout."""
        self.is_serving = True
        for session in self._sessions.values():
            session.heard_ms = self._now_ms()

    def open_session(self, timeout_ms: int) -> SessionId:
        """A new session; it lives while it is heard of within `timeout_ms`."""
        self._last_session += 1
        session_id = SessionId(self._last_session)
        self._sessions[session_id] = _Session(timeout_ms=timeout_ms, heard_ms=self._now_ms())
        self._zxid += 1
        self._log("CreateSession", session_id)
        return session_id

    def touch(self, session_id: SessionId) -> bool:
        """The session was heard of; false when it is over."""
        session = self._sessions.get(session_id)
        if session is None:
            return False
        session.heard_ms = self._now_ms()
        return True

    def has_session(self, session_id: SessionId) -> bool:
        """False when it is over."""
        return session_id in self._sessions

    def end_session(self, session_id: SessionId) -> None:
        """Its ephemerals are gone, in one transaction; it never comes back."""
        if session_id not in self._sessions:
            return
        del self._sessions[session_id]
        self._zxid += 1
        self._log("CloseSession", session_id)
        owned = [p for p, n in self._nodes.items() if n.stat.ephemeral_owner == session_id]
        for path in sorted(owned):
            self._delete(path, session_id)
        self._on_session_end(session_id)

    def end_silent_sessions(self) -> None:
        """Sessions that were not heard of for their timeout are over."""
        if not self.is_serving:
            return
        now_ms = self._now_ms()
        silent = [
            session_id
            for session_id, session in self._sessions.items()
            if session.heard_ms + session.timeout_ms < now_ms
        ]
        for session_id in silent:
            self.end_session(session_id)

    # Reads

    def read(self, session_id: SessionId, path: str, *, watch: bool = False) -> Znode:
        """Data and stat of `path`; a watch is set whether or not the znode exists."""
        if watch:
            self._sessions[session_id].data_watches.add(path)
        return self.peek(path)

    def peek(self, path: str) -> Znode:
        """As `read`, without a session: for the harness."""
        node = self._nodes.get(path)
        if node is None:
            return Znode(path=path)
        return Znode(path=path, data=node.data, stat=node.stat)

    def list_children(self, session_id: SessionId, path: str, *, watch: bool = False) -> Children:
        """Names of the children of `path`; no watch is set on a znode that does not exist."""
        if watch and path in self._nodes:
            self._sessions[session_id].child_watches.add(path)
        return self.peek_children(path)

    def peek_children(self, path: str) -> Children:
        """As `list_children`, without a session: for the harness."""
        if path not in self._nodes:
            return Children(path=path, names=None)
        pzxid = self._pzxids.get(path, self._nodes[path].stat.czxid)
        return Children(path=path, names=self.children(path), pzxid=pzxid)

    def children(self, path: str) -> tuple[str, ...]:
        """Names of the children, ascending: for the harness."""
        return tuple(sorted(self._names.get(path, ())))

    def answer(self, session_id: SessionId, ask: Ask) -> Answer:
        """Do at once what the core asks, and say what came of it."""
        match ask:
            case ReadZnodes(op_id=op_id, paths=paths, watch=watch):
                znodes = tuple(self.read(session_id, path, watch=watch) for path in paths)
                return ZnodesRead(op_id=op_id, znodes=znodes)
            case ListChildren(op_id=op_id, paths=paths, watch=watch):
                listed = (self.list_children(session_id, path, watch=watch) for path in paths)
                return ChildrenListed(op_id=op_id, children=tuple(listed))
            case WriteZnodes(op_id=op_id, ops=ops):
                return ZnodesWritten(op_id=op_id, result=self.write(session_id, ops))

    # Writes

    def ensure(self, paths: Iterable[str]) -> None:
        """Persistent znodes that every start of a broker makes sure of."""
        for path in paths:
            if path not in self._nodes:
                self._zxid += 1
                self._create(Create(path=path, data=b""), NO_OWNER)

    def write(self, session_id: SessionId, ops: tuple[WriteOp, ...]) -> Written | Rejected:
        """All of `ops` in one transaction, or none and the error of each."""
        if session_id not in self._sessions:
            return Rejected(errors=(ZkError.SESSION_EXPIRED,))
        refused = self._refusal(ops)
        if refused is not None:
            index, error = refused
            errors = [ZkError.ROLLED_BACK] * len(ops)
            errors[index] = error
            return Rejected(errors=tuple(errors))
        self._zxid += 1
        versions = tuple(self._apply(op, session_id) for op in ops)
        return Written(zxid=self._zxid, versions=versions)

    def _refusal(self, ops: tuple[WriteOp, ...]) -> tuple[int, ZkError] | None:
        """The first operation that fails on the state that the ones before it would leave."""
        versions: dict[str, ZnodeVersion | None] = {}
        for index, op in enumerate(ops):
            version = versions.get(op.path, self._version(op.path))
            error = self._error(op, version, versions)
            if error is not None:
                return index, error
            versions[op.path] = _version_after(op, version)
        return None

    def _error(
        self,
        op: WriteOp,
        version: ZnodeVersion | None,
        versions: dict[str, ZnodeVersion | None],
    ) -> ZkError | None:
        if isinstance(op, Create):
            parent = _parent(op.path)
            has_parent = parent == "/" or versions.get(parent, self._version(parent)) is not None
            if not has_parent:
                return ZkError.NO_NODE
            return ZkError.NODE_EXISTS if version is not None else None
        if version is None:
            return ZkError.NO_NODE
        if op.expected_version not in (ANY_VERSION, version):
            return ZkError.BAD_VERSION
        if isinstance(op, Delete) and self._has_children(op.path, versions):
            return ZkError.NOT_EMPTY
        return None

    def _has_children(self, path: str, versions: dict[str, ZnodeVersion | None]) -> bool:
        """As the operations before it in the same multi, which `versions` tells of, leave it."""
        there = {f"{path}/{name}" for name in self._names.get(path, ())}
        for changed, version in versions.items():
            if _parent(changed) == path:
                there = there - {changed} if version is None else there | {changed}
        return bool(there)

    def _version(self, path: str) -> ZnodeVersion | None:
        node = self._nodes.get(path)
        return node.stat.version if node else None

    def _apply(self, op: WriteOp, session_id: SessionId) -> ZnodeVersion:
        match op:
            case Create():
                return self._create(op, session_id)
            case SetData():
                return self._set_data(op, session_id)
            case Delete():
                self._delete(op.path, session_id)
            case Check():
                pass
        return ANY_VERSION

    def _create(self, op: Create, session_id: SessionId) -> ZnodeVersion:
        version = ZnodeVersion(0)
        owner = session_id if op.ephemeral else NO_OWNER
        stat = Stat(version=version, czxid=self._zxid, mzxid=self._zxid, ephemeral_owner=owner)
        self._nodes[op.path] = _Node(op.data, stat)
        self._names.setdefault(_parent(op.path), set()).add(_name(op.path))
        self._pzxids[_parent(op.path)] = self._zxid
        self._log("Create", session_id, op.path, op.data, version)
        self._fire_data(op.path)
        self._fire_children(_parent(op.path))
        return version

    def _set_data(self, op: SetData, session_id: SessionId) -> ZnodeVersion:
        stat = self._nodes[op.path].stat
        version = ZnodeVersion(stat.version + 1)
        self._nodes[op.path] = _Node(op.data, replace(stat, version=version, mzxid=self._zxid))
        self._log("SetData", session_id, op.path, op.data, version)
        self._fire_data(op.path)
        return version

    def _delete(self, path: str, session_id: SessionId) -> None:
        del self._nodes[path]
        self._pzxids[_parent(path)] = self._zxid
        self._names[_parent(path)].discard(_name(path))
        self._log("Delete", session_id, path)
        self._fire_data(path)
        self._fire_children(path)
        self._fire_children(_parent(path))

    def _fire_data(self, path: str) -> None:
        for session_id, session in list(self._sessions.items()):
            if path in session.data_watches:
                session.data_watches.discard(path)
                self._on_watch(session_id, WatchFired(path=path, children=False))

    def _fire_children(self, path: str) -> None:
        for session_id, session in list(self._sessions.items()):
            if path in session.child_watches:
                session.child_watches.discard(path)
                self._on_watch(session_id, WatchFired(path=path, children=True))

    def _log(
        self,
        action: str,
        session_id: SessionId,
        path: str | None = None,
        data: bytes | None = None,
        znode_version: ZnodeVersion | None = None,
    ) -> None:
        self._on_transaction(
            ZnodeChange(
                action=action,
                zxid=self._zxid,
                session_id=session_id,
                path=path,
                data=data,
                znode_version=znode_version,
            )
        )


def _version_after(op: WriteOp, version: ZnodeVersion | None) -> ZnodeVersion | None:
    if isinstance(op, Create):
        return ZnodeVersion(0)
    if isinstance(op, SetData) and version is not None:
        return ZnodeVersion(version + 1)
    return None if isinstance(op, Delete) else version


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _name(path: str) -> str:
    return path.rpartition("/")[2]
