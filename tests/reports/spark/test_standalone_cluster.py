"""Reports and seeds on a real cluster: a master and two workers, which lack this checkout."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from fencepost.ci.cli import run as run_command
from fencepost.conformance.whitebox.simulate import SimulationOptions, run_seeds
from fencepost.fault_injection.processes.managed_process import ManagedProcess
from fencepost.fault_injection.processes.process_identity import thread_states
from fencepost.reports.analysis.aggregates import AGGREGATES
from fencepost.reports.analysis.analyse import analyse
from fencepost.reports.spark.seeds import on_spark
from fencepost.reports.spark.session import spark_session
from fencepost.reports.tables.folders import PARQUET
from tests.reports.aggregated import analysed
from tests.reports.spark.standalone import StandaloneCluster, places_of_package
from tests.reports.stories import failover_story, truncation_story

pytestmark = [pytest.mark.cluster, pytest.mark.spark]

DEADLINE_S = 300.0
POLL_S = 0.02
LEVEL = 2
SEEDS = 12


@pytest.fixture(scope="module")
def spark(cluster: StandaloneCluster) -> Iterator[SparkSession]:
    """The driver, with both executors."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        with spark_session(cluster.master) as session:
            until(lambda: executors_known_to(session) == len(cluster.workers))
            yield session


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not come to be in time"
        threading.Event().wait(POLL_S)


def executors_known_to(session: SparkSession) -> int:
    tracker = session.sparkContext._jsc.sc().statusTracker()  # PySpark's own knows jobs alone
    return len(tracker.getExecutorInfos()) - 1  # the driver is one, too


def executors_of(worker: ManagedProcess) -> list[int]:
    """The processes that it has started.

    The script that became the worker may have left a child that has ended: it computed the command.
    """
    listed = Path(f"/proc/{worker.pid}/task").glob("*/children")
    children = [int(pid) for path in listed for pid in path.read_text().split()]
    return [pid for pid in children if thread_states(pid) != {"Z"}]


def made_run(folder: Path) -> Path:
    failover_story("run-a").save(folder / "chaos" / "killed")
    truncation_story("run-b").save(folder / "chaos" / "lost")
    return folder


@pytest.mark.usefixtures("spark")
def test_executors_work_with_the_package_that_they_were_sent(
    cluster: StandaloneCluster,
) -> None:
    found = places_of_package(cluster.master, tasks=4)

    assert len(found) == 4
    for path in found:
        assert path.is_relative_to(cluster.work)


@pytest.mark.usefixtures("spark")
def test_a_report_of_the_cluster_is_that_of_this_machine(tmp_path: Path) -> None:
    run = made_run(tmp_path / "run")

    analyse(run)

    assert analysed(run, tmp_path / "here").to_json() == (run / AGGREGATES).read_bytes()


@pytest.mark.usefixtures("spark")
def test_seeds_of_the_cluster_are_those_of_this_machine(cluster: StandaloneCluster) -> None:
    alone = run_seeds(range(SEEDS), level=LEVEL, jobs=1)
    spread = run_seeds(
        range(SEEDS), level=LEVEL, options=SimulationOptions(spread=on_spark(cluster.master))
    )

    assert repr(replace(spread, seconds=0.0)) == repr(replace(alone, seconds=0.0))


@pytest.mark.usefixtures("spark")
def test_a_folder_that_executors_do_not_share_is_told_in_one_sentence(
    cluster: StandaloneCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    run = made_run(cluster.hidden / "run")

    code = run_command(["report", str(run), "--spark-master", cluster.master])

    lines = capsys.readouterr().err.splitlines()
    (told,) = [line for line in lines if not line.startswith("report: ")]  # but for the progress
    assert code == 3
    assert "does not see" in told
    assert str(run / PARQUET) in told
    assert "mount under this path" in told


@pytest.mark.usefixtures("spark")
def test_a_job_survives_a_worker_that_is_killed_in_the_middle(
    cluster: StandaloneCluster, tmp_path: Path
) -> None:
    """The last test: one worker is gone afterwards."""
    run = made_run(tmp_path / "run")
    files = len(list(run.rglob("trace-*.ndjson")))
    victim = cluster.workers[0]
    (executor,) = executors_of(victim)
    unread: list[int] = []

    def kill_in_the_middle() -> None:
        until(lambda: len(list(run.rglob("_parts/*/*.json"))) >= files - 1)
        unread.append(files - len(list(run.rglob("_parts/*/*.json"))))
        victim.kill()

    killer = threading.Thread(target=kill_in_the_middle)
    os.kill(executor, signal.SIGSTOP)  # with the task that it is given first
    killer.start()
    analyse(run)
    killer.join()

    assert unread == [1]
    assert analysed(run, tmp_path / "here").to_json() == (run / AGGREGATES).read_bytes()
