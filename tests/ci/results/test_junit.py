"""One test case per check, scenario, model and family of mutants; nothing twice, nothing lost."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from fencepost.ci.gate.outcomes import of_hunt, of_levels, of_replay
from fencepost.ci.gate.verdict_files import StageRecord
from fencepost.ci.results.cases import Case, cases_of, groups_of
from fencepost.ci.results.junit import write_junit
from fencepost.ci.results.tap import write_tap
from fencepost.conformance.verdict import Verdict, Violation
from fencepost.conformance.whitebox.simulate import MutantResult, SeedResult, SimulationResult
from fencepost.spec.replay.replay import Replayed, ReplayReport, ReplayResult
from fencepost.spec.vocabulary import Invariant

MODEL = {"name": "MCx", "agrees": False, "why": "4 states, not 5", "seconds": 1.0}
SCENARIO = {
    "name": "kill",
    "verdict": "FAIL",
    "message": "Offset 3 differs.",
    "reproduce": "fencepost chaos --story kill",
}
VACUOUS = {"name": "LogMatching", "verdict": "VACUOUS", "message": "premise\x00 never held"}


def record(stage: str, verdict: Verdict, **detail: list[dict[str, Any]]) -> StageRecord:
    figures = {"tried": 3}
    return StageRecord(
        stage=stage, verdict=verdict, seconds=2.0, summary="s", figures=figures, detail=detail
    )


def mutant(name: str, family: str, *, caught: bool) -> MutantResult:
    return MutantResult(
        mutant=name,
        rule="Wrong.",
        requirement="ISR-001",
        expected=("LogMatching",),
        seeds=2000,
        caught_by=("LogMatching",) if caught else (),
        family=family,
    )


def simulated(level: int, **changes: Any) -> SimulationResult:  # noqa: ANN401
    premises = dict.fromkeys(Invariant, 1)
    given: dict[str, Any] = {
        "level": level,
        "mutant": None,
        "seeds": 60,
        "verdicts": {Verdict.PASS: 60},
        "premises": premises,
        "failing": (),
        "events": 60,
        "seconds": 1.0,
    }
    return SimulationResult(**{**given, **changes})


def by_name(one: StageRecord) -> dict[str, Case]:
    cases = list(cases_of(one))
    assert max(Counter(case.name for case in cases).values()) == 1
    return {case.name: case for case in cases}


def parsed(folder: Path) -> JUnitXml:
    """The file as a build server reads it; every count in it is that of the cases below."""
    read = JUnitXml.fromfile(str(folder / "junit.xml"))
    of_suites = {name: list(suite) for name, suite in suites(read).items()}
    all_cases = [case for cases in of_suites.values() for case in cases]
    counted: list[tuple[JUnitXml | TestSuite, list[TestCase]]] = [(read, all_cases)]
    counted += [(suites(read)[name], of) for name, of in of_suites.items()]
    for told, cases in counted:
        found = Counter(type(result) for case in cases for result in case.result)
        assert (told.tests, told.failures) == (len(cases), found[Failure])
        assert (told.errors, told.skipped) == (found[Error], found[Skipped])
    names = [(case.classname, case.name) for case in all_cases]
    assert len(set(names)) == len(names)
    return read


def suites(read: JUnitXml) -> dict[str, TestSuite]:
    return {suite.name: suite for suite in cast(Iterable[TestSuite], read)}


def broken(read: JUnitXml) -> dict[str, Failure]:
    found = [case for suite in suites(read).values() for case in suite]
    return {case.name: r for case in found for r in case.result if isinstance(r, Failure)}


def test_a_stage_is_no_case_beside_the_cases_that_explain_it() -> None:
    cases = by_name(record("chaos", Verdict.FAIL, scenarios=[SCENARIO]))

    assert list(cases) == ["scenario kill"]
    assert cases["scenario kill"].message == "Offset 3 differs."
    assert cases["scenario kill"].again == "fencepost chaos --story kill"


def test_a_stage_that_is_worse_than_its_cases_is_one() -> None:
    error = {"seed": 7, "message": "KeyError", "reproduce": "fencepost simulate --seed 7"}
    fine = {**VACUOUS, "verdict": "PASS"}

    cases = by_name(record("simulate", Verdict.ERROR, checks=[fine], errors=[error]))

    assert [(case.name, case.verdict) for case in cases.values()] == [
        ("check LogMatching", Verdict.PASS),
        ("simulate", Verdict.ERROR),
    ]
    assert cases["simulate"].again == "fencepost simulate --seed 7"


def test_a_crashed_stage_is_one_case() -> None:
    assert list(by_name(record("chaos", Verdict.ERROR))) == ["chaos"]


def test_a_canary_that_was_not_found_is_no_scenario_that_passed() -> None:
    passed = {**SCENARIO, "verdict": "PASS"}

    cases = by_name(record("canary", Verdict.FAIL, scenarios=[passed]))

    assert cases["canary"].verdict is Verdict.FAIL
    assert len(cases) == 1


def test_a_family_of_mutants_is_one_case_and_names_its_members() -> None:
    results = [
        mutant("a", "isr", caught=True),
        mutant("b", "isr", caught=False),
        mutant("c", "isr", caught=False),
        mutant("d", "startup", caught=True),
    ]
    outcome = of_hunt(results, level=3)

    cases = by_name(record("simulate", outcome.verdict, **outcome.detail))

    assert {name: case.verdict for name, case in cases.items()} == {
        "mutants of isr": Verdict.FAIL,
        "mutants of startup": Verdict.PASS,
    }
    alive = cases["mutants of isr"]
    assert alive.message == "b: not caught within 2,000 seeds (and 1 more)"
    assert alive.again == "fencepost simulate --seeds 2000 --level 3 --mutant b"
    assert alive.members[0] == "a: caught by LogMatching"


def test_a_check_that_simulated_schedules_violate_tells_the_first() -> None:
    found = [
        SeedResult(
            seed=seed,
            verdict=Verdict.FAIL,
            violations=(Violation(invariant=Invariant.LOG_MATCHING, message=f"Offset {seed}."),),
            reproduce=f"fencepost simulate --seed {seed}",
        )
        for seed in (4, 9)
    ]
    idle = {**dict.fromkeys(Invariant, 1), Invariant.LEADER_IN_ISR: 0}
    outcome = of_levels([simulated(3, premises=idle), simulated(4, failing=tuple(found))])

    cases = by_name(record("simulate", Verdict.FAIL, checks=outcome.detail["checks"]))

    assert cases["check LogMatching at level 3"].verdict is Verdict.PASS
    assert cases["check LeaderInIsr at level 3"].verdict is Verdict.VACUOUS
    violated = cases["check LogMatching at level 4"]
    assert (violated.verdict, violated.message, violated.again) == (
        Verdict.FAIL,
        "Offset 4. (2 violating seeds)",
        "fencepost simulate --seed 4",
    )


def test_a_check_that_few_seeds_leave_idle_owes_nothing() -> None:
    idle = {**dict.fromkeys(Invariant, 1), Invariant.LEADER_IN_ISR: 0}

    outcome = of_levels([simulated(3, premises=idle, seeds=10)])

    assert "LeaderInIsr" not in {row["name"] for row in outcome.detail["checks"]}
    assert "LogMatching" in {row["name"] for row in outcome.detail["checks"]}


def test_proofs_are_one_case_per_module() -> None:
    rows = [
        {"module": "A", "clause": "Inv", "action": "Go", "answer": answer, "seconds": 0.5}
        for answer in ("proved", "unknown", "countermodel")
    ]
    hazards = [{"module": "B", "hazard": "H1", "shown": False}]
    proved = {"module": "B", "clause": "Inv", "action": "Go", "answer": "proved", "seconds": 1.0}

    cases = by_name(record("proofs", Verdict.FAIL, proofs=[*rows, proved], proof_hazards=hazards))

    assert cases["proof A"].verdict is Verdict.FAIL
    assert cases["proof A"].message == "Inv after Go: unknown (and 1 more)"
    assert cases["proof B"].verdict is Verdict.VACUOUS
    assert cases["proof B"].again == "fencepost prove --module B"


def test_a_replay_that_is_not_accepted_tells_the_command_that_replays_it(tmp_path: Path) -> None:
    refused = ReplayResult(
        run="chaos/a kill", partition="t/0", verdict=Replayed.REJECTED, events=9, why="No such."
    )
    drawn = ReplayResult(run="seed 4", partition="t/0", verdict=Replayed.VIOLATED, events=9)
    fine = ReplayResult(run="chaos/quiet", partition="t/0", verdict=Replayed.ACCEPTED, events=9)
    outcome = of_replay(
        ReplayReport(results=(refused, fine, drawn), seconds=1.0),
        below=Path("runs/r"),
        seeds={"seed 4": "fencepost check --seed 4 --level 5"},
    )

    write_junit(tmp_path, groups_of([record("replay", outcome.verdict, **outcome.detail)]))

    found = {name: one.text for name, one in broken(parsed(tmp_path)).items()}
    assert found == {
        "replay chaos/a kill t/0": (
            "No such.\nagain: fencepost check --trace 'runs/r/chaos/a kill'"
        ),
        "replay seed 4 t/0": "again: fencepost check --seed 4 --level 5",
    }


def test_the_file_is_read_back_with_properties_sentences_and_commands(tmp_path: Path) -> None:
    stages = [
        record("spec", Verdict.FAIL, models=[MODEL]),
        record("chaos", Verdict.FAIL, scenarios=[SCENARIO]),
        record("analyse", Verdict.VACUOUS, checks=[VACUOUS]),
        record("report", Verdict.NOT_RUN),
    ]

    write_junit(tmp_path, groups_of(stages))

    read = parsed(tmp_path)
    assert list(suites(read)) == ["spec", "chaos", "analyse", "report"]
    assert (read.tests, read.failures, read.skipped, read.time) == (4, 3, 1, 8.0)
    told = {one.name: one.value for one in suites(read)["spec"].properties()}
    assert told == {"verdict": "FAIL", "summary": "s", "tried": "3"}
    found = {name: (one.message, one.type, one.text) for name, one in broken(read).items()}
    assert found == {
        "model MCx": (
            "FAIL: 4 states, not 5",
            "FAIL",
            "4 states, not 5\nagain: fencepost check MCx",
        ),
        "scenario kill": (
            "FAIL: Offset 3 differs.",
            "FAIL",
            "Offset 3 differs.\nagain: fencepost chaos --story kill",
        ),
        "check LogMatching": ("VACUOUS: premise? never held", "VACUOUS", "premise? never held"),
    }


@pytest.mark.parametrize("character", ["\x1b", "\ud800", "\uffff", "\x00"])
def test_what_xml_cannot_write_does_not_break_the_file(tmp_path: Path, character: str) -> None:
    nasty = {**SCENARIO, "message": f"a{character}b ]]> <é>"}

    write_junit(tmp_path, groups_of([record("chaos", Verdict.FAIL, scenarios=[nasty])]))

    (failure,) = broken(parsed(tmp_path)).values()
    assert failure.message == "FAIL: a?b ]]> <é>"


def test_what_is_known_to_fail_is_skipped_with_its_reason(tmp_path: Path) -> None:
    known = {**SCENARIO, "known": "KAFKA-2729", "message": "known: KAFKA-2729; no full ISR"}
    groups = groups_of([record("chaos", Verdict.PASS, scenarios=[known])])
    write_junit(tmp_path, groups)
    write_tap(tmp_path, groups)

    (case,) = suites(parsed(tmp_path))["chaos"]
    (found,) = case.result
    assert isinstance(found, Skipped)
    assert found.message == "FAIL: known: KAFKA-2729; no full ISR"
    lines = (tmp_path / "results.tap").read_text().splitlines()
    assert "    not ok 1 - scenario kill # TODO KAFKA-2729" in lines
    assert lines[-1] == "ok 1 - chaos"
