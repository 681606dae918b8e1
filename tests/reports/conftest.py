"""Reports of two small runs, one that passes and one that fails, and a browser to open them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fencepost.conformance.suite.records import read_run
from fencepost.reports.analysis.aggregates import AGGREGATES
from fencepost.reports.page.render import render
from fencepost.reports.suite.page import write_page
from fencepost.reports.tables.folders import PARQUET
from tests.reports.aggregated import analysed, save_all
from tests.reports.browser import Browser, find_browser
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


def built(run: Path, chaos: str, copies: int = 1) -> Path:
    """The run with its report, without Spark; `test_on_spark.py` shows that it finds the same."""
    write_stages(run, chaos, copies)
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
