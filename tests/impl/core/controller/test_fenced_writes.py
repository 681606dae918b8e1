"""Many writes of a controller: cut into multis, each ends alone, nothing after the generation."""

import pytest

from fencepost.impl.core.config import Config
from fencepost.impl.core.controller.controller_generation import ControllerGeneration
from fencepost.impl.core.controller.fenced_writes import (
    IN_FLIGHT_MAX,
    Ended,
    FencedWrite,
    FencedWrites,
)
from fencepost.impl.core.levels import LEVELS
from fencepost.impl.core.rules.controller.controller_election import FIRST_VERSION
from fencepost.impl.core.rules.controller.publication import BYTES_MAX, OPS_MAX
from fencepost.impl.core.types.effects import WriteZnodes
from fencepost.impl.core.types.events import ZnodesWritten
from fencepost.impl.core.types.scripts import Outbox, Script
from fencepost.impl.core.types.zookeeper import (
    Create,
    Rejected,
    SetData,
    Unknown,
    WriteResult,
    Written,
    ZkError,
)
from fencepost.spec.vocabulary import ControllerEpoch, ProtocolLevel, ZnodeVersion
from fencepost.spec.znodes import (
    TopicPartition,
    leader_and_isr_path,
    partition_path,
    topic_path,
)
from tests.impl.core.build import ME

FENCE = 3


class Bench:
    """A controller that only writes; the test plays ZooKeeper."""

    def __init__(self, level: ProtocolLevel = ProtocolLevel.LEADER_EPOCH) -> None:
        self.outbox = Outbox()
        config = Config(broker_id=ME, rules=LEVELS[level])
        self.generation = ControllerGeneration(
            config, self.outbox, ControllerEpoch(1), ZnodeVersion(1)
        )
        self.ended: list[tuple[FencedWrite, WriteResult]] = []
        self.batches = 0
        self.writes = FencedWrites(Config(broker_id=ME), self.outbox, self.generation)

    def submit(self, *writes: FencedWrite) -> None:
        self.writes.submit(writes, self._done)

    def _done(self, ended: Ended[FencedWrite]) -> None:
        self.batches += 1
        self.ended += ended

    def asked(self) -> list[WriteZnodes]:
        return [effect for effect in self.outbox.drain() if isinstance(effect, WriteZnodes)]

    def answer(self, ask: WriteZnodes, result: WriteResult) -> None:
        self.outbox.answer(ZnodesWritten(op_id=ask.op_id, result=result))

    def accept(self, ask: WriteZnodes, zxid: int = 1) -> None:
        self.answer(ask, Written(zxid=zxid, versions=tuple(map(ZnodeVersion, range(len(ask.ops))))))

    def refuse(self, ask: WriteZnodes, index: int, error: ZkError = ZkError.BAD_VERSION) -> None:
        errors = [ZkError.ROLLED_BACK] * len(ask.ops)
        errors[index] = error
        self.answer(ask, Rejected(errors=tuple(errors)))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def update(number: int, data: bytes = b"") -> FencedWrite:
    op = SetData(
        path=leader_and_isr_path(TopicPartition("t", number)),
        data=data,
        expected_version=FIRST_VERSION,
    )
    return FencedWrite(ops=(op,))


def creation(number: int) -> FencedWrite:
    key = TopicPartition("t", number)
    folder = Create(path=partition_path(key), data=b"")
    return FencedWrite(ops=(folder, Create(path=leader_and_isr_path(key), data=b"")))


def paths(ask: WriteZnodes, fence: int = FENCE) -> list[str]:
    return [short(op.path) for op in ask.ops[fence:]]


def short(path: str) -> str:
    return path.removeprefix(topic_path("t")).replace("leaderAndISR", "state")


def test_many_writes_are_one_multi_behind_one_fence(bench: Bench) -> None:
    one, two = creation(1), update(2)
    bench.submit(one, two)
    (ask,) = bench.asked()
    assert [short(op.path) for op in ask.ops] == [
        "/controller_epoch", "/controller", "/controller_epoch/1", "/1", "/1/state", "/2/state",
    ]  # fmt: skip

    bench.accept(ask, zxid=9)

    versions = [result.versions for _, result in bench.ended if isinstance(result, Written)]
    assert [write for write, _ in bench.ended] == [one, two]
    assert versions == [(3, 4), (5,)]
    assert all(isinstance(result, Written) and result.zxid == 9 for _, result in bench.ended)
    assert bench.batches == 1


