"""A leader dies with a record that no follower has fetched; it was never acknowledged.

The same steps catch a leader that acknowledges too early, every time: the gate's canary.

In Python: a client produces single records between the faults.
"""

from fencepost.conformance.adapters.errors import ClusterError
from fencepost.conformance.runs.running_cluster import RunningCluster
from fencepost.conformance.runs.scenario import WHOLE_RUN_MS, Scenario
from fencepost.conformance.scenarios.records import produce_until_ok, require_ok
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.request_faults import DropRequest
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.stories.story import ClientLoad, Story
from fencepost.spec.znodes import TopicPartition

TOPIC = "ledger"
STEP_S = 15.0
PATIENCE_MS = 400
"""How long the client waits for a record that cannot be replicated."""


def _play(stage: RunningCluster) -> None:
    """No follower fetches any more; the leader gets a record, and dies."""
    controller = stage.controller()
    if controller is None:
        raise ClusterError("there is no controller that could elect another leader")
    leader, third = stage.others(controller)
    (partition,) = stage.create_topic(TOPIC, [[leader, controller, third]])
    client = stage.session.client("client-1")
    require_ok(client.produce(partition, ["client-1/1/1"]), "the first record")
    _stop_replication(stage, leader)
    client.produce(partition, ["client-1/2/1"], timeout_ms=PATIENCE_MS)
    _elect_another(stage, partition, leader)
    produce_until_ok(stage, client, partition, "client-1/3", STEP_S)


def _stop_replication(stage: RunningCluster, leader: int) -> None:
    """The fetches of all followers are lost from now on."""
    lost = []
    for follower in stage.others(leader):
        no_fetch = DropRequest(
            method="Fetch",
            sender=broker(follower),
            receiver=broker(leader),
            count=0,
            for_ms=WHOLE_RUN_MS,
        )
        lost.append(stage.engine.inject(f"no-fetch-{follower}", no_fetch))
    for running in lost:
        stage.engine.await_active(running)


def _elect_another(stage: RunningCluster, partition: TopicPartition, leader: int) -> None:
    kill = KillBroker(target=broker(leader), restart_after_ms=None)
    stage.engine.inject("kill-leader", kill)
    stage.cluster.await_state(
        lambda: stage.leader_of(partition) not in (None, leader),
        STEP_S,
        f"a leader after broker {leader}",
        may_end=True,
    )


SCENARIO = Scenario(
    story=Story(
        story_id="unreplicated_record",
        says="A leader dies with a record that no follower has; it was never acknowledged.",
        covers=("REPL-008", "FAIL-001", "CLI-004"),
        profile=ClientLoad.NONE,
        cluster={"replica_lag_ms": 60_000},
    ),
    play=_play,
    has_own_orders=True,
)
