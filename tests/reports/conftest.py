"""Reports of small runs: one that passes, one that fails, and those that are hard to draw."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.bench.reports.made_runs import made_runs
from fencepost.conformance.suite.records import read_run
from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.aggregates import AGGREGATES
from fencepost.reports.page.comparison import TEMPLATE, CaseChange, ChangeKind, RunComparison
from fencepost.reports.page.page import html_of
from fencepost.reports.page.render import render
from fencepost.reports.suite.page import write_page
from fencepost.reports.tables.folders import PARQUET
from fencepost.reports.trend.page import write_trend
from fencepost.reports.trend.run_table import add_runs
from tests.reports.aggregated import analysed, save_all
from tests.reports.page.test_suite_page import cut_off_run
from tests.reports.stages_example import write_stages
from tests.reports.stories import failover_story, truncation_story


@pytest.fixture(scope="session")
def passing_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("passing") / "run"
    stories = {
        "chaos/leader_killed": failover_story("run-a"),
        "chaos/payments": failover_story("run-b", topic="payments"),
        "simulate/no_step_down": truncation_story("run-c", mutant="no_step_down"),
    }
    return built(save_all(run, stories), "PASS")


@pytest.fixture(scope="session")
def failing_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("failing") / "run"
    stories = {
        "chaos/leader_killed": failover_story("run-a"),
        "chaos/truncation_loss": truncation_story("run-b"),
    }
    return built(save_all(run, stories), "FAIL")


HOSTILE = "</script><b>\"'&{{ 7 * 7 }}\u202e"
LONG_RECORDS = 17_000
"""Each is six events: asked, appended twice, fetched, committed, answered."""


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("hostile") / "run"
    return built(save_all(run, {"chaos/loss": truncation_story("h", topic=HOSTILE)}), "FAIL")


@pytest.fixture(scope="session")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("long") / "run"
    return built(save_all(run, {"chaos/long": truncation_story("l", rest=LONG_RECORDS)}), "FAIL")


@pytest.fixture(scope="session")
def whole_gate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As many models and mutants as the gate has, and more."""
    run = tmp_path_factory.mktemp("gate") / "run"
    stories = {
        **{f"chaos/loss_{n}": truncation_story(f"g{n}", rest=n * 4) for n in range(8)},
        **{f"chaos/killed_{n}": failover_story(f"h{n}") for n in range(20)},
    }
    save_all(run, stories)
    return built(run, "FAIL", copies=90)


@pytest.fixture(scope="session")
def suite_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the conformance suite over two implementations, one of which fails."""
    run = tmp_path_factory.mktemp("suite")
    cut_off_run(run)
    write_page(read_run(run))
    return run


LONG_NAME = "a_case_with_a_name_that_is_longer_than_the_window_of_a_phone_is_wide_by_far"


@pytest.fixture(scope="session")
def diff_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs compared, with a case of each kind of change."""
    folder = tmp_path_factory.mktemp("diff")
    changes = tuple(case_change(kind) for kind in ChangeKind)
    found = RunComparison(
        before="reports/runs/one",
        after="reports/runs/two",
        changes=changes,
        alike=90,
        notes=("one is at level 2, two at level 3",),
    )
    (folder / "report.html").write_text(html_of(TEMPLATE, found), encoding="utf-8")
    return folder


def case_change(kind: ChangeKind) -> CaseChange:
    return CaseChange(
        change=kind,
        group="chaos",
        name=f"scenario {LONG_NAME} {kind}",
        before=Verdict.PASS,
        after=None if kind is ChangeKind.GONE else Verdict.FAIL,
        seconds_before=4.0,
        seconds_after=14.0,
        message=f"{HOSTILE} is lost: the final read finds client-1/2/1 there.",
        again=f"fencepost chaos --story {LONG_NAME} --seed 7 --level 2",
    )


@pytest.fixture(scope="session")
def trend_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty runs that have grown slower, one of which violates two invariants."""
    folder = tmp_path_factory.mktemp("trend")
    first, *others = made_runs(60, slow_from=50)
    broken = replace(first.row, scenario=LONG_NAME, violated=("LeaderComplete", "LinearizableLog"))
    add_runs(folder, [replace(first, row=broken), *others])
    write_trend(folder)
    return folder


def built(run: Path, chaos: str, copies: int = 1) -> Path:
    """The run with its report, without Spark; `test_on_spark.py` shows that it finds the same."""
    write_stages(run, chaos, copies)
    (run / AGGREGATES).write_bytes(analysed(run, run / PARQUET).to_json())
    render(run)
    return run
