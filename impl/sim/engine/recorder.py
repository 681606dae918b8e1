"""The trace of a simulated run, in memory: what the tracers of real processes write to files."""

from typing import Any

from fencepost.impl.sim.engine.scheduler import Scheduler
from fencepost.impl.sim.world.zookeeper import ZnodeChange
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import Kind, LamportClock, TraceEvent

NS_PER_US = 1000


class TraceBuffer:
    """All events of a run in the order in which they happened."""

    def __init__(self, run_id: str, scheduler: Scheduler) -> None:
        self.events: list[TraceEvent] = []
        self._run_id = run_id
        self._scheduler = scheduler
        self._last_ns = 0

    def now_ns(self) -> int:
        """The next stamp of the one clock of this host: virtual time, never twice the same."""
        self._last_ns = max(self._last_ns + 1, self._scheduler.now_us * NS_PER_US)
        return self._last_ns

    def node(self, name: str, incarnation: int = 1) -> "NodeTrace":
        """The trace of one start of one node."""
        return NodeTrace(self, self._run_id, name, incarnation)


class NodeTrace:
    """Numbers the lines of one node, and has its Lamport clock."""

    def __init__(self, recorder: TraceBuffer, run_id: str, name: str, incarnation: int) -> None:
        self.name = name
        self.clock = LamportClock()
        self._recorder = recorder
        self._run_id = run_id
        self.incarnation = incarnation
        self._seq = 0

    def now_ns(self) -> int:
        """See `TraceBuffer.now_ns`."""
        return self._recorder.now_ns()

    def write(self, line: Line, mono_ns: int | None = None) -> None:
        """Add one line."""
        fields: dict[str, Any] = line
        event = TraceEvent(
            run_id=self._run_id,
            node=self.name,
            incarnation=self.incarnation,
            seq=self._seq,
            mono_ns=self.now_ns() if mono_ns is None else mono_ns,
            lamport=self.clock.tick(),
            **fields,
        )
        self._recorder.events.append(event)
        self._seq += 1


def transaction_line(transaction: ZnodeChange) -> Line:
    """The line of ZooKeeper's own trace for one change of one znode."""
    line: Line = {
        "kind": Kind.ZOOKEEPER,
        "action": transaction.action,
        "zxid": transaction.zxid,
        "session_id": transaction.session_id,
        "path": transaction.path,
        "znode_version": transaction.znode_version,
    }
    if transaction.data is not None:
        line["data"] = transaction.data.decode()
    return line
