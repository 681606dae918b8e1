import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import jsonschema
import pytest

from fencepost.ci.exit_codes import INTERRUPTED
from fencepost.ci.gate.gate import run_gate
from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.gate.stages import STAGES
from fencepost.ci.gate.verdict_files import GateRun, GateStage, StageRecord
from fencepost.conformance.verdict import Verdict
from fencepost.spec.tlc.models import Tier

SCHEMA = json.loads((Path(__file__).parents[3] / "ci" / "verdict.schema.json").read_text())


@pytest.fixture
def run(tmp_path: Path) -> GateRun:
    return GateRun(
        folder=tmp_path,
        run_id="20260102T030405Z-abcd",
        tier=Tier.QUICK,
        level=2,
        seed=7,
        zookeeper="embedded",
    )


def ending(name: str, verdict: Verdict, **detail: list[dict[str, object]]) -> GateStage:
    outcome = StageOutcome(
        verdict=verdict, summary=f"{name} ran", figures={"tried": 3}, detail=detail
    )
    return GateStage(name=name, run=lambda _: outcome)


def raising(name: str, error: BaseException) -> GateStage:
    def fail(_: GateRun) -> NoReturn:
        raise error

    return GateStage(name=name, run=fail)


def ignore(_: StageRecord) -> None:
    """Progress is not shown."""


def verdict_of(run: GateRun) -> dict[str, Any]:
    verdict: dict[str, Any] = json.loads((run.folder / "verdict.json").read_text())
    return verdict


def stages_of(run: GateRun) -> list[dict[str, Any]]:
    stages: list[dict[str, Any]] = json.loads((run.folder / "stages.json").read_text())
    return stages


@pytest.mark.parametrize(
    ("verdicts", "overall", "exit_code"),
    [
        ((Verdict.PASS, Verdict.PASS), "PASS", 0),
        ((Verdict.PASS, Verdict.FAIL), "FAIL", 1),
        ((Verdict.FAIL, Verdict.ERROR), "ERROR", 1),
        ((Verdict.PASS, Verdict.VACUOUS), "VACUOUS", 2),
        ((Verdict.INCONCLUSIVE, Verdict.PASS), "INCONCLUSIVE", 2),
        ((Verdict.PASS, Verdict.ERROR), "ERROR", 3),
        ((Verdict.PASS, Verdict.NOT_RUN), "NOT_RUN", 3),
    ],
)
def test_the_worst_stage_decides(
    run: GateRun, verdicts: tuple[Verdict, ...], overall: str, exit_code: int
) -> None:
    stages = [ending(f"stage{number}", verdict) for number, verdict in enumerate(verdicts)]

    run_gate(run, stages, ignore)

    verdict = verdict_of(run)
    jsonschema.validate(verdict, SCHEMA)
    assert (verdict["verdict"], verdict["exit_code"]) == (overall, exit_code)
    assert [stage["verdict"] for stage in verdict["stages"]] == list(verdicts)
    assert verdict["reproduce"] == "fencepost gate --tier quick --level 2 --seed 7"


def test_a_crashed_stage_is_an_error_and_the_others_still_run(run: GateRun) -> None:
    crash = raising("simulate", KeyError("boom"))

    run_gate(run, [ending("spec", Verdict.PASS), crash, ending("chaos", Verdict.PASS)], ignore)

    verdicts = {stage["stage"]: stage["verdict"] for stage in stages_of(run)}
    assert verdicts == {"spec": "PASS", "simulate": "ERROR", "chaos": "PASS"}
    assert verdict_of(run)["exit_code"] == 3
    assert "boom" in (run.folder / "errors.txt").read_text()


def test_stages_are_written_down_before_the_next_one_starts(run: GateRun) -> None:
    seen: list[str] = []

    def look(_: GateRun) -> StageOutcome:
        seen.extend(stage["stage"] for stage in stages_of(run))
        return StageOutcome(verdict=Verdict.PASS)

    run_gate(run, [ending("spec", Verdict.PASS), GateStage(name="analyse", run=look)], ignore)

    assert seen == ["spec"]


