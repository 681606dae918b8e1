"""Every scenario at the levels below the newest that have clients' metadata or incarnations.

`pytest -m nightly`, which `make nightly` runs; the newest level is played by `pytest -m chaos`.
"""

from pathlib import Path

import pytest

from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.chaos import run_all, selected
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.verdict import Verdict
from fencepost.spec.vocabulary import NEWEST_LEVEL, ProtocolLevel

pytestmark = pytest.mark.nightly

LOWER = range(ProtocolLevel.BROKER_EPOCH, NEWEST_LEVEL)
SEED = 1


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("level", LOWER)
def test_a_scenario_ends_at_a_lower_level_as_its_story_says(
    level: int, name: str, tmp_path: Path
) -> None:
    settings = ClusterSettings(level=level)
    (result,) = run_all(selected([name]), settings=settings, seed=SEED, out=tmp_path)

    assert (result.verdict, result.is_expected) == (SCENARIOS[name].expected(level), True), (
        result.why
    )
    assert result.acknowledged > 0 or result.verdict is Verdict.UNSUPPORTED
