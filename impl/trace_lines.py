"""What a broker writes into its trace, as fields of a trace line; shared by shell and simulator.

No I/O and no clock here: whoever writes the line adds run, node, incarnation, sequence and clocks.
`spec/README.md` tells which fields belong to which action.
"""

from dataclasses import dataclass

from impl.core.effects import ActionTaken, Effect, ReadZnodes, WriteZnodes
from impl.core.events import Event, ZnodesRead, ZnodesWritten
from impl.core.replica import RecoveredLog
from impl.core.zookeeper import (
    Create,
    Rejected,
    SetData,
    Unknown,
    WriteOp,
    WriteResult,
    Written,
    ZkError,
    Znode,
)
from spec.trace import Kind
from spec.vocabulary import BrokerId, Outcome, SessionId
from spec.znodes import TopicPartition, partition_of

Line = dict[str, object]
"""Fields of `spec.trace.TraceEvent` by name."""

CONNECTION_LOST = "CONNECTION_LOST"
"""The `error_code` of an operation whose answer did not come."""

_PLAIN = (
    "leader",
    "leader_epoch",
    "controller_id",
    "controller_epoch",
    "is_unclean",
    "znode_version",
    "expected_version",
    "high_watermark",
    "log_end_offset",
    "offset",
    "session_id",
    "zxid",
    "partition_incarnation",
    "path",
)
_SETS = ("isr", "maximal_isr", "live_brokers")


def node_name(broker_id: BrokerId) -> str:
    """How a trace calls a broker."""
    return f"broker-{broker_id}"


def node_started(broker_id: BrokerId) -> Line:
    """A broker process began."""
    return {"kind": Kind.RUN, "action": "NodeStarted", "broker_id": broker_id}


def log_recovered(broker_id: BrokerId, partition: TopicPartition, log: RecoveredLog) -> Line:
    """A starting broker found this log; records above its end were lost with the crash."""
    return {
        "kind": Kind.RUN,
        "action": "LogRecovered",
        "broker_id": broker_id,
        **_partition(partition),
        "partition_incarnation": log.partition_incarnation or None,
        "log_end_offset": log.log_end_offset,
        "high_watermark": log.high_watermark,
    }


def log_failed(broker_id: BrokerId, partition: TopicPartition, reason: str) -> Line:
    """The log of this partition cannot be used until the broker starts again."""
    return {
        "kind": Kind.RUN,
        "action": "LogFailed",
        "broker_id": broker_id,
        **_partition(partition),
        "detail": reason,
    }


def action_taken(effect: ActionTaken, broker_id: BrokerId) -> Line:
    """The line of an action; what the effect leaves out, the line does too."""
    line: Line = {"kind": Kind.ACTION, "action": effect.action.value, "broker_id": broker_id}
    if effect.topic is not None:
        line["topic"] = effect.topic
    if effect.topic_partition:
        line |= _partition(effect.topic_partition)
    for name in _PLAIN:
        value = getattr(effect, name)
        if value is not None:
            line[name] = value
    if not effect.partition_incarnation:
        line.pop("partition_incarnation", None)  # not known
    for name in _SETS:
        members = getattr(effect, name)
        if members is not None:
            line[name] = sorted(members)
    if effect.assigned_replicas is not None:
        line["assigned_replicas"] = list(effect.assigned_replicas)
    if effect.peer is not None:
        line["peer"] = node_name(effect.peer)
    if effect.records:
        line["values"] = [record.value for record in effect.records]
        line["record_epochs"] = [record.leader_epoch for record in effect.records]
    return line


@dataclass(frozen=True, slots=True, kw_only=True)
class _Invocation:
    """An operation on one LeaderAndISR znode that has begun."""

    index: int
    """Which operation of the effect it is."""
    op_id: int
    invoked_ns: int
    line: Line


class ZnodeTrace:
    """Which znode operations are traced, and how: reads and writes of LeaderAndISR znodes, each.

    A multi of n such writes is n invocations and n completions.
    """

    def __init__(self, broker_id: BrokerId) -> None:
        self._broker_id = broker_id
        self._op_id = 0
        self._in_flight: dict[int, list[_Invocation]] = {}

    def invoked(self, effect: Effect, session_id: SessionId, mono_ns: int) -> list[Line]:
        """The lines to write before `effect` is performed; none when it is not traced."""
        match effect:
            case WriteZnodes(op_id=op_id, ops=ops):
                lines = [(index, self._write(op)) for index, op in enumerate(ops)]
            case ReadZnodes(op_id=op_id, paths=paths):
                lines = [(index, self._read(path)) for index, path in enumerate(paths)]
            case _:
                return []
        session: Line = {"session_id": session_id} if session_id else {}
        begun = [self._begin(index, line | session, mono_ns) for index, line in lines if line]
        if begun:
            self._in_flight[op_id] = begun
        return [one.line | {"kind": Kind.INVOKE} for one in begun]

    def completed(self, event: Event) -> list[Line]:
        """The lines to write before `event` reaches the core; none when it was not traced."""
        match event:
            case ZnodesWritten(op_id=op_id, result=result):
                endings = {
                    begun.op_id: _write_ending(result, begun.index)
                    for begun in self._in_flight.get(op_id, ())
                }
            case ZnodesRead(op_id=op_id, znodes=znodes):
                endings = {
                    begun.op_id: _read_ending(znodes[begun.index] if znodes is not None else None)
                    for begun in self._in_flight.get(op_id, ())
                }
            case _:
                return []
        return [
            begun.line | {"kind": Kind.COMPLETE, "inv_ns": begun.invoked_ns} | endings[begun.op_id]
            for begun in self._in_flight.pop(op_id, ())
        ]

    def _begin(self, index: int, line: Line, mono_ns: int) -> _Invocation:
        self._op_id += 1
        return _Invocation(
            index=index,
            op_id=self._op_id,
            invoked_ns=mono_ns,
            line={"op_id": self._op_id, "broker_id": self._broker_id} | line,
        )

    def _write(self, op: WriteOp) -> Line | None:
        partition = partition_of(op.path)
        if partition is None or not isinstance(op, Create | SetData):
            return None
        version = op.expected_version if isinstance(op, SetData) else -1
        return {
            "action": "WriteLeaderAndIsr",
            **_partition(partition),
            "path": op.path,
            "data": op.data.decode(errors="backslashreplace"),
            "expected_version": version,
        }

    def _read(self, path: str) -> Line | None:
        partition = partition_of(path)
        if partition is None:
            return None
        return {"action": "ReadLeaderAndIsr", **_partition(partition), "path": path}


def _write_ending(result: WriteResult, index: int) -> Line:
    match result:
        case Written(zxid=zxid, versions=versions):
            return {"outcome": Outcome.OK, "zxid": zxid, "znode_version": versions[index]}
        case Rejected(errors=errors):
            error = errors[index] if index < len(errors) else errors[0]
            return {"outcome": Outcome.DEFINITE_ERROR, "error_code": error.value}
        case Unknown():
            return {"outcome": Outcome.INDEFINITE, "error_code": CONNECTION_LOST}


def _read_ending(znode: Znode | None) -> Line:
    if znode is None:
        return {"outcome": Outcome.DEFINITE_ERROR, "error_code": CONNECTION_LOST}
    if znode.stat is None:
        return {"outcome": Outcome.DEFINITE_ERROR, "error_code": ZkError.NO_NODE.value}
    data = znode.data.decode(errors="backslashreplace")
    return {"outcome": Outcome.OK, "data": data, "znode_version": znode.stat.version}


def _partition(partition: TopicPartition) -> Line:
    return {"topic": partition.topic, "partition": partition.partition}
