from dataclasses import replace

import msgspec
import pytest

from fencepost.ci.gate.outcomes import StageOutcome
from fencepost.ci.gate.proof_outcome import of_proofs
from fencepost.conformance.verdict import Verdict
from fencepost.reports.analysis.stages import Detail
from fencepost.spec.proofs.countermodels import Countermodel
from fencepost.spec.proofs.findings import ProofFindings, ProofHazard
from fencepost.spec.proofs.module import WrongRule
from fencepost.spec.proofs.solver import Obligation, ProofAnswer

KEPT = Obligation(
    module="LeaderAndIsr",
    action="AdoptIsr",
    way="adopt_accepted",
    clause="QuorumSuperset",
    answer=ProofAnswer.PROVED,
    seconds=0.25,
)
SETTLED = replace(KEPT, way="adopt_settled", answer=ProofAnswer.UNTOUCHED)
BROKEN = Countermodel(
    clause="QuorumSuperset",
    is_property=True,
    action="FenceLeader",
    way="lead_on_after_conflict",
    is_confirmed=True,
)
HAZARD = ProofHazard(
    module="LeaderAndIsr",
    rule=WrongRule(name="no_step_down", hazard="H40", breaks="QuorumSuperset", actions=()),
    countermodel=BROKEN,
)
FINDINGS = ProofFindings(
    module="LeaderAndIsr",
    properties=frozenset({"QuorumSuperset"}),
    obligations=(KEPT, SETTLED),
    never_taken=(),
    hazards=(HAZARD,),
)


def readable(outcome: StageOutcome) -> Detail:
    """The report reads the detail by the names that it knows."""
    return msgspec.convert(msgspec.to_builtins(outcome.detail), Detail)


def test_what_is_proved_passes_and_is_one_row_for_clause_and_action() -> None:
    outcome = of_proofs([FINDINGS])

    detail = readable(outcome)
    assert outcome.verdict is Verdict.PASS
    assert [(row.clause, row.action, row.answer) for row in detail.proofs] == [
        ("QuorumSuperset", "AdoptIsr", "proved")
    ]
    assert [(row.hazard, row.clause) for row in detail.proof_hazards] == [("H40", "QuorumSuperset")]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [(ProofAnswer.COUNTERMODEL, Verdict.FAIL), (ProofAnswer.UNKNOWN, Verdict.INCONCLUSIVE)],
)
def test_one_way_that_is_not_proved_is_told_of_its_action(
    answer: ProofAnswer, verdict: Verdict
) -> None:
    found = replace(FINDINGS, obligations=(KEPT, replace(SETTLED, answer=answer)))

    outcome = of_proofs([found])

    assert outcome.verdict is verdict
    assert [row.answer for row in readable(outcome).proofs] == [str(answer)]


@pytest.mark.parametrize(
    "found",
    [
        replace(FINDINGS, hazards=(replace(HAZARD, countermodel=None),)),
        replace(
            FINDINGS,
            hazards=(replace(HAZARD, countermodel=replace(BROKEN, is_confirmed=False)),),
        ),
        replace(FINDINGS, never_taken=("adopt_settled",)),
    ],
)
def test_a_proof_that_cannot_fail_shows_nothing(found: ProofFindings) -> None:
    assert of_proofs([found]).verdict is Verdict.VACUOUS


def test_no_module_at_all_is_no_pass() -> None:
    assert of_proofs([]).verdict is Verdict.NOT_RUN
