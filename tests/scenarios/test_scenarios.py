"""Every scenario prints what its file says; `--rewrite-scenarios` lets the files say it."""

from pathlib import Path

import pytest

from conformance.scripted import play_file

HERE = Path(__file__).resolve().parent
SCENARIOS = sorted(HERE.glob("*.txt"))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_prints_what_its_file_says(path: Path, request: pytest.FixtureRequest) -> None:
    played = play_file(path)
    if request.config.getoption("--rewrite-scenarios"):
        path.write_text(played.after, encoding="utf-8")
        return

    assert "\n".join(played.difference) == ""
