"""Many writes of one controller: fenced multis of bounded size, several in flight (ZK-005, ZK-007).

A multi is all or nothing; here each write ends alone, as if it had been sent alone. Of a refused
multi the one write that ZooKeeper names is reported, and the rest are written again at once, in
halves: no partition waits for another's conflict (H7b), no multi is too large (H7c), and nothing
counts as written of a multi that was refused (H7d). Answers `DecisionBatch`.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from fencepost.impl.core.config import Config
from fencepost.impl.core.rules.controller.publication import MultiLimits
from fencepost.impl.core.rules.tables import Permissions, Writer
from fencepost.impl.core.rules.znode_writes import write
from fencepost.impl.core.types.scripts import Answer, Ask, Outbox, Script
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Rejected,
    SetData,
    Unknown,
    WriteOp,
    WriteResult,
    Written,
    ZkError,
)

OP_BYTES = 64
"""What an operation costs beside its path and data."""
IN_FLIGHT_MAX = 16


class WriteFence(Protocol):
    """What allows the writes: a generation of a controller, or nothing at all."""

    writer: Writer

    def is_over(self) -> bool:
        """True when nothing may be written any more."""

    def fence(self) -> tuple[Check, ...]:
        """What must hold for a write to take effect."""

    def resign_controller(self) -> None:
        """The fence failed: nothing more may be written (CTL-008)."""


class NoFence:
    """For what any broker may write, at any time."""

    writer = Writer.ADMINISTRATOR

    def is_over(self) -> bool:
        """Never."""
        return False

    def fence(self) -> tuple[Check, ...]:
        """Nothing."""
        return ()

    def resign_controller(self) -> None:
        """Without checks there is no fence that could fail."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencedWrite:
    """Operations that belong together: all of them in one multi, or none."""

    ops: tuple[WriteOp, ...]

    @property
    def size(self) -> int:
        """Bytes on the way to ZooKeeper, about."""
        return sum(
            OP_BYTES + len(op.path) + (len(op.data) if isinstance(op, Create | SetData) else 0)
            for op in self.ops
        )


W = TypeVar("W", bound=FencedWrite)
Ended = list[tuple[W, WriteResult]]
"""Writes that are over, each with the result for its own operations."""


@dataclass(frozen=True, slots=True)
class _Batch(Generic[W]):
    writes: list[W]
    done: Callable[[Ended[W]], None]


class FencedWrites:
    """The one writer of a generation; what is left when it ends is told as `Unknown`."""

    def __init__(self, config: Config, outbox: Outbox, fence: WriteFence) -> None:
        self._config = config
        self._outbox = outbox
        self._fence = fence
        self._queue: deque[_Batch[FencedWrite]] = deque()
        self._in_flight = 0

    def submit(self, writes: Iterable[W], done: Callable[[Ended[W]], None]) -> None:
        """Each write will be in ZooKeeper or not; `done` is called batch by batch as they end.

        `Unknown` means that the write may have taken effect, `Rejected` that it has not.
        """
        for batch in _batches(writes, self._config.rules.multi_limits):
            self._queue.append(_Batch(batch, done))  # type: ignore[arg-type]  # done takes its own
        self._start()

    def write(self, *ops: WriteOp) -> Generator[Ask, Answer, WriteResult | None]:
        """One fenced multi for a script; None when the generation ended, also by its fence."""
        result = yield from write_fenced(self._config.rules.may_write, self._fence, *ops)
        return None if self._fence.is_over() else result

    def _start(self) -> None:
        while self._queue and self._in_flight < IN_FLIGHT_MAX:
            self._in_flight += 1
            self._outbox.run(self._write_batch(self._queue.popleft()))

    def _write_batch(self, batch: _Batch[FencedWrite]) -> Script:
        ops = [op for one in batch.writes for op in one.ops]
        result = yield from self.write(*ops)
        if result is None:
            self._give_up(batch)
            return
        self._in_flight -= 1
        ended, again = self._sort_out(batch.writes, result, len(ops))
        self._queue.extendleft(_Batch(half, batch.done) for half in reversed(_halves(again)))
        self._start()
        batch.done(ended)

    def _give_up(self, batch: _Batch[FencedWrite]) -> None:
        """The generation is over."""
        left = [batch, *self._queue]
        self._queue.clear()
        for one in left:
            one.done([(write, Unknown()) for write in one.writes])

    def _sort_out(
        self, writes: list[FencedWrite], result: WriteResult, ops_count: int
    ) -> tuple[Ended[FencedWrite], list[FencedWrite]]:
        """What is over and how, and what is to be written again."""
        if isinstance(result, Rejected) and len(result.errors) == ops_count:
            ended, again = self._config.rules.sort_out_refusal([one.ops for one in writes], result)
            return [(writes[place], end) for place, end in ended], [writes[p] for p in again]
        if not isinstance(result, Written):
            return [(one, result) for one in writes], []
        written: Ended[FencedWrite] = []
        begin = 0
        for one in writes:
            versions = result.versions[begin : begin + len(one.ops)]
            written.append((one, Written(zxid=result.zxid, versions=versions)))
            begin += len(one.ops)
        return written, []


def write_fenced(
    may_write: Mapping[Writer, Permissions], fence: WriteFence, *ops: WriteOp
) -> Generator[Ask, Answer, WriteResult | None]:
    """One multi behind the fence, with the result of `ops`; None when it is over, or has failed."""
    if fence.is_over():
        return None
    checks = fence.fence()
    result = yield from write(may_write[fence.writer], *checks, *ops)
    if isinstance(result, Rejected) and _is_deposed(result, len(checks)):
        fence.resign_controller()
        return None
    if isinstance(result, Written):
        return Written(zxid=result.zxid, versions=result.versions[len(checks) :])
    if isinstance(result, Rejected):
        return Rejected(errors=result.errors[len(checks) :])
    return result


def _is_deposed(result: Rejected, fence_length: int) -> bool:
    return any(error is not ZkError.ROLLED_BACK for error in result.errors[:fence_length])


def _halves(writes: list[FencedWrite]) -> list[list[FencedWrite]]:
    middle = (len(writes) + 1) // 2
    return [half for half in (writes[:middle], writes[middle:]) if half]


def _batches(writes: Iterable[W], limits: MultiLimits) -> list[list[W]]:
    """In order, each as large as the bounds allow."""
    batches: list[list[W]] = []
    ops = size = 0
    for one in writes:
        ops, size = ops + len(one.ops), size + one.size
        if not batches or ops > limits.ops_max or size > limits.bytes_max:
            batches.append([])
            ops, size = len(one.ops), one.size
        batches[-1].append(one)
    return batches
