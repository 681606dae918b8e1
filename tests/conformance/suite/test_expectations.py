"""Every entry of a file of expectations must be true of a run; two runs are compared."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.scenarios import SCENARIOS
from fencepost.conformance.suite.comparison import differences
from fencepost.conformance.suite.expectations import (
    Expectation,
    as_toml,
    exit_code_with,
    read_expectations,
    unmet,
    updated,
)
from fencepost.conformance.suite.library import ROOM, all_cases
from fencepost.conformance.suite.records import CaseEnd, CaseTry, Header, SuiteRun
from fencepost.conformance.verdict import ExitCode, Verdict

TODAY = date(2026, 11, 23)
MESSAGE = 'AcknowledgedDurable: record "a" is lost'


def a_run(**verdicts: Verdict) -> SuiteRun:
    cases = tuple(f"isr/{name}" for name in verdicts)
    header = Header(
        schema="fencepost-conformance/1",
        version="1",
        catalogue="c",
        targets=("kafka:3.9.1",),
        profile="core",
        select=(),
        skip=(),
        seed=None,
        started="now",
        command="again",
        cases=cases,
    )
    ends = tuple(
        CaseEnd(
            target="kafka:3.9.1",
            case=case,
            verdict=verdict,
            message="" if verdict is Verdict.PASS else MESSAGE,
        )
        for case, verdict in zip(cases, verdicts.values(), strict=True)
    )
    return SuiteRun(folder=Path("run"), header=header, ends=ends)


RUN = a_run(good=Verdict.PASS, bad=Verdict.FAIL)
KNOWN = Expectation(
    pattern="isr/b*", verdict=Verdict.FAIL, reason="KIP-101", message="AcknowledgedDurable: "
)


def entry(**fields: object) -> Expectation:
    return Expectation(**{"pattern": "isr/bad", "verdict": "FAIL", "reason": "so", **fields})  # type: ignore[arg-type]


def test_a_known_failure_is_fine_and_an_unknown_one_is_not() -> None:
    assert unmet(RUN, [KNOWN], TODAY) == []
    assert exit_code_with(RUN, [KNOWN], TODAY) is ExitCode.FINE
    assert exit_code_with(RUN, [], TODAY) is ExitCode.VIOLATION


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (entry(pattern="isr/good", verdict=Verdict.FAIL), "unexpected pass: kafka:3.9.1 isr/good"),
        (entry(pattern="isr/none", verdict=Verdict.FAIL), "stale: isr/none names no case"),
        (entry(verdict=Verdict.VACUOUS), "isr/bad is FAIL, and VACUOUS was expected"),
        (entry(verdict=Verdict.FAIL, message="LogMatching"), "'LogMatching' was expected"),
        (entry(verdict=Verdict.FAIL, expires=date(2026, 11, 1)), "expired: isr/bad was expected"),
    ],
)
def test_an_entry_that_is_not_true_fails_the_run(wrong: Expectation, sentence: str) -> None:
    told = unmet(RUN, [KNOWN, wrong], TODAY)

    assert sentence in told[0]
    assert exit_code_with(RUN, [KNOWN, wrong], TODAY) is ExitCode.VIOLATION


def flaky_end(*tries: Verdict) -> CaseEnd:
    is_flaky = Verdict.PASS in tries
    return CaseEnd(
        target="kafka:3.9.1",
        case="isr/bad",
        verdict=Verdict.INCONCLUSIVE if is_flaky else Verdict.FAIL,
        message=f"FLAKY(1/2): {MESSAGE}" if is_flaky else MESSAGE,
        tries=tuple(CaseTry(verdict=one, message=MESSAGE) for one in tries),
    )


FLAKY = flaky_end(Verdict.FAIL, Verdict.PASS)


@pytest.mark.parametrize(
    ("end", "sentence"),
    [
        (FLAKY, ""),
        (CaseEnd(target="t", case="isr/bad", verdict=Verdict.PASS), ""),
        (flaky_end(), ""),
        (flaky_end(Verdict.FAIL, Verdict.FAIL), "passed in none of 2 tries; drop flaky = true"),
        (CaseEnd(target="t", case="isr/bad", verdict=Verdict.VACUOUS), "is VACUOUS, and FAIL was"),
    ],
)
def test_a_flaky_entry_may_pass_but_not_always_fail(end: CaseEnd, sentence: str) -> None:
    told = entry(verdict=Verdict.FAIL, flaky=True, issue="#12").unlike(end)

    assert sentence in told
    assert bool(told) == bool(sentence)


def test_a_case_that_turns_out_flaky_is_no_known_failure_and_its_entry_asks_for_an_issue(
    tmp_path: Path,
) -> None:
    assert "isr/bad is flaky, and FAIL was expected" in entry(verdict=Verdict.FAIL).unlike(FLAKY)
    run = replace(RUN, ends=(RUN.ends[0], FLAKY))
    assert exit_code_with(run, [], TODAY) is ExitCode.UNDECIDED

    found = updated(run, [], TODAY)

    path = tmp_path / "kafka.toml"
    path.write_text(as_toml(found))
    assert read_expectations(path) == found
    assert (found[0].flaky, found[0].verdict, found[0].issue) == (
        True,
        Verdict.FAIL,
        "none yet; name it",
    )
    assert exit_code_with(run, found, TODAY) is ExitCode.FINE
    path.write_text('[[expect]]\npattern = "a"\nverdict = "FAIL"\nreason = "b"\nflaky = true\n')
    with pytest.raises(ChoiceError, match="a is flaky; name the issue"):
        read_expectations(path)


def test_an_entry_about_another_target_or_profile_says_nothing_of_the_run() -> None:
    of_others = [
        entry(pattern="isr/silent_follower_leaves"),
        entry(pattern="isr/good", target="kafka:2.8.2"),
    ]

    assert unmet(RUN, [KNOWN, *of_others], TODAY) == []


def test_a_pattern_that_names_too_many_cases_is_refused() -> None:
    run = a_run(**{f"case{number}": Verdict.FAIL for number in range(21)})

    assert "too wide: * names 21 cases; at most 20" in unmet(
        run, [entry(pattern="*", verdict=Verdict.FAIL)], TODAY
    )


def test_an_update_keeps_what_is_true_and_asks_for_the_reason_of_the_rest(tmp_path: Path) -> None:
    stale = entry(pattern="isr/good", verdict=Verdict.FAIL)
    first = updated(RUN, [stale], TODAY)
    path = tmp_path / "kafka.toml"
    path.write_text(as_toml(first))

    assert read_expectations(path) == first
    assert [(one.pattern, one.message, one.target) for one in first] == [
        ("isr/bad", MESSAGE, "kafka:3.9.1")
    ]
    assert "say why" in first[0].reason
    assert exit_code_with(RUN, first, TODAY) is ExitCode.FINE
    assert updated(RUN, [KNOWN], TODAY) == (KNOWN,)


def test_no_update_comes_of_a_run_that_is_cut_off() -> None:
    with pytest.raises(ChoiceError, match="it was cut off; run a whole profile"):
        updated(replace(RUN, doubts=("it was cut off",)), [], TODAY)


def test_a_file_with_an_unknown_field_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kafka.toml"
    path.write_text('[[expect]]\npattern = "a"\nverdict = "FAIL"\nwhy = "b"\n')

    with pytest.raises(ChoiceError, match=r"kafka.toml: Object .* `why`"):
        read_expectations(path)


def test_runs_differ_where_a_case_ended_otherwise_or_is_new() -> None:
    later = a_run(good=Verdict.FAIL, bad=Verdict.FAIL, other=Verdict.PASS)

    told = [one.sentence for one in differences(RUN, later)]

    assert told == [
        f"kafka:3.9.1 isr/good: PASS → FAIL: {MESSAGE}",
        "kafka:3.9.1 isr/other: not asked for → PASS",
    ]
    assert differences(RUN, RUN) == []


def test_what_is_expected_of_kafka_names_cases_that_there_are() -> None:
    entries = read_expectations(ROOM.parent / "adapters" / "kafka" / "expectations.toml")

    ids = {case.case_id for case in all_cases()} | {f"chaos/{name}" for name in SCENARIOS}
    assert {entry.pattern for entry in entries} <= ids
    assert sum(entry.is_about("kafka:3.9.1", entry.pattern) for entry in entries) == 6
