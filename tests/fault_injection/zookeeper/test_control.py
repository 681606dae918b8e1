"""What a server of our own is made to do: to end a session by itself, and to fail requests."""

import socket
import struct
from collections.abc import Iterator
from contextlib import closing

import pytest

from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.proxy.frames import EXISTS, Frames
from fencepost.fault_injection.network.proxy.links import ProxyLinks
from fencepost.fault_injection.network.rules import LinkRule
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.zookeeper.client import ZooKeeperClient
from fencepost.fault_injection.zookeeper.control import ControlledServer
from fencepost.fault_injection.zookeeper.server import PortInUseError
from fencepost.fault_injection.zookeeper.sessions import SessionError
from fencepost.fault_injection.zookeeper.transaction_log import TransactionKind, read_transactions

pytestmark = pytest.mark.zookeeper

PATIENCE_S = 5.0


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlledServer]:
    directory = tmp_path_factory.mktemp("zookeeper")
    with Supervisor(directory, "run-of-control") as supervisor:
        server = ControlledServer(supervisor, directory / "zookeeper")
        server.start()
        yield server


def test_a_session_that_the_server_ends_takes_its_ephemeral_znodes_with_it(
    controlled: ControlledServer,
) -> None:
    with ZooKeeperClient(controlled.address) as owner, ZooKeeperClient(controlled.address) as other:
        owner.create("/ephemeral", ephemeral=True)
        session_id = owner.session_id

        controlled.end_session(session_id)

        assert other.exists("/ephemeral") is None
        ends = [
            one
            for one in read_transactions(controlled.data_dir)
            if one.session_id == session_id
            and one.kind in (TransactionKind.CLOSE_SESSION, TransactionKind.DELETE)
        ]
        assert [(one.kind, one.path) for one in ends] == [
            (TransactionKind.CLOSE_SESSION, None),
            (TransactionKind.DELETE, "/ephemeral"),
        ]
        assert owner.exists("/ephemeral") is None
        assert owner.session_id != session_id


def test_a_session_that_has_ended_cannot_be_ended(controlled: ControlledServer) -> None:
    with ZooKeeperClient(controlled.address) as owner:
        session_id = owner.session_id

    with pytest.raises(SessionError, match=f"session {session_id:#x}: it knows no such session"):
        controlled.end_session(session_id)


def test_a_port_that_is_taken_is_told_by_a_controlled_server_too(
    controlled: ControlledServer, supervisor: Supervisor
) -> None:
    _, port = controlled.endpoint
    other = ControlledServer(supervisor, supervisor.directory / "x", port=port)

    with pytest.raises(PortInUseError):
        other.start()


def test_a_server_that_does_not_run_takes_no_command(supervisor: Supervisor) -> None:
    server = ControlledServer(supervisor, supervisor.directory / "never")

    with pytest.raises(SessionError, match="ZooKeeper takes no command to end a session: "):
        server.end_session(1)


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def connected(place: str) -> socket.socket:
    host, _, port = place.rpartition(":")
    return socket.create_connection((host, int(port)), PATIENCE_S)


def asked(xid: int, operation: int, path: bytes) -> bytes:
    """Of `exists` the watch is 0, of `setData` the data is empty and any version is right."""
    rest = b"\0" if operation == EXISTS else struct.pack(">ii", 0, -1)
    return frame(struct.pack(">iii", xid, operation, len(path)) + path + rest)


def test_requests_fail_in_their_turn_and_are_not_done(
    supervisor: Supervisor, controlled: ControlledServer
) -> None:
    links = ProxyLinks.start(supervisor)
    place = links.open_place(
        "keeper",
        server="keeper",
        client="one",
        upstream=controlled.address,
        protocol=WireProtocol.ZOOKEEPER,
    )
    rule = LinkRule(
        rule_id="r",
        links=frozenset({("one", "keeper")}),
        requests_to_fail=2,
        fails_only_writes=True,
        error_code=-100,
    )
    hello = frame(struct.pack(">iqiqi", 0, 0, 10_000, 0, 16) + bytes(16) + b"\0")
    with ZooKeeperClient(controlled.address) as client, closing(connected(place)) as own:
        client.create("/z")
        links.add([rule])
        sent = [asked(xid, kind, b"/z") for xid, kind in enumerate((3, 5, 3, 5, 5), start=1)]
        own.sendall(hello + b"".join(sent))
        stream, frames, answers = own.makefile("rb", buffering=0), Frames(), list[bytes]()
        while len(answers) < 1 + len(sent):
            answers += frames.feed(stream.read(4096))
        told = [struct.unpack_from(">iqi", answer, 4) for answer in answers[1:]]

        assert [(xid, error) for xid, _, error in told] == [
            (1, 0),
            (2, -100),
            (3, 0),
            (4, -100),
            (5, 0),
        ]
        (status,) = links.status(["r"])
        assert client.read("/z").znode_version == 1
        assert status is not None
        assert status.failed_requests == ["/z", "/z"]
    links.close()
