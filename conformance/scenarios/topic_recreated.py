"""A topic is deleted and created again under the same name while one of its replicas is down.

The broker comes back with a log of the topic that is no more. It has to drop it, and gets an empty
one when replicas are moved to it; a topic of the same name is another topic.

In Python: the topic comes back on other brokers than before, and clients work between the steps.
"""

from fencepost.conformance.runs.running_cluster import ASSIGNMENT, TOPIC, RunningCluster
from fencepost.conformance.runs.scenario import WHOLE_RUN_MS, Scenario
from fencepost.fault_injection.faults.process_faults import KillBroker
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.stories.story import Story

STEP_S = 25.0
RECORDS = 20
"""Acknowledged after each step, so that each topic has some."""


def _play(stage: RunningCluster) -> None:
    cluster = stage.cluster
    victim = stage.others(stage.controller())[-1]
    kill = KillBroker(target=broker(victim), restart_after_ms=WHOLE_RUN_MS)
    killed = stage.engine.inject("kill-replica", kill)
    stage.engine.await_active(killed)
    cluster.delete_topic(TOPIC)
    first, second = stage.others(victim)
    without = [(first, second), (second, first), (first, second)]
    cluster.create_topic(TOPIC, without, may_end=True)
    _work(stage)
    stage.engine.heal(killed)
    cluster.reassign(dict(zip(stage.partitions, ASSIGNMENT, strict=True)))
    cluster.await_state(
        lambda: cluster.is_healthy(stage.partitions) and _is_everywhere(stage),
        STEP_S,
        "the new topic on all brokers",
    )


def _is_everywhere(stage: RunningCluster) -> bool:
    found = stage.cluster.assignment(TOPIC)
    return [found.get(number) for number in range(len(ASSIGNMENT))] == list(ASSIGNMENT)


def _work(stage: RunningCluster) -> None:
    """Get records of the workload into the new topic."""
    assert stage.workload is not None
    stage.workload.await_acknowledged(stage.workload.acknowledged + RECORDS, STEP_S)


SCENARIO = Scenario(
    story=Story(
        story_id="topic_recreated",
        says="A topic is deleted and created again while a replica is down; its log is dropped.",
        covers=("START-004", "TOP-002", "TOP-003"),
    ),
    play=_play,
    has_own_orders=True,
)
