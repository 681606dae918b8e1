"""The kernel cuts the ways between network namespaces, on real processes: `pytest -m chaos`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.ci.bench.leftovers import kill_once, said_in
from fencepost.conformance.runs.run_folder import begun_in, read_folder
from fencepost.fault_injection.network.namespaces.layout import BRIDGE, DRAIN, HARNESS_DEVICE, SINK
from fencepost.fault_injection.network.namespaces.links import why_not
from fencepost.spec.trace import Phase

pytestmark = pytest.mark.chaos

NETWORK = ("--network", "namespaces")
PROCESSES = ("reaper", "switch", "zookeeper", "broker-1", "broker-2", "broker-3")
DEVICES = Path("/proc/self/net/dev")
SCHEDULE = """
schema: 1
id: namespaces
says: All ways in which a network falls apart or is slow, one after the other.
seed: 1
cluster: {zookeeper: ensemble}
floors: {before: 20, during: 0, after: 20}
actions:
  - {id: partition, kind: net.partition, params: {side: [1]}, for_ms: 500}
  - id: oneway
    kind: net.oneway
    target: 2
    params: {receiver: 3}
    for_ms: 500
    when: {after: {action: partition, phase: healed}}
  - id: isolate
    kind: net.isolate
    target: leader(orders/0)
    for_ms: 1000
    when: {after: {action: oneway, phase: healed}}
  - id: bridge
    kind: net.bridge
    target: 2
    for_ms: 500
    when: {after: {action: isolate, phase: healed}}
  - id: ring
    kind: net.majority_ring
    for_ms: 500
    when: {after: {action: bridge, phase: healed}}
  - id: swizzle
    kind: net.swizzle
    params: {cut: [1, 2], back: [2, 1], gap_ms: 400}
    when: {after: {action: ring, phase: healed}}
  - id: flap
    kind: net.flap
    target: 3
    params: {cut_ms: 300, open_ms: 300}
    for_ms: 1200
    when: {after: {action: swizzle, phase: healed}}
  - id: latency
    kind: net.latency
    target: leader(orders/0)
    params: {delay_ms: 50, jitter_ms: 20}
    for_ms: 500
    when: {after: {action: flap, phase: healed}}
  - id: bandwidth
    kind: net.bandwidth
    target: leader(orders/0)
    params: {kb_per_s: 2}
    for_ms: 1000
    when: {after: {action: latency, phase: healed}}
  - id: narrow
    kind: net.bandwidth
    target: 1
    params: {kb_per_s: 2}
    for_ms: 1000
    when: {after: {action: bandwidth, phase: healed}}
  - id: narrow_and_late
    kind: net.latency
    target: 1
    params: {delay_ms: 30}
    for_ms: 500
    when: {after: {action: narrow, phase: active}}
  - id: zookeeper
    kind: zk.cut
    target: controller
    for_ms: 1800
    when: {after: {action: narrow_and_late, phase: healed}}
  - id: answers
    kind: zk.link
    target: 1
    params: {direction: s2c}
    for_ms: 500
    when: {after: {action: zookeeper, phase: healed}}
  - id: late_answers
    kind: zk.delay
    target: controller
    params: {delay_ms: 100}
    for_ms: 500
    when: {after: {action: answers, phase: healed}}
  - id: server
    kind: zk.server
    params: {member: leader, deed: disconnect}
    for_ms: 2500
    when: {after: {action: late_answers, phase: healed}}
  - id: session
    kind: zk.expire
    target: 1
    params: {mode: server}
    when: {after: {action: server, phase: healed}}
"""
LATE = """
schema: 1
id: late
actions: [{id: late, kind: net.latency, target: 1, params: {delay_ms: 40}, for_ms: 500}]
"""
OWN_TEST = """
import pytest
from fencepost.fault_injection.faults.network_faults import DelayLink, ResetStreams
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.fault_injection.faults.targets import broker

def test_far(cluster, faults):
    late = DelayLink(sender=broker(1), delay_ms=40, for_ms=1)
    with faults.active(late) as evidence:
        assert "came late" in evidence.says
    with pytest.raises(ChoiceError, match="resets nothing"):
        with faults.active(ResetStreams(sender=broker(1), every_ms=10, for_ms=1)):
            pass

