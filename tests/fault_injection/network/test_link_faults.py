"""Faults on the ways between processes: each is proved, healed, and seen to have no effect."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fencepost.fault_injection.engine.driver import FaultDriver
from fencepost.fault_injection.engine.process_world import ProcessWorld
from fencepost.fault_injection.engine.progress import FaultReport
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.network_faults import (
    BridgeBrokers,
    CutOneWay,
    DelayLink,
    FlapBroker,
    IsolateBroker,
    NarrowLink,
    PartitionBrokers,
    ResetStreams,
    RingOfMajorities,
    SwizzleBrokers,
)
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.network.proxy.links import ProxyLinks, ProxyWiring
from fencepost.fault_injection.network.rules import LinkRule
from fencepost.fault_injection.processes.ledger import Ledger
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.fault_injection.stories.story import Story, StoryAction
from fencepost.spec.trace import Phase
from tests.fault_injection.fakes import FakeProcess, FakeTarget

ONE, TWO = broker(1), broker(2)
CHATTY = """
import socket, sys, threading

def answer(peer):
    try:
        while data := peer.recv(4096):
            peer.sendall(data)
    except OSError:
        pass

def ask(port):
    while True:
        try:
            with socket.create_connection(("127.0.0.1", int(port)), 1) as other:
                while True:
                    other.sendall(b"x")
                    other.recv(1)
                    threading.Event().wait(0.01)
        except OSError:
            threading.Event().wait(0.01)

server = socket.create_server(("127.0.0.1", 0))
print("up", flush=True)
for port in sys.stdin.readline().split():
    threading.Thread(target=ask, args=(port,), daemon=True).start()
while True:
    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
"""
"""A process that listens, answers, and talks to all the others; it takes what it is sent."""


@dataclass
class WiredTarget(FakeTarget):
    """Three processes that talk through the proxy."""

    wired: ProxyWiring | None = field(default=None)

    @property
    def wiring(self) -> ProxyWiring:  # type: ignore[override]
        assert self.wired is not None
        return self.wired


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WiredTarget]:
    with ExitStack() as stack:
        supervisor = stack.enter_context(Supervisor(tmp_path_factory.mktemp("run"), "chatty"))
        wiring = ProxyWiring(
            links=ProxyLinks.start(supervisor), zookeeper="127.0.0.1:1", broker_ids=(1, 2, 3)
        )
        stack.callback(wiring.links.close)
        found = WiredTarget(wired=wiring)
        ports = {b: wiring.advertised_for(b).rpartition(":")[2] for b in wiring.broker_ids}
        started = {b: stack.enter_context(chatty()) for b in ports}
        for process in started.values():
            stack.callback(process.kill)
        for broker_id, process in started.items():
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdout.readline()
            wiring.started(broker_id, process.pid)
            found.processes[broker_id] = FakeProcess(pid=process.pid)
        for broker_id, process in started.items():
            assert process.stdin is not None
            others = [port for b, port in ports.items() if b != broker_id]
            process.stdin.write(" ".join(others).encode() + b"\n")
            process.stdin.flush()
        yield found


def chatty() -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", CHATTY], stdin=pipe, stdout=pipe, start_new_session=True
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.ndjson")


def run(target: WiredTarget, ledger: Ledger, fault: Fault) -> FaultReport:
    timed = StoryAction.at(action_id="fault", at_ms=0, fault=fault)
    world = ProcessWorld(target=target, ledger=ledger, on_phase=lambda _change: None)
    with FaultDriver(world) as driver:
        driver.run(Story(seed=1, actions=(timed,)))
    (report,) = driver.reports()
    return report


@pytest.mark.parametrize(
    ("fault", "evidence"),
    [
        (IsolateBroker(target=ONE, for_ms=50), "5 ways closed to probes, 4 of 4 others open"),
        (PartitionBrokers(side=(1,), for_ms=50), "4 ways closed to probes, 5 of 5 others"),
        (CutOneWay(sender=ONE, receiver=TWO, for_ms=50), "1 way closed to probes, 8 of 8"),
        (BridgeBrokers(target=TWO, for_ms=50), "2 ways closed to probes, 7 of 7 others open"),
        (RingOfMajorities(for_ms=50), "3 ways closed to probes, 6 of 6 others open"),
        (SwizzleBrokers(cut=(1, 2), back=(1, 2), gap_ms=80), r"cut off [2-9] times so far"),
        (FlapBroker(target=ONE, cut_ms=60, open_ms=60, for_ms=300), r"cut off [2-9] times so far"),
        (DelayLink(sender=ONE, receiver=TWO, delay_ms=40, for_ms=50), "came late; probes took"),
        (NarrowLink(sender=ONE, receiver=TWO, kb_per_s=1, for_ms=50), "bytes had to wait"),
        (ResetStreams(sender=ONE, receiver=TWO, every_ms=30, for_ms=50), "1 connection reset"),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else "",
)
def test_fault_on_a_way_is_proved_and_healed(
    target: WiredTarget, ledger: Ledger, fault: Fault, evidence: str
) -> None:
    report = run(target, ledger, fault)

    assert report.phase is Phase.HEALED
    assert report.evidence is not None
    assert re.search(evidence, report.evidence), report.evidence
    assert ledger.open_entries() == []


def test_bytes_that_pass_all_the_same_are_no_evidence(
    target: WiredTarget, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fencepost.fault_injection.engine.process_world.EVIDENCE_MS", 500)
    monkeypatch.setattr(LinkRule, "to_json", lambda self: {**_said(self), "stalls": False})

    report = run(target, ledger, IsolateBroker(target=ONE, for_ms=50))

    assert report.phase is Phase.INEFFECTIVE
    assert report.evidence is None


def _said(rule: LinkRule) -> dict[str, object]:
    return {"rule_id": rule.rule_id, "links": sorted(rule.links)}


def test_a_bridge_between_nobody_has_no_effect(target: WiredTarget, ledger: Ledger) -> None:
    two = WiredTarget(
        wired=ProxyWiring(links=target.wiring.links, zookeeper="127.0.0.1:1", broker_ids=(1, 2)),
        processes=target.processes,
    )

    report = run(two, ledger, BridgeBrokers(target=ONE, for_ms=50))

    assert report.phase is Phase.INEFFECTIVE
