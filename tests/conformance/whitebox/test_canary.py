"""The canary's verdict; the run itself is in `tests/chaos`."""

from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.ci.gate.scenario_outcomes import of_canary
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.runs.scenario import Problem, ScenarioResult
from fencepost.conformance.verdict import CheckResult, Verdict, Violation
from fencepost.conformance.whitebox.canary import Canary
from fencepost.conformance.whitebox.mutants import breaking, require_rule
from fencepost.fault_injection.network.wiring import BrokerPlace
from fencepost.fault_injection.processes.supervisor import Supervisor
from fencepost.spec.vocabulary import Invariant
from tests.conformance.scenario_results import scenario_result
from tests.conformance.sites import site_at

RESULT = scenario_result(
    "unreplicated_record",
    Verdict.PASS,
    seed=1,
    expected=Verdict.FAIL,
    reproduce="fencepost chaos --mutant deaf",
)


def violation(invariant: Invariant) -> CheckResult:
    found = Violation(invariant=invariant, message="A record is gone.")
    return CheckResult(invariant=invariant, premise_count=1, violations=(found,))


def canary(result: ScenarioResult) -> Canary:
    return Canary(mutant="deaf", caught_by=frozenset({"AcknowledgedDurable"}), result=result)


def test_canary_that_a_check_of_its_own_sees_passes_the_stage() -> None:
    checks = (violation(Invariant.ACKNOWLEDGED_DURABLE), violation(Invariant.LEADER_IN_ISR))
    outcome = of_canary(canary(replace(RESULT, verdict=Verdict.FAIL, checks=checks, seconds=4.2)))

    assert outcome.verdict is Verdict.PASS
    assert outcome.summary == "mutant deaf was found by AcknowledgedDurable in 4 s"


@pytest.mark.parametrize(
    "result",
    [
        RESULT,
        replace(RESULT, verdict=Verdict.VACUOUS),
        replace(RESULT, verdict=Verdict.FAIL, checks=(violation(Invariant.LEADER_IN_ISR),)),
    ],
)
def test_canary_that_nobody_sees_fails_the_stage_in_one_sentence(result: ScenarioResult) -> None:
    outcome = of_canary(canary(result))

    assert outcome.verdict is Verdict.FAIL
    assert outcome.summary.startswith("mutant deaf ran on real processes and was not found (")
    assert outcome.detail["scenarios"][0]["reproduce"] == "fencepost chaos --mutant deaf"


def test_canary_that_could_not_be_played_is_an_error() -> None:
    problems = (Problem(verdict=Verdict.ERROR, sentence="no broker started"),)
    seen = (violation(Invariant.ACKNOWLEDGED_DURABLE),)

    outcome = of_canary(
        canary(replace(RESULT, verdict=Verdict.ERROR, problems=problems, checks=seen))
    )

    assert outcome.verdict is Verdict.ERROR
    assert "no broker started" in outcome.summary


def test_brokers_are_told_of_a_mutant_only_when_it_is_named(tmp_path: Path) -> None:
    with Supervisor(tmp_path, "r") as supervisor:
        site = site_at(tmp_path, supervisor)
        place = BrokerPlace(zookeeper="z")
        honest = breaking("").broker_command(site, 1, place)
        deaf = breaking("deaf").broker_command(site, 1, place)

    assert "--mutant" not in honest
    assert deaf[-3:] == ["--fault-control", "--mutant", "deaf"]


def test_mutant_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="earthquake"):
        require_rule(ClusterSettings(implementation=breaking("earthquake")))
