"""Which changes a module allows, and which parts of it are no protocol."""

from fencepost.ci.bench.mutation.edit import Edit
from fencepost.ci.bench.mutation.tla.modules import TlaModules, primed
from fencepost.ci.bench.mutation.tla.syntax import read_module
from fencepost.ci.bench.mutation.tla.tla_edits import edits_of

HEAD = """---- MODULE M ----
EXTENDS Integers
VARIABLES
    x,
    budget,
    breaches        \\* history: acts that no rule allows
"""


def modules_with(definitions: str) -> TlaModules:
    return TlaModules({"M": read_module("M", f"{HEAD}{definitions}\n====")})


def edits(definitions: str) -> tuple[Edit, ...]:
    return edits_of(modules_with(definitions), [("M", "Next")])


def told(definitions: str, kind: str = "") -> set[str]:
    return {edit.told for edit in edits(definitions) if edit.kind == kind or not kind}


def test_a_guard_falls_away() -> None:
    found = told("Next == /\\ x > 1\n        /\\ x' = 2", "drop_conjunct")

    assert found == {"x > 1  ->  TRUE"}


def test_a_comparison_becomes_its_neighbour() -> None:
    found = told("Next == /\\ x <= 1\n        /\\ x # 0\n        /\\ x' = 2", "comparison")

    assert found == {"x <= 1  ->  x < 1", "x # 0  ->  x = 0"}


def test_an_assignment_becomes_unchanged() -> None:
    assert told("Next == x' = x + 1") == {"x' = x + 1  ->  UNCHANGED x"}


def test_each_update_of_an_except_falls_away() -> None:
    one = told("Next == x' = [x EXCEPT !.a = 1]", "drop_update")
    two = told("Next == x' = [x EXCEPT !.a = 1, !.b = 2]", "drop_update")

    assert one == {"[x EXCEPT !.a = 1]  ->  x"}
    assert two == {"!.a = 1,  ->  nothing", ", !.b = 2  ->  nothing"}


def test_sets_and_conditions_are_changed() -> None:
    found = told("Next == x' = IF y THEN a \\cup b ELSE a \\ b")

    assert {"a \\cup b  ->  a \\cap b", "a \\cup b  ->  a", "a \\ b  ->  a"} <= found
    assert {"y  ->  ~(y)", "y  ->  TRUE", "y  ->  FALSE"} <= found


def test_history_and_bounds_are_no_protocol() -> None:
    found = told(
        "Breach(is_breached) == breaches' = breaches \\cup (IF is_breached THEN {1} ELSE {})\n"
        "Spend(what) == budget[what] > 0 /\\ budget' = [budget EXCEPT ![what] = @ - 1]\n"
        'Next == /\\ Spend("a")\n        /\\ Breach(x < 1)\n        /\\ x\' = 1'
    )

    assert found == {"x' = 1  ->  UNCHANGED x"}


def test_only_what_next_reaches_is_changed() -> None:
    found = edits("Safe == x < 5\nGuard == x < 3\nNext == Guard /\\ x' = x + 1")

    assert {edit.operator for edit in found} == {"Guard", "Next"}


def test_names_are_those_of_the_instance_that_is_named() -> None:
    inner = read_module("Inner", "---- MODULE Inner ----\nStep == y < 1\n====")
    text = "---- MODULE M ----\nI == INSTANCE Inner\nStep == y > 1\nNext == I!Step\n===="
    modules = TlaModules({"M": read_module("M", text), "Inner": inner})

    assert {edit.told for edit in edits_of(modules, [("M", "Next")])} == {"y < 1  ->  y <= 1"}


def test_a_primed_variable_is_found_in_indices() -> None:
    module = modules_with("Next == /\\ y'[1] = 2\n        /\\ UNCHANGED <<x>>").modules["M"]

    assert set(primed(module.definitions["Next"])) == {"x", "y"}
