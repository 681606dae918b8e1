"""The broker as a process: how it starts, how it ends, what a kill costs."""

import gc
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import grpc
import pytest

from fencepost.fault_injection.zookeeper.client import NoZnodeError, ZooKeeperClient
from fencepost.impl.core.types import messages
from fencepost.impl.core.types.effects import Effect
from fencepost.impl.core.types.events import Event
from fencepost.impl.core.types.messages import (
    FetchRequest,
    FetchResponse,
    ProduceRequest,
    ProduceResponse,
    Request,
    Response,
)
from fencepost.impl.core.types.topic_messages import (
    CreateTopicRequest,
    CreateTopicResponse,
    ReplicaList,
)
from fencepost.impl.shell import node
from fencepost.impl.shell.options import NodeOptions, node_options, parse
from fencepost.impl.shell.rpc.codec import decode, encode
from fencepost.spec.trace import read_trace
from fencepost.spec.vocabulary import BrokerId, ErrorCode, Offset
from fencepost.spec.znodes import broker_path, parse_broker

ROOT = Path(__file__).resolve().parents[3]
DEADLINE_S = 60.0
FULL_BYTES = 300_000
NOWHERE = "127.0.0.1:1"
Found = TypeVar("Found")


def arguments(folder: Path, zookeeper: str, *more: str) -> list[str]:
    places = ["--data", str(folder / "data"), "--trace", str(folder / "trace")]
    return ["--broker-id", "1", "--zookeeper", zookeeper, "--run-id", "r", *places, *more]


def command(*options: str) -> list[str]:
    return [sys.executable, "-m", "fencepost.impl", "node", *options]


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*options), cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False
    )


@contextmanager
def running(*options: str) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(command(*options), cwd=ROOT, stderr=subprocess.PIPE, text=True)
    with process:
        try:
            yield process
        finally:
            process.kill()


def eventually(found: Callable[[], Found | None]) -> Found:
    """What `found` returns once it is something; looks again up to the deadline."""
    deadline = time.monotonic() + DEADLINE_S
    pause = threading.Event()
    while (result := found()) is None:
        assert time.monotonic() < deadline, "the deadline passed"
        pause.wait(0.01)
    return result


class Registry:
    """The registrations of brokers, as ZooKeeper has them."""

    def __init__(self, client: ZooKeeperClient, folder: str) -> None:
        self._client = client
        self._folder = folder

    def address(self, other_than: str | None = None, broker_id: int = 1) -> str | None:
        path = f"{self._folder}{broker_path(broker_id)}"
        try:
            znode = self._client.read(path)
        except NoZnodeError:
            return None
        document = parse_broker(path, znode.data)
        address = f"{document.host}:{document.port}"
        return address if address != other_than else None


@pytest.fixture
def registry(chroot: str) -> Iterator[Registry]:
    server, _, folder = chroot.partition("/")
    with ZooKeeperClient(server) as client:
        yield Registry(client, f"/{folder}")


def ask(address: str, request: Request) -> Response:
    method = type(request).__name__.removesuffix("Request")
    with grpc.insecure_channel(address) as channel:
        call = channel.unary_unary(f"/fencepost.Replication/{method}")
        data = call(encode(request), timeout=DEADLINE_S, wait_for_ready=True)
    response: Response = decode(getattr(messages, f"{method}Response"), data)
    return response


def produce(address: str, value: str, topic: str = "t", partition: int = 0) -> ProduceResponse:
    def attempt() -> ProduceResponse | None:
        request = ProduceRequest(topic=topic, partition=partition, values=(value,))
        response = ask(address, request)
        assert isinstance(response, ProduceResponse)
        return response if response.error_code is ErrorCode.NONE else None

    return eventually(attempt)


def create(address: str, topic: str = "t", assignment: tuple[ReplicaList, ...] = ()) -> None:
    """Ask until the broker is, or knows, the controller that creates the topic."""

    def attempt() -> bool | None:
        response = ask(address, CreateTopicRequest(topic=topic, assignment=assignment))
        assert isinstance(response, CreateTopicResponse)
        return response.error_code is ErrorCode.NONE or None

    eventually(attempt)


