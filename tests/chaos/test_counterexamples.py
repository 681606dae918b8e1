"""Counterexamples of the specs on real processes: some of each kind; nightly runs them all."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec import structs

from fencepost.ci.bench.mutants_on_processes import lead, scenarios
from fencepost.ci.cli import run
from fencepost.conformance.runs.run_folder import read_folder
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.mutants_on_processes import run_directed, run_varied
from fencepost.conformance.whitebox.stepped import follow, follow_file, stepped_site
from fencepost.impl.sim.adapter import moves, variations
from fencepost.spec.pacing import read_moves, write_moves
from tests.labs import ends

pytestmark = pytest.mark.chaos

QUICK = "leader_may_leave_isr"
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


@pytest.mark.parametrize("line", ends("fencepost chaos --from-counterexample "))
def test_the_counterexamples_that_labs_end_with_are_as_they_say(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run(shlex.split(line)[1:]) == 0
    assert "PASS: 1 of 1 counterexample" in capsys.readouterr().out


RUNS = {
    "acknowledge_on_step_down": "AcknowledgedDurable",
    "persistent_controller_znode": "ControllerEventuallyExists",
}
"""Along simulated scenarios: one that a check finds, one that ZooKeeper shows at the end."""

VARIED = "accept_older_controller_epoch"
NUMBER = 2
BASE = "composite_deposed_controller_sends"
"""Found in these variations of a scenario that was written for others."""


@pytest.mark.parametrize("mutant", RUNS)
def test_processes_repeat_what_was_simulated(mutant: str, tmp_path: Path) -> None:
    led = run_directed(mutant, mutant, out=tmp_path)

    assert (led.problem, led.without) == ("", ())
    assert RUNS[mutant] in led.found
    assert led.is_killed


TOKENS = {
    "token_is_renewed_and_ended": ("any_broker_writes", "OnlyControllerWrites"),
    "token_request_comes_twice": ("apply_again", "LinearizableConfig"),
    "token_made_while_the_controller_dies": ("lost_answer_is_refusal", "LinearizableConfig"),
}
"""Story -> a wrong rule of its, and what that violates."""
STORIES = Path(__file__).resolve().parents[1] / "stories"


@pytest.mark.parametrize("story", TOKENS)
def test_brokers_with_tls_make_the_tokens_of_a_story(story: str, tmp_path: Path) -> None:
    mutant, violated = TOKENS[story]

    led = run_directed(mutant, str(STORIES / f"{story}.yaml"), out=tmp_path)
    lines = read_folder(tmp_path / "repaired")[0]

    assert (led.problem, led.found, led.without) == ("", (violated,), ())
    assert any("/delegation_token/tokens/" in (line.path or "") for line in lines)
    assert not list(tmp_path.rglob("key.pem"))


CODE, BOTH_PASSES = {(4, 3)}, {(4, 3), (4, 4)}
UPGRADES = {
    "accept_missing_epoch": ("StaleIncarnationHarmless", BOTH_PASSES),
    "report_to_own_level_only": ("EventuallyMetadataConverges", BOTH_PASSES),
    "upgrade_in_one_step": ("StaleIncarnationHarmless", CODE),
}
"""Brokers start again with other code, and to speak another level; one upgrade stops halfway."""


@pytest.mark.parametrize("mutant", UPGRADES)
def test_processes_repeat_an_upgrade_move_by_move(mutant: str, tmp_path: Path) -> None:
    violated, brought = UPGRADES[mutant]

    led = lead(mutant, tmp_path)
    made = read_moves(tmp_path / "repaired" / "moves.ndjson").moves
    versions = {(move.code_level, move.inter_broker_protocol) for move in made}

    assert (led.problem, led.found, led.without) == ("", (violated,), ())
    assert versions - {(0, 0)} == brought


def test_processes_repeat_what_a_variation_shows_and_find_nothing_wrong_otherwise(
    tmp_path: Path,
) -> None:
    base = {BASE: scenarios()[BASE]}
    drawn = run_varied(VARIED, NUMBER, base, skips_own=True, out=tmp_path / "wrong")
    dealt = variations(base, NUMBER, mutant=None, skips_own=False)
    make = next(make for told, make, _ in dealt if told == drawn.scenario)
    with stepped_site(tmp_path) as site:
        run = site.run(make(), tmp_path / "right")

    assert (drawn.found, drawn.problem, drawn.repetitions) == (("StaleControllerHarmless",), "", 1)
    assert drawn.scenario.startswith("variation of ")
    assert (run.found, run.problem) == ((), "")


def test_processes_follow_a_counterexample_and_do_so_again_until_a_move_differs(
    tmp_path: Path,
) -> None:
    (result,) = follow([QUICK], out=tmp_path)
    left = read_moves(tmp_path / QUICK / "hazard" / "moves.ndjson")

    assert (result.verdict, result.message) == (
        Verdict.PASS,
        "the repair refuses step 1, ShrinkIsr of 1",
    )
    assert (result.hazard.steps, result.hazard.made) == (result.of, result.hazard.moves)
    assert "LeaderInIsr" in result.hazard.found
    assert left == moves(QUICK, is_repaired=False)
    assert awake(tmp_path / QUICK / "hazard") == {QUICK}
    assert awake(tmp_path / QUICK / "repaired") == set()

    at = next(n for n, move in enumerate(left.moves) if move.step == 2 and move.takes)
    other = structs.replace(left.moves[at], takes=["BecomeLeader"])
    changed = (*left.moves[:at], other, *left.moves[at + 1 :])
    write_moves(tmp_path / "changed", structs.replace(left, moves=changed))

    _, run = follow_file(tmp_path / "changed", out=tmp_path / "out")

    assert replace(run, found=()).verdict is Verdict.INCONCLUSIVE
    assert run.made == at
    assert run.problem.startswith(f"at step 2, {left.steps[1]}: at ")
    assert "not ['BecomeLeader']" in run.problem


def awake(folder: Path) -> set[str | None]:
    """The mutants that brokers say they have."""
    events, doubts = read_folder(folder)
    assert doubts == []
    return {event.detail for event in events if event.action == "MutantAwake"}
