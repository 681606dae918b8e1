"""What is proved for any size, and that it could fail."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from fencepost.spec.hazards import load_hazards
from fencepost.spec.proofs import solver
from fencepost.spec.proofs.clauses import Clause, clause
from fencepost.spec.proofs.countermodels import Search
from fencepost.spec.proofs.findings import ProofError, ProofFindings, find, select
from fencepost.spec.proofs.logic import Sort, Term, no
from fencepost.spec.proofs.metadata.leader_and_isr import is_leading
from fencepost.spec.proofs.module import ProvedModule
from fencepost.spec.proofs.modules import MODULES
from fencepost.spec.proofs.proof import prove
from fencepost.spec.proofs.solver import ProofAnswer
from fencepost.spec.proofs.state import SpecState
from fencepost.spec.tlc.models import MODULES as TLA

REQUIREMENT = re.compile(r"[A-Z]+-\d{3}")


@clause("NoLeaderEver", Sort.BROKER)
def no_leader_ever(s: SpecState, b: Term) -> Term:
    return no(is_leading(s, b))


def hear_nothing(_done: int, _text: str) -> None:
    """Progress is not shown."""


def silent(module: ProvedModule) -> ProofFindings:
    return find(module, hear_nothing)


@pytest.fixture(scope="module")
def found() -> tuple[ProofFindings, ...]:
    return tuple(silent(module) for module in MODULES)


def claiming(module: ProvedModule, false: Clause) -> ProvedModule:
    """The module with one more clause."""
    return replace(module, clauses=(*module.clauses, false), starts=(), wrong_rules=())


def test_every_obligation_is_proved(found: tuple[ProofFindings, ...]) -> None:
    unproved = [one for findings in found for one in findings.obligations if not one.is_proved]

    assert all(len(findings.obligations) > 500 for findings in found)
    assert unproved == []


def test_every_action_can_be_taken_in_a_state_of_the_invariant(
    found: tuple[ProofFindings, ...],
) -> None:
    assert [findings.never_taken for findings in found] == [()] * len(MODULES)


def test_every_wrong_rule_has_a_countermodel_that_plain_values_confirm(
    found: tuple[ProofFindings, ...],
) -> None:
    unshown = [one.rule.name for findings in found for one in findings.hazards if not one.is_shown]

    assert unshown == []


def test_a_clause_that_an_action_breaks_gets_a_countermodel() -> None:
    findings = silent(claiming(MODULES[0], no_leader_ever))

    broken = {(one.action, one.clause) for one in findings.obligations if not one.is_proved}
    answers = {one.answer for one in findings.obligations if not one.is_proved}
    assert broken == {("BecomeLeader", "NoLeaderEver")}
    assert answers == {ProofAnswer.COUNTERMODEL}


def test_what_takes_more_than_the_budget_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "STEPS_MAX", 10)
    module = replace(MODULES[0], starts=(), actions=MODULES[0].actions[:1])

    answers = {one.answer for one in prove(module)}

    assert answers == {ProofAnswer.UNKNOWN, ProofAnswer.UNTOUCHED}


def test_a_right_rule_has_no_countermodel() -> None:
    search = Search(MODULES[0])
    ways = [one for one in MODULES[0].actions if one.name == "FenceLeader"]

    assert search.against(ways) is None


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_actions_are_those_of_the_specs(module: ProvedModule) -> None:
    text = (TLA / f"{module.name}.tla").read_text()
    body = re.search(r"^Next ==\n((?:    .*\n)+)", text, re.MULTILINE)
    assert body is not None
    disjuncts = re.findall(r"^    \\/ (?:\\E [\w, \\]+ : )?(\w+)", body[1], re.MULTILINE)

    assert {one.name for one in module.actions if not one.is_generalised} == set(disjuncts)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_the_properties_are_operators_of_the_specs(module: ProvedModule) -> None:
    texts = "\n".join(path.read_text() for path in sorted(TLA.glob("*.tla")))
    operators = set(re.findall(r"^(\w+) ==", texts, re.MULTILINE))

    assert {one.name for one in module.clauses if one.is_property} <= operators


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_each_wrong_rule_is_of_a_hazard_or_a_requirement(module: ProvedModule) -> None:
    known = {hazard.id for hazard in load_hazards()}

    named = {rule.hazard for rule in module.wrong_rules}
    assert {one for one in named - known if not REQUIREMENT.fullmatch(one)} == set()


def test_an_unknown_module_is_one_clear_sentence() -> None:
    with pytest.raises(ProofError, match="no proof is of a module 'Forwarding'; there are those"):
        select(MODULES, ["Forwarding"])


def names(select_from: Callable[[], tuple[ProvedModule, ...]]) -> list[str]:
    return [module.name for module in select_from()]


def test_without_a_name_all_modules_are_selected() -> None:
    assert names(lambda: select(MODULES, [])) == [module.name for module in MODULES]
