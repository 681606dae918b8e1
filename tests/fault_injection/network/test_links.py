"""The proxy as a process: what each rule does to real connections, and what it leaves alone."""

import socket
import socketserver
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest

from fencepost.fault_injection.network.active_rules import ActiveLinkRules
from fencepost.fault_injection.network.proxy.frames import (
    Frames,
    harmless_instead_of,
    request_in,
    with_error,
    xid_of_reply,
    zxid_of_success,
)
from fencepost.fault_injection.network.proxy.links import ProxyLinks
from fencepost.fault_injection.network.rules import (
    CLIENTS,
    Link,
    LinkRule,
    LinkRuleStatus,
)
from fencepost.fault_injection.processes.supervisor import Supervisor
from tests.fault_injection.conftest import Eventually

ONE, TWO = "broker-1", "broker-2"
TO: Link = (ONE, TWO)
BACK: Link = (TWO, ONE)
BOTH = frozenset({TO, BACK})
PATIENCE_S = 5.0
TALKER = """
import socket, sys
sys.stdin.readline()
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as talker:
    talker.sendall(b"hello")
    print(talker.recv(5).decode(), flush=True)
    sys.stdin.read()
"""


class Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(data)


class EchoServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A reset is what the tests are about."""


@pytest.fixture
def echo() -> Iterator[str]:
    with EchoServer(("127.0.0.1", 0), Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxyLinks]:
    with Supervisor(tmp_path_factory.mktemp("x" * 90), "run-of-links") as supervisor:
        started = ProxyLinks.start(supervisor)
        yield started
        started.close()


@pytest.fixture
def place(links: ProxyLinks, echo: str) -> Iterator[str]:
    """Where broker 1 finds broker 2, which says back what it hears."""
    yield links.open_place("two", server=TWO, client=ONE, upstream=echo)
    links.remove(["r", "s"])


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), PATIENCE_S)


def says_back(own: socket.socket, data: bytes = b"hello") -> bool:
    own.sendall(data)
    heard = bytearray()
    while len(heard) < len(data):
        heard += own.recv(len(data) - len(heard)) or b"?"
    return bytes(heard) == data


def is_silent(own: socket.socket) -> bool:
    own.settimeout(0.05)
    try:
        return not own.recv(1)
    except TimeoutError:
        return True
    finally:
        own.settimeout(PATIENCE_S)


def was_reset(own: socket.socket) -> bool:
    try:
        return not own.recv(1) and False
    except ConnectionResetError:
        return True


def _status(links: ProxyLinks) -> LinkRuleStatus:
    (status,) = links.status(["r"])
    assert status is not None
    return status


def is_refused(place: str) -> bool:
    """True when whoever connects is reset, however early it notices."""
    try:
        with closing(connect(place)) as own:
            return was_reset(own)
    except ConnectionError:
        return True


def test_everything_passes_where_no_rule_is(place: str) -> None:
    with closing(connect(place)) as own:
        assert says_back(own, b"x" * 1_000_000)
        own.shutdown(socket.SHUT_WR)
        assert own.recv(1) == b""


def test_stalled_link_keeps_its_bytes_and_connections_until_it_is_healed(
    links: ProxyLinks, place: str
) -> None:
    with closing(connect(place)) as own:
        assert says_back(own)
        links.add([LinkRule(rule_id="r", links=frozenset({TO}), stalls=True)])
        own.sendall(b"later")
        assert is_silent(own)
        (status,) = links.status(["r"])
        (ended,) = links.remove(["r"])
        assert own.recv(5) == b"later"

    assert status is not None
    assert status.bytes_waiting == 5
    assert ended is not None
    assert ended.bytes_stalled == 5
    assert ended.has_blocked


def test_one_way_stall_lets_the_request_pass_and_keeps_the_answer(
    links: ProxyLinks, place: str, eventually: Eventually
) -> None:
    with closing(connect(place)) as own:
        assert says_back(own)
        links.add([LinkRule(rule_id="r", links=frozenset({BACK}), stalls=True)])
        own.sendall(b"heard")
        assert eventually(lambda: _status(links).bytes_waiting == 5)
        assert is_silent(own)
        links.remove(["r"])

        assert own.recv(5) == b"heard"


def test_connection_made_on_a_stalled_link_is_held_and_goes_on_afterwards(
    links: ProxyLinks, place: str
) -> None:
    links.add([LinkRule(rule_id="r", links=BOTH, stalls=True)])
    given_up, own = connect(place), connect(place)
    given_up.close()
    with closing(own):
        own.sendall(b"later")
        assert is_silent(own)
        (status,) = links.remove(["r"])
        assert own.recv(5) == b"later"

    assert status is not None
    assert status.connections_held == 2


def test_end_of_a_connection_waits_as_its_bytes_do(links: ProxyLinks, place: str) -> None:
    with closing(connect(place)) as own:
        assert says_back(own)
        links.add([LinkRule(rule_id="r", links=BOTH, stalls=True)])
        own.sendall(b"last")
        own.shutdown(socket.SHUT_WR)
        assert is_silent(own)
        links.remove(["r"])

        assert own.recv(4) == b"last"
        assert own.recv(1) == b""


def test_dropped_connections_are_reset_once(links: ProxyLinks, place: str) -> None:
    with closing(connect(place)) as old:
        assert says_back(old)
        links.add([LinkRule(rule_id="r", links=frozenset({TO}), drops=True)])
        assert was_reset(old)
        with closing(connect(place)) as new:
            assert says_back(new)
        (status,) = links.status(["r"])

    assert status is not None
    assert status.connections_reset == 1


def test_refused_link_resets_new_connections_and_leaves_old_ones(
    links: ProxyLinks, place: str
) -> None:
    with closing(connect(place)) as old:
        assert says_back(old)
        links.add([LinkRule(rule_id="r", links=frozenset({TO}), refuses=True)])
        assert is_refused(place)
        assert says_back(old)
        (status,) = links.status(["r"])

    assert status is not None
    assert status.connections_refused == 1


def test_delayed_link_is_late_in_one_direction_and_in_order(links: ProxyLinks, place: str) -> None:
    links.add([LinkRule(rule_id="r", links=frozenset({TO}), delay_ms=60, jitter_ms=30)])
    with closing(connect(place)) as own:
        started = monotonic()
        assert says_back(own, bytes(range(250)))
        took_s = monotonic() - started
        (status,) = links.remove(["r"])

    assert took_s >= 0.06
    assert status is not None
    assert status.bytes_delayed == 250


def test_narrow_link_takes_its_time(links: ProxyLinks, place: str) -> None:
    links.add([LinkRule(rule_id="r", links=frozenset({TO}), kb_per_s=100)])
    with closing(connect(place)) as own:
        started = monotonic()
        assert says_back(own, b"x" * 20_000)
        took_s = monotonic() - started

        own.sendall(b"y" * 200_000)
        links.remove(["r"])  # what is left comes at once
        left = 200_000
        while left:
            left -= len(own.recv(left))

    assert took_s >= 0.2


def test_windows_open_and_close_by_themselves(
    links: ProxyLinks, place: str, eventually: Eventually
) -> None:
    rule = LinkRule(rule_id="r", links=BOTH, stalls=True, windows=((0, 40), (80, 120)))
    with closing(connect(place)) as own:
        assert says_back(own)
        links.add([rule])
        assert says_back(own)
        assert eventually(lambda: _status(links).windows_begun == 2)
        assert says_back(own)


def test_rules_on_one_link_add_up() -> None:
    slow = LinkRule(rule_id="a", links=BOTH, delay_ms=5, kb_per_s=80)
    slower = LinkRule(rule_id="b", links=frozenset({TO}), delay_ms=7, kb_per_s=20)

    rules = ActiveLinkRules()
    for rule in (slow, slower):
        rules.add(rule)

    to, back = rules.treatment(TO), rules.treatment(BACK)
    assert (to.delay_ms, to.kb_per_s) == (12, 20)
    assert (back.delay_ms, back.kb_per_s) == (5, 80)
    assert rules.treatment((ONE, CLIENTS)).is_plain


def test_who_connects_is_told_by_its_process(
    links: ProxyLinks, echo: str, eventually: Eventually
) -> None:
    place = links.open_place("two", server=TWO, upstream=echo)
    links.add([LinkRule(rule_id="r", links=frozenset({TO}), stalls=True)])
    # The shell is the member, and what it starts connects.
    argv = ["sh", "-c", f"{sys.executable} -c '{TALKER}' {place.rpartition(':')[2]}; true"]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, start_new_session=True) as talker:
        assert talker.stdin is not None
        assert talker.stdout is not None
        links.set_member(ONE, talker.pid)
        talker.stdin.write(b"go\n")
        talker.stdin.flush()
        assert eventually(lambda: _status(links).connections_held == 1)
        with closing(connect(place)) as own:
            assert says_back(own)
        links.remove(["r"])
        heard = talker.stdout.readline()

    assert heard == b"hello\n"


def test_server_is_found_by_its_process_and_refuses_when_that_has_ended(
    links: ProxyLinks, eventually: Eventually
) -> None:
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); print('up', flush=True); "
        "c = s.accept()[0]; c.sendall(c.recv(5)); c.recv(1)"
    )
    place = links.open_place("three", server="broker-3")
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        server.stdout.readline()
        links.set_member("broker-3", server.pid)
        with closing(connect(place)) as own:
            assert says_back(own)
    assert eventually(lambda: is_refused(place))


@pytest.mark.usefixtures("place")
def test_probe_tells_open_links_from_blocked_ones(
    links: ProxyLinks, echo: str, eventually: Eventually
) -> None:
    links.open_place("one", server=ONE, client=TWO, upstream=echo)
    links.add([LinkRule(rule_id="r", links=frozenset({TO}), stalls=True)])
    links.start_probe("p", [TO, BACK])

    # The answer of broker 1 cannot pass, and it has reacted all the same.
    assert eventually(lambda: dict(_passed(links)) == {TO: False, BACK: True})
    links.end_probe("p")
    assert links.probed("p") == []


def _passed(links: ProxyLinks) -> list[tuple[Link, bool]]:
    return [(result.link, result.passed_ms is not None) for result in links.probed("p")]


def test_proxy_dies_with_its_run(tmp_path: Path) -> None:
    with Supervisor(tmp_path, "short") as supervisor:
        started = ProxyLinks.start(supervisor)
        pid = supervisor.processes["proxy"].pid
        started.close()

    assert not Path(f"/proc/{pid}").exists()


def frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def test_frames_are_cut_wherever_the_stream_was() -> None:
    stream = frame(b"first") + frame(b"") + frame(b"x" * 300)
    frames = Frames()

    found = [cut for at in range(len(stream)) for cut in frames.feed(stream[at : at + 1])]

    assert found == [frame(b"first"), frame(b""), frame(b"x" * 300)]


def test_four_letter_word_passes_as_it_is() -> None:
    frames = Frames()

    assert frames.feed(b"srvr") == [b"srvr"]
    assert frames.is_plain


def test_write_and_its_answer_are_known() -> None:
    path = struct.pack(">i", 2) + b"/a"
    write = request_in(frame(struct.pack(">ii", 7, 5) + path))
    multi = request_in(frame(struct.pack(">ii", 8, 14) + struct.pack(">i?i", 1, False, -1) + path))
    read = request_in(frame(struct.pack(">ii", 9, 4) + path + b"\0"))
    failed = struct.pack(">i?i", -1, False, -101)

    assert write is not None
    assert multi is not None
    assert read is not None
    assert (write.path, multi.path, read.path) == ("/a", "/a", "/a")
    assert (write.is_write, multi.is_write, read.is_write) == (True, True, False)
    assert zxid_of_success(frame(struct.pack(">iqi", 7, 99, 0)), write) == 99
    assert zxid_of_success(frame(struct.pack(">iqi", 7, 99, -103)), write) is None
    assert zxid_of_success(frame(struct.pack(">iqi", 8, 99, 0) + failed), multi) is None


@pytest.mark.parametrize("operation", [11, 100, 101, -11], ids=["ping", "auth", "watches", "close"])
def test_what_keeps_a_session_is_no_request(operation: int) -> None:
    assert request_in(frame(struct.pack(">ii", -2, operation))) is None


def test_request_that_fails_is_another_one_and_its_answer_an_error() -> None:
    write = request_in(frame(struct.pack(">ii", 7, 1) + struct.pack(">i", 2) + b"/a"))
    assert write is not None

    asked = request_in(harmless_instead_of(write))
    answer = with_error(frame(struct.pack(">iqi", 7, 99, 0) + bytes(68)), -100)

    assert asked is not None
    assert (asked.xid, asked.path, asked.is_write) == (7, "/", False)
    assert xid_of_reply(answer) == 7
    assert answer == frame(struct.pack(">iqi", 7, 99, -100))
