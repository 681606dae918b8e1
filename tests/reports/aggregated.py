"""Aggregates of stories without Spark: the same task functions, called one after the other."""

from collections.abc import Mapping
from pathlib import Path

from conformance.verdict import Verdict
from reports.aggregates import Analysis, FailoverReport
from reports.analyse import conclude, folder_report, span_of
from reports.folders import trace_folders
from reports.ingest import FileTask, bucket_count, convert_file
from reports.violations import combine, judge_task, judge_tasks
from tests.reports.stories import Story


def save_all(run: Path, stories: Mapping[str, Story]) -> Path:
    for name, story in stories.items():
        story.save(run / name)
    return run


def analysed(run: Path, scratch: Path) -> Analysis:
    """As `analyse`, without the timelines and latencies, which Spark SQL computes."""
    folders = trace_folders(run)
    health = tuple(
        convert_file(
            FileTask(folder=index, source=run / folder.name / file, buckets=bucket_count(folder)),
            scratch,
        )
        for index, folder in enumerate(folders)
        for file in folder.files
    )
    spans = {index: span_of(index, health) for index in range(len(folders))}
    tasks = judge_tasks(scratch, {index: span[0] for index, span in spans.items()})
    judged = combine([part for task in tasks for part in judge_task(task, scratch)])
    reports = tuple(
        folder_report(index, folder.name, health, judged, spans[index])
        for index, folder in enumerate(folders)
    )
    failover = FailoverReport(
        verdict=Verdict.PASS, observed=0, complete=0, latencies=(), failovers=(), left_out=0
    )
    return conclude(reports, health, judged, failover, ())
