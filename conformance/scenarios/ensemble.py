"""ZooKeeper itself is hurt: its leader dies or stands still, and a server restarts."""

from fencepost.conformance.runs.scenario import Scenario, ScenarioStage
from fencepost.fault_injection.faults.zookeeper_faults import FailOverZooKeeper, HurtServer
from fencepost.fault_injection.stories.schedule import Schedule, TimedFault

AWAY_MS = 1_000
STANDS_STILL_MS = 2_500
"""Longer than the others wait before they elect another leader."""


def _play(stage: ScenarioStage) -> None:
    faults = (
        FailOverZooKeeper(for_ms=AWAY_MS),
        HurtServer(member="leader", deed="pause", for_ms=STANDS_STILL_MS),
        HurtServer(member="follower", deed="restart", for_ms=AWAY_MS),
    )
    # One after the other is well again: with two servers away nobody would be served.
    for number, fault in enumerate(faults, start=1):
        timed = TimedFault(fault_id=f"fault-{number}", at_ms=0, fault=fault)
        stage.engine.run(Schedule(seed=stage.seed, faults=(timed,)))


SCENARIO = Scenario(
    name="zookeeper_failover",
    sentence="The leader of ZooKeeper dies, the next one stands still, a follower restarts.",
    requirements=("CTL-009", "ZK-006"),
    play=_play,
    needs_ensemble=True,
)
