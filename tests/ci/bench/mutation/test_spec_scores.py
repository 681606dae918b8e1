"""What TLC says of small modules that are wrong, and of the sample that every change is held to."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from fencepost.ci.bench.mutation import specs
from fencepost.ci.bench.mutation.edit import Edit
from fencepost.ci.bench.mutation.reasons import ListedEdit, Reasons
from fencepost.ci.bench.mutation.score import JudgedEdits, Scored, document, left_of, read_results
from fencepost.ci.bench.mutation.spec_rows import protocol_of, rows_of
from fencepost.ci.bench.mutation.spec_scores import (
    ERROR,
    FEWER,
    HAZARD,
    MORE,
    PROPERTY,
    SCALE,
    UNCHANGED,
    SpecJudge,
)
from fencepost.ci.bench.mutation.tla.modules import read_folder
from fencepost.ci.bench.mutation.tla.tla_edits import edits_of
from fencepost.spec.tlc.java.machines import Machines
from fencepost.spec.tlc.models import Model, ModelVerdict, Tier

COUNTER = """---- MODULE Counter ----
EXTENDS Integers
VARIABLES n, waits
Init == n = 0 /\\ waits = 0
After(count) == count + (IF count >= 0 THEN 1 ELSE 0)
Count == /\\ n < 3
         /\\ n # 9
         /\\ n' = After(n)
         /\\ UNCHANGED waits
Wait == /\\ waits < 2
        /\\ waits' = waits + 1
        /\\ UNCHANGED n
Sharp == /\\ n = 3
         /\\ [is_on |-> TRUE].is_on
         /\\ UNCHANGED <<n, waits>>
