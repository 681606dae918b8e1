from itertools import combinations

import pytest

from fencepost.conformance.verdict import (
    BY_SEVERITY,
    MAX_LISTED,
    CheckResult,
    ExitCode,
    Verdict,
    Violation,
    exit_code,
    merge,
    worst,
)
from fencepost.spec.vocabulary import Invariant

V = Verdict
INVARIANT = Invariant.LOG_MATCHING
VIOLATION = Violation(invariant=INVARIANT, message="It is wrong.")


def test_severity_names_every_verdict_once() -> None:
    assert sorted(BY_SEVERITY) == sorted(Verdict)


def test_the_worst_of_two_is_the_one_named_first() -> None:
    for worse, better in combinations(BY_SEVERITY, 2):
        assert worst([better, worse]) is worse


def test_the_worst_of_nothing_is_not_run() -> None:
    assert worst([]) is V.NOT_RUN


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([V.PASS], 0),
        ([V.PASS, V.DEVIATES, V.UNSUPPORTED, V.NOT_OBSERVABLE], 0),
        ([V.FAIL], 1),
        ([V.FAIL, V.VACUOUS, V.INCONCLUSIVE, V.PASS], 1),
        ([V.FAIL, V.ERROR, V.NOT_RUN], 1),
        ([V.PASS, V.VACUOUS], 2),
        ([V.PASS, V.INCONCLUSIVE], 2),
        ([V.UNSUPPORTED, V.NOT_OBSERVABLE], 2),
        ([V.PASS, V.VACUOUS, V.ERROR], 3),
        ([V.PASS, V.NOT_RUN], 3),
        ([], 4),
    ],
)
def test_exit_codes(verdicts: list[Verdict], code: int) -> None:
    assert exit_code(verdicts) == code
    assert isinstance(exit_code(verdicts), ExitCode)


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (CheckResult(invariant=INVARIANT, premise_count=0), V.VACUOUS),
        (CheckResult(invariant=INVARIANT, premise_count=1), V.PASS),
        (CheckResult(invariant=INVARIANT, premise_count=1, doubts=("Dark.",)), V.INCONCLUSIVE),
        (CheckResult(invariant=INVARIANT, premise_count=0, violations=(VIOLATION,)), V.FAIL),
        (
            CheckResult(
                invariant=INVARIANT, premise_count=9, violations=(VIOLATION,), doubts=("Dark.",)
            ),
            V.FAIL,
        ),
    ],
)
def test_the_verdict_of_a_check(result: CheckResult, verdict: Verdict) -> None:
    assert result.verdict is verdict


def test_an_idle_partition_does_not_make_the_whole_vacuous() -> None:
    idle = CheckResult(invariant=INVARIANT, premise_count=0)
    busy = CheckResult(invariant=INVARIANT, premise_count=2)

    assert merge(INVARIANT, [idle, busy]) == busy
    assert merge(INVARIANT, [idle, idle]).verdict is V.VACUOUS
    assert merge(INVARIANT, []).verdict is V.VACUOUS


def test_merging_keeps_count_of_what_it_does_not_list() -> None:
    part = CheckResult(
        invariant=INVARIANT,
        premise_count=1,
        violations=(VIOLATION,) * MAX_LISTED,
        omitted_violations=2,
        doubts=("Dark.",),
    )
    whole = merge(INVARIANT, [part, part])

    assert len(whole.violations) == MAX_LISTED
    assert whole.omitted_violations == MAX_LISTED + 4
    assert whole.doubts == ("Dark.",)


def test_a_violation_without_witness_has_no_place() -> None:
    assert (VIOLATION.node, VIOLATION.seq) == (None, None)
