"""Aggregates of stories without Spark: the same task functions, called one after the other."""

from collections.abc import Mapping
from pathlib import Path

from fencepost.reports.analysis.aggregates import Analysis
from fencepost.reports.analysis.analyse import (
    conclude,
    failover_report,
    folder_report,
    placed,
    span_of,
)
from fencepost.reports.analysis.budgets import load_budgets
from fencepost.reports.analysis.timelines import timelines
from fencepost.reports.tables.folders import trace_folders
from fencepost.reports.tables.ingest import bucket_count, convert_file
from fencepost.reports.tables.parts import FileTask
from fencepost.reports.tables.violations import combine, judge_task, judge_tasks
from tests.reports.stories import Story


def save_all(run: Path, stories: Mapping[str, Story]) -> Path:
    for name, story in stories.items():
        story.save(run / name)
    return run


def analysed(run: Path, scratch: Path) -> Analysis:
    """As `analyse`."""
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
    findings = combine([judge_task(task, scratch) for task in judge_tasks(scratch, spans)])
    reports = placed(
        folder_report(index, folder.name, health, findings.judged, spans[index])
        for index, folder in enumerate(folders)
    )
    failover = failover_report(findings.leadership, reports, load_budgets())
    starts = {index: span[0] for index, span in spans.items()}
    pictures = timelines(reports, starts, findings.leadership)
    return conclude(reports, health, findings.judged, failover, pictures)
