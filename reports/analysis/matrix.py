"""The requirement matrix: what this run says of each requirement of the catalogue.

A requirement is decided by its checks, over all runs; where it has none, by its chaos scenarios.
A requirement with an uncaught mutant is not believed, whatever its checks say.
"""

from collections.abc import Iterable, Iterator

from fencepost.conformance.catalogue.requirements import (
    CatalogueError,
    Requirement,
    Status,
    load_catalogue,
)
from fencepost.conformance.verdict import Verdict, worst
from fencepost.reports.analysis.aggregates import Analysis
from fencepost.reports.analysis.stages import StageEntry
from fencepost.reports.page.views import MatrixRow
from fencepost.reports.tables.errors import ReportError


def requirement_matrix(analysis: Analysis, stages: Iterable[StageEntry]) -> tuple[MatrixRow, ...]:
    """One row per requirement, in the order of the catalogue; raises `ReportError`."""
    try:
        catalogue = load_catalogue()
    except CatalogueError as error:
        raise ReportError(str(error), "mend the catalogue") from error
    return matrix_rows(catalogue, analysis, tuple(stages))


def matrix_rows(
    catalogue: Iterable[Requirement], analysis: Analysis, stages: tuple[StageEntry, ...]
) -> tuple[MatrixRow, ...]:
    """As `requirement_matrix`, of a given catalogue."""
    return tuple(
        MatrixRow(
            requirement=requirement.id,
            title=requirement.title,
            level=str(requirement.level),
            checks=", ".join(_judges(requirement)),
            verdict=worst(_verdicts(requirement, analysis, stages)),
            status=str(requirement.status),
            is_planned=requirement.status is Status.PLANNED,
        )
        for requirement in catalogue
    )


def _judges(requirement: Requirement) -> Iterator[str]:
    yield from requirement.checks
    if not requirement.checks:
        yield from (f"scenario {name}" for name in requirement.scenarios)
    yield from (f"mutant {name}" for name in requirement.mutants)
    if not requirement.checks and not requirement.scenarios and requirement.tests:
        yield "tests"


def _verdicts(
    requirement: Requirement, analysis: Analysis, stages: tuple[StageEntry, ...]
) -> Iterator[Verdict]:
    for check in analysis.checks:
        if check.invariant in requirement.checks:
            yield check.verdict
    for stage in stages:
        for scenario in stage.detail.scenarios:
            if scenario.name in requirement.scenarios and not requirement.checks:
                yield scenario.verdict
        for mutant in stage.detail.mutants:
            if mutant.mutant in requirement.mutants and not mutant.caught:
                yield Verdict.INCONCLUSIVE
