"""Which seeds `fencepost simulate` runs, and at which level the gate hunts mutants."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.ci.gate.stages import simulate
from fencepost.ci.gate.verdict_files import GateRun
from fencepost.conformance.verdict import Verdict, Violation
from fencepost.conformance.whitebox.simulate import MutantResult, SeedResult, SimulationResult
from fencepost.spec.tlc.models import Tier
from fencepost.spec.vocabulary import NEWEST_LEVEL, Invariant

Asked = dict[str, object]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the commands ask of the simulator, which answers at once."""
    asked: Asked = {}

    def run_seeds(seeds: range, *, level: int, **_: object) -> SimulationResult:
        asked.update(seeds=seeds, level=level)
        return SimulationResult(
            level=level,
            mutant=None,
            seeds=len(seeds),
            verdicts={Verdict.PASS: len(seeds)},
            premises={},
            failing=(),
            events=1,
            seconds=1.0,
        )

    def hunt_mutants(_: int, *, level: int, **__: object) -> tuple[MutantResult, ...]:
        asked.update(hunt_level=level)
        return ()

    monkeypatch.setattr("fencepost.ci.commands.simulate.run_seeds", run_seeds)
    monkeypatch.setattr("fencepost.conformance.whitebox.simulate.run_seeds", run_seeds)
    monkeypatch.setattr("fencepost.conformance.whitebox.simulate.hunt_mutants", hunt_mutants)
    return asked


def test_steps_that_violate_are_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--steps", "no_step_down"]) == 1

    told = capsys.readouterr().out
    assert "8 of 8 steps of no_step_down with no_step_down" in told
    assert "CommittedDurable" in told


def test_coverage_lists_what_was_not_reached(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--seeds", "1", "--coverage"]) == 0

    told = capsys.readouterr().out
    assert "ElectLeader" in told
    assert "actions that no seed reached: " in told


@pytest.mark.long
def test_a_failing_seed_is_printed_as_a_small_story(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["simulate", "--seed", "0", "--mutant", "leader_epoch_not_raised"]

    assert run([*command, "--shrink", "--json"]) == 1

    told = json.loads(capsys.readouterr().out)
    assert "mutant: leader_epoch_not_raised" in told["story"]
    assert "violated: " in told["story"]


def test_steps_as_json_name_what_was_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--steps", "leader_may_leave_isr", "--json"]) == 1

    told = json.loads(capsys.readouterr().out)
    assert told["wanted"] == "LeaderInIsr"
    assert told["violated"] == ["LeaderInIsr"]
    assert told["mismatch"] == ""


def test_steps_of_no_file_are_a_wrong_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--steps", "nowhere.json"]) == 4
    assert "nowhere.json: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--seeds", "--seed", "--level", "--mutant", "--out"])
def test_steps_refuse_what_they_would_forget(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", "--steps", "no_step_down", option, "1"]) == 4
    assert f"leave out {option}\n" in capsys.readouterr().err


STORY = """\
schema: 1
id: short
cluster: {brokers: 1}
steps:
  - {create_topic: t, replicas: [1]}
  - {produce: t/0, records: [a]}
  - check
"""
TOLD = STORY.replace("[a]}", "[a], expected: ok offset=0}")


def test_a_story_is_compared_and_rewritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "story.yaml"
    path.write_text(STORY)

    assert run(["simulate", "--story", str(path)]) == 1
    assert "+  - {produce: t/0, records: [a], expected: ok offset=0}\n" in capsys.readouterr().out
    assert path.read_text() == STORY
    assert run(["simulate", "--story", str(path), "--rewrite"]) == 0
    assert path.read_text() == TOLD
    assert run(["simulate", "--story", str(path), "--json"]) == 0
    assert '"difference": []' in capsys.readouterr().out


def test_a_story_of_the_library_is_played_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--story", "unreplicated_record"]) == 0
    assert "unreplicated_record.yaml, as the file says" in capsys.readouterr().out
    assert run(["simulate", "--story", "random"]) == 4
    assert "random is drawn from the seed; fencepost chaos plays it" in capsys.readouterr().err


def test_a_story_that_cannot_be_played_is_a_wrong_argument(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "story.yaml"
    path.write_text(STORY.replace("check", "{dance: 1}"))

    assert run(["simulate", "--story", str(path)]) == 4
    assert f"{path}: line 7: there is no verb 'dance'" in capsys.readouterr().err
    assert run(["simulate", "--story", str(tmp_path / "none.yaml")]) == 4
    assert "No such file or directory; name a story file" in capsys.readouterr().err
    path.write_bytes(b"\xff")
    assert run(["simulate", "--story", str(path)]) == 4
    assert "is no text; name a story file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "option"),
    [(["--story", "f", "--seed", "1"], "--seed"), (["--rewrite"], "--rewrite")],
)
def test_a_story_refuses_what_it_would_forget(
    arguments: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["simulate", *arguments]) == 4
    assert f"leave out {option}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "seeds"),
    [
        ([], range(200)),
        (["--seed", "7"], range(7, 8)),
        (["--seed", "0"], range(1)),
        (["--seeds", "3"], range(3)),
        (["--seed", "7", "--seeds", "3"], range(7, 10)),
    ],
    ids=str,
)
def test_seeds_are_so_many_from_the_first_on(
    arguments: list[str], seeds: range, asked: Asked
) -> None:
    assert run(["simulate", *arguments]) == 0
    assert asked["seeds"] == seeds


