"""The `report` stage: from the aggregates of a run to its page."""

from dataclasses import replace
from pathlib import Path

from fencepost.reports.analysis.aggregates import AGGREGATES, not_analysed
from fencepost.reports.analysis.analyse import load_analysis
from fencepost.reports.analysis.hazards import hazard_rows
from fencepost.reports.analysis.matrix import requirement_matrix
from fencepost.reports.analysis.stages import STAGES, load_stages
from fencepost.reports.page.comparison import load_comparison
from fencepost.reports.page.files import files_of_all, files_of_run
from fencepost.reports.page.page import page_html
from fencepost.reports.page.summary import PageFiles, summarise, together
from fencepost.reports.tables.errors import ReportError

REPORT = "report.html"


def render(run: Path) -> Path:
    """Write `report.html` from `aggregates.json` and `stages.json`; the same input, the same bytes.

    Without aggregates the page tells what the earlier stages left. Raises `ReportError` when there
    is neither, when one is unreadable, or when the folder refuses the file.
    """
    found, stages = load_analysis(run), load_stages(run)
    if found is None and not stages:
        raise ReportError(f"{run} has no {AGGREGATES} and no {STAGES}", "analyse the run first")
    analysis = not_analysed() if found is None else found
    hazards = hazard_rows(together(stages).models)
    files = PageFiles(
        by_folder=files_of_all(run, (folder.name for folder in analysis.folders)),
        of_run=files_of_run(run),
    )
    page = summarise(analysis, stages, requirement_matrix(analysis, stages), hazards, files)
    page = replace(page, baseline=load_comparison(run))
    target = run / REPORT
    try:
        target.write_text(page_html(page), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ReportError(
            f"{target} cannot be written ({error.strerror})", "copy the run to a folder of yours"
        ) from error
    return target
