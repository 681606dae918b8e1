"""Znodes of the simulated world that the harness writes or deletes."""

from fencepost.fault_injection.faults.admin_faults import KickController
from fencepost.fault_injection.faults.zookeeper_faults import RaceVersion
from fencepost.impl.core.types.zookeeper import SetData, Written
from fencepost.impl.sim.injectors.injector import InstantInjector, nothing_to_act_on
from fencepost.impl.sim.world.admin_workload import delete_controller
from fencepost.impl.sim.world.cluster import VirtualCluster
from fencepost.impl.trace_lines import Line
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import Outcome, SessionId
from fencepost.spec.znodes import TopicPartition, leader_and_isr_path

WRITE = "WriteLeaderAndIsr"


class SimulatedControllerKick(InstantInjector[KickController]):
    """`admin.controller_kick`."""

    _is_deleted = False

    def inject(self) -> None:
        """Delete `/controller`."""
        self._is_deleted = delete_controller(self.cluster)

    def undo(self) -> Line:
        """Nothing to undo; whether the znode was there."""
        return {"matched": int(self._is_deleted)}


class SimulatedVersionRace(InstantInjector[RaceVersion]):
    """`zk.version_race`."""

    _found: Line

    def inject(self) -> None:
        """Write the state of the partition as it is, under higher versions."""
        server = self.cluster.zookeeper
        key = TopicPartition(self.fault.topic, self.fault.partition)
        before = server.peek(leader_and_isr_path(key)).stat
        if before is None or not server.is_serving:
            raise nothing_to_act_on()
        session_id = server.open_session(self.cluster.options.session_timeout_ms)
        for _ in range(self.fault.count):
            _write_again(key, self.cluster, session_id)
        server.end_session(session_id)
        after = server.peek(leader_and_isr_path(key)).stat
        assert after is not None
        self._found = {"matched": after.version - before.version, "znode_version": after.version}

    def undo(self) -> Line:
        """Nothing to undo; by how much the version has grown."""
        return self._found


def _write_again(key: TopicPartition, cluster: VirtualCluster, session_id: SessionId) -> None:
    server, harness = cluster.zookeeper, cluster.harness
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
