"""What a third party does to the znodes of the simulated world: it writes them, or takes them away.

As `fault_injection/injectors/znodes.py`; who writes what brokers write tells of it in the trace.
"""

from fencepost.fault_injection.faults.zookeeper_faults import RaceVersion
from fencepost.impl.core.types.zookeeper import Delete, SetData, Written
from fencepost.impl.sim.injectors.awaited import Heal, World
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import ANY_VERSION, Outcome, SessionId
from fencepost.spec.znodes import CONTROLLER, TopicPartition, leader_and_isr_path

WRITE = "WriteLeaderAndIsr"


def kick(cluster: VirtualCluster) -> Heal:
    """Delete `/controller` in a session that no broker has."""
    result = cluster.write_by_hand(Delete(path=CONTROLLER, expected_version=ANY_VERSION))
    return lambda: {"matched": int(isinstance(result, Written))}


def race_version(fault: RaceVersion, world: World) -> Heal | None:
    """The state of a partition is as it was, under a higher version; None without a state."""
    server = world.cluster.zookeeper
    key = TopicPartition(fault.topic, fault.partition)
    before = server.peek(leader_and_isr_path(key)).stat
    if before is None or not server.is_serving:
        return None
    session_id = server.open_session(world.cluster.options.session_timeout_ms)
    for _ in range(fault.count):
        _write_again(key, world, session_id)
    server.end_session(session_id)
    after = server.peek(leader_and_isr_path(key)).stat
    assert after is not None
    grown = after.version - before.version
    return lambda: {"matched": grown, "znode_version": after.version}


def _write_again(key: TopicPartition, world: World, session_id: SessionId) -> None:
    server, harness = world.cluster.zookeeper, world.harness
    path = leader_and_isr_path(key)
    found = server.peek(path)
    assert found.stat is not None
    line: Line = {
        "action": WRITE,
        "op_id": found.stat.mzxid,
        "topic": key.topic,
        "partition": key.partition,
        "expected_version": found.stat.version,
        "session_id": session_id,
        "path": path,
        "data": found.data.decode(errors="backslashreplace"),
    }
    inv_ns = harness.now_ns()
    harness.write({"kind": Kind.INVOKE, **line}, inv_ns)
    op = SetData(path=path, data=found.data, expected_version=found.stat.version)
    result = server.write(session_id, (op,))
    assert isinstance(result, Written), result
    told: Line = {"outcome": Outcome.OK, "zxid": result.zxid, "znode_version": result.versions[0]}
    harness.write({"kind": Kind.COMPLETE, **line, "inv_ns": inv_ns, **told})
