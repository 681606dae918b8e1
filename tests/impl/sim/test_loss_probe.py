"""What follows a counterexample shows it to the checks; the repaired core has nothing to show."""

import pytest

from fencepost.conformance.checks.unclean_elections import UNCLEAN_ONLY_IF_ISR_DEAD, judge_elections
from fencepost.conformance.whitebox.stepped import is_visible, shows
from fencepost.impl.sim.adapter import moves
from fencepost.impl.sim.stepped.replay import SteppedReplay, repaired, replay
from fencepost.impl.sim.stepped.schedule import SCHEDULES, SteppedSchedule, read_schedule
from fencepost.spec.pacing import Verb
from tests.impl.sim.build import violated

SCHEDULED = [
    pytest.param(read_schedule(path), id=path.stem) for path in sorted(SCHEDULES.glob("*.json"))
]


def found(done: SteppedReplay) -> list[str]:
    _, needless = judge_elections(done.events)
    own = [UNCLEAN_ONLY_IF_ISR_DEAD] if needless else []
    return sorted([*own, *(invariant.value for invariant in violated(done.events))])


@pytest.mark.parametrize("schedule", SCHEDULED)
def test_the_checks_see_what_a_counterexample_leads_to_and_nothing_of_the_repaired_core(
    schedule: SteppedSchedule,
) -> None:
    assert schedule.violates is not None
    assert is_visible(schedule.violates)
    assert shows(schedule.violates, found(replay(schedule, probes_loss=True)))

    done = replay(repaired(schedule), probes_loss=True)

    assert schedule.violates not in done.violated
    assert done.mismatch is not None or not done.violated
    assert found(done) == []
    assert any("100" in (event.values or ()) for event in done.events if event.action == "Fetch")


def test_moves_are_the_same_each_time_and_say_who_reports_what() -> None:
    once, again = (moves("no_step_down", is_repaired=False) for _ in range(2))

    assert once == again
    assert once.mutant == "no_step_down"
    assert once.taken == len(once.steps) == 8
    reported = [text for move in once.moves if move.step == 8 for text in move.takes]
    assert [text.split()[0] for text in reported] == ["AdvanceHighWatermark"]
    assert {move.verb for move in once.moves} >= {Verb.START, Verb.ASK, Verb.SEND, Verb.AWAKEN}


def test_the_repair_is_the_same_steps_without_the_mutant_until_it_refuses() -> None:
    led = moves("no_step_down", is_repaired=True)

    assert led.mutant == ""
    assert all(move.verb is not Verb.AWAKEN for move in led.moves)
    assert led.taken == 6
    assert led.refused.startswith("step 7, FenceLeader of 1")
