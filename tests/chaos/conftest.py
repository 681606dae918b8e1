"""Each scenario is played once, and the table of all kinds of faults closes the run."""

from collections.abc import Callable

import pytest

from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all, selected
from fencepost.conformance.runs.fault_table import COLUMNS, kind_rows
from fencepost.conformance.runs.scenario import ScenarioResult

LEVEL = 2
SEED = 1

Played = Callable[[str], ScenarioResult]
"""The result of a scenario, which is played when it is asked for first."""

RESULTS = pytest.StashKey[dict[str, ScenarioResult]]()


@pytest.fixture(scope="session")
def played(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Plays scenarios at the newest level."""
    results = request.config.stash.setdefault(RESULTS, {})

    def play(name: str) -> ScenarioResult:
        if name not in results:
            folder = tmp_path_factory.mktemp("scenario")
            settings = ClusterSettings(level=LEVEL)
            (results[name],) = run_all(selected([name]), settings=settings, seed=SEED, out=folder)
            assert all(path.stat().st_size for path in folder.rglob("trace-*.ndjson"))
        return results[name]

    return play


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Kind by kind: injected, effective, healed, seconds."""
    results = config.stash.get(RESULTS, {})
    if not results:
        return
    rows = [list(COLUMNS), *(row.cells for row in kind_rows(results.values()))]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    terminalreporter.section("faults on real processes")
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        terminalreporter.write_line("  ".join(cells).rstrip())
