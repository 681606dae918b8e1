"""Requests between brokers are lost, late, repeated, or lose their answer, during a failover."""

from fencepost.conformance.runs.scenario import Scenario, ScenarioStage
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.request_faults import (
    DropRequest,
    DropResponse,
    DuplicateRequest,
    HoldRequest,
)
from fencepost.fault_injection.faults.targets import broker
from fencepost.fault_injection.faults.zookeeper_faults import ExpireSession
from fencepost.fault_injection.stories.schedule import Schedule, TimedFault

COMMANDS_MS = 3_000
FETCHES_MS = 1_500
EXPIRY_AT_MS = 400


def _play(stage: ScenarioStage) -> None:
    """The expiry of a broker that is not the controller makes the controller send commands.

    Rules of one sender apply in the order in which they came: of the commands to `late`, the first
    is held until the rule is healed, when newer ones have long overtaken it.
    """
    controller = stage.cluster.controller()
    assert controller is not None
    victim, late = stage.others(controller)
    commands: list[Fault] = [
        HoldRequest(
            method="LeaderAndIsr",
            sender=broker(controller),
            receiver=broker(late),
            for_ms=COMMANDS_MS,
        ),
        DropRequest(
            method="LeaderAndIsr",
            sender=broker(controller),
            receiver=broker(victim),
            for_ms=COMMANDS_MS,
        ),
        DropResponse(
            method="LeaderAndIsr",
            sender=broker(controller),
            receiver=broker(late),
            for_ms=COMMANDS_MS,
        ),
        DuplicateRequest(
            method="LeaderAndIsr", sender=broker(controller), count=0, for_ms=COMMANDS_MS
        ),
    ]
    fetches: list[Fault] = [
        DropRequest(method="Fetch", sender=broker(victim), count=2, for_ms=FETCHES_MS),
        DropResponse(method="Fetch", sender=broker(controller), count=2, for_ms=FETCHES_MS),
        HoldRequest(method="Fetch", sender=broker(late), count=2, for_ms=FETCHES_MS),
        DuplicateRequest(method="Fetch", sender=broker(late), count=9, for_ms=FETCHES_MS),
    ]
    faults = [*commands, *fetches]
    timed = [TimedFault(fault_id=f"rpc-{n}", at_ms=0, fault=f) for n, f in enumerate(faults, 1)]
    expiry = ExpireSession(target=broker(victim))
    timed.append(TimedFault(fault_id="expiry", at_ms=EXPIRY_AT_MS, fault=expiry))
    stage.engine.run(Schedule(seed=stage.seed, faults=tuple(timed)))


SCENARIO = Scenario(
    name="rpc_faults",
    sentence="Commands and fetches are lost, late or repeated while leaders change.",
    requirements=("CMD-002", "CTL-012", "FAIL-008", "REPL-003"),
    play=_play,
)
