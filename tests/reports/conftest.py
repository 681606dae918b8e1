"""One Spark session for all tests of this room, and reports built with it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from reports.analyse import analyse
from reports.render import render
from reports.session import spark_session
from tests.reports.aggregated import save_all
from tests.reports.browser import Browser, find_browser
from tests.reports.stages_example import write_stages
from tests.reports.stories import failover_story, truncation_story


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session(None) as session:
        yield session


@pytest.fixture(scope="session")
def passing_run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("passing") / "run"
    stories = {
        "chaos/leader_killed": failover_story("run-a"),
        "chaos/payments": failover_story("run-b", topic="payments"),
        "simulate/no_step_down": truncation_story("run-c", mutant="no_step_down"),
    }
    return built(save_all(run, stories), "PASS", spark)


@pytest.fixture(scope="session")
def failing_run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("failing") / "run"
    stories = {
        "chaos/leader_killed": failover_story("run-a"),
        "chaos/truncation_loss": truncation_story("run-b"),
    }
    return built(save_all(run, stories), "FAIL", spark)


def built(run: Path, chaos: str, spark: SparkSession) -> Path:
    """The run with its report; analysed by `spark`, which is the active session."""
    assert spark is SparkSession.getActiveSession()
    write_stages(run, chaos)
    analyse(run)
    render(run)
    return run


@pytest.fixture
def browser() -> Iterator[Browser]:
    executable = find_browser()
    if executable is None:
        pytest.skip("no Chromium on PATH: install Debian's chromium to look at the reports")
    with Browser(executable) as opened:
        yield opened
