"""A command that its controller sent and no longer stands for arrives after its successor's.

The controller stands still until its session is over and its successor obeyed: were its session
merely ended, it could be registered anew before its successor looks, and nothing would follow.
"""

from fencepost.conformance.adapters.cluster import ClusterError
from fencepost.conformance.runs.scenario import WHOLE_RUN_MS, Scenario, ScenarioStage
from fencepost.fault_injection.faults.process_faults import PauseBroker
from fencepost.fault_injection.faults.request_faults import HoldRequest
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.spec.trace import TraceEvent
from fencepost.spec.vocabulary import Action

STEP_S = 15.0


def _play(stage: ScenarioStage) -> None:
    """Hold a command, depose its controller, wait until the successor is obeyed, let it go."""
    controller = stage.cluster.controller()
    assert controller is not None
    victim, late = stage.others(controller)
    hold = HoldRequest(
        method="LeaderAndIsr",
        sender=broker(controller),
        receiver=broker(late),
        for_ms=WHOLE_RUN_MS,
    )
    held = stage.engine.inject("hold-command", hold)
    stage.engine.heal(stage.engine.inject("expire-victim", ExpireSession(target=broker(victim))))
    stage.engine.await_active(held)
    _depose(stage, controller, late)
    stage.engine.heal(held)


def _depose(stage: ScenarioStage, controller: int, late: int) -> None:
    """The session of the controller has ended, and `late` has obeyed what followed from it."""
    led = [p for p in stage.partitions if stage.cluster.leader_of(p) == controller]
    before = stage.cluster.state_of(led[0]) if led else None
    if before is None:
        raise ClusterError(f"the controller, broker {controller}, leads nothing that it could lose")

    def follows_from_it(event: TraceEvent) -> bool:
        return (
            event.action in (Action.BECOME_LEADER, Action.BECOME_FOLLOWER)
            and (event.topic, event.partition) == (led[0].topic, led[0].partition)
            and (event.leader_epoch or 0) > before.leader_epoch
        )

    pause = PauseBroker(target=broker(controller), for_ms=WHOLE_RUN_MS)
    paused = stage.engine.inject("pause-controller", pause)
    stage.engine.await_active(paused)
    stage.await_event(late, follows_from_it, STEP_S, f"the next command to broker {late}")
    stage.engine.heal(paused)


SCENARIO = Scenario(
    name="stale_command",
    sentence="A deposed controller's command arrives after its successor's and changes nothing.",
    requirements=("CMD-002", "CTL-006", "CTL-007", "CTL-013"),
    play=_play,
)
