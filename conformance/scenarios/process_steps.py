"""What processes under a ZooKeeper can be asked in steps of a story, besides what all clusters can.

Brokers are asked by the harness itself, and no line of a trace tells of it.
"""

from typing import Any

from fencepost.conformance.adapters.cluster import ClusterUnderTest
from fencepost.conformance.clients.transport import (
    BrokerConnection,
    ClusterUnreachableError,
    RoutingView,
)
from fencepost.fault_injection.stories.steps import story_step as steps
from fencepost.fault_injection.stories.steps.observation import Observation, Observed
from fencepost.fault_injection.stories.steps.step_player import (
    OBSERVED,
    PERFORMED,
    ObservationTable,
    StepPlayer,
    StepTable,
)
from fencepost.fault_injection.stories.steps.story_cluster import Lines
from fencepost.fault_injection.stories.steps.znode_contents import not_held
from fencepost.fault_injection.workload.operations import ListOffsets
from fencepost.fault_injection.zookeeper.client import NoZnodeError
from fencepost.spec.vocabulary import ANY_VERSION, BrokerId


def _cluster_of(player: StepPlayer[Any]) -> ClusterUnderTest:
    cluster: ClusterUnderTest = player.cluster.running.cluster
    return cluster


def _view(player: StepPlayer[Any], broker_id: BrokerId | None) -> RoutingView:
    """The metadata of a broker; an empty one while it does not answer."""
    connection = _connection(player, broker_id)
    try:
        return connection.routing_view() if connection else RoutingView()
    except ClusterUnreachableError:
        return RoutingView()


def _connection(player: StepPlayer[Any], broker_id: BrokerId | None) -> BrokerConnection | None:
    assert broker_id is not None
    return _cluster_of(player).connection_to(broker_id)


def _leader_at(player: StepPlayer[Any], what: Observation) -> Observed:
    assert what.partition is not None
    view = _view(player, what.broker_id).partitions.get(what.partition)
    return () if view is None or view.leader < 0 else view.leader


def _controller_at(player: StepPlayer[Any], what: Observation) -> Observed:
    found = _view(player, what.broker_id).controller_id
    return () if found < 0 else found


def _brokers_at(player: StepPlayer[Any], what: Observation) -> Observed:
    return tuple(sorted(_view(player, what.broker_id).addresses))


def _answer_at(player: StepPlayer[Any], what: Observation) -> Observed:
    """`ok`, or why the broker does not serve the partition."""
    assert what.partition is not None
    connection = _connection(player, what.broker_id)
    if connection is None:
        return ()
    answer = connection.perform(ListOffsets(partition=what.partition))
    return "ok" if answer.is_ok else str(answer.error_code)


def _committed(player: StepPlayer[Any], what: Observation) -> Observed:
    """The high watermark that the published leader tells; nothing while it does not serve."""
    assert what.partition is not None
    leader = _cluster_of(player).state.leader_of(what.partition)
    connection = None if leader is None or leader < 0 else _connection(player, BrokerId(leader))
    if connection is None:
        return ()
    found = connection.perform(ListOffsets(partition=what.partition)).high_watermark
    return () if found is None else found


def _config_version_at(player: StepPlayer[Any], what: Observation) -> Observed:
    """How many changes of the configuration the broker has read, counted from 0."""
    connection = _connection(player, what.broker_id)
    try:
        return connection.config_version() if connection else ()
    except ClusterUnreachableError:
        return ()


def _broker_epoch(player: StepPlayer[Any], what: Observation) -> Observed:
    assert what.broker_id is not None
    registration = _cluster_of(player).state.registration(what.broker_id)
    return registration.zxid if registration else ()


def _znode(player: StepPlayer[Any], step: steps.ZnodeStep) -> Lines:
    try:
        found = _cluster_of(player).znodes.read(step.znode)
    except NoZnodeError:
        return not_held(step, None, is_ephemeral=False)
    return not_held(step, found.data, is_ephemeral=bool(found.ephemeral_owner))


def _create_znode(player: StepPlayer[Any], step: steps.CreateZnodeStep) -> Lines:
    _cluster_of(player).znodes.create(step.create_znode, step.data.encode())
    return []


def _set_znode(player: StepPlayer[Any], step: steps.SetZnodeStep) -> Lines:
    data = step.data.encode()
    _cluster_of(player).znodes.set(step.set_znode, data, version=ANY_VERSION)
    return []


def _delete_znode(player: StepPlayer[Any], step: steps.DeleteZnodeStep) -> Lines:
    _cluster_of(player).znodes.delete(step.delete_znode)
    return []


PROCESS_STEPS: StepTable = {
    **PERFORMED,
    steps.ZnodeStep: _znode,
    steps.CreateZnodeStep: _create_znode,
    steps.SetZnodeStep: _set_znode,
    steps.DeleteZnodeStep: _delete_znode,
}
PROCESS_OBSERVATIONS: ObservationTable = {
    **OBSERVED,
    "committed": _committed,
    "broker_epoch": _broker_epoch,
    "controller_at": _controller_at,
    "brokers_at": _brokers_at,
    "config_version_at": _config_version_at,
    "leader_at": _leader_at,
    "answer_at": _answer_at,
}
