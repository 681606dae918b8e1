"""ZooKeeper's transaction log, read as the ground truth of a run.

It decides a write without an answer: it is in the log or it never happened. The format is
ZooKeeper's FileTxnLog, version 2 (`zookeeper.jute`): a file header, then per transaction an
Adler-32, a length, a header and a record, up to a tail of zeros.
"""

import struct
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.zookeeper import ZooKeeperError

NODE = "zookeeper"
_MAGIC = b"ZKLG"
_FILE_HEADER_SIZE = 16
_CHECKSUM_AND_LENGTH = struct.Struct(">qi")
_TRANSACTION_HEADER = struct.Struct(">qiqqi")
_END_OF_RECORD = b"B"
_ERROR = -1
_MULTI = 14


_Change = dict[str, Any]
"""What one record says, as fields of a `Transaction`, without the header that it shares."""


class CorruptTransactionLogError(ZooKeeperError):
    """A file is no transaction log, or a whole record of it is damaged; names the place."""

    def __init__(self, path: Path, offset: int, reason: str) -> None:
        super().__init__(f"transaction log {path}, byte {offset}: {reason}")


class TransactionKind(StrEnum):
    """What a transaction did; the `action` of its trace line."""

    CREATE_SESSION = "CreateSession"
    CLOSE_SESSION = "CloseSession"
    CREATE = "Create"
    SET_DATA = "SetData"
    DELETE = "Delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """One change that ZooKeeper made; the changes of one multi share a zxid."""

    zxid: int
    session_id: int
    """Of the client that asked; of the session itself when it began or ended."""
    cxid: int
    wall_ms: int
    """The server's clock; for display only."""
    kind: TransactionKind
    path: str | None = None
    data: bytes | None = None
    version: int | None = None
    """The znode's version afterwards; None when no znode is left."""
    ephemeral: bool = False
    """True for the creation of an ephemeral znode, and for a deletion by the end of its session."""