Next == Count \\/ Wait \\/ Sharp
Bounded == n <= 3
Few == waits <= 9
====
"""
COUNTS_TWICE = """---- MODULE counts_twice ----
EXTENDS Counter
WrongAfter(count) == count + 2
====
"""
STATES = 12


@pytest.fixture
def judge(tmp_path: Path) -> Iterator[SpecJudge]:
    (tmp_path / "Counter.tla").write_text(COUNTER)
    (tmp_path / "Counter.cfg").write_text("INIT Init\nNEXT Next\nINVARIANTS Bounded Few\n")
    model = Model(
        name="counter",
        module="Counter",
        config="Counter.cfg",
        constants=MappingProxyType({}),
        tier=Tier.QUICK,
        expected=ModelVerdict.HOLDS,
        invariant=None,
        counterexample_states=None,
        distinct_states=STATES,
        budget_s=60,
        hazard="H0",
        shows="A counter stays within its bound.",
        directory=tmp_path,
    )
    (tmp_path / "mutants" / "Counter").mkdir(parents=True)
    (tmp_path / "mutants" / "Counter" / "counts_twice.tla").write_text(COUNTS_TWICE)
    hazard = replace(
        model,
        name="counter_that_counts_twice",
        constants=MappingProxyType({"mutants": ["counts_twice"]}),
        expected=ModelVerdict.VIOLATES,
        invariant="Bounded",
        counterexample_states=3,
    )
    modules = read_folder(tmp_path)
    rows = rows_of(modules, [hazard, model])
    with Machines() as machines:
        yield SpecJudge(modules=modules, rows=rows, folder=tmp_path, machines=machines)


def edit_of(judge: SpecJudge, told: str, operator: str) -> Edit:
    edits = edits_of(judge.modules, protocol_of(judge.rows))
    (found,) = (edit for edit in edits if edit.told == told and edit.operator == operator)
    return found


@pytest.mark.tlc
@pytest.mark.parametrize(
    ("told", "operator", "outcome"),
    [
        ("n < 3  ->  TRUE", "Count", PROPERTY),
        ("n < 3  ->  n <= 3", "Count", PROPERTY),
        ("waits < 2  ->  waits <= 2", "Wait", MORE),
        ("waits' = waits + 1  ->  UNCHANGED waits", "Wait", FEWER),
        ("n' = After(n)  ->  UNCHANGED n", "Count", HAZARD),
        ("n # 9  ->  TRUE", "Count", UNCHANGED),
        ("count >= 0  ->  TRUE", "After", UNCHANGED),
    ],
)
def test_an_edit_is_judged(judge: SpecJudge, told: str, operator: str, outcome: str) -> None:
    scored = judge.one(edit_of(judge, told, operator))

    assert scored.outcome == outcome, scored.by
    assert scored.by
    assert scored.diff.startswith("--- spec/tla/Counter.tla")


def test_rows_that_are_violated_come_last_and_reach_no_replaced_rule(judge: SpecJudge) -> None:
    plain, hazard = judge.rows

    assert hazard.is_violated
    assert plain.depends_on(("Counter", "After"))
    assert not hazard.depends_on(("Counter", "After"))
    assert hazard.depends_on(("Counter", "Count"))
    assert not hazard.depends_on(("Elsewhere", "Count"))


@pytest.mark.tlc
def test_an_edit_without_meaning_does_not_count(judge: SpecJudge) -> None:
    edit = edit_of(judge, "n = 3  ->  TRUE", "Sharp")
    broken = Edit(
        module="Counter",
        operator="Sharp",
        kind="comparison",
        start=edit.start,
        before=edit.before,
        after="n = nothing",
        line=edit.line,
    )

    assert judge.one(broken).outcome == ERROR


def test_what_is_equivalent_is_not_run(judge: SpecJudge) -> None:
    edit = edit_of(judge, "n # 9  ->  TRUE", "Count")
    listed = ListedEdit(
        module="Counter", operator="Count", kind="drop_conjunct", before="n # 9", reason="never 9"
    )
    known = SpecJudge(
        modules=judge.modules, rows=judge.rows, reasons=Reasons(equivalents=(listed,))
    )

    scored = known.one(edit)

    assert (scored.outcome, scored.equivalent) == ("", "never 9")


def scored(outcome: str, *, equivalent: str = "", excuse: str = "") -> Scored:
    edit = Edit(module="M", operator="A", kind="k", start=0, before="a", after="b", line=1)
    return Scored(edit=edit, outcome=outcome, equivalent=equivalent, excuse=excuse)


def test_the_score_counts_what_can_be_killed() -> None:
    found = [
        *[scored(PROPERTY)] * 3,
        scored(UNCHANGED),
        scored(ERROR),
        scored("", equivalent="why"),
    ]

    assert SCALE.share(found, (PROPERTY,)) == 0.75
    assert [one.outcome for one in SCALE.survivors(found)] == [UNCHANGED]
    assert SCALE.missed(found) == SCALE.goals


def test_a_survivor_with_an_excuse_counts_but_does_not_fail() -> None:
    found = [scored(PROPERTY), scored(UNCHANGED, excuse="no clock is modelled")]

    assert SCALE.share(found, (PROPERTY,)) == 0.5
    assert SCALE.missed(found) == ()


def test_what_was_killed_is_not_judged_again(tmp_path: Path) -> None:
    killed, lived = scored(PROPERTY), named("B", FEWER)
    gone = [named("C", UNCHANGED), named("D", PROPERTY)]
    results = tmp_path / "results.json"
    results.write_text(json.dumps(document(SCALE, [killed, lived, *gone], "--seed 1")))

    drawn, kept = left_of(SCALE, read_results(results), [killed.edit, lived.edit])

    assert drawn == (lived.edit,)
    assert [one.edit for one in kept] == [killed.edit]


def test_each_result_is_written_at_once(tmp_path: Path) -> None:
    judged = JudgedEdits(scale=SCALE, drawn="--seed 1", path=tmp_path / "results.json")

    judged.add(scored(PROPERTY))

    (read,) = read_results(tmp_path / "results.json")
    assert read == scored(PROPERTY)


def test_without_a_guard_of_an_action_no_violation_goes(judge: SpecJudge) -> None:
    assert judge.only_adds(edit_of(judge, "n < 3  ->  TRUE", "Count"))
    assert not judge.only_adds(edit_of(judge, "n < 3  ->  n <= 3", "Count"))
    assert not judge.only_adds(edit_of(judge, "count >= 0  ->  TRUE", "After"))


def named(operator: str, outcome: str) -> Scored:
    one = scored(outcome)
    return replace(one, edit=replace(one.edit, operator=operator, number=2))


@pytest.mark.long
def test_edits_of_the_specs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code = specs.main(["--list", "--module", "Fencing", "--count", "3", "--seed", "1"])

    lines = capsys.readouterr().out.splitlines()
    assert code == 0
    assert len(lines) == 3
    assert all(line.startswith("Fencing:") for line in lines)


@pytest.mark.long
@pytest.mark.tlc
def test_of_the_sample_of_every_change_what_has_no_reason_is_killed() -> None:
    assert specs.main(["--unlisted", "--count", "10", "--seed", "14", "--budget", "900"]) == 0
