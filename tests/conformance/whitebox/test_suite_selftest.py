"""Which mutants a case is tried on, and which one it fails; no cluster is started."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fencepost.ci import cli
from fencepost.ci.commands import conform_selftest
from fencepost.conformance.adapters.errors import ChoiceError
from fencepost.conformance.adapters.settings import ClusterSettings
from fencepost.conformance.suite import play as suite_play
from fencepost.conformance.suite.case import SuiteCase
from fencepost.conformance.suite.library import all_cases
from fencepost.conformance.suite.play import SuitePlan
from fencepost.conformance.suite.records import CaseEnd, appending
from fencepost.conformance.verdict import Verdict
from fencepost.conformance.whitebox.suite_selftest import Kill, kills, settings_of_subjects
from fencepost.conformance.whitebox.zoo.animals import Caught
from fencepost.fault_injection.stories.story_file import story_from_document

STORY = {"schema": 1, "id": "one", "covers": ["ISR-002"]}


def a_case(name: str, *kills: str) -> SuiteCase:
    story = story_from_document(STORY | {"kills": kills})
    return SuiteCase(case_id=f"isr/{name}", path=all_cases()[0].path, story=story)


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """What is asked for; every case fails the mutant `expand_laggards`."""
    found: list[tuple[str, ...]] = []

    def play(plan: SuitePlan, _: Mapping[str, ClusterSettings], folder: Path) -> None:
        target = plan.targets[0]
        found.append((target, *(case.case_id for case in plan.cases)))
        verdict = Verdict.FAIL if target.endswith("laggards") else Verdict.PASS
        with appending(folder) as results:
            for case in plan.cases:
                results.write(CaseEnd(target=target, case=case.case_id, verdict=verdict))

    monkeypatch.setattr(suite_play, "play", play)
    return found


def test_a_case_is_tried_on_the_mutants_that_it_names_until_it_fails_one(
    played: list[tuple[str, ...]], tmp_path: Path
) -> None:
    both, one = a_case("both", "shrink_nobody", "expand_laggards"), a_case("one", "shrink_nobody")

    found = kills([both, one], tmp_path)

    assert played == [
        ("reference:shrink_nobody", "isr/both", "isr/one"),
        ("reference:expand_laggards", "isr/both"),
    ]
    assert [(kill.case, kill.mutant, kill.tried) for kill in found] == [
        ("isr/both", "expand_laggards", ()),
        ("isr/one", "", ("shrink_nobody",)),
    ]


def test_a_mutant_of_the_reference_is_a_target() -> None:
    settings = settings_of_subjects(["reference:no_step_down", "reference"], level=5)

    assert settings["reference:no_step_down"].implementation.broken_rule == "no_step_down"
    assert not settings["reference"].implementation.broken_rule
    assert [one.level for one in settings.values()] == [5, 5]
    with pytest.raises(ChoiceError, match="no_step_up"):
        settings_of_subjects(["reference:no_step_up"])


@pytest.mark.parametrize(
    ("mutant", "is_caught", "code"), [("a", True, 0), ("a", False, 1), ("", True, 1)]
)
def test_a_case_that_is_spared_or_an_adapter_that_is_not_caught_fails_the_selftest(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    mutant: str,
    is_caught: bool,
    code: int,
) -> None:
    caught = Caught(name="bites", verdict=Verdict.ERROR, message="why\nmore", is_caught=is_caught)
    monkeypatch.setattr(conform_selftest, "visit", lambda *_, **__: [caught])
    kill = Kill(case="isr/one", mutant=mutant)
    monkeypatch.setattr(conform_selftest, "kills", lambda *_, **__: [kill])

    assert cli.run(["conform", "selftest", "--out", str(tmp_path / "out")]) == code
    told = capsys.readouterr().out
    assert f"{int(is_caught)} of 1 bad adapters are caught" in told
    assert f"{int(bool(mutant))} of 1 cases fail a mutant" in told
