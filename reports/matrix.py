"""The requirement matrix: what this run says of each requirement of the catalogue."""

from reports.aggregates import Analysis
from reports.stages import Stage
from reports.summary import MatrixRow


def requirement_matrix(analysis: Analysis, stages: tuple[Stage, ...]) -> tuple[MatrixRow, ...]:
    """One row per requirement, in the order of the catalogue."""
    return ()
