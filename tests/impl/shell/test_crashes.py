"""A broker that dies at a named point of its work, as a process."""

import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from fencepost.fault_injection.faults.process_faults import CrashAt
from fencepost.fault_injection.faults.targets import FaultError, broker
from fencepost.impl.core.types.topic_messages import ReplicaList
from fencepost.impl.shell.crashes import CrashPoints
from fencepost.spec.vocabulary import BrokerId, CrashPoint
from fencepost.spec.wire import fault_control_pb2 as wire, fault_control_pb2_grpc
from tests.impl.shell.test_node import (
    DEADLINE_S,
    Registry,
    arguments,
    create,
    eventually,
    produce,
    registry,
    running,
    values,
)

__all__ = ["registry"]


def plan(address: str, point: str, nth: int = 1, *, holds: bool = False) -> None:
    with grpc.insecure_channel(address) as channel:
        stub = fault_control_pb2_grpc.FaultControlStub(channel)  # type: ignore[no-untyped-call]
        status = stub.SetCrashPoint(
            wire.CrashPoint(point=point, nth=nth, holds=holds), timeout=DEADLINE_S
        )
    assert status.error == ""


def state_of(process: subprocess.Popen[str]) -> str:
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def last_words(process: subprocess.Popen[str]) -> str:
    """What it said before it died by its own hand."""
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == -signal.SIGKILL
    return said


@pytest.mark.zookeeper
def test_a_process_dies_where_it_was_told_to(
    tmp_path: Path, chroot: str, registry: Registry
) -> None:
    options = arguments(tmp_path, chroot, "--fault-control")
    with running(*options) as first:
        address = eventually(registry.address)
        alone = (ReplicaList(replicas=(BrokerId(1),)),)
        create(address, "t", alone)
        assert produce(address, "a").base_offset == 0
        plan(address, "after_reply")
        assert produce(address, "b").base_offset == 1, "the answer has left"
        assert "broker-1: dies after_reply, as planned" in last_words(first)
    (log,) = (tmp_path / "data").glob("t-0/*.log")
    with running(*options) as second:
        moved = eventually(lambda: registry.address(other_than=address))
        assert values(moved) == ["a", "b"]
        size = log.stat().st_size
        plan(moved, "before_append", 2)
        assert produce(moved, "c").base_offset == 2
        with pytest.raises(grpc.RpcError):
            produce(moved, "d")
        assert "dies before_append" in last_words(second)
    assert log.stat().st_size < 2 * size, "the second append was never begun"


@pytest.mark.zookeeper
def test_a_process_stands_still_where_it_was_told_to_and_goes_on_there(
    tmp_path: Path, chroot: str, registry: Registry
) -> None:
    with running(*arguments(tmp_path, chroot, "--fault-control")) as process:
        address = eventually(registry.address)
        alone = (ReplicaList(replicas=(BrokerId(1),)),)
        create(address, "t", alone)
        plan(address, "before_append", holds=True)
        with ThreadPoolExecutor(max_workers=1) as pool:
            produced = pool.submit(produce, address, "a")
            eventually(lambda: state_of(process) == "T" or None)
            logs = (tmp_path / "data").glob("t-0/*.log")
            assert sum(log.stat().st_size for log in logs) == 0
            assert not produced.done()
            process.send_signal(signal.SIGCONT)
            assert produced.result(DEADLINE_S).base_offset == 0
        assert values(address) == ["a"]


@pytest.mark.parametrize("point", ["after_reply", "after_send", "after_write"])
def test_nothing_stands_still_where_its_words_have_not_left(point: CrashPoint) -> None:
    with pytest.raises(FaultError, match=f"so it cannot hold {point}; choose one of before_append"):
        CrashAt(target=broker(1), for_ms=1, point=point, action="hold")

    assert f"cannot stop {point}" in CrashPoints("broker-1").plan(point, 1, holds=True)
