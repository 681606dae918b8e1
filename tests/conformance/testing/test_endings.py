"""What becomes of a test when its run is over: the plugin around a run that only pretends."""

from collections.abc import Callable

import pytest

PLUGIN = "fencepost.conformance.testing.plugin"
PRETENDING = """
from pathlib import Path

import pytest

from fencepost.conformance.runs.scenario import Problem, ScenarioResult
from fencepost.conformance.testing.plugin import RUN
from fencepost.conformance.verdict import Verdict
from fencepost.fault_injection.injectors.injector import InjectionError


class Pretending:
    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir()

    def end(self, error):
        verdict = Verdict.INCONCLUSIVE if isinstance(error, InjectionError) else Verdict("VERDICT")
        return ScenarioResult(
            name="t", sentence="-", requirements=(), level=2, seed=5, run_id="r",
            verdict=verdict, expected=Verdict.PASS,
            problems=(Problem(verdict=verdict, sentence="thus it is"),),
            reproduce="pytest t.py --fencepost-replay run",
        )

    def abandon(self, error=None):
        print("abandoned:", type(error).__name__)


@pytest.fixture
def fencepost_run(request, pytestconfig):
    run = Pretending(pytestconfig.rootpath / "run")
    request.node.stash[RUN] = run
    yield run


@pytest.fixture
def cluster(fencepost_run): ...
"""
CALM = "def test_it(cluster): ..."
BUNDLE = ["bundle: run", "again: pytest t.py --fencepost-replay run"]

Play = Callable[..., pytest.RunResult]


@pytest.fixture
def play(pytester: pytest.Pytester) -> Play:
    """`play(verdict, test)`: what pytest says of a test with a run that ends with that verdict."""

    def play(verdict: str, test: str = CALM, *args: str) -> pytest.RunResult:
        pytester.makeconftest(PRETENDING.replace("VERDICT", verdict))
        pytester.makepyfile(test_own=test)
        return pytester.runpytest_inprocess("-p", PLUGIN, "-p", "no:cacheprovider", "-rs", *args)

    return play


def test_pass_leaves_no_bundle(play: Play, pytester: pytest.Pytester) -> None:
    play("PASS").assert_outcomes(passed=1)

    assert not (pytester.path / "run").exists()


def test_pass_leaves_its_bundle_when_asked(play: Play, pytester: pytest.Pytester) -> None:
    play("PASS", CALM, "--fencepost-out", "kept").assert_outcomes(passed=1)

    assert (pytester.path / "run").exists()


@pytest.mark.parametrize(
    ("verdict", "meaning"),
    [
        ("FAIL", "FAIL: thus it is"),
        ("VACUOUS", "VACUOUS (it ran and showed nothing, which is no pass): thus it is"),
        ("INCONCLUSIVE", "INCONCLUSIVE (it was not decided, which is no pass): thus it is"),
        ("ERROR", "ERROR (the harness failed, not the cluster): thus it is"),
        ("NOT_OBSERVABLE", "NOT_OBSERVABLE: thus it is"),
    ],
)
def test_whatever_is_no_pass_fails_the_test_with_its_bundle(
    play: Play, verdict: str, meaning: str
) -> None:
    result = play(verdict)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines_random([meaning.replace("[", "[[]"), "seed 5, level 2, *", *BUNDLE])
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("verdict", "outcome"),
    [("VACUOUS", "skipped"), ("INCONCLUSIVE", "skipped"), ("FAIL", "failed")],
)
def test_undecided_may_be_a_skip_and_a_violation_may_not(
    play: Play, pytester: pytest.Pytester, verdict: str, outcome: str
) -> None:
    pytester.makeini("[pytest]\nfencepost_undecided = skip\n")

    result = play(verdict)

    result.assert_outcomes(**{outcome: 1})
    assert "thus it is" in result.stdout.str()


def test_failing_assertion_keeps_its_traceback_and_names_the_bundle(play: Play) -> None:
    result = play("PASS", "def test_it(cluster):\n    assert 2 + 2 == 5")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines_random(["E  * assert (2 + 2) == 5", *(f"E * {b}" for b in BUNDLE)])


def test_failure_by_hand_names_the_bundle(play: Play) -> None:
    test = "import pytest\ndef test_it(cluster): pytest.fail('by hand', pytrace=False)"

    result = play("FAIL", test)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["by hand", "FAIL: thus it is", *BUNDLE])


def test_fault_that_could_not_be_played_is_no_traceback(play: Play) -> None:
    test = """
from fencepost.fault_injection.injectors.injector import InjectionError

def test_it(cluster):
    raise InjectionError("fault-1 had no effect")
"""

    result = play("PASS", test)

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["INCONCLUSIVE (it was not*: thus it is", *BUNDLE])
    assert "raise InjectionError" not in result.stdout.str()


def test_skipped_test_is_not_judged_and_leaves_no_bundle(
    play: Play, pytester: pytest.Pytester
) -> None:
    test = "import pytest\ndef test_it(cluster): pytest.skip('not today')"

    result = play("FAIL", test, "-s")

    result.assert_outcomes(skipped=1)
    assert "abandoned: Skipped" in result.stdout.str()
    assert not (pytester.path / "run").exists()
