"""The ends of a broker at which faults pull: each call, and what it does to clock and disk."""

import asyncio
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from grpc import aio

from fencepost.impl.shell.clock import NodeClock
from fencepost.impl.shell.crashes import CrashPoints
from fencepost.impl.shell.fault_control import FaultControl
from fencepost.impl.shell.rpc.rpc_faults import FaultRules
from fencepost.impl.shell.rpc.service import RpcServer
from fencepost.impl.shell.storage.files import File, StorageError
from fencepost.impl.shell.storage.log_store import FlushPolicy, LogOptions
from fencepost.impl.shell.storage.storage import Storage
from fencepost.impl.shell.storage.watched_files import WatchedFiles, read_synced
from fencepost.spec.trace import LamportClock
from fencepost.spec.vocabulary import BrokerId, Offset, SessionId
from fencepost.spec.wire import fault_control_pb2 as wire
from fencepost.spec.znodes import TopicPartition
from tests.impl.shell.log_folders import records

KEY = TopicPartition("t", 0)
OTHER = TopicPartition("u", 0)
FIRST = "t-0/00000000000000000000.log"
HOUR_MS = 3_600_000


class Bench:
    """A broker's storage with its fault control; no network."""

    def __init__(self, folder: Path, options: LogOptions | None = None) -> None:
        self.folder = folder
        self.disk = WatchedFiles(folder)
        self.storage = Storage(folder, options, self.disk)
        self.clock = NodeClock()
        self.forgotten: list[int] = []
        self.control = FaultControl(
            rules=FaultRules(),
            identity=lambda: (SessionId(2**62), b"pass"),
            forget_session=lambda: self.forgotten.append(2**62),
            crashes=CrashPoints("broker-1"),
            disk=self.disk,
            failed_logs=lambda: self.storage.failed,
            clock=self.clock,
        )

    def append(self, offset: int, *values: str, key: TopicPartition = KEY) -> None:
        self.storage.append(key, Offset(offset), records(*values))

    def hurt(self, verb: str, delay_ms: int = 0) -> wire.DiskStatus:
        fault = wire.DiskFault(verb=verb, delay_ms=delay_ms)
        return asyncio.run(self.control.set_disk_fault(fault))

    def set_clock(self, fault: wire.ClockFault) -> wire.ClockStatus:
        return asyncio.run(self.control.set_clock(fault))

    @property
    def synced(self) -> dict[str, int]:
        return read_synced(self.folder / ".fault-control" / "synced")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.storage.close()


def test_every_call_is_served_and_no_other(bench: Bench) -> None:
    service = wire.DESCRIPTOR.services_by_name["FaultControl"]

    assert set(bench.control.methods()) == set(service.methods_by_name)
    for name, (_, request) in bench.control.methods().items():
        assert request.DESCRIPTOR is service.methods_by_name[name].input_type


def test_the_harness_reaches_all_of_it_over_the_wire(bench: Bench) -> None:
    async def ask_all() -> None:
        server = RpcServer(BrokerId(1), "broker-1", LamportClock(), lambda _: None)
        server.offer_fault_control(bench.control)
        port = server.bind("127.0.0.1", 0)
        await server.start()
        async with aio.insecure_channel(f"127.0.0.1:{port}") as channel:

            async def ask(method: str, message: object, answer: type) -> object:
                call = channel.unary_unary(
                    f"/fencepost.FaultControl/{method}",
                    request_serializer=lambda request: request.SerializeToString(),
                    response_deserializer=getattr(answer, "FromString"),  # noqa: B009  # generated
                )
                return await call(message)

            rule = wire.RpcRule(rule_id="r", to=-1, verb="hold")
            added = await ask("AddRule", rule, wire.RuleStatus)
            removed = await ask("RemoveRule", wire.RuleName(rule_id="r"), wire.RuleStatus)
            session = await ask("GetSession", wire.SessionRequest(), wire.Session)
            crash = await ask("SetCrashPoint", wire.CrashPoint(), wire.CrashPointStatus)
        await server.stop()

        assert added == removed == wire.RuleStatus(rule_id="r")
        assert session == wire.Session(session_id=2**62, password=b"pass")
        assert crash == wire.CrashPointStatus()

    asyncio.run(ask_all())


def test_a_clock_jumps_and_drifts_and_never_goes_back(bench: Bench) -> None:
    before = asyncio.run(bench.control.get_clock(wire.ClockRequest()))
    ahead = bench.set_clock(wire.ClockFault(jump_ms=HOUR_MS))
    back = bench.set_clock(wire.ClockFault(jump_ms=-1))
    stands = [bench.set_clock(wire.ClockFault(rate=0)).now_ms for _ in range(2)]
    runs = bench.set_clock(wire.ClockFault(rate=1000))

    assert ahead.now_ms - ahead.true_ms >= HOUR_MS + before.now_ms - before.true_ms - 1
    assert back.error == "jump_ms is -1; a clock never goes back"
    assert stands[0] == stands[1] <= runs.now_ms
    assert bench.set_clock(wire.ClockFault(rate=-5)).error.startswith("rate is -5; give 0 to")


def test_a_full_disk_refuses_what_grows_and_lets_read(bench: Bench) -> None:
    bench.append(0, "a")
    bench.hurt("full")
    with pytest.raises(StorageError, match=r"cannot write .*\.log: No space left on device"):
        bench.append(1, "b")

    assert bench.storage.start(KEY).read(Offset(0), Offset(1)) == records("a")
    assert bench.hurt("").matched == 1
    bench.append(1, "b")


