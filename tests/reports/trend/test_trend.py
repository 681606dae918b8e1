"""Many runs in one table: spread of latencies, regressions by name, and one page."""

import html
import json
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fencepost.ci.bench.reports.made_runs import made_run, made_runs
from fencepost.ci.cli import run as run_command
from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.budgets import PHASES, load_budgets
from fencepost.reports.analysis.metrics import percentile
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.trend.page import write_trend
from fencepost.reports.trend.run_table import (
    FAILOVERS,
    OWN,
    add_runs,
    read_runs,
    stored_runs,
)
from fencepost.reports.trend.trend import Trend, trend_of
from tests.reports.aggregated import analysed, save_all
from tests.reports.stories import failover_story, truncation_story

BUDGETS = load_budgets()


def total_of(trend: Trend) -> tuple[float, float, float]:
    (total,) = (spread for spread in trend.spreads if spread.phase == "total")
    return total.p50_ms, total.p95_ms, total.p99_ms


def test_percentiles_are_those_of_all_failovers_by_nearest_rank() -> None:
    runs = made_runs(30)
    every = sorted(t for run in runs for t in run.failovers.column("total_ms").to_pylist())

    found = total_of(trend_of(runs, BUDGETS))

    assert found == tuple(percentile(every, share) for share in (0.5, 0.95, 0.99))


def test_runs_of_another_level_are_another_group() -> None:
    trend = trend_of([made_run(1, [100.0]), made_run(2, [900.0], level=3)], BUDGETS)

    totals = {s.group.level: s.p50_ms for s in trend.spreads if s.phase == "total"}
    assert totals == {2: 100.0, 3: 900.0}


def test_a_latency_that_has_doubled_is_a_regression_and_is_named() -> None:
    trend = trend_of(made_runs(60, slow_from=50), BUDGETS)

    assert trend.verdict is Verdict.DEVIATES
    totals = [one for one in trend.regressions if one.phase == "total"]
    assert [one.since for one in totals] == ["run-0050"]
    assert totals[0].sentence.startswith("After proc.kill at level 2 of reference, total takes")


@pytest.mark.parametrize("runs", [3, 14, 15, 200])
def test_like_runs_are_no_regression(runs: int) -> None:
    trend = trend_of(made_runs(runs), BUDGETS)

    assert trend.regressions == ()
    assert trend.verdict is Verdict.PASS


def test_a_budget_is_missed_when_more_than_one_in_a_hundred_is_over_it() -> None:
    limit_ms = BUDGETS.limit_ms("proc.kill", "total")
    late, early = limit_ms + 1, limit_ms - 1

    kept = trend_of([made_run(1, [late, *[early] * 99])], BUDGETS)
    missed = trend_of([made_run(1, [late, late, *[early] * 98])], BUDGETS)

    assert (kept.verdict, missed.verdict) == (Verdict.PASS, Verdict.FAIL)


def test_what_was_beside_noise_is_counted_and_misses_no_budget() -> None:
    runs = [made_run(1, [100.0]), made_run(2, [1e9], noise="the host stood still")]

    trend = trend_of(runs, BUDGETS)

    (total,) = (spread for spread in trend.spreads if spread.phase == "total")
    assert (total.count, total.noisy, total.max_ms) == (1, 1, 100.0)
    assert trend.verdict is Verdict.PASS


def test_runs_without_any_failover_are_vacuous(tmp_path: Path) -> None:
    add_runs(tmp_path, [made_run(1, [])])

    _, trend = write_trend(tmp_path)

    assert trend.verdict is Verdict.VACUOUS


def test_a_table_gives_back_what_was_added_the_oldest_run_first(tmp_path: Path) -> None:
    runs = made_runs(4)
    add_runs(tmp_path, runs[2:])
    add_runs(tmp_path, runs[:2])

    found = read_runs(tmp_path)

    assert [run.row for run in found] == [run.row for run in runs]
    assert [run.failovers.to_pylist() for run in found] == [
        run.failovers.to_pylist() for run in runs
    ]
    assert sorted(pq.read_table(tmp_path).column("run").unique().to_pylist()) == [
        run.row.run_id for run in runs
    ]


def test_the_same_run_is_added_once_and_another_of_its_id_is_refused(tmp_path: Path) -> None:
    run = made_run(1, [100.0])
    add_runs(tmp_path, [run])
    add_runs(tmp_path, [run])
    other = replace(run, row=replace(run.row, digest="another"))

    with pytest.raises(ReportError, match=r"holds run run-0001 already, of other traces; two runs"):
        add_runs(tmp_path, [made_run(2, [1.0]), other])

    assert [found.row for found in read_runs(tmp_path)] == [run.row]


