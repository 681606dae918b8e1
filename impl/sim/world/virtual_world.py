"""The world of a simulated run: virtual time, ZooKeeper, and the trace.

Brokers run free in it (`cluster.py`), or one step at a time (`stepped/cluster.py`).
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from functools import lru_cache

from fencepost.fault_injection.faults.targets import ClusterView
from fencepost.impl.core.types.events import WatchFired
from fencepost.impl.core.types.znode_reading import parsed
from fencepost.impl.core.types.zookeeper import Create, Delete, SetData, WriteResult, Written
from fencepost.impl.sim.engine.move_recorder import MoveRecorder
from fencepost.impl.sim.engine.recorder import NodeTrace, TraceBuffer, transaction_line
from fencepost.impl.sim.engine.scheduler import Scheduler
from fencepost.impl.sim.world.zookeeper import SimulatedZooKeeper, ZnodeChange
from fencepost.impl.trace_lines import Line, node_name
from fencepost.spec.trace import Kind
from fencepost.spec.vocabulary import BrokerId, BrokerVersion, SessionId
from fencepost.spec.znodes import (
    CONTROLLER,
    PERSISTENT_PATHS,
    TOPICS,
    LeaderAndIsr,
    MalformedZnodeError,
    TopicDocument,
    TopicPartition,
    assignment_of,
    leader_and_isr_path,
    parse_controller,
    parse_leader_and_isr,
    parse_topic_document,
    topic_path,
)

DOCUMENTS_KEPT = 4096
"""A run that heals looks at the same ones after each event."""


@lru_cache(DOCUMENTS_KEPT)
def _topic(name: str, data: bytes) -> TopicDocument | None:
    """None of a malformed document, as below."""
    try:
        return parse_topic_document(name, data)
    except MalformedZnodeError:
        return None


@lru_cache(DOCUMENTS_KEPT)
def _assignment(topic: str, data: bytes) -> dict[TopicPartition, tuple[BrokerId, ...]]:
    document = _topic(topic, data)
    by_partition = assignment_of(document) if document is not None else {}
    return {TopicPartition(topic, one): replicas for one, replicas in by_partition.items()}


@lru_cache(DOCUMENTS_KEPT)
def _state(path: str, data: bytes) -> LeaderAndIsr | None:
    try:
        return parse_leader_and_isr(path, data)
    except MalformedZnodeError:
        return None


class VirtualWorld(ABC):
    """What all simulated brokers share, and what ZooKeeper publishes about them."""

    def __init__(self, run_id: str, move_recorder: MoveRecorder | None) -> None:
        """With a move recorder, all that happens is recorded as moves."""
        self.move_recorder = move_recorder
        self.scheduler = Scheduler()
        self.recorder = TraceBuffer(run_id, self.scheduler)
        self._zookeeper_trace = self.recorder.node("zookeeper")
        self.zookeeper = SimulatedZooKeeper(
            now_ms=lambda: self.scheduler.now_ms,
            on_watch=self._on_watch,
            on_session_end=self._on_session_end,
            on_transaction=self._on_transaction,
        )
        self.zookeeper.ensure(PERSISTENT_PATHS)
        self.harness = self.recorder.node("harness")
        self._starts: Counter[BrokerId] = Counter()

    def tell_run(self, action: str, detail: Line, **fields: object) -> None:
        """Write what the harness says of the whole run: that it starts, or has ended."""
        text = json.dumps(detail, sort_keys=True)
        self.harness.write({"kind": Kind.RUN, "action": action, "detail": text, **fields})

    def begin_process(
        self, broker_id: BrokerId, version: BrokerVersion | None = None, checkpoint: int = -1
    ) -> NodeTrace:
        """Count a start of the broker and return its trace; `checkpoint` as in `Move`.

        None is the version with which all brokers begin.
        """
        self._starts[broker_id] += 1
        if self.move_recorder is not None:
            self.move_recorder.started(broker_id, version, checkpoint)
        return self.recorder.node(node_name(broker_id), self._starts[broker_id])

    def write_in(self, session_id: SessionId, op: Create | Delete | SetData) -> WriteResult:
        """Write one znode in a session that no broker has, as a person with a shell does."""
        result = self.zookeeper.write(session_id, (op,))
        if self.move_recorder is not None and isinstance(result, Written):
            self.move_recorder.written(op)
        return result

    @abstractmethod
    def _on_watch(self, session_id: SessionId, event: WatchFired) -> None:
        """Tell the owner of the session that a watch fired."""

    @abstractmethod
    def _on_session_end(self, session_id: SessionId) -> None:
        """The server has ended the session."""

    def _on_transaction(self, transaction: ZnodeChange) -> None:
        """Write one change of one znode into the trace of ZooKeeper."""
        self._zookeeper_trace.write(transaction_line(transaction))

    # What ZooKeeper publishes

    def view(self) -> ClusterView:
        """The controller, the leaders and the assigned replicas."""
        assigned = self.assignments()
        states = {key: self.state(key) for key in assigned}
        document = parsed(parse_controller, self.zookeeper.peek(CONTROLLER))
        return ClusterView(
            controller_id=document.brokerid if document is not None else None,
            leaders={key: state[0].leader for key, state in states.items() if state},
            assigned_replicas={key: tuple(replicas) for key, replicas in assigned.items()},
        )

    def assignments(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The replicas of every partition of the topics that can be read."""
        found: dict[TopicPartition, tuple[BrokerId, ...]] = {}
        for topic in self.zookeeper.children(TOPICS):
            found |= _assignment(topic, self.zookeeper.peek(topic_path(topic)).data)
        return found

    def topics(self) -> dict[str, TopicDocument]:
        """What the znodes of topics say, but for malformed ones, which are no topics."""
        told = {
            topic: _topic(topic, self.zookeeper.peek(topic_path(topic)).data)
            for topic in self.zookeeper.children(TOPICS)
        }
        return {topic: document for topic, document in told.items() if document is not None}

    def state(self, key: TopicPartition) -> tuple[LeaderAndIsr, int] | None:
        """What ZooKeeper holds about a partition, and its version; None of what is unreadable."""
        znode = self.zookeeper.peek(leader_and_isr_path(key))
        state = _state(znode.path, znode.data) if znode.stat else None
        return (state, znode.stat.version) if state and znode.stat else None
