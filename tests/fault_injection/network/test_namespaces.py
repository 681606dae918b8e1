"""Networks of our own: why there may be none, and what a cut of the kernel does to them."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.fault_injection.network.namespaces import relay
from fencepost.fault_injection.network.namespaces.kernel import documents
from fencepost.fault_injection.network.namespaces.links import why_not
from fencepost.fault_injection.network.namespaces.switch import Switch
from fencepost.fault_injection.network.rules import LinkRule
from fencepost.fault_injection.network.service import CommandError
from fencepost.fault_injection.processes import launch
from fencepost.fault_injection.processes.launch import EXIT_NOT_STARTED
from fencepost.fault_injection.processes.supervisor import Supervisor

LINK = ("broker-1", "broker-2")
NETWORK = """
import json, sys, threading
from pathlib import Path

from fencepost.fault_injection.network.rules import LinkRule
from fencepost.fault_injection.network.namespaces.links import NamespaceLinks, enter_own_network
from fencepost.fault_injection.processes.supervisor import Supervisor

SENDER = (
    "import socket, sys; own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
    "[own.sendto(b'?' * int(sys.argv[1]), ('198.18.0.2', 9)) for _ in range(3)]"
)
enter_own_network()
links = [(a, b) for a in ("one", "two", "clients") for b in ("one", "two", "clients") if a != b]
with Supervisor(Path(sys.argv[1]), "networks") as supervisor:
    switch = NamespaceLinks.start(supervisor)
    nodes = {name: switch.node(name) for name in ("one", "two")}

    def passes():
        switch.start_probe("p", links)
        for _ in range(100):
            found = {one.link for one in switch.probed("p") if one.passed_ms is not None}
            if len(found) == len(links):
                break
            threading.Event().wait(0.002)
        return sorted(found)

    def send(name, size=1):
        argv = [sys.executable, "-S", "-c", SENDER, str(size)]
        process = supervisor.start("sender", argv, namespace=nodes["one"].namespace)
        assert process.wait(10) == 0

    told = {"all": passes()}
    switch.add([LinkRule(rule_id="r", links=frozenset({("one", "two")}), stalls=True)])
    told["cut"] = passes()
    send("one")
    (status,) = switch.status(["r"])
    told["dropped"] = [status.packets_dropped, status.bytes_dropped]
    (status,) = switch.remove(["r"])
    told["in the end"] = [status.packets_dropped, status.bytes_dropped]
    told["healed"] = passes()
    switch.add([LinkRule(rule_id="r", links=frozenset({("one", "two")}), stalls=True)])
    (status,) = switch.remove(["r"])
    told["another"] = status.packets_dropped
    slow = LinkRule(rule_id="late", links=frozenset({("one", "two")}), delay_ms=40, jitter_ms=5)
    switch.add([slow])
    told["late"] = passes()
    took = {one.link: one.passed_ms for one in switch.probed("p")}
    told["took"] = took[("one", "two")]
    send("one")
    (status,) = switch.status(["late"])
    told["came late"] = status.bytes_delayed
    switch.remove(["late"])
    switch.add([LinkRule(rule_id="narrow", links=frozenset({("one", "two")}), kb_per_s=1)])
    send("one")
    (status,) = switch.status(["narrow"])
    told["nothing waits yet"] = [status.packets_kept, status.bytes_delayed]
    send("one", 3000)
    told["narrow"] = passes()
    (status,) = switch.remove(["narrow"])
    told["had to wait"] = [status.packets_kept > 0, status.bytes_delayed, status.packets_dropped]
    switch.add([slow, LinkRule(rule_id="both", links=frozenset({("one", "two")}), kb_per_s=1)])
    send("one")
    told["both"] = [status.bytes_delayed for status in switch.remove(["both", "late"])]
    told["wide"] = passes()
    switch.close()
