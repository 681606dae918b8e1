"""The `report` stage: from the aggregates of a run to its page."""

from pathlib import Path

from reports.analyse import load_analysis
from reports.errors import ReportError
from reports.matrix import requirement_matrix
from reports.page import page_html
from reports.stages import load_stages
from reports.summary import summarise

REPORT = "report.html"


def render(run: Path) -> Path:
    """Write `report.html` from `aggregates.json` and `stages.json`; the same input, the same bytes.

    Raises `ReportError` when either is unreadable or the folder refuses the file.
    """
    analysis, stages = load_analysis(run), load_stages(run)
    page = summarise(analysis, stages, requirement_matrix(analysis, stages))
    target = run / REPORT
    try:
        target.write_text(page_html(page), encoding="utf-8", newline="\n")
    except OSError as error:
        raise ReportError(
            f"{target} cannot be written ({error.strerror})", "copy the run to a folder of yours"
        ) from error
    return target
