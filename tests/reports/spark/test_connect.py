"""Reports and seeds over Spark Connect: a real server, on a cluster that lacks this checkout."""

import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.cli import run as run_command
from fencepost.conformance.whitebox.simulate import SimulationOptions, run_seeds
from fencepost.reports.analysis.aggregates import AGGREGATES
from fencepost.reports.analysis.analyse import analyse
from fencepost.reports.spark.connect import active_connect_session
from fencepost.reports.spark.seeds import on_spark
from fencepost.reports.spark.session import spark_session
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.folders import PARQUET
from tests.reports.aggregated import analysed, save_all
from tests.reports.spark.standalone import (
    StandaloneCluster,
    connect_server,
    places_of_package,
    with_the_task,
)
from tests.reports.stories import failover_story, truncation_story

pytestmark = [pytest.mark.cluster, pytest.mark.spark]
pytest.importorskip("grpc_status", reason="fencepost[connect] is not installed: make setup")

LEVEL = 2
SEEDS = 12


@pytest.fixture(scope="module")
def address(cluster: StandaloneCluster) -> Iterator[str]:
    """Of a server with both executors."""
    with connect_server(cluster) as started:
        yield started


def made_run(folder: Path) -> Path:
    stories = {"chaos/killed": failover_story("run-a"), "chaos/lost": truncation_story("run-b")}
    return save_all(folder, stories)


def test_executors_work_with_the_package_that_they_were_sent(
    cluster: StandaloneCluster, address: str
) -> None:
    found = places_of_package(address, tasks=4)

    assert len(found) == 4
    for path in found:
        assert path.is_relative_to(cluster.work)


def test_a_report_over_connect_is_that_of_this_machine(address: str, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")

    analyse(run, spark_master=address)

    assert analysed(run, tmp_path / "here").to_json() == (run / AGGREGATES).read_bytes()


def test_seeds_over_connect_are_those_of_this_machine(address: str) -> None:
    alone = run_seeds(range(SEEDS), level=LEVEL, jobs=1)
    spread = run_seeds(
        range(SEEDS), level=LEVEL, options=SimulationOptions(spread=on_spark(address))
    )

    assert repr(replace(spread, seconds=0.0)) == repr(replace(alone, seconds=0.0))


def test_a_session_is_beside_one_of_this_machine_and_leaves_nothing(address: str) -> None:
    with spark_session(None) as here, spark_session(address) as there:
        assert there is not here
        assert active_connect_session() is there
        assert (here.range(3).count(), there.range(4).count()) == (3, 4)

    assert active_connect_session() is None
    assert "SPARK_CONNECT_MODE_ENABLED" not in os.environ  # it would forbid sessions of here


def test_a_task_that_fails_is_told_in_one_sentence(address: str) -> None:
    broken = on_spark(address)(_divide, [1, 0], jobs=2, chunk=1)

    with (
        with_the_task(sys.modules[__name__]),
        pytest.raises(ReportError, match="run the seeds: ZeroDivisionError: division by zero; "),
    ):
        list(broken)


def _divide(number: int) -> float:
    return 1 / number


def test_a_folder_that_executors_do_not_share_is_told_in_one_sentence(
    cluster: StandaloneCluster, address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made_run(cluster.hidden / "run")

    code = run_command(["report", str(run), "--spark-master", address])

    lines = capsys.readouterr().err.splitlines()
    (told,) = [line for line in lines if not line.startswith("report: ")]  # but for the progress
    assert code == 3
    assert f"does not see {run / PARQUET}" in told


def test_a_hadoop_address_over_connect_is_told_in_one_sentence(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = run_command(["report", "hdfs://host/run", "--spark-master", address])

    (told,) = capsys.readouterr().err.splitlines()
    assert code == 3
    assert "no Hadoop client here, which hdfs://host/run needs; name a folder that" in told
