"""Reports of two small runs, one that passes and one that fails, and a browser to open them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.reports.analysis.aggregates import AGGREGATES
from fencepost.reports.page.render import render
from fencepost.reports.tables.folders import PARQUET
from tests.reports.aggregated import analysed, save_all
from tests.reports.browser import Browser, find_browser
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


def built(run: Path, chaos: str) -> Path:
    """The run with its report, without Spark; `test_on_spark.py` shows that it finds the same."""
    write_stages(run, chaos)
    (run / AGGREGATES).write_bytes(analysed(run, run / PARQUET).to_json())
    render(run)
    return run


@pytest.fixture
def browser() -> Iterator[Browser]:
    executable = find_browser()
    if executable is None:
        pytest.skip("no Chromium on PATH: install Debian's chromium to look at the reports")
    with Browser(executable) as opened:
        yield opened
