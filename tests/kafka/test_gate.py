"""The gate on a release, with what is known of it: two scenarios of the tier, all stages.

`pytest -m kafka`.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from junitparser import JUnitXml, Skipped, TestSuite

from fencepost.ci.cli import run
from fencepost.ci.gate.tiers import EFFORT
from fencepost.conformance.verdict import ExitCode
from fencepost.spec.tlc.models import Tier

pytestmark = pytest.mark.kafka

TARGET = "kafka:3.9.1"
EXPECTATIONS = (
    Path(__file__).parents[2] / "conformance" / "adapters" / "kafka" / "expectations.toml"
)
UNTRUE = """[[expect]]
pattern = "chaos/leader_kill"
target = "kafka:3.9.1"
verdict = "FAIL"
message = "no leader"
reason = "it is said to fail, and does not"
"""


def gate(
    monkeypatch: pytest.MonkeyPatch, out: Path, expectations: Path, *scenarios: str
) -> tuple[int, dict[str, bool]]:
    """Its exit code, and each chaos scenario with whether JUnit has it skipped."""
    few = replace(EFFORT[Tier.QUICK], scenarios=scenarios)
    monkeypatch.setitem(EFFORT, Tier.QUICK, few)
    code = run(["gate", "--target", TARGET, "--expect", str(expectations), "--out", str(out)])
    suites = cast(Iterable[TestSuite], JUnitXml.fromfile(str(out / "junit.xml")))
    return code, {
        str(case.name).removeprefix("scenario "): any(
            isinstance(one, Skipped) for one in case.result
        )
        for suite in suites
        for case in suite
    }


def test_a_known_failure_of_a_release_does_not_fail_its_gate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    out = tmp_path / "run"

    code, skipped = gate(monkeypatch, out, EXPECTATIONS, "leader_kill", "version_race")

    told = (out / "report.html").read_text()
    assert (code, skipped["leader_kill"]) == (ExitCode.FINE, False)
    assert skipped["version_race"] == ("KAFKA-2729" in told)


def test_a_failure_that_does_not_come_fails_the_gate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    expectations = tmp_path / "expectations.toml"
    expectations.write_text(UNTRUE)

    code, _ = gate(monkeypatch, tmp_path / "run", expectations, "leader_kill")

    assert code == ExitCode.VIOLATION
