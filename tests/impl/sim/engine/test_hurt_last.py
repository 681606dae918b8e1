"""What hurts one broker alone, and lasts, keeps no partition from being served."""

from dataclasses import replace

import pytest

from fencepost.ci.gate.seeds import gate_seeds
from fencepost.conformance.runs.run_end import run_end
from fencepost.fault_injection.faults.disk_faults import BreakDisk, FillDisk, SlowDisk
from fencepost.fault_injection.faults.fault import Fault
from fencepost.fault_injection.faults.request_faults import DropResponse
from fencepost.fault_injection.faults.targets import ANY_BROKER, follower, leader
from fencepost.impl.mutants.mutant import MutantName
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.draw.draw import swarm
from fencepost.impl.sim.engine.liveness_state import unserved
from fencepost.impl.sim.engine.run import OptionsPart, SimulatedRun, described, run
from fencepost.spec.trace import Phase, TraceEvent
from fencepost.spec.vocabulary import Liveness, ProtocolLevel
from tests.impl.sim.build import calm

LASTS_MS = 60_000
UNTOLD = mutant_name("tell_no_failed_log")
GATE_SEEDS = gate_seeds(150)


def play(fault: Fault, mutant: MutantName | None = None) -> list[TraceEvent]:
    return run(described(replace(calm((2_000, fault)), hurt_last=True, mutant=mutant)), "run")


@pytest.mark.parametrize(
    "fault",
    [
        BreakDisk(target=leader("t"), for_ms=LASTS_MS),
        FillDisk(target=leader("t"), for_ms=LASTS_MS),
        SlowDisk(target=leader("t"), delay_ms=500, for_ms=LASTS_MS),
    ],
)
def test_partitions_are_served_while_one_broker_is_hurt(fault: Fault) -> None:
    assert run_end(play(fault)).unhealed == frozenset()


def test_a_failed_log_that_is_told_to_no_controller_is_seen_before_the_disk_heals() -> None:
    events = play(BreakDisk(target=leader("t"), for_ms=LASTS_MS), UNTOLD)

    assert run_end(events).unhealed == {Liveness.EVENTUALLY_LEADER}
    assert Phase.HEALED not in {event.phase for event in events}


class FollowerStaysBehind(OptionsPart):
    """All is calm, and what a follower asks for is still not answered."""

    def heal(self, run: SimulatedRun) -> set[Liveness]:
        run.calm()
        run.pass_time(5_000)
        return {*unserved(run.cluster)}


def test_a_follower_that_fetches_and_stays_behind_is_not_served() -> None:
    unanswered = DropResponse(
        method="Fetch", sender=follower("t", 0, 0), receiver=ANY_BROKER, count=0, for_ms=LASTS_MS
    )
    given = described(calm((2_000, unanswered)))
    events = run(replace(given, parts=(FollowerStaysBehind(),)), "run")

    assert run_end(events).unhealed == {Liveness.EVENTUALLY_ISR_FULL, Liveness.EVENTUALLY_CONVERGED}


def test_seeds_of_the_gate_have_a_broker_that_stays_hurt() -> None:
    drawn = [swarm(seed, level=ProtocolLevel.LEADER_EPOCH) for seed in GATE_SEEDS]
    lasting = [
        action.fault.kind
        for options in drawn
        if options.hurt_last
        for action in options.story.actions
        if getattr(action.fault, "for_ms", 0) == LASTS_MS
    ]

    assert {*lasting} == {BreakDisk.kind, FillDisk.kind, SlowDisk.kind}
    assert len(lasting) >= 5
