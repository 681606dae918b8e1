"""Partitions move to other brokers under load; the controller that moves them dies meanwhile.

Its successor has to find the moves in ZooKeeper and end them. Afterwards everything moves back, and
the preferred replicas lead again.

In Python: an administrator asks again
until a controller grants the moves, and goes by what is published.
"""

from collections.abc import Mapping

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import Scenario
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.targets import CONTROLLER
from fencepost.fault_injection.stories.story import Story
from fencepost.spec.znodes import TopicPartition

STEP_S = 25.0
TARGETS = ((3, 2), (1, 3), (2, 1))
"""Each partition gets another preferred replica and loses its old one, which leads it."""

Replicas = Mapping[TopicPartition, tuple[int, ...]]


def _play(stage: RunningCluster) -> None:
    before = {key: stage.cluster.assignment(key.topic)[key.partition] for key in stage.partitions}
    _move(stage, dict(zip(stage.partitions, TARGETS, strict=True)), controller_dies=True)
    _move(stage, before, controller_dies=False)
    _lead_as_preferred(stage)


def _move(stage: RunningCluster, targets: Replicas, *, controller_dies: bool) -> None:
    """Every partition is where it was to go."""
    cluster = stage.cluster
    cluster.await_state(
        lambda: _is_granted(stage, targets), STEP_S, "a controller that grants the moves"
    )
    if controller_dies:
        restart_after_ms = 2 * cluster.session_timeout_ms
        kill = KillBroker(target=CONTROLLER, restart_after_ms=restart_after_ms)
        killed = stage.engine.inject("kill-controller", kill)
        stage.engine.await_active(killed)
        cluster.await_state(
            lambda: cluster.state.controller() is not None, STEP_S, "a new controller", may_end=True
        )
        stage.engine.heal(killed)
    cluster.await_state(
        lambda: all(cluster.assignment(k.topic).get(k.partition) == targets[k] for k in targets),
        STEP_S,
        "the end of the moves",
    )


def _is_granted(stage: RunningCluster, targets: Replicas) -> bool:
    """A controller refuses a broker of which it has not yet heard that it is back."""
    try:
        stage.cluster.reassign(targets)
    except ClusterError:
        return False
    return True


def _lead_as_preferred(stage: RunningCluster) -> None:
    cluster = stage.cluster
    cluster.await_state(
        lambda: cluster.is_healthy(stage.partitions), STEP_S, "full ISRs after the moves"
    )
    cluster.elect_preferred(stage.partitions)
    cluster.await_state(
        lambda: all(
            cluster.state.leader_of(key) == cluster.assignment(key.topic)[key.partition][0]
            for key in stage.partitions
        ),
        STEP_S,
        "the preferred leaders",
    )


SCENARIO = Scenario(
    story=Story(
        story_id="reassignment",
        says="Partitions move under load, and the controller that moves them dies meanwhile.",
        covers=("CTL-010", "REAS-001", "REAS-002", "REAS-003"),
    ),
    play=_play,
    has_own_orders=True,
)
