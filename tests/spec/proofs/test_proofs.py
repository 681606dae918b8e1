"""What is proved for any size, and that it could fail."""

import re
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest

from fencepost.spec.hazards import Hazard, HazardFinding, load_hazards
from fencepost.spec.proofs import solver
from fencepost.spec.proofs.actions import ActionStep, action
from fencepost.spec.proofs.clauses import Clause, clause
from fencepost.spec.proofs.countermodels import Search
from fencepost.spec.proofs.findings import ProofFindings, find_all
from fencepost.spec.proofs.logic import Sort, Term, both, no
from fencepost.spec.proofs.metadata.leader_and_isr import fence_leader, is_leading
from fencepost.spec.proofs.metadata.module import LEADER_AND_ISR_MODULE
from fencepost.spec.proofs.module import ProofError, ProvedModule, select
from fencepost.spec.proofs.modules import MODULES
from fencepost.spec.proofs.proof import JOINT, count_obligations, prove
from fencepost.spec.proofs.replication.actions import REPLICATION
from fencepost.spec.proofs.replication.module import REPLICATION_MODULE
from fencepost.spec.proofs.replication.wrong_rules import recompute_high_watermark
from fencepost.spec.proofs.solver import ProofAnswer
from fencepost.spec.proofs.state import ReplicaRole, SpecState
from fencepost.spec.tlc.models import MODULES as TLA, load_models

REQUIREMENT = re.compile(r"[A-Z]+-\d{3}")
TEMPORAL = re.compile(r"<>|~>")
PROVED = {
    "LeaderAndIsr",
    "Decisions",
    "Replication",
    "Truncation",
    "Fencing",
    "RegistrationReading",
}
"""Modules of which the proofs have the rules; of the last two, that of incarnations."""
UNCLEAN = "it takes an election outside the ISR, which the proofs leave out"
INCARNATION = "an incarnation is a broker here, and commands name it: no epoch can be a wrong one"
LEFT_OUT = {
    "H6": UNCLEAN,
    "H8b": UNCLEAN,
    "H8c": UNCLEAN,
    "KIP-279.2": "a dialogue that does not end cuts nothing: every question keeps the clauses",
    "KIP-380.1": INCARNATION,
    "KIP-380.2": INCARNATION,
    "KIP-380.3": INCARNATION,
    "KIP-380.3b": INCARNATION,
    "KIP-380.4": "a command that is refused changes nothing: what follows is that nothing happens",
}
"""Hazards against safety that are no wrong rule, and why."""


@clause("NoLeaderEver", Sort.BROKER)
def no_leader_ever(s: SpecState, b: Term) -> Term:
    return no(is_leading(s, b))


def hear_nothing(_done: int, _total: int, _text: str) -> None:
    """Progress is not shown."""


def silent(module: ProvedModule) -> ProofFindings:
    (found,) = find_all([module], hear_nothing)
    return found


@pytest.fixture(scope="module")
def found() -> ProofFindings:
    """Of the metadata; the gate proves the others as well, which takes longer."""
    return silent(LEADER_AND_ISR_MODULE)


def claiming(module: ProvedModule, false: Clause) -> ProvedModule:
    """The module with one more clause."""
    return replace(module, clauses=(*module.clauses, false), starts=(), wrong_rules=())


def test_every_obligation_is_proved(found: ProofFindings) -> None:
    unproved = [one for one in found.obligations if not one.is_proved]

    assert len(found.obligations) == count_obligations(LEADER_AND_ISR_MODULE)
    assert unproved == []


def test_every_action_can_be_taken_in_a_state_of_the_invariant(found: ProofFindings) -> None:
    assert found.never_taken == ()


@action("Impossible", Sort.BROKER)
def lead_and_follow(s: SpecState, b: Term) -> ActionStep:
    return ActionStep(both(is_leading(s, b), s.replicas.role(b) == ReplicaRole.FOLLOWER), s)


def test_an_action_that_no_state_allows_is_told() -> None:
    module = replace(LEADER_AND_ISR_MODULE, actions=(fence_leader, lead_and_follow))

    assert list(Search(module).never_taken()) == ["lead_and_follow"]


def test_every_wrong_rule_has_a_countermodel_that_plain_values_confirm(
    found: ProofFindings,
) -> None:
    assert [one.rule.name for one in found.hazards if not one.is_shown] == []


def test_logs_are_proved_from_what_the_metadata_says_at_an_action() -> None:
    ways = [one for one in REPLICATION if one.way in {"publish_accepted", "adopt_settled"}]
    module = replace(REPLICATION_MODULE, actions=tuple(ways), starts=(), implied=())

    obligations = list(prove(module))

    assert [one.way for one in obligations if one.clause == JOINT] == [one.way for one in ways]
    assert [one for one in obligations if not one.is_proved] == []


