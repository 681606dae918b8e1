"""A claim needs a whole profile; a lost record is told with the elections that lost it."""

from pathlib import Path

import msgspec
import pytest

from fencepost.conformance.suite.claims import claim_of, failures, requirement_verdicts_of
from fencepost.conformance.suite.records import (
    CaseEnd,
    Footer,
    Header,
    RequirementRecord,
    SuiteRun,
    counts_of,
)
from fencepost.conformance.suite.sentences import loss_of
from fencepost.conformance.verdict import Verdict, Violation
from fencepost.spec.trace import Kind, TraceEvent
from fencepost.spec.vocabulary import Invariant, Outcome

CASES = ("isr/a", "isr/b")


def a_run(
    *verdicts: Verdict, select: tuple[str, ...] = (), doubts: tuple[str, ...] = ()
) -> SuiteRun:
    header = Header(
        schema="fencepost-conformance/1",
        version="1",
        catalogue="c",
        targets=("t",),
        profile="core",
        select=select,
        skip=(),
        seed=None,
        started="now",
        command="fencepost conform run",
        cases=CASES[: len(verdicts)],
    )
    found = list(zip(CASES, verdicts, strict=False))
    ends = [CaseEnd(target="t", case=case, verdict=one, message="so") for case, one in found]
    records = [
        RequirementRecord(target="t", case=case, requirement="ISR-001", verdict=one)
        for case, one in found
    ]
    return SuiteRun(
        folder=Path("run"),
        header=header,
        ends=tuple(ends),
        requirements=tuple(records),
        footer=Footer(counts=counts_of(verdicts), seconds=1.0),
        doubts=doubts,
    )


def test_a_whole_profile_of_passes_is_a_claim() -> None:
    claim = claim_of(a_run(Verdict.PASS, Verdict.PASS), "t")

    assert (claim.is_met, claim.sentence, claim.counts) == (True, "t conforms to core", "2 pass")


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (a_run(Verdict.PASS, Verdict.FAIL), "1 of 2 cases are FAIL"),
        (a_run(Verdict.PASS, Verdict.VACUOUS), "1 of 2 cases are VACUOUS"),
        (a_run(Verdict.PASS, Verdict.INCONCLUSIVE), "1 of 2 cases are INCONCLUSIVE"),
        (a_run(Verdict.UNSUPPORTED), "no case has shown ISR-001"),
        (a_run(Verdict.PASS, select=("isr",)), "only some of the cases were selected"),
        (a_run(Verdict.PASS, doubts=("it was cut off",)), "it was cut off"),
    ],
)
def test_anything_less_is_none(run: SuiteRun, why: str) -> None:
    claim = claim_of(run, "t")

    assert not claim.is_met
    assert claim.sentence.startswith("t: no claim, for ")
    assert why in claim.sentence


def test_what_one_case_cannot_see_another_may_show() -> None:
    run = a_run(Verdict.NOT_OBSERVABLE, Verdict.PASS)

    assert requirement_verdicts_of(run, "t") == {"ISR-001": Verdict.PASS}
    assert [end.case for end in failures(run)] == ["isr/a"]


def line(seq: int, action: str, **fields: object) -> TraceEvent:
    usual = {"run_id": "r", "node": "n", "lamport": seq, "kind": Kind.ACTION}
    place = {"topic": "ledger", "partition": 0, "mono_ns": seq * 1_000_000_000}
    document = {**usual, **place, "seq": seq, "action": action, **fields}
    return msgspec.convert(document, TraceEvent)


def test_a_lost_record_is_told_with_the_elections_after_its_acknowledgement() -> None:
    first = line(1, "BecomeLeader", leader=1, leader_epoch=0)
    acknowledged = line(3, "Produce", kind=Kind.COMPLETE, outcome=Outcome.OK, leader_epoch=0)
    second = line(5, "BecomeLeader", leader=2, leader_epoch=1)
    read = line(8, "Fetch", kind=Kind.COMPLETE, outcome=Outcome.OK)
    late = line(9, "BecomeLeader", leader=3, leader_epoch=2)
    violation = Violation(
        invariant=Invariant.ACKNOWLEDGED_DURABLE,
        message="Acknowledged record a is lost: the final log ends at 0.",
        witness=(acknowledged, read),
    )

    told = loss_of(violation, [first, acknowledged, second, read, late])

    assert told == (
        "Acknowledged record a is lost: the final log ends at 0; ledger/0 acknowledged it at "
        "+2.00 s; elected since then: broker 2 in epoch 1 at +4.00 s."
    )
