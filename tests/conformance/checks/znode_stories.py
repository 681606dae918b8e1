"""A controller, a leader and their znode, event by event."""

from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Outcome
from tests.conformance.checks.trace_builder import ZNODE, Fields, Trace, document

FIRST = document(1, 0, [1, 2, 3])
SHRUNK = document(1, 0, [1, 2])
ELECTED = document(2, 1, [2], controller_epoch=2)


def session(broker_id: int) -> int:
    return 100 + broker_id


def register(trace: Trace) -> None:
    for broker_id in (1, 2, 3):
        trace.broker(
            broker_id, "RegisterBroker", topic=None, partition=None, session_id=session(broker_id)
        )


def elect(trace: Trace, broker_id: int, epoch: int, zxid: int) -> None:
    """`broker_id` wins `/controller` and raises the epoch, in one transaction."""
    own = session(broker_id)
    trace.zookeeper("Create", "/controller", "{}", session=own, zxid=zxid)
    action = "Create" if epoch == 1 else "SetData"
    trace.zookeeper(
        action, "/controller_epoch", str(epoch), session=own, zxid=zxid, version=epoch - 1
    )
    trace.broker(
        broker_id,
        "ElectController",
        topic=None,
        partition=None,
        controller_id=broker_id,
        controller_epoch=epoch,
        session_id=own,
    )


def store(trace: Trace, broker_id: int, data: str, version: int, zxid: int) -> TraceEvent:
    action = "SetData" if version else "Create"
    return trace.zookeeper(
        action, ZNODE, data, session=session(broker_id), zxid=zxid, version=version
    )


def write(
    trace: Trace,
    broker_id: int,
    data: str,
    expected_version: int,
    outcome: Outcome | None = Outcome.OK,
    **answer: object,
) -> TraceEvent:
    node = f"broker-{broker_id}"
    asked = {"path": ZNODE, "data": data, "expected_version": expected_version}
    line = {"session_id": session(broker_id), **asked, **answer}
    return trace.operation(node, "WriteLeaderAndIsr", outcome, **line)


def read(
    trace: Trace, broker_id: int, data: str | None, version: int, **stamps: object
) -> TraceEvent:
    node = f"broker-{broker_id}"
    answer = {"path": ZNODE, "data": data, "znode_version": version}
    line = {"session_id": session(broker_id), **answer, **stamps}
    return trace.operation(node, "ReadLeaderAndIsr", Outcome.OK, **line)


def obey(trace: Trace, broker_id: int, action: str, epochs: tuple[int, int, int]) -> TraceEvent:
    """`epochs`: controller epoch, leader epoch, znode version of the command."""
    controller_epoch, leader_epoch, version = epochs
    leader = 2 if leader_epoch else 1
    return trace.broker(
        broker_id,
        action,
        controller_epoch=controller_epoch,
        leader_epoch=leader_epoch,
        znode_version=version,
        leader=leader,
        isr=[1, 2, 3],
    )


def quiet_failover(trace: Trace) -> None:
    """Broker 3 is controller, 1 leads and shrinks, then 2 becomes controller and leader."""
    register(trace)
    begun: Fields = {"session_id": session(1), "zxid": 0}
    trace.add("zookeeper", Kind.ZOOKEEPER, "CreateSession", begun)
    elect(trace, 3, 1, zxid=1)
    write(trace, 3, FIRST, -1, znode_version=0, zxid=2)
    store(trace, 3, FIRST, 0, zxid=2)
    obey(trace, 1, "BecomeLeader", (1, 0, 0))
    read(trace, 1, FIRST, 0)
    write(trace, 1, SHRUNK, 0, Outcome.INDEFINITE)
    store(trace, 1, SHRUNK, 1, zxid=3)
    elect(trace, 2, 2, zxid=4)
    write(trace, 3, ELECTED, 0, Outcome.DEFINITE_ERROR, error_code="BAD_VERSION")
    write(trace, 2, ELECTED, 1, znode_version=2, zxid=5)
    store(trace, 2, ELECTED, 2, zxid=5)
    obey(trace, 1, "BecomeFollower", (2, 1, 2))