def test_the_stage_that_writes_the_report_is_not_in_it(run: GateRun) -> None:
    last = GateStage(
        name="report", run=lambda _: StageOutcome(verdict=Verdict.PASS), in_report=False
    )

    run_gate(run, [ending("spec", Verdict.PASS), last], ignore)

    assert [stage["stage"] for stage in stages_of(run)] == ["spec"]
    assert [stage["stage"] for stage in verdict_of(run)["stages"]] == ["spec", "report"]


def test_an_interruption_is_written_down_and_raised_again(
    run: GateRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(
        "fencepost.ci.gate.gate.time", SimpleNamespace(monotonic=lambda: next(clock))
    )
    stages = [
        ending("spec", Verdict.PASS),
        raising("chaos", KeyboardInterrupt()),
        ending("x", Verdict.PASS),
    ]

    with pytest.raises(KeyboardInterrupt):
        run_gate(run, stages, ignore)

    verdict = verdict_of(run)
    assert [stage["verdict"] for stage in verdict["stages"]] == ["PASS", "NOT_RUN", "NOT_RUN"]
    assert [stage["summary"] for stage in verdict["stages"]] == [
        "spec ran",
        "interrupted before its end",
        "not begun",
    ]
    assert [stage["seconds"] for stage in verdict["stages"]] == [10, 20, 0]
    assert verdict["seconds"] == 30
    assert verdict["exit_code"] == INTERRUPTED == 130
    jsonschema.validate(verdict, SCHEMA)


def test_an_interruption_between_two_stages_leaves_the_next_not_begun(run: GateRun) -> None:
    def interrupt(_: StageRecord) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_gate(run, [ending("spec", Verdict.PASS), ending("x", Verdict.PASS)], interrupt)

    assert [stage["summary"] for stage in verdict_of(run)["stages"]] == ["spec ran", "not begun"]


def test_each_stage_is_announced_once_it_ended(run: GateRun) -> None:
    announced: list[StageRecord] = []

    run_gate(run, [ending("spec", Verdict.PASS), ending("chaos", Verdict.FAIL)], announced.append)

    assert [record.stage for record in announced] == ["spec", "chaos"]


def test_every_run_leaves_its_cases_for_build_servers_and_harnesses(run: GateRun) -> None:
    run_gate(run, [ending("spec", Verdict.PASS), raising("chaos", OSError("disk full"))], ignore)

    assert 'tests="2" failures="0" errors="1"' in (run.folder / "junit.xml").read_text()
    assert "not ok 2 - chaos" in (run.folder / "results.tap").read_text()


@pytest.mark.parametrize(("asked", "found"), [(5, 5), (None, 2)])
def test_what_computes_has_as_many_processes_as_were_asked_for(
    asked: int | None, found: int, run: GateRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, int] = {}

    def noting(module: str, name: str) -> None:
        def note(*_: object, workers: int = 0, jobs: int = 0, **__: object) -> NoReturn:
            seen[name] = workers or jobs
            raise ChildProcessError(name)

        monkeypatch.setattr(f"fencepost.{module}.{name}", note)

    noting("spec.tlc.runner", "check_models")
    noting("spec.proofs.findings", "find_all")
    noting("conformance.whitebox.simulate", "run_seeds")
    run_gate(replace(run, workers=asked), STAGES[:3], ignore)
    monkeypatch.setattr("fencepost.conformance.whitebox.simulate.run_seeds", lambda *_, **__: None)
    noting("conformance.whitebox.simulate", "hunt_mutants")
    run_gate(replace(run, workers=asked), STAGES[2:3], ignore)

    names = ("check_models", "find_all", "run_seeds", "hunt_mutants")
    assert seen == dict.fromkeys(names, found)