def test_a_broken_disk_refuses_all(bench: Bench) -> None:
    bench.append(0, "a")
    bench.hurt("broken")
    log = bench.storage.start(KEY)
    for use in (
        lambda: bench.append(1, "b"),
        lambda: log.read(Offset(0), Offset(1)),
        lambda: log.truncate(Offset(0)),
        log.flush,
    ):
        with pytest.raises(StorageError, match="Input/output error"):
            use()
    bench.storage.fail(KEY, StorageError("gone"))
    status = bench.hurt("")

    assert status.matched == 4
    assert [(one.topic, one.partition, one.reason) for one in status.failed_logs] == [
        ("t", 0, "gone")
    ]


def test_a_slow_disk_does_all_and_is_counted(bench: Bench) -> None:
    bench.hurt("slow", 1)
    bench.append(0, "a")
    bench.storage.start(KEY).flush()

    assert bench.storage.start(KEY).read(Offset(0), Offset(1)) == records("a")
    assert bench.hurt("").matched == 2


@pytest.mark.parametrize(("verb", "delay_ms"), [("melted", 0), ("slow", 0), ("full", -1)])
def test_a_disk_fault_that_cannot_be_is_refused(bench: Bench, verb: str, delay_ms: int) -> None:
    assert bench.hurt(verb, delay_ms).error
    bench.append(0, "a")


def test_the_record_says_what_survives_a_loss_of_power(tmp_path: Path) -> None:
    bench = Bench(tmp_path, LogOptions(flush=FlushPolicy(records=2)))
    bench.append(0, "a")
    begun = bench.synced
    bench.append(1, "b")
    flushed = bench.synced
    size = (tmp_path / FIRST).stat().st_size
    bench.append(2, "c")
    unflushed = bench.synced
    bench.storage.start(KEY).truncate(Offset(1))

    assert begun == {FIRST: 0}
    assert flushed == unflushed == {FIRST: size}
    assert bench.synced[FIRST] == (tmp_path / FIRST).stat().st_size < size
    bench.storage.close()


def test_the_record_outlives_the_process(tmp_path: Path) -> None:
    first = Bench(tmp_path)
    first.append(0, "a")
    first.disk.close_all()  # killed, not closed
    os.close(first.storage._lock)
    second = Bench(tmp_path)
    second.storage.recover()
    second.append(1, "b")

    assert second.synced == {FIRST: 0}
    second.storage.close()
    assert second.synced[FIRST] == (tmp_path / FIRST).stat().st_size


@contextmanager
def files_limited_to(size: int) -> Iterator[None]:
    """The kernel takes a part of what goes beyond, then nothing, as from a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("room", [0, 3])
def test_a_record_that_the_disk_does_not_take_is_one_sentence(tmp_path: Path, room: int) -> None:
    files, path = WatchedFiles(tmp_path), tmp_path / ".fault-control" / "synced"
    first, second = (File(tmp_path / f"{number}.log") for number in (1, 2))
    files.write(first, b"x", 0)
    before = path.read_bytes()

    sentence = rf"^cannot write {path}, which faults on disks need: [^\n]+$"
    with files_limited_to(len(before) + room), pytest.raises(StorageError, match=sentence):
        files.write(second, b"x", 0)

    assert path.read_bytes() == before
    files.write(second, b"x", 0)
    assert [*read_synced(path)] == [f"{tmp_path.name}/{file.path.name}" for file in (first, second)]
    files.close_all()


def test_a_partition_that_begins_again_has_nothing_on_the_disk(bench: Bench) -> None:
    bench.append(0, "a")
    bench.append(0, "a", key=OTHER)
    for key in (KEY, OTHER):
        bench.storage.start(key).flush()
    bench.storage.delete(KEY)
    bench.append(0, "b")

    assert bench.synced[FIRST] == 0
    assert bench.synced[FIRST.replace("t-0", "u-0")] > 0


def test_older_checkpoints_are_kept_when_asked_for(bench: Bench) -> None:
    bench.append(0, "a", "b")
    log = bench.storage.start(KEY)
    log.checkpoint_high_watermark(Offset(0))
    checkpoint = bench.folder / "t-0" / "offset-checkpoint"
    oldest = checkpoint.read_bytes() if checkpoint.exists() else b""
    log.checkpoint_high_watermark(Offset(1))
    oldest = oldest or checkpoint.read_bytes()
    log.checkpoint_high_watermark(Offset(2))
    kept = bench.folder / ".fault-control" / "older" / "t-0" / "offset-checkpoint"

    assert not kept.exists()
    assert asyncio.run(bench.control.keep_older_files(wire.DiskRequest())).older_files == 1
    assert kept.read_bytes() == oldest != checkpoint.read_bytes()
    log.truncate(Offset(1))
    assert not kept.exists(), "it could speak of records that are others by now"


def test_a_crash_point_that_is_none_is_refused(bench: Bench) -> None:
    point = wire.CrashPoint(point="before_lunch", nth=1)
    never = wire.CrashPoint(point="before_append", nth=0)

    refused = asyncio.run(bench.control.set_crash_point(point)).error
    assert refused.startswith("'before_lunch' is no crash point; choose one of before_append, ")
    assert asyncio.run(bench.control.set_crash_point(never)).error == "nth is 0; give 1 or more"


def test_a_session_is_named_before_it_is_forgotten(tmp_path: Path) -> None:
    bench = Bench(tmp_path)

    forgotten = asyncio.run(bench.control.forget(wire.SessionRequest()))

    assert (forgotten.session_id, forgotten.password) == (2**62, b"pass")
    assert bench.forgotten == [2**62]
