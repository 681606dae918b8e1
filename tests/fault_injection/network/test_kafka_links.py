"""The proxy before brokers of Kafka: probes in their protocol, and rules about single requests."""

from collections.abc import Iterator

import pytest

from fencepost.fault_injection.network.protocols import WireProtocol
from fencepost.fault_injection.network.proxy.links import ProxyLinks
from fencepost.fault_injection.network.rules import LinkRule
from fencepost.fault_injection.processes.supervisor import Supervisor
from tests.conformance.adapters.kafka.fake_broker import fake_broker
from tests.fault_injection.conftest import Eventually

ONE, TWO = "broker-1", "broker-2"


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxyLinks]:
    with Supervisor(tmp_path_factory.mktemp("run"), "kafka-links") as supervisor:
        started = ProxyLinks.start(supervisor)
        yield started
        started.close()


def test_a_probe_greets_a_broker_of_kafka(links: ProxyLinks, eventually: Eventually) -> None:
    with fake_broker({}) as upstream:
        for name, client in (("open", ONE), ("closed", TWO)):
            links.open_place(
                name, server=name, client=client, upstream=upstream, protocol=WireProtocol.KAFKA
            )
        links.add([LinkRule(rule_id="r", links=frozenset({(TWO, "closed")}), stalls=True)])
        links.start_probe("p", [(ONE, "open"), (TWO, "closed")])

        assert eventually(
            lambda: [r.passed_ms is not None for r in links.probed("p")] == [True, False]
        )
        links.end_probe("p")
        links.remove(["r"])