@pytest.mark.chaos(profile=["net", "zk"], budget=10)
def test_drawn(faults):
    faults.run()
"""
ROOT = Path(__file__).parents[2]
EVIDENCE = {
    "partition": "4 ways closed to probes, 8 of 8 others open",
    "oneway": "1 way closed to probes, 11 of 11 others open",
    "isolate": "6 ways closed to probes, 6 of 6 others open",
    "bridge": "2 ways closed to probes, 10 of 10 others open",
    "ring": "3 ways closed to probes, 9 of 9 others open",
    "swizzle": "cut off 2 times so far",
    "flap": "cut off 2 times so far",
    "zookeeper": "6 ways closed to probes, 12 of 12 others open",
    "answers": "3 ways closed to probes, 15 of 15 others open",
}
SLOW = {
    "latency": "bytes came late; probes took ",
    "bandwidth": "bytes had to wait; the kernel kept packets back ",
    "narrow": "bytes had to wait",
    "narrow_and_late": "bytes came late; probes took ",
    "late_answers": "bytes had to wait",
}


@pytest.fixture(autouse=True)
def _namespaces() -> None:
    if why := why_not():
        pytest.skip(f"no network namespaces: {why}")


def chaos(*options: str | Path) -> subprocess.CompletedProcess[str]:
    """What `fencepost chaos` did with these options."""
    command = [sys.executable, "-m", "fencepost.ci", "chaos", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def ours() -> set[str]:
    """Devices of the machine's own network that are named as those of a run."""
    devices = {line.partition(":")[0].strip() for line in DEVICES.read_text().splitlines()}
    named = {HARNESS_DEVICE, BRIDGE, SINK, DRAIN}
    return {device for device in devices if device in named or device.startswith("port-")}


def test_all_faults_of_the_network_are_seen_and_healed_and_nothing_is_left(tmp_path: Path) -> None:
    schedule, out = tmp_path / "namespaces.yaml", tmp_path / "out"
    schedule.write_text(SCHEDULE)

    done = chaos("--story", schedule, *NETWORK, "--json", "--out", out)

    told = json.loads(done.stdout)
    events = read_folder(out / "namespaces", "harness")[0]
    healed = {event.fault_id for event in events if event.phase is Phase.HEALED}
    active = {e.fault_id: e.detail or "" for e in events if e.phase is Phase.ACTIVE}
    assert (told["verdict"], done.returncode) == ("PASS", 0)
    assert healed == {*EVIDENCE, *SLOW, "server", "session"}
    assert "is cut off; server" in active["server"]
    for fault_id, evidence in EVIDENCE.items():
        assert evidence in active[fault_id]
        assert "the kernel dropped" in active[fault_id]
    for fault_id, evidence in SLOW.items():
        assert evidence in active[fault_id]
    assert ours() == set()


def test_a_run_is_replayed_in_the_network_that_it_had(tmp_path: Path) -> None:
    schedule = tmp_path / "late.yaml"
    schedule.write_text(LATE)

    played = chaos("--story", schedule, *NETWORK, "--out", tmp_path / "first")
    again = chaos("--replay", tmp_path / "first", "--out", tmp_path / "again")

    assert (played.returncode, again.returncode) == (0, 0)
    begun = begun_in(tmp_path / "again" / "late")
    assert begun["network"] == "namespaces"
    assert "--network namespaces" in str(begun["reproduce"])


def test_pytest_hurts_ways_between_namespaces(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(OWN_TEST)
    command = [sys.executable, "-m", "pytest", "-p", "fencepost.conformance.testing.plugin"]
    options = ["-p", "no:cacheprovider", "--fencepost-network", "namespaces"]

    done = subprocess.run(
        [*command, *options, "--rootdir", str(tmp_path), "test_own.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )

    assert "2 passed" in done.stdout, done.stdout
    assert ours() == set()


def test_killed_harness_leaves_no_network(tmp_path: Path) -> None:
    left = kill_once(1, tmp_path / "run", 1.0, *NETWORK, processes=len(PROCESSES))

    assert left.at_the_kill >= len(PROCESSES), said_in(tmp_path / "run").read_text()
    assert (left.processes, left.mounts) == ((), ())
    assert ours() == set()
