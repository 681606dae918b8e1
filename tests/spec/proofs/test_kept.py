"""What was proved before is found again, and only while it is the same proof."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost.spec.proofs import kept, solver
from fencepost.spec.proofs.countermodels import Countermodel
from fencepost.spec.proofs.kept import KeptFinding, find, keep, key_of
from fencepost.spec.proofs.logic import Term
from fencepost.spec.proofs.metadata.leader_and_isr import fence_leader
from fencepost.spec.proofs.metadata.module import LEADER_AND_ISR_MODULE
from fencepost.spec.proofs.metadata.wrong_rules import lead_on_after_conflict
from fencepost.spec.proofs.module import ProvedModule, WrongRule
from fencepost.spec.proofs.solver import Obligation, ProofAnswer
from fencepost.spec.proofs.state import SpecState

RULE = WrongRule(
    name="no_step_down", hazard="H40", breaks="QuorumSuperset", actions=(lead_on_after_conflict,)
)
MODULE = replace(LEADER_AND_ISR_MODULE, actions=(fence_leader,), wrong_rules=(RULE,))
FOUND = KeptFinding(
    obligations=(
        Obligation(
            module="LeaderAndIsr",
            action="FenceLeader",
            way="fence_leader",
            clause="QuorumSuperset",
            answer=ProofAnswer.PROVED,
            seconds=0.25,
        ),
    ),
    never_taken=("adopt_settled",),
    countermodels=(
        None,
        Countermodel(
            clause="QuorumSuperset",
            is_property=True,
            action="FenceLeader",
            way="lead_on_after_conflict",
            is_confirmed=True,
        ),
    ),
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FENCEPOST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_what_is_kept_is_found_again() -> None:
    assert find(MODULE) is None

    keep(MODULE, FOUND)

    assert find(MODULE) == FOUND


@pytest.mark.parametrize("answer", ProofAnswer)
def test_only_what_is_decided_is_kept(answer: ProofAnswer) -> None:
    keep(MODULE, _answered(answer))

    assert (find(MODULE) is None) == (answer is ProofAnswer.UNKNOWN)


def _answered(answer: ProofAnswer) -> KeptFinding:
    told = replace(FOUND.obligations[0], answer=answer)
    return KeptFinding(obligations=(told,), never_taken=(), countermodels=())


def test_what_is_not_whole_is_not_found(folder: Path) -> None:
    keep(MODULE, FOUND)
    (entry,) = (path for path in folder.rglob("*") if path.is_file())
    for torn in (b"", entry.read_bytes()[:-1], b"another" + entry.read_bytes()):
        entry.write_bytes(torn)
        assert find(MODULE) is None


def anything(_state: SpecState) -> Term:
    """A start of these tests, with no text among those of the proofs."""
    return True


CHANGES: dict[str, Callable[[ProvedModule], ProvedModule]] = {
    "start": lambda module: replace(module, starts=(*module.starts, anything)),
    "action": lambda module: replace(module, actions=(lead_on_after_conflict,)),
    "clause": lambda module: replace(module, clauses=module.clauses[1:]),
    "joint": lambda module: replace(module, joints={"fence_leader": anything}),
    "wrong rule": lambda module: replace(module, wrong_rules=()),
    "what it breaks": lambda module: replace(
        module, wrong_rules=(replace(RULE, breaks="LeaderInIsr"),)
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_module_is_another_proof(change: str) -> None:
    keep(MODULE, FOUND)

    assert find(CHANGES[change](MODULE)) is None


def test_another_budget_is_another_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(MODULE, FOUND)
    monkeypatch.setattr(solver, "STEPS_MAX", solver.STEPS_MAX + 1)

    assert find(MODULE) is None


def test_another_text_is_another_proof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = shutil.copytree(kept.FOLDER, tmp_path / "proofs")
    monkeypatch.setattr(kept, "FOLDER", copy)
    before = key_of(MODULE)

    with (copy / "hints.py").open("a") as text:
        text.write("# one line more\n")

    assert key_of(MODULE) != before