@pytest.mark.parametrize(
    ("writes", "sizes"),
    [
        ([update(n) for n in range(OPS_MAX + 1)], [OPS_MAX, 1]),
        ([creation(n) for n in range(OPS_MAX)], [OPS_MAX, OPS_MAX]),
        ([update(n, bytes(BYTES_MAX // 2)) for n in range(3)], [1, 1, 1]),
        ([update(0), update(1, bytes(2 * BYTES_MAX)), update(2)], [1, 1, 1]),
    ],
)
def test_a_multi_has_a_largest_size(
    bench: Bench, writes: list[FencedWrite], sizes: list[int]
) -> None:
    bench.submit(*writes)

    assert [len(ask.ops) - FENCE for ask in bench.asked()] == sizes


def test_a_refusal_of_one_is_not_a_refusal_of_the_others(bench: Bench) -> None:
    writes = [update(number) for number in range(5)]
    bench.submit(*writes)
    (ask,) = bench.asked()

    bench.refuse(ask, FENCE + 2)

    assert bench.ended == [(writes[2], Rejected(errors=(ZkError.BAD_VERSION,)))]
    first, second = bench.asked()
    assert (paths(first), paths(second)) == (["/0/state", "/1/state"], ["/3/state", "/4/state"])
    bench.accept(first)
    bench.refuse(second, FENCE)
    (last,) = bench.asked()
    assert paths(last) == ["/4/state"]
    bench.accept(last)
    results = {short(write.ops[0].path): type(result) for write, result in bench.ended}
    assert results == {
        "/0/state": Written, "/1/state": Written,
        "/2/state": Rejected, "/3/state": Rejected, "/4/state": Written,
    }  # fmt: skip


def test_a_refused_write_has_the_errors_of_its_own_operations(bench: Bench) -> None:
    bench.submit(creation(1), creation(2))
    (ask,) = bench.asked()

    bench.refuse(ask, FENCE + 3, ZkError.NODE_EXISTS)

    ((_, result),) = bench.ended
    assert result == Rejected(errors=(ZkError.ROLLED_BACK, ZkError.NODE_EXISTS))


def test_what_is_written_again_goes_before_what_waits(bench: Bench) -> None:
    bench.submit(*[update(n, bytes(BYTES_MAX // 3)) for n in range(2 * IN_FLIGHT_MAX + 2)])
    asked = bench.asked()
    assert len(asked) == IN_FLIGHT_MAX

    bench.refuse(asked[0], FENCE)

    (again,) = bench.asked()
    assert paths(again) == ["/1/state"]


def test_of_a_lost_answer_nothing_is_known_of_any(bench: Bench) -> None:
    bench.submit(update(1), update(2))
    (ask,) = bench.asked()

    bench.answer(ask, Unknown())

    assert [type(result) for _, result in bench.ended] == [Unknown, Unknown]
    assert (bench.batches, bench.asked()) == (1, [])


@pytest.mark.parametrize("failed", range(FENCE))
def test_what_is_left_when_a_fence_has_failed_is_unknown(bench: Bench, failed: int) -> None:
    bench.submit(*[update(n, bytes(BYTES_MAX // 2)) for n in range(IN_FLIGHT_MAX + 1)])
    first, second, *_ = bench.asked()

    bench.refuse(first, failed)
    bench.accept(second)

    assert not bench.generation.is_active
    assert [type(result) for _, result in bench.ended] == [Unknown, Unknown, Unknown]
    assert bench.asked() == []


def test_without_an_epoch_an_ended_session_is_a_refusal_of_all() -> None:
    bench = Bench(ProtocolLevel.DRAFT_V3)
    bench.submit(update(1), update(2))
    (ask,) = bench.asked()
    assert paths(ask, fence=0) == ["/1/state", "/2/state"]

    bench.answer(ask, Rejected(errors=(ZkError.SESSION_EXPIRED,)))

    assert [type(result) for _, result in bench.ended] == [Rejected, Rejected]


def test_a_script_that_writes_alone_has_the_results_of_its_own_operations(bench: Bench) -> None:
    got: list[WriteResult | None] = []

    def script() -> Script:
        got.append((yield from bench.writes.write(*update(1).ops)))

    bench.outbox.run(script())
    (ask,) = bench.asked()
    bench.accept(ask, zxid=3)

    assert got == [Written(zxid=3, versions=(ZnodeVersion(3),))]