def test_help_tells_both_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--help"]) == 0

    said = " ".join(capsys.readouterr().out.split())
    assert "default: 200, or 1 with --seed" in said
    assert "The first seed; without --seeds, the only one." in said


def test_mutants_are_hunted_at_the_newest_level_and_the_summary_says_so(
    asked: Asked, tmp_path: Path
) -> None:
    gate = GateRun(
        folder=tmp_path, run_id="r", tier=Tier.QUICK, level=0, seed=0, zookeeper="embedded"
    )

    outcome = simulate(gate)

    assert (asked["level"], asked["hunt_level"]) == (0, NEWEST_LEVEL)
    assert outcome.summary.endswith("0 of 0 mutants caught at level 5")


def violating(seed: int) -> SeedResult:
    """A seed with two violations, one of them found twice."""
    first = Violation(invariant=Invariant.LOG_MATCHING, message=f"Offset {seed} differs.")
    second = Violation(invariant=Invariant.ACKNOWLEDGED_DURABLE, message="It is gone.")
    return SeedResult(
        seed=seed, verdict=Verdict.FAIL, violations=(first, first, second), reproduce="again"
    )


FOUND = SimulationResult(
    level=2,
    mutant="forgetful",
    seeds=200,
    verdicts={Verdict.FAIL: 152, Verdict.PASS: 48},
    premises={},
    failing=tuple(violating(seed) for seed in range(4, 156)),
    events=1,
    seconds=1.0,
    expected=("AcknowledgedDurable",),
)


def printed(
    result: SimulationResult,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *options: str,
) -> list[str]:
    """What the command says of `result`, line by line."""
    monkeypatch.setattr("fencepost.ci.commands.simulate.run_seeds", lambda *_, **__: result)
    run(["simulate", *options])
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


def test_every_violating_seed_has_one_row_and_the_cut_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(FOUND, monkeypatch, capsys)

    rows = [line.split()[0] for line in lines if "Offset" in line]
    assert rows == [str(seed) for seed in range(4, 14)]
    assert "and 142 more violating seeds" in lines
    assert lines[-1].endswith("152 violating seeds")


def test_the_line_of_a_mutant_says_whether_it_was_caught(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    caught = "mutant forgetful caught at seed 4 by AcknowledgedDurable, LogMatching"
    alive = "mutant forgetful NOT caught in 200 seeds; LeaderComplete should see it"

    assert caught in printed(FOUND, monkeypatch, capsys)
    assert alive in printed(replace(FOUND, expected=("LeaderComplete",)), monkeypatch, capsys)


def test_the_place_of_the_traces_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "traces"
    found = replace(FOUND, traces=("seed-4-level-2",))

    lines = printed(found, monkeypatch, capsys, "--out", str(out))

    assert f"traces of seed-4-level-2 in {out}" in lines
