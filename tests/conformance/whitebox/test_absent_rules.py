"""A reason why the reference cannot show a hazard ends with what it rests on."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from types import ModuleType

import msgspec
import pytest

from fencepost.conformance.whitebox.absent_rules import ABSENT_RULES
from fencepost.fault_injection.faults.catalogue import KINDS
from fencepost.fault_injection.stories.steps.verbs import VERBS
from fencepost.impl.core.rules.rules import Rules
from fencepost.impl.core.types import broker_reports, messages, topic_messages
from fencepost.impl.mutants.mutants import MUTANTS
from fencepost.spec import znodes
from fencepost.spec.hazards import HazardFinding, load_hazards
from fencepost.spec.pacing import Move, Verb

HAZARDS = {hazard.id: hazard for hazard in load_hazards()}
MODULES = (messages, topic_messages, broker_reports, znodes)


def fields_in(module: ModuleType) -> Iterator[str]:
    for name, kind in inspect.getmembers(module, inspect.isclass):
        if issubclass(kind, msgspec.Struct):
            yield from (f"{name}.{field}" for field in kind.__struct_fields__)


def vocabulary() -> set[str]:
    """All that the core can say, its rules, steps and faults of stories, and moves.

    As `FetchRequest.leader_epoch`, `Rules.is_newer`, `Step.create_topic`, `Fault.proc.kill`,
    `Fault.proc.rolling.code_level`, `Move.lose_power` and `Move.broker`.
    """
    assert is_dataclass(Rules)
    said = {name for module in MODULES for name in fields_in(module)}
    rules = {f"Rules.{field.name}" for field in fields(Rules)}
    faults = {f"Fault.{kind.kind}" for kind in KINDS.values()}
    for kind in KINDS.values():
        faults |= {f"Fault.{kind.kind}.{one}" for one in kind.fault_class.__struct_fields__}
    moves = {f"Move.{one}" for one in (*Verb, *Move.__struct_fields__)}
    return said | rules | faults | moves | {f"Step.{verb}" for verb in VERBS}


KNOWN = vocabulary()


@pytest.mark.parametrize("name", ABSENT_RULES)
def test_there_is_nothing_of_what_a_reason_says_that_is_lacking(name: str) -> None:
    lacks = ABSENT_RULES[name].lacks
    found = [known for known in sorted(KNOWN) if any(re.fullmatch(one, known) for one in lacks)]

    assert found == []


@pytest.mark.parametrize("name", ABSENT_RULES)
def test_there_is_what_a_reason_rests_on(name: str) -> None:
    reason = ABSENT_RULES[name]

    assert {*reason.rests_on} <= KNOWN
    assert reason.lacks or reason.mutants or reason.rests_on


@pytest.mark.parametrize("name", ABSENT_RULES)
def test_a_mutant_of_the_switch_is_one_that_the_reason_names(name: str) -> None:
    reason, switch = ABSENT_RULES[name], str(HAZARDS[name].switch["mutants"])

    assert HAZARDS[name].finding is HazardFinding.SHOWN
    assert {switch} & {*MUTANTS} <= {*reason.mutants}
    assert {*reason.mutants} <= {one.name for one in MUTANTS.values() if one.caught_by}


def test_what_is_looked_up_would_be_found() -> None:
    assert {"FetchRequest.leader_epoch", "LeaderAndIsrRequest.controller_epoch"} <= KNOWN
    assert {"Rules.fetch_error", "LeaderAndIsrDocument.isr", "Step.create_topic"} <= KNOWN
    assert {"Fault.proc.rolling", "Fault.proc.rolling.code_level", "Move.lose_power"} <= KNOWN
