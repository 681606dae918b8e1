"""ZooKeeper as its client sees it: operations, results and how they may fail.

Values only. `impl/shell/zookeeper.py` performs them with kazoo, `impl/sim/zookeeper.py` in virtual
time; both pass the same tests. An operation belongs to the session under which it was asked for:
a shell never repeats one under another session (ZK-006).
"""

from dataclasses import dataclass
from enum import StrEnum

from spec.vocabulary import SessionId, ZnodeVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Create:
    """Create a znode; `ephemeral` ones go with the session."""

    path: str
    data: bytes
    ephemeral: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetData:
    """Replace the data of a znode whose version is `expected_version` (-1: any)."""

    path: str
    data: bytes
    expected_version: ZnodeVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    """Delete a childless znode whose version is `expected_version` (-1: any)."""

    path: str
    expected_version: ZnodeVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Stat:
    """What ZooKeeper knows about a znode besides its data."""

    version: ZnodeVersion
    czxid: int
    mzxid: int
    ephemeral_owner: SessionId
    """0 when the znode is not ephemeral."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Znode:
    """The answer to a read of data; `stat` is None when there is no such znode."""

    path: str
    data: bytes = b""
    stat: Stat | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """The answer to a read of children, ascending; None when there is no such znode."""

    path: str
    names: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """All operations of the write took effect, in one transaction `zxid`."""

    zxid: int
    versions: tuple[ZnodeVersion, ...]
    """Per operation the version after it; -1 where it has none (Delete, Check)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """Nothing took effect; `errors` has one entry per operation, or one for the session."""

    errors: tuple[ZkError, ...]

    @property
    def error(self) -> ZkError:
        """The error that decided, rather than one that followed from it."""
        return next((e for e in self.errors if e is not ZkError.ROLLED_BACK), self.errors[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """The connection was lost before the answer: the write may have taken effect (ZK-006)."""


WriteResult = Written | Rejected | Unknown
