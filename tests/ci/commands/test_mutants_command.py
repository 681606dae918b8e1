"""`fencepost mutants list`: every mutant with what must see it."""

import json

import pytest

from fencepost.ci.cli import run


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, object]]:
    assert run(["mutants", "list", "--json"]) == 0
    return {row["mutant"]: row for row in json.loads(capsys.readouterr().out)["mutants"]}


def test_every_mutant_has_a_row(capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys)
    assert run(["mutants", "list"]) == 0
    table = capsys.readouterr().out

    assert len(rows) >= 36
    assert all(f"{name} " in table for name in rows)


def test_a_row_tells_rule_requirement_hazards_checks_and_how_it_is_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = listed(capsys)

    assert rows["commit_with_old_isr"]["hazards"] == ["H39b", "H39"]
    assert rows["commit_with_old_isr"]["found"] == "steps"
    assert rows["no_step_down"]["hazards"] == ["H40"]
    assert rows["no_step_down"]["found"] == "seed 7"
    assert rows["no_step_down"]["requirement"] == "ISR-004"
    assert "LogMatching" in str(rows["no_step_down"]["caught_by"])
    assert str(rows["no_step_down"]["rule"]).endswith(".")
    assert rows["forget_producers_on_leader_change"]["hazards"] == []
