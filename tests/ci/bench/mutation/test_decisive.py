"""Which rules are decisive in a run, told by a core that is probed."""

import json
import sys
import tomllib
from textwrap import dedent
from typing import Any

import pytest

from fencepost.ci.bench.mutation.python.core_reach import PLAY, Played, Reach, measured
from fencepost.ci.bench.mutation.python.decisive import core_edits
from fencepost.ci.bench.mutation.python.limited_run import run_limited
from fencepost.ci.bench.mutation.python.play import digest_of
from fencepost.ci.bench.mutation.python.probed import PROBES, Probes, probed
from fencepost.ci.bench.mutation.python.python_edits import python_edits
from fencepost.ci.bench.mutation.python.scratch_tree import ROOT, environment
from fencepost.ci.bench.mutation.seeds import OFTEN, choose, document, page
from fencepost.ci.gate.seeds import (
    CHOSEN,
    EARLIER_LEVELS,
    GateSeed,
    all_chosen,
    chosen_seeds,
    earlier_seeds,
    gate_seeds,
)
from fencepost.ci.gate.tiers import EFFORT
from fencepost.conformance.whitebox.simulate import Subject
from fencepost.spec.tlc.models import Tier
from fencepost.spec.vocabulary import NEWEST_LEVEL

CHANGED_MAX = 0.05
"""Of the rules; the night looks at all of them."""
STORY = "tests/stories/failover.yaml"


def decisive(text: str, call: str) -> tuple[object, set[str]]:
    """What a call gives, and the edits of the text that would have decided otherwise."""
    text = dedent(text)
    edits = python_edits("m.py", text)
    probes = Probes()
    known: dict[str, Any] = {PROBES: probes}
    exec(compile(probed(text, enumerate(edits)), "m.py", "exec"), known)  # noqa: S102 (the text stands above)
    value = eval(call, known)  # noqa: S307
    return value, {f"{edits[one].kind} {edits[one].before}" for one in probes.decisive}


def test_the_operand_that_decides_is_decisive() -> None:
    text = """\
        def f(a, b):
            return b is not None and a < b
    """
    is_there, is_less = "drop_operand b is not None", "drop_operand a < b"

    assert decisive(text, "f(1, 2)") == (True, {"comparison b is not None"})
    for call, dropped in (("f(2, 1)", is_less), ("f(1, None)", is_there)):
        value, told = decisive(text, call)
        assert not value
        assert {is_there, is_less} & told == {dropped}
    assert "comparison a < b" in decisive(text, "f(2, 2)")[1]
    assert "comparison a < b" not in decisive(text, "f(2, 1)")[1]


def test_a_guard_is_decisive_where_it_holds() -> None:
    text = """\
        def f(a):
            if a:
                return 0
            return 1
    """
    assert decisive(text, "f(True)") == (0, {"drop_guard a"})
    assert decisive(text, "f(False)") == (1, {"condition_true a"})


def test_a_filter_is_decisive_where_it_drops_something() -> None:
    text = "def f(some):\n    return [one for one in some if one]\n"

    assert decisive(text, "f([1, 2])") == ([1, 2], set())
    assert decisive(text, "f([1, 0])") == ([1], {"drop_filter one"})


def test_a_keyword_of_replace_is_decisive_where_it_changes_something() -> None:
    text = """\
        from msgspec import Struct
        from msgspec.structs import replace
        class S(Struct):
            a: int = 0
            b: int = 0
        def f(a, b):
            return replace(S(), a=a, b=b).a
    """
    _, told = decisive(text, "f(1, 0)")

    assert len([one for one in told if one.startswith("drop_replace")]) == 1
    assert decisive(text, "f(0, 0)") == (0, set())


def test_what_binds_a_name_or_waits_is_done_once() -> None:
    text = """\
        def f(some):
            if (one := some.pop()) and one > 1:
                yield one
            got = 0 or (yield 7)
            yield got
    """
    value, _ = decisive(text, "list(f([1, 2]))")

    assert value == [2, 7, None]


@pytest.mark.long
def test_a_probed_core_does_what_the_core_does() -> None:
    request = {"decisive": True, "seeds": ["7@3", "7@5"], "stories": [STORY]}
    command = [sys.executable, "-m", PLAY, json.dumps(request)]
    ended = run_limited(command, cwd=ROOT, environment=environment(), cpu_s=120)
    assert ended.code == 0, ended.errors
    found = json.loads(ended.output)
    edits = core_edits()

    for name in ("7@3", "7@5"):
        level, seed = GateSeed.parse(name)
        assert found[name]["digest"] == digest_of(Subject(level=level).simulate(seed))
    for run in ("7@3", STORY):
        told = {edits[number].module for number in found[run]["decisive"]}
        assert {"impl/core/rules/isr.py", "impl/core/controller/controller.py"} <= told
    later = {
        edits[number].module for number in {*found["7@5"]["decisive"]} - {*found["7@3"]["decisive"]}
    }
    assert "impl/core/rules/configuration/redirection.py" in later


