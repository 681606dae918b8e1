"""The whole gate on the draft's truncation: it fails, and its report tells what was lost."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 600.0

pytestmark = pytest.mark.chaos


def gate(folder: Path) -> subprocess.CompletedProcess[str]:
    """`fencepost gate --level 0`, with fewer seeds and scenarios."""
    return subprocess.run(
        [sys.executable, "-m", "tests.small_gate", "gate", "--level", "0", "--out", "run"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )


def story(page: str, scenario: str) -> str:
    """The part of a report that tells of one run that broke something."""
    articles: list[str] = re.findall(r'<article class="card story".*?</article>', page, re.DOTALL)
    (told,) = [text for text in articles if f'<p class="facts">{scenario} ' in text]
    return told


def test_gate_at_level_0_fails_and_its_report_names_the_lost_record(tmp_path: Path) -> None:
    done = gate(tmp_path)

    verdict = json.loads((tmp_path / "run" / "verdict.json").read_text())
    told = story((tmp_path / "run" / "report.html").read_text(), "chaos/truncation_loss")
    stages = {stage["stage"]: stage["verdict"] for stage in verdict["stages"]}
    assert done.returncode == 1, done.stderr
    assert (verdict["verdict"], verdict["exit_code"]) == ("FAIL", 1)
    # Which seeds are chosen decides whether one of them meets what the draft is known to lose.
    assert stages.pop("simulate") in {"PASS", "FAIL"}
    assert stages == {
        "spec": "PASS",
        "proofs": "PASS",
        "chaos": "FAIL",
        "canary": "PASS",
        "replay": "PASS",
        "analyse": "FAIL",
        "report": "PASS",
    }
    assert "fencepost chaos --story truncation_loss --seed 0 --level 0" in told
    assert re.search(r"<h3>Acknowledged record client-1/2/1 at offset 1 is lost\b", told)
