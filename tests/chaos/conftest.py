"""Each scenario is played once, and the table of all kinds of faults closes the run."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import pytest

from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all, selected
from fencepost.conformance.runs.fault_table import COLUMNS, kind_rows
from fencepost.conformance.runs.scenario import ScenarioResult
from fencepost.spec.vocabulary import NEWEST_LEVEL
from tests.conftest import CLOSING_LINES

LEVEL = NEWEST_LEVEL
SEED = 1

Played = Callable[[str], ScenarioResult]
"""The result of a scenario and its absolute folder; it is played when it is asked for first."""


@pytest.fixture(scope="session")
def played(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Played]:
    """Plays scenarios at the newest level."""
    results: dict[str, ScenarioResult] = {}

    def play(name: str) -> ScenarioResult:
        if name not in results:
            folder = tmp_path_factory.mktemp("scenario")
            settings = ClusterSettings(level=LEVEL)
            (result,) = run_all(selected([name]), settings=settings, seed=SEED, out=folder)
            results[name] = replace(result, folder=str(folder / result.folder))
            assert all(path.stat().st_size for path in folder.rglob("trace-*.ndjson"))
        return results[name]

    yield play
    request.config.stash[CLOSING_LINES] = ["faults on real processes", *table(results.values())]


def table(results: Iterable[ScenarioResult]) -> Iterator[str]:
    """Kind by kind: injected, effective, healed, seconds."""
    rows = [list(COLUMNS), *(row.cells for row in kind_rows(results))]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