@pytest.mark.long
def test_the_digest_of_a_seed_is_that_of_the_core_without_probes() -> None:
    """Here a probe has the quotas read a moment earlier."""
    seed = GateSeed.parse("201@3")

    played = measured(["201@3"], [])["201@3"]

    assert played["digest"] == digest_of(Subject(level=seed.level).simulate(seed.seed))
    assert played["decisive"]


@pytest.mark.long
def test_what_a_level_puts_in_place_is_decisive_in_every_run() -> None:
    levels = {n for n, edit in enumerate(core_edits()) if edit.operator == "understand"}
    played = measured([], [STORY, "tests/stories/charge_per_topic.yaml"])

    assert levels
    assert [path for path, run in played.items() if not levels & {*run["decisive"]}] == []


def test_the_seeds_that_are_chosen_have_each_rule_thrice() -> None:
    pool = {n: frozenset({n % 5, 5 + n % 7, *((20,) if n == 33 else ())}) for n in range(40)}
    chosen = choose(pool, 24)
    rules = [rule for seed in chosen for rule in pool[seed]]

    assert len({*chosen}) == 24
    assert all(rules.count(rule) >= OFTEN for rule in range(12))
    assert 33 in chosen
    assert choose(pool, 24) == chosen


def test_of_seeds_that_show_the_same_the_shorter_one_is_chosen() -> None:
    pool = {n: frozenset({1}) for n in range(6)}
    chosen = choose(pool, 4, {**dict.fromkeys(pool, 90), 5: 30})

    assert chosen == [5, 0, 1, 2]


def test_the_file_of_the_seeds_is_in_step() -> None:
    told = tomllib.loads(CHOSEN.read_text())
    rules = sum(not edit.is_at_import for edit in core_edits())
    seeds = all_chosen()

    assert len(seeds) == len({*seeds}) == EFFORT[Tier.QUICK].seeds
    assert told["rules"] == sum(told[f"decisive_{how}"] for how in ("often", "seldom", "nowhere"))
    assert abs(told["rules"] - rules) < rules * CHANGED_MAX, (
        "the core has changed: python -m fencepost.ci.bench.mutation.seeds chooses anew"
    )


def test_the_file_has_the_seeds_and_how_often_rules_are_decisive() -> None:
    edits = core_edits()
    shown = {1: {10, 11}, 2: {10}, 3: {10}, 4: set[int]()}
    reach = Reach(
        edits=edits,
        seeds={
            seed_at(seed): Played(digest="", decisive=frozenset(rules))
            for seed, rules in shown.items()
        },
        stories={},
    )
    told = tomllib.loads(document([seed_at(n) for n in (3, 2, 1)], reach))

    assert told["seeds"] == {str(int(NEWEST_LEVEL)): [3, 2, 1]}
    assert (told["decisive_often"], told["decisive_seldom"]) == (1, 1)
    assert told["rules"] == told["decisive_nowhere"] + 2


def test_another_run_of_the_gate_has_other_seeds() -> None:
    first, second, third = (gate_seeds(200, run) for run in range(3))

    assert first[: len(chosen_seeds())] == chosen_seeds()
    assert len({*first, *second, *third}) == 600
    assert gate_seeds(3) == chosen_seeds()[:3]
    for level in EARLIER_LEVELS:
        assert earlier_seeds()[level] == chosen_seeds(level)
        assert not {*earlier_seeds(1)[level]} & {*earlier_seeds(2)[level]}
        assert not {*earlier_seeds(1)[level]} & {*chosen_seeds(level)}


def seed_at(number: int) -> GateSeed:
    return GateSeed(NEWEST_LEVEL, number)


def test_the_page_names_functions_with_rules_that_are_decisive_too_seldom() -> None:
    edits = core_edits()
    number = next(n for n, edit in enumerate(edits) if not edit.is_at_import)
    every = frozenset(range(len(edits))) - {number}
    reach = Reach(
        edits=edits,
        seeds={seed_at(seed): Played(digest="", decisive=every) for seed in range(3)},
        stories={},
    )
    *_, row = page([seed_at(n) for n in range(3)], reach).strip().splitlines()

    assert edits[number].operator in row
    assert row.endswith("| 0 | 1 |")
