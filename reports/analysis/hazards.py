"""The hazards of the texts, with what this run's models say of each."""

import re
from collections.abc import Iterable

from fencepost.reports.analysis.stages import ModelRow
from fencepost.reports.page.views import HazardRow
from fencepost.reports.tables.errors import ReportError
from fencepost.spec.hazards import Hazard, HazardError, HazardFinding, load_hazards


def hazard_rows(models: tuple[ModelRow, ...]) -> tuple[HazardRow, ...]:
    """One row per hazard, in the order of their ids; none without models. Raises `ReportError`."""
    if not models:
        return ()
    try:
        return rows_of(load_hazards(), models)
    except HazardError as error:
        raise ReportError(str(error), "mend the list of hazards") from error


def rows_of(hazards: Iterable[Hazard], models: Iterable[ModelRow]) -> tuple[HazardRow, ...]:
    """As `hazard_rows`, of a given list."""
    ran = {model.name: model for model in models}
    return tuple(
        HazardRow(
            hazard=hazard.id,
            title=hazard.title,
            source=hazard.source,
            is_refuted=hazard.finding is HazardFinding.REFUTED,
            text=hazard.text,
            repair=hazard.repair,
            story=tuple(hazard.story),
            models=tuple(ran[name] for name in hazard.evidence if name in ran),
            command=f"fencepost check {' '.join(hazard.evidence)}",
        )
        for hazard in sorted(hazards, key=_order)
    )


def _order(hazard: Hazard) -> list[str | int]:
    """H2 before H2b before H10."""
    parts = re.split(r"(\d+)", hazard.id)
    return [int(part) if part.isdigit() else part for part in parts]
