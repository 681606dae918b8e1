"""What a broker writes into its trace, as fields of a trace line; shared by shell and simulator.

No I/O and no clock here: the writer of a line adds run, node, incarnation, sequence and clocks.
`spec/docs/trace.md` tells which fields belong to which action.
"""

from collections.abc import Sequence
from typing import Any

from fencepost.impl.core.rules.replica import RecoveredLog
from fencepost.impl.core.types.effects import (
    ActionTaken,
    Effect,
    ReadZnodes,
    RefusalTold,
    WriteZnodes,
)
from fencepost.impl.core.types.events import Event, ZnodesRead, ZnodesWritten
from fencepost.impl.core.types.zookeeper import (
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
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import (
    NO_BROKER,
    Action,
    BrokerId,
    LeaderEpoch,
    Outcome,
    SessionId,
)
from fencepost.spec.znodes import (
    CONTROLLER,
    MalformedZnodeError,
    TopicPartition,
    parse_controller,
    parse_controller_epoch,
    partition_of,
)

Line = dict[str, Any]
"""Fields of `fencepost.spec.trace.TraceEvent` by name."""

READ_CONTROLLER = "ReadController"
"""The reading of `/controller` and `/controller_epoch` together."""

CONNECTION_LOST = "CONNECTION_LOST"
"""The `error_code` of an operation without an answer."""

_OF_REFUSALS = (
    "partition_incarnation",
    "leader",
    "leader_epoch",
    "znode_version",
    "controller_id",
    "controller_epoch",
    "broker_epoch",
    "max_broker_epoch",
    "offset",
    "error_code",
    "user",
    "client_id",
    "throttle_time_ms",
    "clock_ms",
    "connection",
    "request_number",
)
"""What a refusal tells of what was refused, as it stands in the effect."""

_OF_QUOTA = frozenset(
    {
        Action.ALTER_QUOTA,
        Action.ADMIT_MUTATION,
        Action.REFUSE_MUTATION,
        Action.VALIDATE_MUTATION,
    }
)
_QUOTA_FIELDS = (
    "user",
    "client_id",
    "api_version",
    "partition_count",
    "mutation_rate",
    "mutation_burst",
    "throttle_time_ms",
    "clock_ms",
    "received_ms",
    "connection",
    "request_number",
)

_Invocation = tuple[int, Line]
"""An operation on one LeaderAndISR znode that has begun: which one of the effect, and its line."""
_NOTHING: tuple[int, list[_Invocation]] = (0, [])


def node_name(broker_id: BrokerId) -> str:
    """How a trace calls a broker."""
    return f"broker-{broker_id}"


def node_started(broker_id: BrokerId) -> Line:
    """A broker process began."""
    return {"kind": Kind.RUN, "action": "NodeStarted", "broker_id": broker_id}


def mutant_awake(broker_id: BrokerId, mutant: str) -> Line:
    """The broker breaks a rule on purpose from now on."""
    return {
        "kind": Kind.RUN,
        "action": "MutantAwake",
        "broker_id": broker_id,
        "detail": mutant,
    }


def log_recovered(broker_id: BrokerId, partition: TopicPartition, log: RecoveredLog) -> Line:
    """A starting broker found this log; records above its end were lost with the crash."""
    line: Line = {
        "kind": Kind.RUN,
        "action": "LogRecovered",
        "broker_id": broker_id,
        **_partition(partition),
        "log_end_offset": log.log_end_offset,
        "high_watermark": log.high_watermark,
    }
    if log.partition_incarnation:
        line["partition_incarnation"] = log.partition_incarnation
    return line


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
    """The line of an action; what the effect leaves out, the line does too.

    Written out field by field: there are several lines per partition, and a loop takes thrice.
    """
    line: Line = {"kind": Kind.ACTION, "action": str(effect.action), "broker_id": broker_id}
    if effect.topic is not None:
        line["topic"] = effect.topic
    if effect.topic_partition is not None:
        line["topic"], line["partition"] = effect.topic_partition
    if effect.partition_incarnation:  # 0: not known
        line["partition_incarnation"] = effect.partition_incarnation
    if effect.peer is not None:
        line["peer"] = node_name(effect.peer)
    if effect.assigned_replicas is not None:
        line["assigned_replicas"] = list(effect.assigned_replicas)
    if effect.records:
        line["values"] = [record.value for record in effect.records]
        line["record_epochs"] = [record.leader_epoch for record in effect.records]
    _add_epochs(line, effect)
    _add_metadata(line, effect)
    _add_places(line, effect)
    _add_members(line, effect)
    if effect.action in _OF_QUOTA:
        _add_quota(line, effect)
    elif effect.clock_ms is not None:
        line["clock_ms"] = effect.clock_ms
    return line


def refused(effect: RefusalTold, broker_id: BrokerId) -> Line:
    """The line of a refusal; what the effect leaves out, the line does too."""
    line: Line = {"kind": Kind.REFUSAL, "action": str(effect.refusal), "broker_id": broker_id}
    if effect.topic_partition is not None:
        line.update(_partition(effect.topic_partition))
    if effect.peer is not None:
        line["peer"] = node_name(effect.peer)
    if effect.isr is not None:
        line["isr"] = sorted(effect.isr)
    for name in _OF_REFUSALS:
        value = getattr(effect, name)
        if value is not None:
            line[name] = value
    return line


def _add_epochs(line: Line, effect: ActionTaken) -> None:
    if effect.leader is not None:
        line["leader"] = effect.leader
    if effect.leader_epoch is not None:
        line["leader_epoch"] = effect.leader_epoch
    if effect.controller_id is not None:
        line["controller_id"] = effect.controller_id
    if effect.controller_epoch is not None:
        line["controller_epoch"] = effect.controller_epoch
    if effect.broker_epoch:  # 0: none is named
        line["broker_epoch"] = effect.broker_epoch
    if effect.is_unclean is not None:
        line["is_unclean"] = effect.is_unclean
    if effect.is_loss_possible is not None:
        line["is_loss_possible"] = effect.is_loss_possible
    if effect.znode_version is not None:
        line["znode_version"] = effect.znode_version
    if effect.expected_version is not None:
        line["expected_version"] = effect.expected_version


def _add_metadata(line: Line, effect: ActionTaken) -> None:
    if effect.max_broker_epoch:
        line["max_broker_epoch"] = effect.max_broker_epoch
    if effect.metadata_version is not None:
        line["metadata_version"] = effect.metadata_version


def _add_places(line: Line, effect: ActionTaken) -> None:
    if effect.high_watermark is not None:
        line["high_watermark"] = effect.high_watermark
    if effect.log_end_offset is not None:
        line["log_end_offset"] = effect.log_end_offset
    if effect.offset is not None:
        line["offset"] = effect.offset
    if effect.session_id is not None:
        line["session_id"] = effect.session_id
    if effect.zxid is not None:
        line["zxid"] = effect.zxid
    if effect.path is not None:
        line["path"] = effect.path
    if effect.values is not None:
        line["values"] = list(effect.values)
    if effect.principal is not None:
        line["principal"] = effect.principal
    if effect.forwarded_request is not None:
        line["forwarded_request"] = effect.forwarded_request
    if effect.method is not None:
        line["method"] = effect.method


def _add_quota(line: Line, effect: ActionTaken) -> None:
    for name in _QUOTA_FIELDS:
        value = getattr(effect, name)
        if value is not None:
            line[name] = value


def _add_members(line: Line, effect: ActionTaken) -> None:
    if effect.isr is not None:
        line["isr"] = sorted(effect.isr)
    if effect.maximal_isr is not None:
        line["maximal_isr"] = sorted(effect.maximal_isr)
    if effect.partitions is not None:
        line["partitions"] = [str(key) for key in effect.partitions]
    if effect.live_brokers is not None:
        line["live_brokers"] = sorted(effect.live_brokers)
        line["broker_epochs"] = [effect.live_brokers[one] for one in line["live_brokers"]]


class ZnodeTrace:
    """Which znode operations are traced, and how: reads and writes of LeaderAndISR znodes, each.

    A multi of n such writes is n invocations and n completions.
    """

    def __init__(self, broker_id: BrokerId) -> None:
        self._broker_id = broker_id
        self._op_id = 0
        self._in_flight: dict[int, tuple[int, list[_Invocation]]] = {}
        """Operation of the core -> when it began, in monotonic ns, and what it does."""

    def invoked(self, effect: Effect, session_id: SessionId, mono_ns: int) -> list[Line]:
        """The lines to write before `effect` is performed; none when it is not traced."""
        match effect:
            case WriteZnodes(op_id=op_id, ops=ops):
                lines = [self._write(op) for op in ops]
            case ReadZnodes(op_id=op_id, paths=(path, _)) if path == CONTROLLER:
                lines = [self._read_controller()]
            case ReadZnodes(op_id=op_id, paths=paths, leader_epoch=leader_epoch):
                lines = [self._read(path, leader_epoch) for path in paths]
            case _:
                return []
        begun = [(index, line) for index, line in enumerate(lines) if line is not None]
        if not begun:
            return []
        for _, line in begun:
            self._op_id += 1
            line["op_id"] = self._op_id
            if session_id:
                line["session_id"] = session_id
        self._in_flight[op_id] = mono_ns, begun
        return [line for _, line in begun]

    def completed(self, event: Event) -> list[Line]:
        """The lines to write before `event` reaches the core; none when it was not traced."""
        match event:
            case ZnodesWritten(op_id=op_id, result=written):
                begun_ns, begun = self._in_flight.pop(op_id, _NOTHING)
                endings = [_write_ending(written, index) for index, _ in begun]
            case ZnodesRead(op_id=op_id, znodes=znodes):
                begun_ns, begun = self._in_flight.pop(op_id, _NOTHING)
                endings = [_ending(line, znodes, index) for index, line in begun]
            case _:
                return []
        return [
            {**line, "kind": Kind.COMPLETE, "inv_ns": begun_ns, **ending}
            for (_, line), ending in zip(begun, endings, strict=True)
        ]

    def _write(self, op: WriteOp) -> Line | None:
        if not isinstance(op, Create | SetData):
            return None
        line = self._read(op.path)
        if line is not None:
            line["action"] = "WriteLeaderAndIsr"
            line["data"] = op.data.decode(errors="backslashreplace")
            line["expected_version"] = op.expected_version if isinstance(op, SetData) else -1
        return line

    def _read(self, path: str, leader_epoch: LeaderEpoch | None = None) -> Line | None:
        partition = partition_of(path)
        if partition is None:
            return None
        line: Line = {
            "kind": Kind.INVOKE,
            "action": "ReadLeaderAndIsr",
            "topic": partition.topic,
            "partition": partition.partition,
            "broker_id": self._broker_id,
            "path": path,
        }
        if leader_epoch is not None:
            line["leader_epoch"] = leader_epoch
        return line

    def _read_controller(self) -> Line:
        broker_id = self._broker_id
        return {"kind": Kind.INVOKE, "action": READ_CONTROLLER, "broker_id": broker_id}


def _write_ending(result: WriteResult, index: int) -> Line:
    match result:
        case Written(zxid=zxid, versions=versions):
            return {"outcome": Outcome.OK, "zxid": zxid, "znode_version": versions[index]}
        case Rejected(errors=errors):
            error = errors[index] if index < len(errors) else errors[0]
            return {"outcome": Outcome.DEFINITE_ERROR, "error_code": error.value}
        case Unknown():
            return {"outcome": Outcome.INDEFINITE, "error_code": CONNECTION_LOST}


def _ending(line: Line, znodes: Sequence[Znode] | None, index: int) -> Line:
    if line["action"] == READ_CONTROLLER and znodes is not None:
        return _controller_ending(*znodes)
    return _read_ending(znodes[index] if znodes is not None else None)


def _controller_ending(holder: Znode, epoch: Znode) -> Line:
    """What the two znodes say; what is unreadable is left out."""
    ending: Line = {"outcome": Outcome.OK}
    try:
        named = parse_controller(CONTROLLER, holder.data).brokerid if holder.stat else NO_BROKER
        ending["controller_id"] = named
        if epoch.stat is not None:
            ending["controller_epoch"] = parse_controller_epoch(epoch.data)
    except MalformedZnodeError:
        return ending
    return ending


def _read_ending(znode: Znode | None) -> Line:
    if znode is None:
        return {"outcome": Outcome.DEFINITE_ERROR, "error_code": CONNECTION_LOST}
    if znode.stat is None:
        return {"outcome": Outcome.DEFINITE_ERROR, "error_code": ZkError.NO_NODE.value}
    data = znode.data.decode(errors="backslashreplace")
    return {"outcome": Outcome.OK, "data": data, "znode_version": znode.stat.version}


def _partition(partition: TopicPartition) -> Line:
    return {"topic": partition.topic, "partition": partition.partition}
