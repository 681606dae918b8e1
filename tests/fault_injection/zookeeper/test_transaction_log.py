import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError

from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer, find_jars
from fencepost.fault_injection.zookeeper.transaction_log import (
    CorruptTransactionLogError,
    Transaction,
    TransactionKind,
    read_committed,
    read_transactions,
    to_trace_events,
)
from fencepost.spec.java import find_java
from fencepost.spec.trace import Kind, decode, encode

pytestmark = pytest.mark.zookeeper

TOOLKIT = "org.apache.zookeeper.server.persistence.TxnLogToolkit"
NAMES = {
    "createSession",
    "closeSession",
    "create",
    "create2",
    "setData",
    "delete",
    "error",
    "multi",
}


@pytest.fixture(scope="module")
def session(zookeeper: ZooKeeperServer) -> int:
    """The session that wrote what the tests of this module read; it has ended."""
    client: Any = KazooClient(hosts=zookeeper.address)
    client.start(timeout=10)
    session_id = int(client.client_id[0])
    client.create("/plain", b"zero")
    client.set("/plain", b"\xff\x00", version=0)
    with pytest.raises(BadVersionError):
        client.set("/plain", b"never", version=0)
    client.create("/ephemeral", ephemeral=True)
    client.create("/container", b"", include_data=True)
    commit(client, good=True)
    commit(client, good=False)
    client.delete("/plain")
    client.stop()
    client.close()
    return session_id


def commit(client: KazooClient, *, good: bool) -> None:
    transaction = client.transaction()
    transaction.check("/plain", 1)
    transaction.create("/multi" if good else "/failed", b"one")
    transaction.set_data("/plain", b"in a multi", version=1 if good else 99)
    transaction.commit()


@pytest.fixture
def copied(zookeeper: ZooKeeperServer, session: int, tmp_path: Path) -> Path:
    """A copy of the log, to be damaged; the writer's session is in it."""
    assert session != 0
    shutil.copytree(zookeeper.data_dir, tmp_path / "data")
    return tmp_path / "data"


def log_of(data_dir: Path) -> Path:
    return next((data_dir / "version-2").glob("log.*"))


def written_by(session_id: int, data_dir: Path) -> Iterator[Transaction]:
    return (each for each in read_transactions(data_dir) if each.session_id == session_id)


def test_every_change_of_a_client_is_there_in_order(
    zookeeper: ZooKeeperServer, session: int
) -> None:
    found = [
        (each.kind.value, each.path, each.data, each.version, each.ephemeral)
        for each in written_by(session, zookeeper.data_dir)
    ]

    assert found == [
        ("CreateSession", None, None, None, False),
        ("Create", "/plain", b"zero", 0, False),
        ("SetData", "/plain", b"\xff\x00", 1, False),
        ("Create", "/ephemeral", b"", 0, True),
        ("Create", "/container", b"", 0, False),
        ("Create", "/multi", b"one", 0, False),
        ("SetData", "/plain", b"in a multi", 2, False),
        ("Delete", "/plain", None, None, False),
        ("CloseSession", None, None, None, False),
        ("Delete", "/ephemeral", None, None, True),
    ]


def test_zxids_ascend_and_only_one_request_shares_one(
    zookeeper: ZooKeeperServer, session: int
) -> None:
    transactions = list(written_by(session, zookeeper.data_dir))
    zxids = [each.zxid for each in transactions]
    shared = [each.kind for each in transactions if zxids.count(each.zxid) > 1]

    assert zxids == sorted(zxids)
    assert shared == [
        TransactionKind.CREATE,
        TransactionKind.SET_DATA,
        TransactionKind.CLOSE_SESSION,
        TransactionKind.DELETE,
    ]
    assert [each.wall_ms for each in transactions] == sorted(e.wall_ms for e in transactions)


