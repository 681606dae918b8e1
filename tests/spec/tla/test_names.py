"""The specs use the names of the vocabulary, all of them, and no others."""

import re
from pathlib import Path

import pytest

from impl.core.mutants import Mutant
from spec.tlc.models import MODULES, load_models
from spec.vocabulary import Action, EnvironmentAction, Invariant

PROTOCOL_MODULES = ("LeaderAndIsr", "Replication")
ZOOKEEPER_TRANSACTIONS = {"CreateSession", "CloseSession", "Create", "SetData", "Delete"}
"""Actions of the trace's `kind: zookeeper`, which `Zk` adds to those of the environment."""

SPEC_INVARIANTS = {
    "QuorumSuperset",
    "HighWatermarkInLog",
    "EphemeralsHaveOwners",
    "MultiIsAtomic",
    "OnlyLiveSessionsWrite",
    "RefusedHasNoEffect",
    "VersionsNeverRepeat",
}
"""They speak of what a trace does not show: a leader's belief, ZooKeeper's insides."""


def source(module: str) -> str:
    return (MODULES / f"{module}.tla").read_text()


def disjuncts(module: str) -> set[str]:
    body = re.search(r"^Next ==\n((?:    .*\n)+)", source(module), re.MULTILINE)
    assert body, f"{module} has no Next"
    found = re.findall(r"^    \\/ (?:\\E [\w, \\]+ : )?(\w+)", body[1], re.MULTILINE)
    assert len(found) == len(body[1].splitlines())
    return set(found)


def test_every_action_is_a_disjunct_of_next_and_every_disjunct_an_action() -> None:
    found = set().union(*(disjuncts(module) for module in PROTOCOL_MODULES))

    assert found == {*Action, *EnvironmentAction}


def test_the_composed_spec_does_all_that_its_part_does() -> None:
    assert disjuncts("LeaderAndIsr") <= disjuncts("Replication")


def test_zk_does_the_transactions_of_the_trace() -> None:
    assert disjuncts("Zk") == ZOOKEEPER_TRANSACTIONS | {"ExpireSession", "LoseReply"}


def test_every_action_has_its_paragraph() -> None:
    text = "\n".join(source(module) for module in (*PROTOCOL_MODULES, "Zk"))
    told = set(re.findall(r"\*\)\n(\w+)(?:\([\w, ]+\))? ==", text))

    assert {*Action, *EnvironmentAction, *ZOOKEEPER_TRANSACTIONS} - told == set()


def test_models_check_invariants_of_the_vocabulary() -> None:
    checked = {
        name
        for model in load_models()
        for name in (*model.tlc_config().invariants, *model.tlc_config().properties)
    }

    assert checked - {*Invariant} == SPEC_INVARIANTS


@pytest.mark.parametrize("module", [*PROTOCOL_MODULES, "Zk"])
def test_every_invariant_names_its_requirement(module: str) -> None:
    text = source(module)
    tagged = set(re.findall(r"\\\* @req [A-Z]+-\d{3}\n(\w+) ==", text))
    invariants = {
        name
        for name in {*Invariant, *SPEC_INVARIANTS} - {"VersionsNeverRepeat"}
        if re.search(rf"^{name} ==(?! Metadata!)", text, re.MULTILINE)
    }

    assert invariants
    assert invariants - tagged == set()


def test_bounds_live_in_mc_modules_and_nothing_else_does() -> None:
    for path in sorted(MODULES.glob("MC*.tla")):
        defined = re.findall(r"^(\w+)(?:\(.*\))? ==", path.read_text(), re.MULTILINE)
        assert defined == ["Bounds"], path.name


def test_variables_and_fields_are_in_snake_case() -> None:
    for path in sorted(Path(MODULES).glob("*.tla")):
        fields = set(re.findall(r"(?:\[|, |^\s+)(\w+) \|->", path.read_text(), re.MULTILINE))
        assert {field for field in fields if not re.fullmatch(r"[a-z][a-z_]*", field)} == set()


def test_every_mutant_of_the_core_is_a_mutant_of_the_specs() -> None:
    broken = {
        name
        for model in load_models()
        if model.invariant and isinstance(names := model.constants.get("mutants"), list)
        for name in names
    }

    assert {mutant.value for mutant in Mutant} - broken == set()
