"""Actions and znode operations as trace lines; the file that they are written to."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fencepost.impl.core.rules.replica import RecoveredLog
from fencepost.impl.core.types.effects import (
    ActionTaken,
    ListChildren,
    ReadZnodes,
    RefusalTold,
    WriteZnodes,
)
from fencepost.impl.core.types.events import Tick, ZnodesRead, ZnodesWritten
from fencepost.impl.core.types.messages import Record
from fencepost.impl.core.types.zookeeper import (
    Check,
    Create,
    Rejected,
    SetData,
    Stat,
    Unknown,
    WriteResult,
    Written,
    ZkError,
    Znode,
)
from fencepost.impl.shell.tracer import Tracer
from fencepost.impl.trace_lines import (
    ZnodeTrace,
    action_taken,
    log_recovered,
    node_started,
    refused,
)
from fencepost.spec.trace import Kind, LamportClock, TraceEvent, json_schema, read_trace
from fencepost.spec.vocabulary import (
    Action,
    BrokerEpoch,
    BrokerId,
    ControllerEpoch,
    ErrorCode,
    LeaderEpoch,
    Offset,
    Outcome,
    PartitionIncarnation,
    RefusalKind,
    SessionId,
    ZnodeVersion,
)
from fencepost.spec.znodes import CONTROLLER, TopicPartition, leader_and_isr_path

BROKER = BrokerId(2)
PARTITION = TopicPartition("t", 3)
PATH = leader_and_isr_path(PARTITION)
OTHER = leader_and_isr_path(TopicPartition("t", 4))
SESSION = SessionId(77)


def test_an_action_tells_what_it_knows_and_nothing_else() -> None:
    effect = ActionTaken(
        action=Action.LEADER_APPEND,
        topic_partition=PARTITION,
        leader_epoch=LeaderEpoch(0),
        offset=Offset(7),
        records=(Record(LeaderEpoch(0), "a"), Record(LeaderEpoch(0), "b")),
        isr=frozenset(map(BrokerId, (3, 1, 2))),
        assigned_replicas=tuple(map(BrokerId, (3, 1, 2))),
        peer=BrokerId(1),
    )

    assert action_taken(effect, BROKER) == {
        "kind": Kind.ACTION,
        "action": "LeaderAppend",
        "broker_id": 2,
        "topic": "t",
        "partition": 3,
        "leader_epoch": 0,
        "offset": 7,
        "values": ["a", "b"],
        "record_epochs": [0, 0],
        "isr": [1, 2, 3],
        "assigned_replicas": [3, 1, 2],
        "peer": "broker-1",
    }


def test_a_refusal_tells_what_was_refused() -> None:
    effect = RefusalTold(
        refusal=RefusalKind.REFUSE_FETCH,
        topic_partition=PARTITION,
        leader_epoch=LeaderEpoch(1),
        peer=BrokerId(3),
        offset=Offset(0),
        error_code=ErrorCode.FENCED_LEADER_EPOCH,
    )

    assert refused(effect, BROKER) == {
        "kind": Kind.REFUSAL,
        "action": "RefuseFetch",
        "broker_id": 2,
        "topic": "t",
        "partition": 3,
        "peer": "broker-3",
        "leader_epoch": 1,
        "offset": 0,
        "error_code": "FENCED_LEADER_EPOCH",
    }


def test_every_field_of_a_refusal_is_a_field_of_the_line() -> None:
    told = set(RefusalTold.__struct_fields__) - {"refusal", "topic_partition"}

    assert told <= set(TraceEvent.__struct_fields__)
    some: Any = dict.fromkeys(told, 1) | {"peer": BrokerId(1), "isr": frozenset({BrokerId(1)})}
    line = refused(RefusalTold(refusal=RefusalKind.REFUSE_COMMAND, **some), BROKER)
    assert told <= line.keys()


@pytest.mark.parametrize("records", [None, ()])
def test_an_append_of_nothing_has_no_values(records: tuple[Record, ...] | None) -> None:
    effect = ActionTaken(action=Action.FOLLOWER_APPEND, records=records)

    assert action_taken(effect, BROKER).keys() == {"kind", "action", "broker_id"}


def test_an_empty_set_is_something_to_tell() -> None:
    effect = ActionTaken(action=Action.DETECT_BROKER_CHANGE, live_brokers={})

    assert action_taken(effect, BROKER)["live_brokers"] == []


def test_every_field_of_an_action_is_a_field_of_the_line() -> None:
    effect = ActionTaken(
        action=Action.ADMIT_MUTATION,
        topic_partition=PARTITION,
        leader=BrokerId(1),
        leader_epoch=LeaderEpoch(1),
        controller_id=BrokerId(1),
        controller_epoch=ControllerEpoch(1),
        isr=frozenset(),
        maximal_isr=frozenset(),
        assigned_replicas=(),
        live_brokers={},
        znode_version=ZnodeVersion(1),
        expected_version=ZnodeVersion(1),
        high_watermark=Offset(1),
        log_end_offset=Offset(1),
        offset=Offset(1),
        records=(Record(LeaderEpoch(1), "x"),),
        peer=BrokerId(1),
        session_id=SESSION,
        zxid=1,
        broker_epoch=BrokerEpoch(1),
        max_broker_epoch=BrokerEpoch(1),
        metadata_version=1,
        is_unclean=True,
        is_loss_possible=True,
        partition_incarnation=PartitionIncarnation(1),
        path="/x",
        partitions=(PARTITION,),
        values=("a=1",),
        principal="User:alice",
        forwarded_request="broker-2/7/1",
        user="",
        client_id="c",
        method="CreateTopics",
        api_version=0,
        partition_count=0,
        mutation_rate="0.0",
        mutation_burst="0.0",
        throttle_time_ms=0,
        clock_ms=0,
        received_ms=0,
        connection="",
        request_number=1,
    )
    line = action_taken(effect, BROKER)

    assert line.keys() <= set(TraceEvent.__struct_fields__)
    given = set(ActionTaken.__struct_fields__) - {"topic_partition", "records"}
    assert line.keys() == given | {
        *("kind", "broker_id", "topic", "partition", "values", "record_epochs", "broker_epochs")
    }


WRITE = WriteZnodes(
    op_id=5,
    ops=(
        Check(path="/controller_epoch", expected_version=ZnodeVersion(0)),
        Create(path=PATH, data=b"{}"),
        SetData(path=OTHER, data=b"[]", expected_version=ZnodeVersion(6)),
    ),
)


def test_a_multi_is_one_invocation_per_leader_and_isr_that_it_writes() -> None:
    first, second = ZnodeTrace(BROKER).invoked(WRITE, SESSION, 1000)

    assert first == {
        "kind": Kind.INVOKE,
        "action": "WriteLeaderAndIsr",
        "op_id": 1,
        "broker_id": 2,
        "topic": "t",
        "partition": 3,
        "path": PATH,
        "data": "{}",
        "expected_version": -1,
        "session_id": 77,
    }
    assert (second["op_id"], second["path"], second["expected_version"]) == (2, OTHER, 6)


@pytest.mark.parametrize(
    ("result", "endings"),
    [
        (
            Written(zxid=9, versions=(ZnodeVersion(-1), ZnodeVersion(0), ZnodeVersion(7))),
            [
                {"outcome": Outcome.OK, "zxid": 9, "znode_version": 0},
                {"outcome": Outcome.OK, "zxid": 9, "znode_version": 7},
            ],
        ),
        (
            Rejected(errors=(ZkError.ROLLED_BACK, ZkError.ROLLED_BACK, ZkError.BAD_VERSION)),
            [
                {"outcome": Outcome.DEFINITE_ERROR, "error_code": "ROLLED_BACK"},
                {"outcome": Outcome.DEFINITE_ERROR, "error_code": "BAD_VERSION"},
            ],
        ),
        (
            Rejected(errors=(ZkError.SESSION_EXPIRED,)),
            [{"outcome": Outcome.DEFINITE_ERROR, "error_code": "SESSION_EXPIRED"}] * 2,
        ),
        (Unknown(), [{"outcome": Outcome.INDEFINITE, "error_code": "CONNECTION_LOST"}] * 2),
    ],
    ids=["written", "refused", "expired", "unknown"],
)
def test_a_completion_repeats_its_invocation_and_tells_the_end(
    result: WriteResult, endings: list[dict[str, object]]
) -> None:
    trace = ZnodeTrace(BROKER)
    invoked = trace.invoked(WRITE, SESSION, 1000)
    completed = trace.completed(ZnodesWritten(op_id=5, result=result))

    for before, after, ending in zip(invoked, completed, endings, strict=True):
        assert after == before | {"kind": Kind.COMPLETE, "inv_ns": 1000} | ending
    assert trace.completed(ZnodesWritten(op_id=5, result=result)) == []


def test_a_read_tells_the_document_or_why_not() -> None:
    trace = ZnodeTrace(BROKER)
    trace.invoked(ReadZnodes(op_id=1, paths=(CONTROLLER, PATH, OTHER)), SESSION, 10)
    stat = Stat(version=ZnodeVersion(4), czxid=1, mzxid=2, ephemeral_owner=SessionId(0))
    found = (Znode(path=CONTROLLER), Znode(path=PATH, data=b"{}", stat=stat), Znode(path=OTHER))
    first, second = trace.completed(ZnodesRead(op_id=1, znodes=found))
    trace.invoked(ReadZnodes(op_id=2, paths=(PATH,)), SESSION, 20)
    (third,) = trace.completed(ZnodesRead(op_id=2, znodes=None))

    assert (first["data"], first["znode_version"], first["outcome"]) == ("{}", 4, Outcome.OK)
    assert (second["outcome"], second["error_code"]) == (Outcome.DEFINITE_ERROR, "NO_NODE")
    assert (third["outcome"], third["error_code"]) == (Outcome.DEFINITE_ERROR, "CONNECTION_LOST")
    assert [line["op_id"] for line in (first, second, third)] == [1, 2, 3]


def test_other_znodes_are_not_traced() -> None:
    trace = ZnodeTrace(BROKER)

    assert trace.invoked(ReadZnodes(op_id=1, paths=(CONTROLLER,)), SESSION, 1) == []
    assert trace.invoked(ListChildren(op_id=2, paths=(PATH,)), SESSION, 1) == []
    assert trace.completed(ZnodesRead(op_id=1, znodes=())) == []
    assert trace.completed(Tick()) == []


def test_a_trace_file_has_dense_numbers_and_rising_clocks(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, "run", BROKER)
    tracer.write(node_started(BROKER))
    tracer.clock.observe(40)
    log = RecoveredLog(log_end_offset=Offset(5), high_watermark=Offset(3))
    tracer.write(log_recovered(BROKER, PARTITION, log))
    tracer.write(action_taken(ActionTaken(action=Action.FENCE_LEADER), BROKER), mono_ns=12)
    tracer.close()

    events = read_trace(tmp_path / "trace-broker-2-1.ndjson").events
    assert [event.seq for event in events] == [0, 1, 2]
    assert [event.lamport for event in events] == [1, 41, 42]
    assert {event.node for event in events} == {"broker-2"}
    assert (events[1].log_end_offset, events[1].high_watermark) == (5, 3)
    assert events[2].mono_ns == 12


def test_noted_lines_are_in_the_file_before_the_next_one_and_at_the_end(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, "run", BROKER)
    path = tmp_path / "trace-broker-2-1.ndjson"
    line = node_started(BROKER)
    tracer.note(line, line)
    tracer.write(line)
    assert [event.seq for event in read_trace(path).events] == [0, 1, 2]

    tracer.note(line)
    tracer.close()
    assert [event.seq for event in read_trace(path).events] == [0, 1, 2, 3]


def test_each_start_has_its_own_file(tmp_path: Path) -> None:
    for incarnation in (1, 2, 3):
        tracer = Tracer(tmp_path, "run", BROKER)
        tracer.write(node_started(BROKER))
        tracer.close()
        assert tracer.incarnation == incarnation

    names = [f"trace-broker-2-{n}.ndjson" for n in (1, 2, 3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert read_trace(tmp_path / names[2]).events[0].incarnation == 3


def test_every_line_fits_the_schema(tmp_path: Path) -> None:
    tracer = Tracer(tmp_path, "run", BROKER)
    trace = ZnodeTrace(BROKER)
    for line in trace.invoked(WRITE, SESSION, 5):
        tracer.write(line)
    for line in trace.completed(ZnodesWritten(op_id=5, result=Unknown())):
        tracer.write(line)
    tracer.close()
    validator = Draft202012Validator(json_schema())

    written = (tmp_path / "trace-broker-2-1.ndjson").read_text().splitlines()
    assert len(written) == 4
    for text in written:
        validator.validate(json.loads(text))


def test_what_happened_before_has_the_smaller_number() -> None:
    sender, receiver = LamportClock(), LamportClock()
    for _ in range(5):
        sender.tick()
    sent = sender.tick()
    receiver.observe(sent)

    assert receiver.tick() > sent
    receiver.observe(1)
    assert receiver.tick() == sent + 2
