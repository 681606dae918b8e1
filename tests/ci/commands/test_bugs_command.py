"""`fencepost bugs`: from the number of an issue to all that shows the same."""

import pytest

from fencepost.ci.cli import run


def test_a_bug_leads_to_its_hazard_its_mutant_and_its_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["bugs", "explain", "KAFKA-7128"]) == 0
    told = capsys.readouterr().out

    assert "shows on kafka:1.1.1 (" in told
    assert "fencepost check --without-repairs --hazard H36" in told
    assert "fencepost simulate --steps expand_below_epoch_start" in told
    assert "fencepost bugs run KAFKA-7128 -t kafka:1.1.1" in told
    assert "id: kafka_7128" in told
