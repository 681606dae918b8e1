import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from fencepost.fault_injection.processes.ports import HOST
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.server import ZooKeeperServer, check_external
from fencepost.fault_injection.zookeeper.sessions import (
    SessionError,
    _Connection,
    _Place,
    expire_session,
)
from fencepost.fault_injection.zookeeper.transaction_log import TransactionKind, read_transactions
from fencepost.spec.zookeeper import ZooKeeperAddress

SESSION = 0x1234
PASSWORD = b"p" * 16
GRANTED = struct.pack(">iiqi", 0, 10_000, SESSION, 16) + PASSWORD
REFUSED = struct.pack(">iiqi", 0, 0, 0, 16) + bytes(16)
CLOSED = struct.pack(">iqi", 1, 77, 0)
DEADLINE_S = 60.0


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is slow because the machine is busy is not taken for one that cut us off."""
    monkeypatch.setattr("fencepost.fault_injection.zookeeper.sessions.PATIENCE_S", DEADLINE_S)


def test_a_server_that_is_silent_for_a_while_is_asked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fencepost.fault_injection.zookeeper.sessions.PATIENCE_S", 0.01)
    with socket.create_server((HOST, 0)) as silent:
        address = f"{HOST}:{silent.getsockname()[1]}"
        with pytest.raises(SessionError, match=f"^{address} did not "):
            expire_session(address, SESSION, PASSWORD, deadline_s=1.0)
        silent.setblocking(False)
        first, _ = silent.accept()
        second, _ = silent.accept()
        first.close()
        second.close()


@pytest.mark.zookeeper
def test_an_expired_session_takes_its_ephemeral_znodes_with_it(
    zookeeper: ZooKeeperServer,
) -> None:
    with ZooKeeperClient(zookeeper.address) as owner, ZooKeeperClient(zookeeper.address) as other:
        owner.create("/ephemeral", ephemeral=True)
        session_id, password = owner.session_id, owner.session_password

        evidence = expire_session(
            zookeeper.address,
            session_id,
            password,
            watch_path="/ephemeral",
            deadline_s=DEADLINE_S,
        )

        assert other.exists("/ephemeral") is None
        assert evidence["session_id"] == session_id
        assert evidence["watch_path"] == "/ephemeral"
        gone_ms = evidence["ephemeral_gone_ms"]
        assert isinstance(gone_ms, float)
        assert gone_ms > 0
        all_of_it = [
            transaction
            for transaction in read_transactions(zookeeper.data_dir)
            if transaction.session_id == session_id
        ]
        end = all_of_it[-1].zxid
        assert evidence["zxid"] == end
        assert [(one.kind, one.path) for one in all_of_it if one.zxid == end] == [
            (TransactionKind.CLOSE_SESSION, None),
            (TransactionKind.DELETE, "/ephemeral"),
        ]


@pytest.mark.zookeeper
def test_the_path_is_below_the_chroot(zookeeper: ZooKeeperServer) -> None:
    address = f"{zookeeper.address}/chroot"
    check_external(address)
    with ZooKeeperClient(address) as owner:
        owner.create("/ephemeral", ephemeral=True)
        credentials = owner.session_id, owner.session_password

        expired = expire_session(
            address, *credentials, watch_path="/ephemeral", deadline_s=DEADLINE_S
        )
        assert expired["attempts"] == 1


@pytest.mark.zookeeper
def test_another_password_expires_nothing(zookeeper: ZooKeeperServer) -> None:
    with ZooKeeperClient(zookeeper.address) as owner:
        owner.create("/locked", ephemeral=True)
        with pytest.raises(SessionError, match="or the password is another's"):
            expire_session(zookeeper.address, owner.session_id, PASSWORD)

        # The attempt may have cost the owner its connection, which it opens again by itself.
        with ZooKeeperClient(zookeeper.address) as observer:
            assert observer.exists("/locked") is not None


@pytest.mark.zookeeper
def test_a_session_that_has_ended_cannot_be_expired(zookeeper: ZooKeeperServer) -> None:
    with ZooKeeperClient(zookeeper.address) as owner:
        credentials = owner.session_id, owner.session_password

    with pytest.raises(SessionError, match=f"does not know session {credentials[0]:#x}: it has"):
        expire_session(zookeeper.address, *credentials)


@pytest.mark.zookeeper
def test_a_znode_that_could_show_nothing_is_refused_before_anything_happens(
    zookeeper: ZooKeeperServer,
) -> None:
    with ZooKeeperClient(zookeeper.address) as owner:
        owner.create("/persistent")
        owner.create("/own", ephemeral=True)
        credentials = owner.session_id, owner.session_password

        with pytest.raises(SessionError, match="there is no znode /missing; its deletion"):
            expire_session(zookeeper.address, *credentials, watch_path="/missing")
        with pytest.raises(SessionError, match="znode /persistent belongs to session 0x0, not"):
            expire_session(zookeeper.address, *credentials, watch_path="/persistent")

        assert owner.exists("/own") is not None


@pytest.mark.zookeeper
def test_an_owner_that_fights_for_its_session_loses_it_all_the_same(
    zookeeper: ZooKeeperServer,
) -> None:
    where = _Place(ZooKeeperAddress.parse(zookeeper.address), None)
    with ZooKeeperClient(zookeeper.address) as owner:
        owner.create("/contested", ephemeral=True)
        credentials = owner.session_id, owner.session_password
        answers: list[int | None] = []
        fights, refused = threading.Event(), threading.Event()

        def reconnect_until_refused() -> None:
            deadline = time.monotonic() + 10
            while not refused.is_set():
                with closing(_Connection(where, deadline)) as connection:
                    answers.append(connection.open_session(*credentials))
                fights.set()
                if answers[-1] == 0:
                    refused.set()

        fighter = threading.Thread(target=reconnect_until_refused)
        fighter.start()
        assert fights.wait(10)
        expire_session(zookeeper.address, *credentials, watch_path="/contested", deadline_s=10)
        fighter.join(10)

    assert refused.is_set()
    assert answers[0] == credentials[0]


@contextmanager
def scripted_server(*connections: list[bytes]) -> Iterator[str]:
    """A server that answers each connection with the given frames and hangs up; its address."""
    with socket.create_server((HOST, 0)) as listener:

        def serve() -> None:
            for frames in connections:
                connection, _ = listener.accept()
                with connection:
                    _answer(connection, frames)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"{HOST}:{listener.getsockname()[1]}"
        thread.join(10)
    assert not thread.is_alive()


def _answer(connection: socket.socket, frames: list[bytes]) -> None:
    for frame in [*frames, None]:
        size = connection.recv(4, socket.MSG_WAITALL)
        connection.recv(struct.unpack(">i", size)[0] if size else 0, socket.MSG_WAITALL)
        if frame is not None:
            connection.sendall(struct.pack(">i", len(frame)) + frame)


def test_being_cut_off_before_the_close_is_tried_again() -> None:
    with scripted_server([], [GRANTED], [GRANTED, CLOSED], [REFUSED]) as address:
        evidence = expire_session(address, SESSION, PASSWORD)

    assert (evidence["attempts"], evidence["zxid"]) == (3, 77)


def test_being_cut_off_before_the_reply_counts_when_the_session_is_gone() -> None:
    with scripted_server([GRANTED], [REFUSED], [REFUSED]) as address:
        evidence = expire_session(address, SESSION, PASSWORD)

    assert (evidence["attempts"], evidence["zxid"]) == (2, None)


def test_being_cut_off_before_anything_was_sent_does_not_count() -> None:
    with (
        scripted_server([], [REFUSED]) as address,
        pytest.raises(SessionError, match="does not know session 0x1234"),
    ):
        expire_session(address, SESSION, PASSWORD)


def test_being_cut_off_while_the_end_is_shown_is_tried_again() -> None:
    with scripted_server([GRANTED, CLOSED], [], [], [REFUSED]) as address:
        assert expire_session(address, SESSION, PASSWORD)["zxid"] == 77


def test_a_session_that_is_granted_after_its_end_is_an_error() -> None:
    with (
        scripted_server([GRANTED, CLOSED], [GRANTED]) as address,
        pytest.raises(SessionError, match="grants session 0x1234 after its end"),
    ):
        expire_session(address, SESSION, PASSWORD)


def test_a_silent_server_is_an_error_at_the_deadline() -> None:
    with socket.create_server((HOST, 0)) as silent:
        address = f"{HOST}:{silent.getsockname()[1]}"
        with pytest.raises(SessionError, match=f"^{address} did not "):
            expire_session(address, SESSION, PASSWORD, deadline_s=0.1)


def test_a_server_that_speaks_another_protocol_is_an_error() -> None:
    with socket.create_server((HOST, 0)) as listener:
        address = f"{HOST}:{listener.getsockname()[1]}"
        thread = threading.Thread(target=_greet, args=(listener,))
        thread.start()
        with pytest.raises(SessionError, match="does not speak ZooKeeper's protocol"):
            expire_session(address, SESSION, PASSWORD)
        thread.join(10)


def _greet(listener: socket.socket) -> None:
    connection, _ = listener.accept()
    with connection:
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        connection.recv(1024)


def test_where_nobody_listens_is_an_error() -> None:
    with pytest.raises(SessionError, match=r"^127\.0\.0\.1:1 does not answer: "):
        expire_session(f"{HOST}:1", SESSION, PASSWORD)
