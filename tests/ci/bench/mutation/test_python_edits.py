"""Which changes a Python module allows, and what is said of a core with one of them."""

import ast
from dataclasses import replace
from textwrap import dedent

import pytest

from fencepost.ci.bench.mutation.edit import sample
from fencepost.ci.bench.mutation.python.core_scores import (
    CHANGES,
    FAILS,
    NOTHING,
    SEEDS,
    failing_test,
    of_seeds,
    of_stories,
)
from fencepost.ci.bench.mutation.python.play import digest_of
from fencepost.ci.bench.mutation.python.python_edits import PythonEdit, python_edits
from fencepost.ci.bench.mutation.python.scratch_tree import ROOT, edited_tree, modules_of
from fencepost.conformance.whitebox.simulate import Subject
from fencepost.spec.vocabulary import NEWEST_LEVEL


def edits(text: str) -> tuple[PythonEdit, ...]:
    return python_edits("m.py", dedent(text))


def told(text: str, kind: str) -> set[str]:
    return {edit.told for edit in edits(text) if edit.kind == kind}


def test_a_guard_falls_away() -> None:
    text = "def f(a):\n    if a > 1:\n        return 0\n    return 1\n"

    assert told(text, "drop_guard") == {"a > 1  ->  False"}


def test_comparisons_operands_and_steps_are_changed() -> None:
    text = "def f(a, b):\n    return a < b and b is None or [a + 1 for x in b if x]\n"

    assert told(text, "comparison") == {"a < b  ->  (a <= b)", "b is None  ->  (b is not None)"}
    assert told(text, "off_by_one") == {"a + 1  ->  (a)"}
    assert told(text, "drop_filter") == {"x  ->  True"}
    assert "a < b  ->  True" in told(text, "drop_operand")
    assert "a < b and b is None  ->  ((a < b) or (b is None))" in told(text, "swap_and_or")


def test_a_comparison_keeps_the_parentheses_of_its_sides() -> None:
    text = "def f(a, b):\n    return (a or b) == (a + 1)\n"

    assert told(text, "comparison") == {"(a or b) == (a + 1)  ->  ((a or b) != a + 1)"}


def test_functions_of_a_level_are_no_numbers() -> None:
    assert not edits("RULES = f(fetch_epoch=fetch_epoch, size=a + 1)\n")


def test_two_times_are_not_compared_otherwise() -> None:
    text = "def f(self, now_ms):\n    return self.due_ms <= now_ms and now_ms > 3\n"

    assert told(text, "comparison") == {"now_ms > 3  ->  (now_ms >= 3)"}
    assert "self.due_ms <= now_ms  ->  True" in told(text, "drop_operand")


def test_a_default_is_no_operand() -> None:
    text = "def f(a):\n    return a or (), a or None\n"

    assert told(text, "drop_operand") == {"a  ->  False"}


def test_a_keyword_of_replace_falls_away() -> None:
    text = "def f(r, e):\n    return replace(r, leader_epoch=e.epoch, isr=())\n"

    wanted = {"replace(r, isr=())", "replace(r, leader_epoch=e.epoch)"}
    assert {one.partition("  ->  ")[2] for one in told(text, "drop_replace")} == wanted
    assert told(text, "off_by_one") == {"e.epoch  ->  (e.epoch) + 1"}


def test_asserts_and_annotations_are_left_alone() -> None:
    assert edits("def f(a: int | None = None) -> int:\n    assert a is not None and a > 1\n") == ()


def test_an_edit_knows_its_function() -> None:
    text = """\
        LIMIT = 1 if DEBUG else 2

        class A:
            def f(self, a):
                def g(b):
                    return b < 1
                return g
    """
    places = {(edit.operator, edit.is_at_import) for edit in edits(text)}

    assert places == {("", True), ("A.f.g", False)}


def test_edits_of_core_and_checks_are_python() -> None:
    for package in ("impl/core", "conformance/checks"):
        texts = dict(modules_of(package, ()))
        edits = [edit for name, text in texts.items() for edit in python_edits(name, text)]
        assert len(edits) > 1000
        for edit in sample(edits, 150, 0):
            ast.parse(edit.applied_to(texts[edit.module]))


@pytest.fixture
def isr_edits() -> dict[str, PythonEdit]:
    ((name, text),) = modules_of("impl/core", ["impl/core/rules/isr.py"])
    return {f"{edit.kind} {edit.before}": edit for edit in python_edits(name, text)}


@pytest.mark.long
def test_seeds_and_stories_notice_a_wrong_core(isr_edits: dict[str, PythonEdit]) -> None:
    edit = isr_edits["drop_operand replica.is_leader"]
    with edited_tree(edit, "impl/core") as tree:
        usual = of_seeds({"0@3": "another"}, tree)
        story = of_stories(["tests/stories/failover.yaml"], tree)

    assert usual[0] in {SEEDS, FAILS, CHANGES}
    assert isinstance(story, str)


@pytest.mark.long
def test_a_core_as_it_should_be_is_not_noticed(isr_edits: dict[str, PythonEdit]) -> None:
    edit = next(iter(isr_edits.values()))
    same = replace(edit, after=edit.before)
    with edited_tree(same, "impl/core") as tree:
        seeds = of_seeds({f"0@{NEWEST_LEVEL}": _digest(0)}, tree)
        story = of_stories(["tests/stories/failover.yaml"], tree)

    assert seeds == (NOTHING, "the trace is another in 0")
    assert story == ""


def test_a_core_that_cannot_be_imported_fails(isr_edits: dict[str, PythonEdit]) -> None:
    broken = replace(next(iter(isr_edits.values())), after="1 / 0 +")
    with edited_tree(broken, "impl/core") as tree:
        outcome, by = of_seeds({"0@3": "another"}, tree)
        test = failing_test(["tests/impl/core/rules/test_isr.py"], tree)

    assert outcome == FAILS
    assert by
    assert test


def test_the_tree_is_a_copy(isr_edits: dict[str, PythonEdit]) -> None:
    edit = next(iter(isr_edits.values()))
    before = (ROOT / edit.module).read_text()
    with edited_tree(edit, "impl/core") as tree:
        edited = (tree / "fencepost" / edit.module).read_text()

    assert edited == edit.applied_to(before)
    assert (ROOT / edit.module).read_text() == before
    assert not tree.exists()


def _digest(seed: int) -> str:
    return digest_of(Subject(level=NEWEST_LEVEL).simulate(seed))
