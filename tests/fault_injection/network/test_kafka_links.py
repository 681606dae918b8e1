"""The proxy before brokers of Kafka: probes in their protocol, and rules about single requests."""

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from fencepost.fault_injection.network.links import LinkError
from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.proxy.kafka_requests import KINDS
from fencepost.fault_injection.network.proxy.links import ProxyLinks
from fencepost.fault_injection.network.rules import LinkRule, LinkRuleStatus, RequestHandling
from fencepost.fault_injection.processes.supervisor import Supervisor
from tests.fault_injection.conftest import Eventually

ONE, TWO = "broker-1", "broker-2"
LINKS = frozenset({(ONE, TWO)})
FETCH, STOP_REPLICA = KINDS["Fetch"], KINDS["StopReplica"]
PATIENCE_S = 5.0


class Broker(socketserver.ThreadingTCPServer):
    """Answers each request with its number, and knows the numbers in the order of arrival."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Connection)
        self.obeyed: list[int] = []

    def handle_error(self, request: object, client_address: object) -> None:
        """A reset is what the tests are about."""


class Connection(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Broker)
        while head := self.request.recv(12, socket.MSG_WAITALL):
            size, _, _, number = struct.unpack(">ihhi", head)
            self.request.recv(size - 8, socket.MSG_WAITALL)
            self.server.obeyed.append(number)
            self.request.sendall(struct.pack(">ii", 4, number))


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxyLinks]:
    with Supervisor(tmp_path_factory.mktemp("run"), "kafka-links") as supervisor:
        started = ProxyLinks.start(supervisor)
        yield started
        started.close()


@pytest.fixture
def place(links: ProxyLinks, broker: Broker) -> Iterator[str]:
    """Where broker 1 finds broker 2."""
    yield open_place(links, broker, TWO)
    links.remove(["r"])


def open_place(links: ProxyLinks, broker: Broker, name: str) -> str:
    upstream = f"127.0.0.1:{broker.server_address[1]}"
    return links.open_place(
        name, server=name, client=ONE, upstream=upstream, protocol=WireProtocol.KAFKA
    )


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), PATIENCE_S)


def request(number: int, kind: int = FETCH, body: bytes = b"") -> bytes:
    return struct.pack(">ihhi", 8 + len(body), kind, 0, number) + body


def answered(own: socket.socket) -> int | None:
    """The number that the next answer has; None when the connection was reset."""
    try:
        answer = own.recv(8, socket.MSG_WAITALL)
    except ConnectionResetError:
        return None
    return int(struct.unpack(">ii", answer)[1]) if answer else None


def ask(address: str, *requests: bytes) -> list[int | None]:
    """The answers to requests that are sent at once on one connection."""
    with closing(connect(address)) as own:
        own.sendall(b"".join(requests))
        answers = [answered(own)]
        while answers[-1] is not None and len(answers) < len(requests):
            answers.append(answered(own))
        return answers


def hurt(links: ProxyLinks, verb: str, **more: str | int) -> None:
    handling = RequestHandling(verb=verb, **more)  # type: ignore[arg-type]
    links.add([LinkRule(rule_id="r", links=LINKS, requests=handling)])


def status(links: ProxyLinks) -> LinkRuleStatus:
    (found,) = links.status(["r"])
    assert found is not None
    return found


def test_a_probe_greets_a_broker_of_kafka(
    links: ProxyLinks, broker: Broker, eventually: Eventually
) -> None:
    for name in ("open", "closed"):
        open_place(links, broker, name)
    links.add([LinkRule(rule_id="r", links=frozenset({(ONE, "closed")}), stalls=True)])
    links.start_probe("p", [(ONE, "open"), (ONE, "closed")])

    passed = {"open": True, "closed": False}
    assert eventually(
        lambda: {r.link[1]: r.passed_ms is not None for r in links.probed("p")} == passed
    )
    links.end_probe("p")
    links.remove(["r"])


def test_a_lost_request_resets_its_connection_and_others_pass(
    links: ProxyLinks, place: str, broker: Broker
) -> None:
    hurt(links, "drop_request", method="StopReplica", count=1)

    assert ask(place, request(1)) == [1]
    assert ask(place, request(2, STOP_REPLICA)) == [None]
    assert ask(place, request(3, STOP_REPLICA)) == [3]
    assert broker.obeyed == [1, 3]
    assert (status(links).requests_matched, status(links).connections_reset) == (1, 1)


def test_of_a_lost_answer_the_request_was_obeyed(
    links: ProxyLinks, place: str, broker: Broker
) -> None:
    hurt(links, "drop_response", count=1)

    assert ask(place, request(7)) == [None]
    assert broker.obeyed == [7]
    assert status(links).answers_withheld == 1


def test_a_held_request_comes_after_its_rule(links: ProxyLinks, place: str, broker: Broker) -> None:
    hurt(links, "hold", count=1)

    assert ask(place, request(1)) == [None]
    assert ask(place, request(2)) == [2]
    assert status(links).requests_kept == 1
    (ended,) = links.remove(["r"])
    assert broker.obeyed == [2, 1]
    assert ended is not None
    assert (ended.requests_kept, ended.requests_released) == (0, 1)


def test_requests_overtake_each_other(
    links: ProxyLinks, place: str, broker: Broker, eventually: Eventually
) -> None:
    hurt(links, "reorder", count=2, window=2)

    assert [ask(place, request(number)) for number in (1, 2)] == [[None], [None]]
    assert eventually(lambda: broker.obeyed == [2, 1])
    assert eventually(lambda: status(links).requests_released == 2)


def test_a_late_request_makes_those_behind_it_late(
    links: ProxyLinks, place: str, broker: Broker
) -> None:
    hurt(links, "delay", method="StopReplica", delay_ms=50)

    assert ask(place, request(1), request(2, STOP_REPLICA), request(3)) == [1, 2, 3]
    assert broker.obeyed == [1, 2, 3]
    assert status(links).requests_matched == 1


def test_a_late_request_comes_though_its_sender_has_given_up(
    links: ProxyLinks, place: str, broker: Broker, eventually: Eventually
) -> None:
    hurt(links, "delay", delay_ms=50)
    with closing(connect(place)) as own:
        own.sendall(request(1))

    assert eventually(lambda: broker.obeyed == [1])


def test_a_repeated_request_is_answered_once(
    links: ProxyLinks, place: str, broker: Broker, eventually: Eventually
) -> None:
    hurt(links, "duplicate", count=1)

    assert ask(place, request(1), request(2)) == [1, 2]
    assert broker.obeyed == [1, 1, 2]
    assert eventually(lambda: status(links).answers_withheld == 1)


@pytest.mark.parametrize("body", [b"\0\4ledg\0\6ledger", b"\7ledger"])
def test_a_rule_about_a_topic_takes_requests_that_name_it(
    links: ProxyLinks, place: str, body: bytes
) -> None:
    hurt(links, "drop_request", topic="ledger")

    assert ask(place, request(1, body=b"\0\6orders")) == [1]
    assert ask(place, request(2, body=body)) == [None]


def test_what_cannot_be_done_to_a_request_is_refused(links: ProxyLinks) -> None:
    with pytest.raises(ValueError, match="explode cannot be done"):
        hurt(links, "explode")
    rule = LinkRule(rule_id="r", links=LINKS).to_json()
    with pytest.raises(LinkError, match="explode cannot be done"):
        links.command("add", rules=[{**rule, "requests": {"verb": "explode"}}])