def test_a_wrong_rule_for_logs_loses_a_committed_record() -> None:
    (rule,) = (one for one in REPLICATION_MODULE.wrong_rules if one.hazard == "H17")

    found = Search(REPLICATION_MODULE).against(rule.actions, rule.breaks)

    assert found is not None
    assert (found.clause, found.is_confirmed) == ("CommittedDurable", True)


@pytest.mark.long
def test_a_clause_that_an_action_breaks_gets_a_countermodel() -> None:
    findings = silent(claiming(LEADER_AND_ISR_MODULE, no_leader_ever))

    refuted = {
        (one.action, one.clause)
        for one in findings.obligations
        if one.answer is ProofAnswer.COUNTERMODEL
    }
    assert refuted == {("BecomeLeader", "NoLeaderEver")}


def test_a_property_of_steps_that_an_action_breaks_gets_a_countermodel() -> None:
    wrong = replace(
        REPLICATION_MODULE,
        actions=(recompute_high_watermark,),
        starts=(),
        clauses=(),
        implied=(),
        wrong_rules=(),
    )

    found = {one.clause: one.answer for one in silent(wrong).obligations}

    assert found["HighWatermarkMonotonic"] is ProofAnswer.COUNTERMODEL


def test_what_takes_more_than_the_budget_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "STEPS_MAX", 10)
    module = replace(LEADER_AND_ISR_MODULE, starts=(), actions=LEADER_AND_ISR_MODULE.actions[:1])

    answers = {one.answer for one in prove(module)}

    assert answers == {ProofAnswer.UNKNOWN, ProofAnswer.UNTOUCHED}


def test_a_right_rule_has_no_countermodel() -> None:
    search = Search(LEADER_AND_ISR_MODULE)
    ways = [one for one in LEADER_AND_ISR_MODULE.actions if one.name == "FenceLeader"]
    clauses = [one.name for one in LEADER_AND_ISR_MODULE.clauses]

    assert [one for one in clauses if search.against(ways, one)] == []


@pytest.mark.long
def test_processes_one_by_one_give_the_answers_of_several() -> None:
    module = replace(LEADER_AND_ISR_MODULE, starts=(), actions=LEADER_AND_ISR_MODULE.actions[:4])
    one_by_one, together = (
        find_all([module], hear_nothing, jobs=jobs, use_cache=False) for jobs in (1, 3)
    )

    def answers(found: tuple[ProofFindings, ...]) -> list[tuple[str, str, str]]:
        return [(one.way, one.clause, one.answer) for all_ in found for one in all_.obligations]

    assert answers(one_by_one) == answers(together)
    assert one_by_one[0].hazards == together[0].hazards


def test_a_share_that_ends_early_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.spec.proofs.shares.never_taken", lambda _module: sys.exit(1))
    module = replace(LEADER_AND_ISR_MODULE, starts=(), actions=(), wrong_rules=())

    with pytest.raises(ProofError, match="the proof of LeaderAndIsr ended early; run it again"):
        find_all([module], hear_nothing, use_cache=False)


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

    assert {one.name for one in module.claimed if one.is_property} <= operators


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_each_wrong_rule_is_of_a_hazard_or_a_requirement(module: ProvedModule) -> None:
    known = {hazard.id: hazard for hazard in load_hazards()}

    assert {rule.breaks for rule in module.wrong_rules} <= {one.name for one in module.claimed}

    named = {rule.hazard for rule in module.wrong_rules}
    assert {one for one in named - known.keys() if not REQUIREMENT.fullmatch(one)} == set()
    for rule in module.wrong_rules:
        hazard = known.get(rule.hazard)
        assert hazard is None or hazard.switch.get("mutants", rule.name) == rule.name


def test_every_safety_hazard_is_a_wrong_rule_or_has_a_reason() -> None:
    texts = "\n".join(path.read_text() for path in sorted(TLA.glob("*.tla")))
    bodies = dict(re.findall(r"^(\w+) ==(.*(?:\n .*)*)", texts, re.MULTILINE))
    broken = {model.name: model.invariant for model in load_models()}

    def is_of_safety(hazard: Hazard) -> bool:
        """Whether a row of it violates a property of states or steps, not of what comes at last."""
        violated = [name for row in hazard.rows if (name := broken[row])]
        return any(not TEMPORAL.search(bodies[name]) for name in violated)

    asked = {
        hazard.id
        for hazard in load_hazards()
        if hazard.module in PROVED
        and hazard.finding is HazardFinding.SHOWN
        and is_of_safety(hazard)
    }
    named = {rule.hazard for module in MODULES for rule in module.wrong_rules}

    assert asked - named == set(LEFT_OUT)


def test_an_unknown_module_is_one_clear_sentence() -> None:
    with pytest.raises(ProofError, match="no proof is of a module 'Forwarding'; there are those"):
        select(MODULES, ["Forwarding"])


def names(select_from: Callable[[], tuple[ProvedModule, ...]]) -> list[str]:
    return [module.name for module in select_from()]


def test_without_a_name_all_modules_are_selected() -> None:
    assert names(lambda: select(MODULES, [])) == [module.name for module in MODULES]