def test_zookeepers_own_tool_reads_the_same(zookeeper: ZooKeeperServer, session: int) -> None:
    class_path = ":".join(
        map(str, [*find_jars(), *find_jars()[0].parent.glob("commons-cli-*.jar")])
    )
    command = [str(find_java().executable), "-cp", class_path, TOOLKIT, "-d"]
    done = subprocess.run(
        [*command, str(log_of(zookeeper.data_dir))], capture_output=True, text=True, check=True
    )
    lines = re.findall(r"session 0x(\w+) cxid 0x(\w+) zxid 0x(\w+) (\w+)", done.stdout)
    theirs = {
        (int(zxid, 16), int(cxid, 16))
        for session_id, cxid, zxid, name in lines
        if int(session_id, 16) == session and name in NAMES
    }
    ours = {(each.zxid, each.cxid) for each in written_by(session, zookeeper.data_dir)}

    # Theirs has the failed set and the failed multi as well: they took a zxid and changed nothing.
    assert ours < theirs
    assert len(theirs - ours) == 2


def test_a_log_that_is_cut_off_anywhere_is_a_prefix(copied: Path) -> None:
    whole = read_transactions(copied)
    log = log_of(copied)
    text = log.read_bytes()
    lengths = set()
    for size in range(0, len(text.rstrip(b"\0")) + 2, 3):
        log.write_bytes(text[:size])
        part = read_transactions(copied)
        assert part == whole[: len(part)]
        lengths.add(len(part))

    assert len(lengths) > 8


def test_what_most_members_wrote_down_was_committed(copied: Path, tmp_path: Path) -> None:
    whole = read_transactions(copied)
    members = [tmp_path / name for name in ("a", "b", "c")]
    for member, kept in zip(members, (1.0, 0.7, 0.4), strict=True):
        shutil.copytree(copied, member)
        text = log_of(member).read_bytes().rstrip(b"\0")
        log_of(member).write_bytes(text[: int(len(text) * kept)])
    second = read_transactions(members[1])

    assert read_committed([copied]) == whole
    assert 0 < len(read_transactions(members[2])) < len(second) < len(whole)
    assert read_committed(members) == second


def test_a_damaged_record_is_an_error_that_names_the_place(copied: Path) -> None:
    log = log_of(copied)
    text = bytearray(log.read_bytes())
    text[text.index(b"/plain") + 1] ^= 1
    log.write_bytes(text)

    with pytest.raises(CorruptTransactionLogError, match=rf"^transaction log {log}, byte \d+: the"):
        read_transactions(copied)


def test_a_file_that_is_no_log_is_an_error(copied: Path) -> None:
    log_of(copied).write_bytes(b"this is some other file, long enough")

    with pytest.raises(CorruptTransactionLogError, match="byte 0: this is no transaction log"):
        read_transactions(copied)


def test_a_folder_without_log_has_no_transactions(tmp_path: Path) -> None:
    assert read_transactions(tmp_path) == []


def test_the_files_of_a_restarted_server_follow_each_other(supervisor: Supervisor) -> None:
    server = ZooKeeperServer(supervisor, supervisor.directory / "restarted")
    for name in ("first", "second"):
        server.start()
        client: Any = KazooClient(hosts=server.address)
        client.start(timeout=10)
        client.create(f"/{name}")
        client.stop()
        client.close()
        server.process.kill()

    transactions = read_transactions(server.data_dir)

    assert len(list((server.data_dir / "version-2").glob("log.*"))) == 2
    assert [each.path for each in transactions if each.path] == ["/first", "/second"]
    assert [each.zxid for each in transactions] == sorted(each.zxid for each in transactions)


def test_trace_lines_carry_what_the_log_says(zookeeper: ZooKeeperServer, session: int) -> None:
    transactions = list(written_by(session, zookeeper.data_dir))
    events = list(to_trace_events(transactions, "run-1"))

    assert [decode(encode(event)[:-1]) for event in events] == events
    assert [event.seq for event in events] == list(range(len(events)))
    assert {(each.run_id, each.node, each.kind, each.mono_ns) for each in events} == {
        ("run-1", "zookeeper", Kind.ZOOKEEPER, 0)
    }
    created, changed = events[1], events[2]
    assert (created.action, created.path, created.data) == ("Create", "/plain", "zero")
    assert (created.session_id, created.zxid) == (session, transactions[1].zxid)
    assert (changed.data, changed.znode_version) == ("\\xff\x00", 1)
    assert events[0].path is None
    assert created.wall_ns == transactions[1].wall_ms * 1_000_000
