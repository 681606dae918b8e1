"""Verdicts from recorded outputs of TLC 2.15 (`-tool`), and from cut-off ones."""

from pathlib import Path

import pytest

from fencepost.spec.tlc.java.output import Counts, TlcFinding, conclude, read_counts, read_messages
from fencepost.spec.tlc.models import ModelVerdict
from fencepost.spec.tlc.runner import told_whole

RECORDED = Path(__file__).parents[1] / "recorded"


def recorded(name: str, *, timed_out: bool = False) -> TlcFinding:
    lines = (RECORDED / f"{name}.txt").read_text().splitlines()
    return conclude(read_messages(lines), timed_out=timed_out)


def test_a_finished_search_without_violation_holds() -> None:
    found = recorded("holds")

    assert found.verdict is ModelVerdict.HOLDS
    assert found.counts == Counts(generated=5, distinct=4, queued=0)
    assert found.counterexample is None


def test_a_violated_invariant_comes_with_its_states() -> None:
    found = recorded("invariant")

    assert (found.verdict, found.violated) == (ModelVerdict.VIOLATES, "Low")
    assert found.counterexample is not None
    assert [state.action for state in found.counterexample.states] == ["Init", "Next", "Next"]
    assert found.counterexample.states[2].values == {"x": 2, "seen": [1]}


def test_a_violated_action_property_is_named() -> None:
    found = recorded("action_property")

    assert (found.verdict, found.violated) == (ModelVerdict.VIOLATES, "Mono")
    assert found.counterexample is not None
    assert len(found.counterexample.states) == 4


def test_an_invariant_may_fail_in_the_initial_state() -> None:
    found = recorded("initial_state")

    assert (found.verdict, found.violated) == (ModelVerdict.VIOLATES, "I0")
    assert found.counterexample is not None
    assert [state.values for state in found.counterexample.states] == [{"x": 0}]


def test_a_temporal_counterexample_says_how_it_goes_on() -> None:
    lasso, stuttering = recorded("temporal_lasso"), recorded("temporal_stuttering")

    assert (lasso.verdict, stuttering.verdict) == (ModelVerdict.VIOLATES, ModelVerdict.VIOLATES)
    assert lasso.counterexample is not None
    assert stuttering.counterexample is not None
    assert (lasso.counterexample.back_to, stuttering.counterexample.back_to) == (2, 3)
    assert lasso.counterexample.as_table().splitlines()[-1] == "      then again from state 2"
    assert stuttering.counterexample.as_table().splitlines()[-1] == "      stays so for ever"


def test_a_later_tlc_names_the_temporal_property() -> None:
    lines = (RECORDED / "temporal_lasso.txt").read_text()
    named = lines.replace("Temporal properties were", "Temporal property Reaches was")

    found = conclude(read_messages(named.splitlines()), timed_out=False)

    assert found.violated == "Reaches"


def test_coverage_tells_how_often_each_action_was_taken() -> None:
    found = recorded("coverage")

    assert found.taken == {("L", "Up"): 3, ("L", "Round"): 1, ("L", "Dead"): 0}


def test_coverage_counts_actions_that_begin_with_let() -> None:
    found = recorded("coverage_let")

    assert found.taken == {("L", "Up"): 3, ("L", "Round"): 1, ("L", "Dead"): 0}


def test_out_of_memory_is_no_verdict() -> None:
    found = recorded("out_of_memory")

    assert (found.verdict, found.is_out_of_memory) == (ModelVerdict.ERROR, True)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("syntax_error", 'module S, line 6: Encountered ")" at line 6, column 19 and token "+"'),
        ("unknown_operator", "module U, line 6: Unknown operator: `M'."),
        (
            "evaluation_error",
            "module E, line 6: Attempted to apply Head to the empty sequence.",
        ),
        (
            "unknown_invariant",
            "The invariant Nope specified in the configuration file "
            "is not defined in the specification.",
        ),
    ],
)
def test_an_error_is_one_sentence_with_module_and_line(name: str, sentence: str) -> None:
    found = recorded(name)

    assert found.verdict is ModelVerdict.ERROR
    assert found.error == sentence


def test_a_violation_that_was_cut_off_is_not_told() -> None:
    lines = (RECORDED / "invariant.txt").read_text().splitlines()
    cut = lines[: next(i for i, line in enumerate(lines) if "2217" in line)]

    found = conclude(told_whole(list(read_messages(cut))), timed_out=True)

    assert found.verdict is ModelVerdict.NOT_EXHAUSTED
    assert told_whole(list(read_messages(lines))) == list(read_messages(lines))


def test_a_run_that_was_cut_off_is_never_a_pass() -> None:
    lines = (RECORDED / "holds.txt").read_text().splitlines()
    cut = lines[: next(i for i, line in enumerate(lines) if "2193" in line)]

    assert conclude(read_messages(cut), timed_out=True).verdict is ModelVerdict.NOT_EXHAUSTED
    assert conclude(read_messages(cut), timed_out=False).verdict is ModelVerdict.ERROR


def test_a_silent_run_is_an_error() -> None:
    found = conclude(read_messages(["no such option"]), timed_out=False)

    assert found.error == "TLC gave no verdict; its last words: no such option"


def test_counts_are_read_from_progress_and_statistics() -> None:
    progress = (
        "Progress(14) at 2026-01-01 00:00:00: 98,052 states generated (98,052 s/min), "
        "31,166 distinct states found (31,166 ds/min), 9,350 states left on queue."
    )

    assert read_counts(progress) == Counts(generated=98052, distinct=31166, queued=9350)
    assert read_counts("nothing of that kind") is None
