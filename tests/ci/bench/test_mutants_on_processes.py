"""The measurement of mutants on real processes: its schedules, its results, its table."""

import json
from pathlib import Path

import pytest

from fencepost.ci.bench import mutants_on_processes as bench
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.whitebox.mutants_on_processes import DECK, draw, wanted
from fencepost.conformance.whitebox.simulate import load
from fencepost.impl.sim.stepped.schedule import SCHEDULES

PAGE = Path(__file__).resolve().parents[3] / "conformance" / "mutants_on_processes.md"
LED = {
    "mutant": "no_step_down",
    "schedule": "no_step_down",
    "found": ["LogMatching", "LeaderComplete"],
    "named": ["LogMatching"],
    "without": [],
    "moves": 100,
    "seconds": 3.2,
    "problem": "",
}
DRAWN = {
    "mutant": "no_step_down",
    "number": 3,
    "scenario": "random",
    "found": ["LogMatching"],
    "seconds": 9.0,
    "problem": "",
}


def test_every_mutant_has_a_schedule_that_is_there_or_a_reason() -> None:
    known = bench.ways()

    assert known.keys() == {record["mutant"] for record in load().mutants()}
    for mutant, how in known.items():
        ((kind, what),) = how.items()
        match kind:
            case "schedules" if "/" in what:
                assert (bench.ROOT / what).is_file(), mutant
            case "schedules":
                assert list(SCHEDULES.glob(f"{what}.*")), mutant
            case "scenarios":
                assert what in SCENARIOS, mutant
            case _:
                assert kind == "unplayable", mutant
                assert what, mutant


def test_the_table_in_the_repository_tells_of_every_mutant() -> None:
    lines = PAGE.read_text().splitlines()

    assert {line.split(" | ")[0].removeprefix("| ") for line in lines if " | " in line} >= {
        *bench.ways()
    }


def test_results_are_there_again_and_a_torn_line_is_not(tmp_path: Path) -> None:
    path = tmp_path / "results"
    results = bench.read_results(path)
    results.add("directed", LED)
    results.add("drawn", {**DRAWN, "number": 1, "found": []})
    results.add("drawn", DRAWN)
    with path.open("a") as file:
        file.write('{"kind": "dra')

    again = bench.read_results(path)

    assert again.directed == {"no_step_down": LED}
    assert again.first_find("no_step_down") == DRAWN
    assert again.has_run("no_step_down", 1, "drawn")
    assert not again.has_run("no_step_down", 2, "drawn")
    assert again.first_find("no_election_on_arrival") is None
    assert len(path.read_text().splitlines()) == 3


def test_only_a_schedule_that_is_clean_without_the_mutant_kills_it() -> None:
    assert bench.is_killed(LED)
    assert not bench.is_killed(None)
    assert not bench.is_killed({**LED, "found": []})
    assert not bench.is_killed({**LED, "without": ["LogMatching"]})
    assert not bench.is_killed({**LED, "problem": "it stopped"})


def test_the_table_shows_what_was_found_and_by_which_check(tmp_path: Path) -> None:
    results = bench.read_results(tmp_path / "results")
    results.add("directed", LED)
    results.add("directed", {**LED, "mutant": "truncate_once", "problem": "no answer came"})
    results.add("drawn", DRAWN)
    results.add("free", {**DRAWN, "found": []})
    results.add("varied", {**DRAWN, "mutant": "truncate_once", "number": 7})
    results.add("drawn", {**DRAWN, "mutant": "no_election_on_arrival", "found": []})

    told = bench.page(results)

    found = "1 are found along a directed schedule and 2 by chance, 1 of them"
    assert f"Of {len(bench.ways())} mutants, {found}" in told
    assert "1 others run freely, and find 0 mutants." in told
    assert (
        "| no_step_down | no_step_down | **LogMatching**, LeaderComplete | 100 | 3 "
        "| run 3, random: LogMatching; none of 3 that run freely |" in told
    )
    assert "| run 7, random: LogMatching |" in told
    assert "| none of 3 |" in told
    assert "not played: no answer came" in told


def test_measured_mutants_are_not_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "results"
    results = bench.read_results(path)
    results.add("directed", LED)
    results.add("drawn", DRAWN)

    assert bench.main(["--only", "no_step_down", "--results", str(path)]) == 0
    assert [json.loads(line)["kind"] for line in path.read_text().splitlines()] == [
        "directed",
        "drawn",
    ]


def test_an_unknown_mutant_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["--only", "nothing_such", "--results", str(tmp_path / "results")])

    assert "unknown mutant nothing_such" in capsys.readouterr().err


def test_the_scenarios_that_are_varied_are_those_of_both_folders() -> None:
    names = bench.scenarios().keys()

    assert {"failover", "replay_trigger"} <= names
    assert len(names) > 90


def test_a_number_draws_the_same_scenario_for_every_mutant() -> None:
    assert draw(7) == draw(7)
    assert {draw(number) for number in range(1, 100)} > {"random", "leader_pause"}
    assert "zookeeper_failover" not in DECK


def test_what_a_specs_property_leads_to_counts_as_named() -> None:
    assert "AcknowledgedDurable" in wanted("expand_overwrites_shrink")
    assert wanted("leader_may_leave_isr") == {"LeaderInIsr"}
