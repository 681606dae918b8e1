"""ZooKeeper as its client sees it: operations, results and how they may fail.

Values only. `impl/shell/zookeeper/client.py` performs them with kazoo,
`impl/sim/world/zookeeper.py` in virtual time; both pass the same tests. An operation belongs to the
session under which it was asked for: a shell never repeats one under another session (ZK-006).
"""

from enum import StrEnum

from msgspec import Struct

from fencepost.spec.vocabulary import SessionId, ZnodeVersion


class Create(Struct, frozen=True, kw_only=True):
    """Create a znode; `ephemeral` ones go with the session."""

    path: str
    data: bytes
    ephemeral: bool = False


class SetData(Struct, frozen=True, kw_only=True):
    """Replace the data of a znode at version `expected_version` (-1: any)."""

    path: str
    data: bytes
    expected_version: ZnodeVersion


class Delete(Struct, frozen=True, kw_only=True):
    """Delete a childless znode at version `expected_version` (-1: any)."""

    path: str
    expected_version: ZnodeVersion


class Check(Struct, frozen=True, kw_only=True):
    """Fail the multi unless the znode exists with `expected_version` (-1: any)."""

    path: str
    expected_version: ZnodeVersion


WriteOp = Create | SetData | Delete | Check


class ZkError(StrEnum):
    """Why ZooKeeper refused. A refused multi has changed nothing."""

    NO_NODE = "NO_NODE"
    NODE_EXISTS = "NODE_EXISTS"
    BAD_VERSION = "BAD_VERSION"
    NOT_EMPTY = "NOT_EMPTY"
    SESSION_EXPIRED = "SESSION_EXPIRED"
    ROLLED_BACK = "ROLLED_BACK"
    """This operation was fine; another one of its multi was not."""


class Stat(Struct, frozen=True, kw_only=True):
    """What ZooKeeper knows about a znode besides its data."""

    version: ZnodeVersion
    czxid: int
    mzxid: int
    ephemeral_owner: SessionId
    """0 when the znode is not ephemeral."""


class Znode(Struct, frozen=True, kw_only=True):
    """The answer to a read of data; `stat` is None when there is no such znode."""

    path: str
    data: bytes = b""
    stat: Stat | None = None


class Children(Struct, frozen=True, kw_only=True):
    """The answer to a read of children, ascending; None when there is no such znode."""

    path: str
    names: tuple[str, ...] | None
    pzxid: int = 0
    """The last transaction that created or deleted a child before this reading."""


class Written(Struct, frozen=True, kw_only=True):
    """All operations of the write took effect, in one transaction `zxid`."""

    zxid: int
    versions: tuple[ZnodeVersion, ...]
    """Per operation the version after it; -1 where it has none (Delete, Check)."""


class Rejected(Struct, frozen=True, kw_only=True):
    """Nothing took effect; `errors` has one entry per operation, or one for the session."""

    errors: tuple[ZkError, ...]

    @property
    def error(self) -> ZkError:
        """The error that decided, rather than one that followed from it."""
        return next((e for e in self.errors if e is not ZkError.ROLLED_BACK), self.errors[0])


class Unknown(Struct, frozen=True, kw_only=True):
    """The connection was lost before the answer: the write may have taken effect (ZK-006)."""


WriteResult = Written | Rejected | Unknown