def test_a_folder_of_analysed_runs_is_a_table_of_theirs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = made_runs(4)
    add_runs(tmp_path / "monday" / OWN, runs[2:])
    add_runs(tmp_path / "sunday" / OWN, runs[:2])
    (tmp_path / "latest").symlink_to("monday")
    (tmp_path / "passed").mkdir()

    assert [found.row for found in read_runs(tmp_path)] == [run.row for run in runs]
    assert run_command(["report", "--table", str(tmp_path)]) == 0
    assert f"{tmp_path}/report.html" in capsys.readouterr().out

    add_runs(tmp_path / "copy" / OWN, runs[:1])
    with pytest.raises(ReportError, match=r"are both run run-0000; one of them is a copy"):
        read_runs(tmp_path)


@pytest.mark.parametrize("text", [b"", b"PAR1 is not all"])
def test_a_file_that_is_none_of_a_table_is_one_sentence(tmp_path: Path, text: bytes) -> None:
    add_runs(tmp_path, [made_run(1, [100.0])])
    (path,) = tmp_path.glob(f"run=*/{FAILOVERS}")
    path.write_bytes(text)

    with pytest.raises(ReportError, match="is not what this Fencepost writes") as caught:
        read_runs(tmp_path)

    assert "\n" not in str(caught.value)


def test_a_run_id_is_no_path(tmp_path: Path) -> None:
    run = made_run(1, [100.0])
    row = replace(run.row, run_id="../../x/<q>", violated=("LogMatching",))
    add_runs(tmp_path / "table", [replace(run, row=row)])

    page, _ = write_trend(tmp_path / "table")

    assert [path.name for path in tmp_path.iterdir()] == ["table"]
    assert read_runs(tmp_path / "table")[0].row.run_id == "../../x/<q>"
    assert "../../x/&lt;q&gt;" in page.read_text()


def test_the_runs_of_an_analysis_are_stored_with_all_their_failovers(tmp_path: Path) -> None:
    stories = {
        "chaos/leader_killed": failover_story("run-a"),
        "chaos/truncation_loss": truncation_story("run-b"),
        "simulate/no_step_down": truncation_story("run-c", mutant="no_step_down"),
    }
    run = save_all(tmp_path / "run", stories)
    analysis = analysed(run, tmp_path / "scratch")

    good, bad = stored_runs(analysis, analysis.failover.failovers)

    assert (good.row.run_id, bad.row.run_id) == ("run-a", "run-b")
    assert good.row.verdict is Verdict.PASS
    assert not good.row.violated
    assert bad.row.verdict is Verdict.FAIL
    assert "LeaderComplete" in bad.row.violated
    assert good.failovers.column("total_ms").to_pylist() == [
        one.phases_ms["total"] for one in analysis.failover.failovers if one.folder == 0
    ]
    assert good.failovers.num_rows


def test_two_folders_of_one_run_are_refused(tmp_path: Path) -> None:
    story = failover_story("run-a")
    run = save_all(tmp_path / "run", {"a": story, "b": story})
    analysis = analysed(run, tmp_path / "scratch")

    with pytest.raises(ReportError, match="a and b are both run run-a; one of them is a copy"):
        stored_runs(analysis, ())


def test_the_page_of_a_table_names_what_broke_and_what_has_grown(tmp_path: Path) -> None:
    runs = made_runs(60, slow_from=50)
    broken = replace(
        runs[7], row=replace(runs[7].row, verdict=Verdict.FAIL, violated=("LogMatching",))
    )
    add_runs(tmp_path, [*runs[:7], broken, *runs[8:]])

    page, trend = write_trend(tmp_path)
    first = page.read_bytes()
    write_trend(tmp_path)

    assert page.read_bytes() == first
    text = html.unescape(first.decode())
    assert "1 run violated an invariant." in text
    assert "LogMatching" in text
    assert all(one.sentence in text for one in trend.regressions)
    assert trend.verdict is Verdict.FAIL


def test_the_command_says_what_has_grown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    add_runs(tmp_path, made_runs(60, slow_from=50))

    code = run_command(["report", "--table", str(tmp_path)])
    told = capsys.readouterr().out
    run_command(["report", "--table", str(tmp_path), "--json"])
    document = json.loads(capsys.readouterr().out)

    assert code == 0
    assert "After proc.kill at level 2 of reference, total takes" in told
    assert document["verdict"] == "DEVIATES"
    assert {one["phase"] for one in document["failovers"]} == set(PHASES)


def test_without_a_run_or_a_table_there_is_nothing_to_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["report"]) == 4
    assert "name a run folder, or a --table of runs" in capsys.readouterr().err
    assert run_command(["report", "--table", str(tmp_path)]) == 4
    assert "holds no analysed run; add one" in capsys.readouterr().err


def test_a_run_that_passed_and_violates_something_is_not_undecided(tmp_path: Path) -> None:
    first, second, *others = made_runs(4)
    broken = replace(first.row, violated=("LeaderComplete",), verdict=Verdict.PASS)
    open_ended = replace(second.row, verdict=Verdict.INCONCLUSIVE)
    add_runs(tmp_path, [replace(first, row=broken), replace(second, row=open_ended), *others])

    page, _ = write_trend(tmp_path)

    assert 'data-label="undecided" class="num">1<' in page.read_text()
