"""Shares of a gate are disjoint, cover everything, and are judged as one."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fencepost.ci.cli import run as fencepost
from fencepost.ci.gate.gate import run_gate
from fencepost.ci.gate.outcomes import StageOutcome, of_hunt, of_levels
from fencepost.ci.gate.shards import Shard
from fencepost.ci.gate.stages import STAGES, stages_of
from fencepost.ci.gate.verdict_files import GateRun, GateStage
from fencepost.ci.results.merging import join_stages, read_shares, together
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.simulate import (
    MutantResult,
    SimulationOptions,
    SimulationResult,
    hunt_mutants,
    run_seeds,
)
from fencepost.spec.tlc.models import Tier
from fencepost.spec.vocabulary import Invariant
from tests.recorded import write_run

SCHEMA = json.loads((Path(__file__).parents[3] / "ci" / "verdict.schema.json").read_text())
FINE = StageOutcome(verdict=Verdict.PASS, summary="ran", figures={"models": 2})


@pytest.mark.parametrize("of", [1, 2, 3, 7])
def test_shares_are_disjoint_and_cover_everything(of: int) -> None:
    items = list(range(20))

    shares = [Shard(number, of).take(items) for number in range(1, of + 1)]

    assert sorted(chain.from_iterable(shares)) == items
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_what_cannot_be_shared_is_in_the_first_share_alone() -> None:
    names = [[stage.name for stage in stages_of(Shard(number, 2))] for number in (1, 2)]

    assert names == [
        ["spec", "proofs", "simulate", "chaos", "canary", "replay", "report"],
        ["spec", "simulate", "chaos", "replay", "report"],
    ]


def ending(name: str, outcome: StageOutcome) -> GateStage:
    return GateStage(name=name, run=lambda _: outcome, leaves=(name,))


def share(folder: Path, shard: str, seed: int, **outcomes: StageOutcome) -> Path:
    """The folder of a share with one recorded run, in which the stages ended like this."""
    folder.mkdir()
    given = Shard.parse(shard)

    def recording(run: GateRun) -> StageOutcome:
        write_run(run.folder / "chaos" / f"story-{seed}", seed)
        return outcomes.get("chaos", FINE)

    stages = [
        ending(stage.name, outcomes.get(stage.name, FINE))
        if stage.name != "chaos"
        else replace(stage, run=recording)
        for stage in stages_of(given)
        if stage.in_report
    ]
    asked = GateRun(
        folder=folder,
        run_id=f"r{shard}",
        tier=Tier.QUICK,
        level=3,
        seed=0,
        zookeeper="embedded",
        shard=given,
    )
    run_gate(asked, stages, lambda _: None)
    return folder


@pytest.mark.long
@pytest.mark.spark
def test_the_traces_of_all_shares_are_judged_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = [share(tmp_path / f"s{n}", f"{n}/2", seed=n) for n in (2, 1)]
    out = tmp_path / "whole"

    fencepost(["merge", *map(str, shares), "--out", str(out), "--json"])

    verdict = json.loads(capsys.readouterr().out)
    jsonschema.validate(verdict, SCHEMA)
    stages = {stage["stage"]: stage for stage in verdict["stages"]}
    assert list(stages) == [stage.name for stage in STAGES]
    assert stages["spec"]["summary"] == "2 shares: 4 models"
    assert stages["analyse"]["figures"]["runs"] == 2
    assert "shard" not in verdict
    assert verdict["reproduce"] == "fencepost gate --tier quick --level 3 --seed 0"
    assert sorted(path.name for path in (out / "chaos").iterdir()) == ["story-1", "story-2"]
    assert (out / "report.html").exists()


def test_a_violation_in_one_share_is_one_of_the_whole_and_names_the_share(tmp_path: Path) -> None:
    bad = StageOutcome(verdict=Verdict.FAIL, summary="Offset 3 differs", figures={"models": 1})
    folders = [share(tmp_path / "a", "1/2", 1), share(tmp_path / "b", "2/2", 2, spec=bad)]

    (spec, *_) = join_stages(read_shares(folders), STAGES)

    assert spec.verdict is Verdict.FAIL
    assert spec.summary == "2 shares: 3 models; 2/2: Offset 3 differs"


@pytest.mark.parametrize(
    ("shares", "told"),
    [
        (["1/3", "2/3"], "share 3/3 is missing"),
        (["1/2", "1/2"], "share 1/2 is given twice"),
        (["1/2", "2/3"], "no shares of one gate: shard is of 2 and of 3"),
        (["1/1"], "is a whole gate and no share of one"),
    ],
)
def test_what_is_no_whole_gate_is_refused(
    shares: Sequence[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [share(tmp_path / f"s{n}", one, n) for n, one in enumerate(shares)]

    assert fencepost(["merge", *map(str, folders), "--out", str(tmp_path / "out")]) == 4

    assert told in capsys.readouterr().err


def test_shares_that_were_asked_for_different_things_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = share(tmp_path / "a", "1/2", 1), share(tmp_path / "b", "2/2", 2)
    session = json.loads((two / "session.json").read_text())
    (two / "session.json").write_text(json.dumps({**session, "seed": 5}))

    assert fencepost(["merge", str(one), str(two), "--out", str(tmp_path / "out")]) == 4

    assert "seed is 0 and 5" in capsys.readouterr().err


@pytest.mark.parametrize("lost", ["verdict.json", "stages.json"])
def test_a_share_that_did_not_end_is_incomplete(
    lost: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = share(tmp_path / "a", "1/2", 1), share(tmp_path / "b", "2/2", 2)
    (two / lost).unlink()

    assert fencepost(["merge", str(one), str(two), "--out", str(tmp_path / "out")]) == 3

    assert f"did not end; go on with it by gate --resume {two}" in capsys.readouterr().err


@pytest.mark.long
def test_seeds_in_two_shares_find_what_they_find_in_one() -> None:
    seeds = range(4)
    one = of_levels([run_seeds(seeds, level=3, jobs=1)])
    shares = [Shard(number, 2) for number in (1, 2)]
    options = SimulationOptions(is_share=True)
    parts = [run_seeds(s.take(seeds), level=3, jobs=1, options=options) for s in shares]

    found = together([row for part in parts for row in of_levels([part]).detail["checks"]])

    kept = ("name", "level", "verdict", "premises", "seeds")
    assert [{name: row[name] for name in kept} for row in found] == [
        {name: row[name] for name in kept} for row in one.detail["checks"]
    ]
    assert len(found) > 5


def simulated(premises: dict[Invariant, int], **changes: Any) -> SimulationResult:  # noqa: ANN401
    return SimulationResult(
        level=3,
        mutant=None,
        seeds=40,
        verdicts={Verdict.PASS: 40},
        premises=premises,
        failing=(),
        events=1,
        seconds=1.0,
        is_share=True,
        **changes,
    )


def test_a_check_that_is_idle_in_every_share_is_vacuous_and_in_one_it_is_not() -> None:
    idle = {**dict.fromkeys(Invariant, 1), Invariant.LEADER_IN_ISR: 0, Invariant.LOG_MATCHING: 0}
    half = {**idle, Invariant.LOG_MATCHING: 3}
    outcomes = [of_levels([simulated(premises)]) for premises in (idle, half)]
    assert [outcome.verdict for outcome in outcomes] == [Verdict.PASS] * 2

    rows = together([row for outcome in outcomes for row in outcome.detail["checks"]])

    found = {row["name"]: row["verdict"] for row in rows}
    assert (found["LeaderInIsr"], found["LogMatching"]) == ("VACUOUS", "PASS")


def test_a_vacuous_check_makes_the_joined_stage_vacuous(tmp_path: Path) -> None:
    idle = {**dict.fromkeys(Invariant, 1), Invariant.LEADER_IN_ISR: 0}
    outcome = of_levels([simulated(idle)])
    folders = [share(tmp_path / f"s{n}", f"{n}/2", n, simulate=outcome) for n in (1, 2)]

    joined = {one.stage: one for one in join_stages(read_shares(folders), STAGES)}

    assert joined["simulate"].verdict is Verdict.VACUOUS
    assert joined["simulate"].figures["seeds"] == 80


def test_each_mutant_is_hunted_in_one_share() -> None:
    chosen: list[str] = []

    def take(records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        chosen.extend(record["mutant"] for record in Shard(2, 60).take(records))
        return Shard(2, 60).take(records)

    found: Sequence[MutantResult] = hunt_mutants(20, jobs=1, choose=take)

    assert [result.mutant for result in found] == chosen
    assert len(chosen) in (2, 3)
    assert of_hunt(found, level=3).figures["mutants"] == len(chosen)
