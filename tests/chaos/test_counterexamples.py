"""Counterexamples of the specs on real processes: some of each kind; nightly runs them all."""

from pathlib import Path

import pytest

from conformance.guided import follow
from conformance.mutants_on_processes import lead
from conformance.verdict import Verdict

pytestmark = pytest.mark.chaos

CHOSEN = {
    "truncation_to_high_watermark": "CommittedDurable",
    "restart_ignores_znode": "QuorumSuperset",
    "expand_overwrites_shrink": "QuorumSuperset",
    "fetch_without_epoch": "CommittedDurable",
    "init_is_unconditional": "CommittedDurable",
    "send_unwritten_decisions": "CommandReflectsZk",
    "unclean_election_truncation_to_high_watermark": "FollowersMatchLeader",
}
"""A crash, a restart, a lost reply, sessions that come again, the office, and one made anew."""


def test_with_the_hazard_it_is_violated_and_repaired_it_is_not(tmp_path: Path) -> None:
    results = follow(list(CHOSEN), out=tmp_path)

    assert {r.name: r.violates for r in results} == CHOSEN
    assert [(r.name, r.message) for r in results if r.verdict is not Verdict.PASS] == []


RUNS = {
    "acknowledge_on_step_down": "AcknowledgedDurable",
    "persistent_controller_znode": "ControllerEventuallyExists",
}
"""Along simulated scenarios: one that a check finds, one that ZooKeeper shows at the end."""


@pytest.mark.parametrize("mutant", RUNS)
def test_processes_repeat_what_was_simulated(mutant: str, tmp_path: Path) -> None:
    led = lead(mutant, mutant, out=tmp_path)

    assert (led.problem, led.without) == ("", ())
    assert RUNS[mutant] in led.found
    assert led.is_killed