def values(address: str) -> list[str]:
    def attempt() -> list[str] | None:
        request = FetchRequest(topic="t", partition=0, fetch_offset=Offset(0))
        response = ask(address, request)
        assert isinstance(response, FetchResponse)
        found = [record.value for record in response.records]
        return found if response.error_code is ErrorCode.NONE and found else None

    return eventually(attempt)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--broker-id", "x"], "argument --broker-id: 'x' is no number from 0 to 2147483647"),
        (["--zookeeper", "x"], "argument --zookeeper: 'x' is no ZooKeeper address"),
        (["--port", "70000"], "argument --port: '70000' is no number from 0 to 65535"),
        (["--level", "9"], "argument --level: '9' is no number from 0 to"),
        (["--flush-records", "often"], "argument --flush-records: 'often' is no number from 0 to"),
        (["--recover-from", "1"], "--recover-from is only for a broker with --paced"),
        (["--own-pace"], "--own-pace is only for a broker with --paced"),
        (["--mutant", "no_step_down"], "--mutant is only for a broker with --fault-control"),
        (["--session-timeout-ms", "0"], "argument --session-timeout-ms: '0' is no number from 1"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else None,
)
def test_a_wrong_argument_is_one_sentence_and_exit_code_4(
    tmp_path: Path, options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse(["node", *arguments(tmp_path, NOWHERE), *options])

    assert caught.value.code == 4
    told = capsys.readouterr().err
    assert complaint in told
    assert told.count("\n") == 1


def test_a_port_in_use_ends_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run(*arguments(tmp_path, NOWHERE, "--port", str(port)))

    assert result.returncode == 3
    assert result.stderr == (
        f"broker-1 stopped: cannot listen on 127.0.0.1:{port}: "
        "it is in use, or not an address of this machine\n"
    )


def test_a_zookeeper_that_does_not_answer_ends_the_start(tmp_path: Path) -> None:
    result = run(*arguments(tmp_path, NOWHERE, "--start-timeout-ms", "200"))

    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr == (
        "broker-1 stopped: ZooKeeper at 127.0.0.1:1 gave no session within 200 ms; "
        "is it running there?\n"
    )


@pytest.mark.parametrize("place", ["data", "trace"])
def test_a_folder_that_cannot_be_written_ends_the_start(tmp_path: Path, place: str) -> None:
    (tmp_path / place).write_text("in the way")

    result = run(*arguments(tmp_path, NOWHERE))

    assert result.returncode == 3
    expected = f"broker-1 stopped: cannot write to the {place} folder {tmp_path / place}: "
    assert result.stderr == f"{expected}File exists\n"


class BrokenNode:
    """A core that finds one of its invariants broken at the first event."""

    def __init__(self, config: object, recovered: object) -> None:
        del config, recovered

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        raise AssertionError(f"cannot happen: {type(event).__name__}, {now_ms > 0}")


@pytest.mark.zookeeper
def test_a_broken_invariant_stops_the_node_with_one_line(
    tmp_path: Path,
    chroot: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(node, "Node", BrokenNode)

    code = node.run(node_options(parse(["node", *arguments(tmp_path, chroot)])))

    told = capsys.readouterr().err
    assert code == 3
    assert told.startswith("broker-1 stopped: AssertionError at ")
    assert told.endswith(": cannot happen: SessionEstablished, True\n")
    assert told.count("\n") == 1


def test_a_broker_that_breaks_a_rule_on_purpose_says_so(tmp_path: Path) -> None:
    options = ["--fault-control", "--mutant", "no_step_down", "--start-timeout-ms", "100"]
    ended = run(*arguments(tmp_path, NOWHERE, *options))

    told = read_trace(tmp_path / "trace" / "trace-broker-1-1.ndjson").events
    awake = [event.detail for event in told if event.action == "MutantAwake"]
    assert "MUTANT no_step_down: this broker breaks a rule on purpose" in ended.stderr
    assert awake == ["no_step_down"]


@pytest.mark.zookeeper
def test_a_broker_serves_and_leaves_at_once_when_told_to(
    tmp_path: Path, chroot: str, registry: Registry
) -> None:
    with running(*arguments(tmp_path, chroot)) as process:
        address = eventually(registry.address)
        create(address)
        assert produce(address, "x").base_offset == 0
        assert values(address) == ["x"]

        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
        assert registry.address() is None
        assert process.stderr is not None
        assert process.stderr.read() == ""

    trace = read_trace(tmp_path / "trace" / "trace-broker-1-1.ndjson")
    assert (trace.torn_lines, trace.foreign_lines) == (0, [])
    assert [event.seq for event in trace.events] == list(range(len(trace.events)))
    expected = ["NodeStarted", "RegisterBroker", "ElectController", "BecomeLeader", "LeaderAppend"]
    assert [event.action for event in trace.events if event.action in expected] == expected


@pytest.mark.zookeeper
def test_a_kill_loses_no_record_and_no_line(
    tmp_path: Path, chroot: str, registry: Registry
) -> None:
    options = arguments(tmp_path, chroot, "--session-timeout-ms", "600")
    stored = [f"value {n}" for n in range(20)]
    with running(*options) as process:
        address = eventually(registry.address)
        create(address)
        for value in stored:
            produce(address, value)
        process.kill()
        process.wait(DEADLINE_S)
    with running(*options):
        again = eventually(lambda: registry.address(other_than=address))
        assert values(again) == stored

    first, second = (
        read_trace(tmp_path / "trace" / f"trace-broker-1-{n}.ndjson").events for n in (1, 2)
    )
    assert [value for event in first for value in event.values or ()] == stored
    assert {event.incarnation for event in second} == {2}
    (recovered,) = [event for event in second if event.action == "LogRecovered"]
    assert (recovered.topic, recovered.partition, recovered.log_end_offset) == ("t", 0, 20)


@pytest.mark.zookeeper
def test_two_processes_do_not_share_a_data_folder(
    tmp_path: Path, chroot: str, registry: Registry
) -> None:
    with running(*arguments(tmp_path, chroot)):
        eventually(registry.address)
        result = run(*arguments(tmp_path, chroot))

    assert result.returncode == 3
    assert "is in use by another process" in result.stderr


@pytest.mark.zookeeper
def test_a_damaged_record_takes_its_partition_offline_alone(
    tmp_path: Path, chroot: str, registry: Registry
) -> None:
    with running(*arguments(tmp_path, chroot)) as process:
        address = eventually(registry.address)
        create(address)
        create(address, "u")
        produce(address, "x")
        produce(address, "y", topic="u")
        os.truncate(tmp_path / "data" / "t-0" / f"{0:020}.log", 3)

        assert fetch_error(address) is ErrorCode.STORAGE_ERROR
        refused = ask(address, ProduceRequest(topic="t", partition=0, values=("z",)))
        assert isinstance(refused, ProduceResponse)
        assert refused.error_code is ErrorCode.STORAGE_ERROR
        assert produce(address, "z", topic="u").base_offset == 1

        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE_S) == 0
        assert process.stderr is not None
        (told,) = process.stderr.read().splitlines()
        assert told.startswith("broker-1: t/0 is offline until the next start: ")
        assert told.endswith("the record at offset 0 is damaged")


def fetch_error(address: str) -> ErrorCode:
    response = ask(address, FetchRequest(topic="t", partition=0, fetch_offset=Offset(0)))
    assert isinstance(response, FetchResponse)
    return response.error_code


@pytest.mark.zookeeper
def test_a_log_that_is_damaged_at_the_start_is_offline_alone(
    tmp_path: Path, chroot: str, registry: Registry
) -> None:
    options = arguments(tmp_path, chroot, "--session-timeout-ms", "600")
    with running(*options) as process:
        address = eventually(registry.address)
        for topic in ("t", "u"):
            create(address, topic)
            produce(address, "x", topic=topic)
        process.send_signal(signal.SIGTERM)
        process.wait(DEADLINE_S)
    os.truncate(tmp_path / "data" / "t-0" / f"{0:020}.log", 3)
    with running(*options):
        again = eventually(lambda: registry.address(other_than=address))
        assert produce(again, "y", topic="u").base_offset == 1
        assert fetch_error(again) is ErrorCode.STORAGE_ERROR

    second = read_trace(tmp_path / "trace" / "trace-broker-1-2.ndjson").events
    (failed,) = [event for event in second if event.action == "LogFailed"]
    assert (failed.topic, failed.partition) == ("t", 0)


@pytest.mark.zookeeper
def test_when_the_disk_of_a_leader_is_full_another_broker_leads(
    tmp_path: Path, chroot: str, registry: Registry
) -> None:
    """A limit on the size of files stands for the full disk: writes fail, the rest works."""
    lists = tuple(ReplicaList(replicas=(BrokerId(1), BrokerId(2))) for _ in range(2))
    with (
        running(*arguments(tmp_path / "1", chroot)) as full,
        running(*arguments(tmp_path / "2", chroot, "--broker-id", "2")),
    ):
        first = eventually(registry.address)
        second = eventually(lambda: registry.address(broker_id=2))
        create(first, "t", lists)
        produce(first, "x")
        resource.prlimit(full.pid, resource.RLIMIT_FSIZE, (FULL_BYTES, FULL_BYTES))

        request = ProduceRequest(topic="t", partition=0, values=("x" * FULL_BYTES,))
        response = ask(first, request)

        assert isinstance(response, ProduceResponse)
        assert response.error_code is ErrorCode.NOT_LEADER_AFTER_APPEND
        assert produce(second, "y").base_offset == 1
        assert values(second) == ["x", "y"]
        assert produce(first, "z", partition=1).base_offset == 0
        full.kill()
        assert full.stderr is not None
        assert f"t/0 is offline until the next start: cannot write {tmp_path}" in full.stderr.read()


class Looking(node.NodeProcess):
    """Ends with what the broker would run under."""

    def __init__(self, _: NodeOptions) -> None:
        pass

    async def run(self) -> str | None:
        return f"turns of {sys.getswitchinterval():.4f} s"


def test_the_thread_that_talks_to_zookeeper_waits_for_no_long_turn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usual, thresholds = sys.getswitchinterval(), gc.get_threshold()
    options = node_options(parse(["node", *arguments(tmp_path, NOWHERE)]))
    sys.setswitchinterval(10 * node.SWITCH_S)
    try:
        assert node.run(options, Looking) == node.EXIT_STOPPED
    finally:
        sys.setswitchinterval(usual)
        gc.set_threshold(*thresholds)

    assert capsys.readouterr().err == f"broker-1 stopped: turns of {node.SWITCH_S:.4f} s\n"
