"""Administrators and strangers change what the cluster is at work on, one after the other."""

from collections.abc import Sequence

from fencepost.conformance.runs.scenario import TOPIC, Scenario, ScenarioStage
from fencepost.fault_injection.faults.admin_faults import (
    AddPartitions,
    ElectPreferred,
    KickController,
    ReassignPartition,
    RecreateTopic,
)
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.targets import follower, leader
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession, RaceVersion
from fencepost.fault_injection.stories.schedule import Schedule, TimedFault

CHANGES = (
    ReassignPartition(topic=TOPIC, replicas=(2, 1)),
    ElectPreferred(topic=TOPIC),
    KickController(),
    AddPartitions(topic=TOPIC),
    RecreateTopic(topic=TOPIC, for_ms=100),
)
"""The first leaves the leader in its place, who is not the preferred one any more."""


def _change(stage: ScenarioStage) -> None:
    _one_by_one(stage, CHANGES)


def _one_by_one(stage: ScenarioStage, faults: Sequence[Fault]) -> None:
    for number, fault in enumerate(faults, start=1):
        running = stage.engine.inject(f"fault-{number}", fault)
        stage.engine.await_active(running)
        stage.engine.heal(running)


def _race(stage: ScenarioStage) -> None:
    """After each race the leader must write: the ISR shrinks while a follower stands still."""
    _one_by_one(stage, (ExpireSession(target=leader(TOPIC), mode="local_only"),))
    pause_ms = 2 * stage.cluster.session_timeout_ms
    faults = (
        TimedFault(fault_id="race", at_ms=0, fault=RaceVersion(topic=TOPIC, count=2)),
        TimedFault(
            fault_id="lag", at_ms=100, fault=PauseBroker(target=follower(TOPIC), for_ms=pause_ms)
        ),
    )
    stage.engine.run(Schedule(seed=stage.seed, faults=faults))


SCENARIOS = (
    Scenario(
        name="administration",
        sentence="A partition moves, its leader changes, the controller is deposed, topics change.",
        requirements=("CTL-006", "PART-001", "REAS-001", "TOP-003", "ZK-005"),
        play=_change,
    ),
    Scenario(
        name="version_race",
        sentence="A leader forgets its session; then its state has a version that nobody told it.",
        requirements=("START-005", "ZK-003"),
        play=_race,
    ),
)
