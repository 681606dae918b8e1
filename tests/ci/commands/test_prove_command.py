"""`fencepost prove`: what it prints, and how it ends."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.cli import run
from fencepost.spec.proofs import solver
from fencepost.spec.proofs.metadata.leader_and_isr import fence_leader
from fencepost.spec.proofs.metadata.module import LEADER_AND_ISR_MODULE
from fencepost.spec.proofs.metadata.wrong_rules import lead_on_after_conflict
from fencepost.spec.proofs.module import ProvedModule, WrongRule

ALONE = replace(LEADER_AND_ISR_MODULE, starts=(), actions=(fence_leader,))
SHOWN = WrongRule(
    name="no_step_down",
    hazard="H40",
    breaks="LeaderKnowsVersion",
    actions=(lead_on_after_conflict,),
)
HARMLESS = WrongRule(
    name="as_it_should_be", hazard="H40", breaks="QuorumSuperset", actions=(fence_leader,)
)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What was found before is no other test's."""
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))


def proving(monkeypatch: pytest.MonkeyPatch, module: ProvedModule) -> None:
    monkeypatch.setattr("fencepost.ci.commands.prove.MODULES", (module,))


def test_a_proof_is_told_clause_by_clause(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    proving(monkeypatch, replace(ALONE, wrong_rules=(SHOWN,)))

    assert run(["prove", "--module", "LeaderAndIsr"]) == 0
    out = capsys.readouterr().out

    assert "1 of 1" in next(line for line in out.splitlines() if "QuorumSuperset" in line)
    assert "H40 no_step_down: countermodel to LeaderKnowsVersion after FenceLeader" in out
    assert "PASS: 30 of 30 obligations proved for any size, 1 of 1 hazard with a" in out


def test_a_broken_rule_is_a_violation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = replace(ALONE, actions=(lead_on_after_conflict,), wrong_rules=())
    proving(monkeypatch, wrong)

    assert run(["prove", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)

    answers = {row["clause"]: row["answer"] for row in told["proofs"]}
    assert told["verdict"] == "FAIL"
    assert answers["LeaderKnowsVersion"] == "countermodel"
    assert answers["OneControllerPerEpoch"] == "untouched"


def test_what_is_not_decided_is_no_pass(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(solver, "STEPS_MAX", 10)
    proving(monkeypatch, replace(ALONE, wrong_rules=()))

    assert run(["prove"]) == 2
    assert "LeaderAndIsr: QuorumSuperset after FenceLeader: unknown" in capsys.readouterr().out


def test_a_hazard_without_a_countermodel_shows_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    proving(monkeypatch, replace(ALONE, wrong_rules=(HARMLESS,)))

    assert run(["prove"]) == 2
    assert "H40 as_it_should_be: NO countermodel" in capsys.readouterr().out


def test_an_unknown_module_is_a_mistake_of_the_command_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["prove", "--module", "Forwarding"]) == 4
    assert "no proof is of a module 'Forwarding'" in capsys.readouterr().err


def test_what_was_found_before_is_told_from_the_cache(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    proving(monkeypatch, replace(ALONE, wrong_rules=(SHOWN,)))
    told = []
    for arguments in ([], [], ["--no-cache"]):
        assert run(["prove", *arguments]) == 0
        told.append(capsys.readouterr().out)

    first, second, anew = told
    assert "1 of 1 hazard with a countermodel, 1 module from the cache" in second
    assert "cached" in second
    assert "cache" not in first + anew


def test_a_chosen_cache_that_keeps_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "file" / "cache"))
    proving(monkeypatch, replace(ALONE, wrong_rules=()))

    assert run(["prove"]) == 0
    assert "where nothing can be written: no verdict is kept" in capsys.readouterr().err