print(json.dumps(told))
"""
SENT, IP, UDP, ETHERNET = 3, 20, 8, 14
"""Datagrams of one byte, and what headers have."""
LATE = """
schema: 1
id: late
actions: [{id: late, kind: net.latency, target: 1, params: {delay_ms: 40}, for_ms: 500}]
"""
WAYS = [[a, b] for a in ("clients", "one", "two") for b in ("clients", "one", "two") if a != b]


def test_who_is_not_root_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    assert why_not() == "only root can make them"


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setenv("PATH", "")

    assert why_not() == "ip is not on the PATH; install iproute2"


def test_what_the_kernel_says_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = subprocess.CompletedProcess([], 1, "", "tc: no\nunshare: Operation not permitted\n")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr("shutil.which", lambda name: name)
    monkeypatch.setattr("subprocess.run", lambda *_given, **_more: refused)

    assert why_not() == "unshare: Operation not permitted"


def test_the_command_says_that_it_skips_and_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)

    code = run(["chaos", "--network", "namespaces", "--story", "links_cut"])

    assert code == 3
    assert "skipped: no network namespaces: only root can make them" in capsys.readouterr().err


def test_the_command_has_no_thread_that_would_stay_in_the_old_network() -> None:
    program = "import os, fencepost.ci.commands.chaos; print(len(os.listdir('/proc/self/task')))"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert int(done.stdout) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--story", "links_restless"],
            "links_restless takes the proxy: rpc.stream_reset: a packet filter",
        ),
        (["--zookeeper", "container"], "reaches only servers that are in it"),
        (["--moves", "moves.ndjson"], "leave out --target, --zookeeper and --network"),
        (["--resume", "soak"], "--resume continues a soak with its own settings"),
        (["--shrink", "none"], "none holds no story.executed.json"),
    ],
)
def test_what_namespaces_cannot_do_is_told_before_anything_starts(
    capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert run(["chaos", "--network", "namespaces", *words]) == 4
    assert told in capsys.readouterr().err


def test_another_network_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["chaos", "--network", "token-ring", "--story", "quiet"]) == 4
    assert "choose one of proxy, namespaces" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        (LinkRule(rule_id="r", links=frozenset({LINK}), drops=True), "resets nothing"),
        (
            LinkRule(rule_id="r", links=frozenset({LINK}), delay_ms=40),
            "/none cannot be opened: No ",
        ),
    ],
)
def test_a_switch_refuses_what_it_cannot_do(
    monkeypatch: pytest.MonkeyPatch, rule: LinkRule, told: str
) -> None:
    monkeypatch.setattr(relay, "TUN", "/none")

    with pytest.raises(CommandError, match=told):
        asyncio.run(Switch().add({"rules": [rule.to_json()]}))


def test_latency_is_refused_before_the_run_where_no_packet_can_be_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(relay, "TUN", "/none")
    schedule = tmp_path / "late.yaml"
    schedule.write_text(LATE)

    assert run(["chaos", "--network", "namespaces", "--story", str(schedule)]) == 4
    assert "late takes the proxy: /none cannot be opened: No such" in capsys.readouterr().err


def test_a_datagram_to_the_port_of_probes_is_known() -> None:
    header = bytes([0x45, *bytes(8), 17, *bytes(10)])

    assert relay.is_probe(bytes(14) + header + bytes([0, 9, 0, 7]))
    assert not relay.is_probe(bytes(14) + header + bytes([0, 7, 0, 9]))


def test_a_process_whose_network_is_gone_is_not_started(tmp_path: Path) -> None:
    with Supervisor(tmp_path, "gone") as supervisor:
        process = supervisor.start("lost", ["true"], namespace=tmp_path / "none")

        assert process.wait(10) == EXIT_NOT_STARTED
        assert "none cannot be entered: No such file or directory" in process.log_tail()


def test_the_network_is_entered_after_the_word_to_go(tmp_path: Path) -> None:
    """Before it the harness writes down the process, which must not have ended by itself."""
    go, silent = os.pipe()
    os.close(silent)
    launcher = [sys.executable, "-I", "-S", launch.__file__, launch.GO_OPTION, str(go)]

    done = subprocess.run(
        [*launcher, "--net", str(tmp_path / "none"), "--", "true"],
        capture_output=True,
        check=False,
        pass_fds=[go],
    )

    os.close(go)
    assert (done.returncode, done.stderr) == (EXIT_NOT_STARTED, b"")


def test_documents_are_read_one_after_the_other() -> None:
    assert documents('[{"a": 1}]\n[ ]\n\n[2]') == [[{"a": 1}], [], [2]]


def test_one_way_is_cut_late_and_narrow_and_counted_and_open_again(tmp_path: Path) -> None:
    if why := why_not():
        pytest.skip(f"no network namespaces: {why}")

    done = subprocess.run(
        [sys.executable, "-c", NETWORK, str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    told = json.loads(done.stdout)
    assert told["all"] == told["healed"] == WAYS
    assert told["cut"] == [way for way in WAYS if way != ["one", "two"]]
    assert told["dropped"] == told["in the end"] == [SENT, SENT * (IP + UDP + 1)]
    assert told["another"] == 0
    framed = SENT * (ETHERNET + IP + UDP + 1)
    assert told["late"] == told["narrow"] == told["wide"] == WAYS
    assert told["took"] >= 40
    assert told["came late"] == framed
    assert told["nothing waits yet"] == [0, 0]
    assert told["had to wait"] == [True, told["had to wait"][1], 0]
    assert told["had to wait"][1] > SENT * 3000
    assert told["both"] == [framed, framed]