class _Record:
    """A cursor over one jute record."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def is_at_end(self) -> bool:
        return self._at >= len(self._data)

    def integer(self) -> int:
        return int(self._unpack(">i"))

    def boolean(self) -> bool:
        return bool(self._unpack(">?"))

    def buffer(self) -> bytes:
        size = max(0, self.integer())  # -1 is jute's null
        self._at += size
        if self._at > len(self._data):
            raise ValueError("a record is shorter than it says")
        return self._data[self._at - size : self._at]

    def text(self) -> str:
        return self.buffer().decode()

    def texts(self) -> list[str]:
        return [self.text() for _ in range(self.integer())]

    def skip_acls(self) -> None:
        for _ in range(self.integer()):
            self.integer()
            self.buffer()
            self.buffer()

    def _unpack(self, form: str) -> int:
        value: int
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value


def read_transactions(data_dir: Path) -> list[Transaction]:
    """All changes in the log below `data_dir` in zxid order; a server may still be writing it.

    The record that is just being written is not there yet. Failed requests, failed multis and
    changes of ACLs change no data and are left out. Raises `CorruptTransactionLogError`.
    """
    folder = data_dir / "version-2"
    files = sorted(folder.glob("log.*"), key=lambda path: int(path.suffix[1:], 16))
    return [transaction for path in files for transaction in _read_file(path)]


def read_committed(data_dirs: Sequence[Path]) -> list[Transaction]:
    """All changes that the ensemble with these members' data made, in zxid order.

    A leader writes down a transaction before its followers have it, and may die or be replaced
    then: what was committed is what most members wrote down, and they forget nothing of that.
    One member alone may lack some of it: after an absence it gets a snapshot of what it missed.
    Raises `CorruptTransactionLogError`.
    """
    logs = [read_transactions(data_dir) for data_dir in data_dirs]
    written = Counter(zxid for log in logs for zxid in {one.zxid for one in log})
    by_zxid: dict[int, list[Transaction]] = {}
    for log in logs:
        seen: dict[int, list[Transaction]] = {}
        for transaction in log:
            seen.setdefault(transaction.zxid, []).append(transaction)
        by_zxid.update(seen)
    committed = sorted(zxid for zxid, times in written.items() if 2 * times > len(logs))
    return [transaction for zxid in committed for transaction in by_zxid[zxid]]


def to_trace_events(transactions: Iterable[Transaction], run_id: str) -> Iterator[TraceEvent]:
    """The trace lines of node `zookeeper`, in the given order (`spec/docs/trace.md`)."""
    for seq, transaction in enumerate(transactions):
        data = transaction.data
        yield TraceEvent(
            run_id=run_id,
            node=NODE,
            seq=seq,
            mono_ns=0,
            wall_ns=transaction.wall_ms * 1_000_000,
            kind=Kind.ZOOKEEPER,
            action=transaction.kind,
            session_id=transaction.session_id,
            zxid=transaction.zxid,
            path=transaction.path,
            data=None if data is None else data.decode(errors="backslashreplace"),
            znode_version=transaction.version,
        )


def _read_file(path: Path) -> Iterator[Transaction]:
    text = path.read_bytes()
    if len(text) < _FILE_HEADER_SIZE:
        return  # the server has just created it
    if not text.startswith(_MAGIC):
        raise CorruptTransactionLogError(path, 0, "this is no transaction log of ZooKeeper")
    offset = _FILE_HEADER_SIZE
    while record := _record_at(text, offset):
        checksum, _ = _CHECKSUM_AND_LENGTH.unpack_from(text, offset)
        if zlib.adler32(record) != checksum:
            raise CorruptTransactionLogError(path, offset, "the checksum does not match")
        try:
            yield from _transactions(record)
        except (ValueError, struct.error) as error:
            raise CorruptTransactionLogError(path, offset, str(error)) from error
        offset += _CHECKSUM_AND_LENGTH.size + len(record) + len(_END_OF_RECORD)


def _record_at(text: bytes, offset: int) -> bytes:
    """The record at `offset`; empty at the tail, or when its end is not written yet."""
    start = offset + _CHECKSUM_AND_LENGTH.size
    if start > len(text):
        return b""
    _, length = _CHECKSUM_AND_LENGTH.unpack_from(text, offset)
    end = start + length
    return text[start:end] if text[end : end + 1] == _END_OF_RECORD else b""


def _transactions(record: bytes) -> Iterator[Transaction]:
    session_id, cxid, zxid, wall_ms, code = _TRANSACTION_HEADER.unpack_from(record)
    make = partial(Transaction, zxid=zxid, session_id=session_id, cxid=cxid, wall_ms=wall_ms)
    for change in _changes(code, _Record(record[_TRANSACTION_HEADER.size :])):
        yield make(**change)


def _changes(code: int, record: _Record) -> list[_Change]:
    if code == _MULTI:
        return _multi(record)
    parse = _PARSERS.get(code)
    return parse(record) if parse else []


def _multi(record: _Record) -> list[_Change]:
    """The changes of all operations, or none: one error fails the whole multi."""
    operations = [(record.integer(), record.buffer()) for _ in range(record.integer())]
    if any(code == _ERROR for code, _ in operations):
        return []
    return [change for code, body in operations for change in _changes(code, _Record(body))]


def _create_session(_record: _Record) -> list[_Change]:
    return [_Change(kind=TransactionKind.CREATE_SESSION)]


def _close_session(record: _Record) -> list[_Change]:
    """The end of the session, then the deletions that it caused (named since ZooKeeper 3.6)."""
    paths = [] if record.is_at_end else record.texts()
    deletions = [_Change(kind=TransactionKind.DELETE, path=path, ephemeral=True) for path in paths]
    return [_Change(kind=TransactionKind.CLOSE_SESSION), *deletions]


def _create(record: _Record) -> list[_Change]:
    (change,) = _create_persistent(record)
    record.skip_acls()
    return [_Change(**change, ephemeral=record.boolean())]


def _create_persistent(record: _Record) -> list[_Change]:
    """A container, or a znode with a time to live: both begin as a plain creation does."""
    path, data = record.text(), record.buffer()
    return [_Change(kind=TransactionKind.CREATE, path=path, data=data, version=0)]


def _set_data(record: _Record) -> list[_Change]:
    path, data, version = record.text(), record.buffer(), record.integer()
    return [_Change(kind=TransactionKind.SET_DATA, path=path, data=data, version=version)]


def _delete(record: _Record) -> list[_Change]:
    return [_Change(kind=TransactionKind.DELETE, path=record.text())]


_PARSERS: dict[int, Callable[[_Record], list[_Change]]] = {
    -10: _create_session,
    -11: _close_session,
    1: _create,
    2: _delete,
    5: _set_data,
    15: _create,  # create2: the same record
    19: _create_persistent,  # container
    20: _delete,  # of a container
    21: _create_persistent,  # with a time to live
}
