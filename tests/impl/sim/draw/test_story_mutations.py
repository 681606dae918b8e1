"""Variations of scenarios: the same for everybody, harmless without a broken rule, telling with."""

from collections.abc import Iterator
from random import Random

import pytest

from fencepost.ci.bench.mutants_on_processes import scenarios
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.whitebox.mutants_on_processes import is_violated
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.adapter import VARIATIONS, variations
from fencepost.impl.sim.draw.story_mutations import (
    BaseStory,
    Variation,
    deal,
    scenario_of,
    vary,
)
from fencepost.impl.sim.engine.move_lists import moves_of_variation
from fencepost.spec.trace import TraceEvent, encode

TEXT = """\
cluster mutant=no_step_down brokers=3 controller=3
create-topic t replicas=1,2
----
ok

cluster brokers=3 controller=3 session_timeout_ms=2000
create-topic t replicas=1,2
produce t/0 a
kill broker=1
run 200ms
settle
read
check
----
ok
"""
WORDS = ("without ", " twice", " before ", "times x", "clients beside", "proc.", "zk.", "rpc.")
"""What each kind of change says of itself."""


def corpus() -> list[BaseStory]:
    found = [scenario_of(text, name) for name, text in sorted(scenarios().items())]
    return [one for one in found if one is not None]


def bad(events: list[TraceEvent]) -> bool:
    return is_violated(events) or bool(run_end(events).unhealed)


def test_of_a_file_the_last_cluster_without_a_mutant_is_varied() -> None:
    one = scenario_of(TEXT, "short.txt")

    assert one is not None
    assert (one.name, set(one.mutants)) == ("short", {"no_step_down"})
    assert [c.verb for c in one.commands][:3] == ["cluster", "create-topic", "produce"]
    assert one.commands[0].options["session_timeout_ms"] == "2000"


@pytest.mark.parametrize(
    "text", [TEXT.partition("\n\n")[0] + "\n", "cluster brokers=3\n----\nok\n"]
)
def test_a_file_without_a_story_of_the_right_protocol_is_not(text: str) -> None:
    assert scenario_of(text, "short.txt") is None


def test_no_scenario_comes_again_before_all_came() -> None:
    known = corpus()
    dealt = [one for n in range(1, 60) for one in deal(known, n, 4)][: 2 * len(known)]
    names = [one.scenario.name for one in dealt]

    assert len(known) > 90
    assert sorted(names[: len(known)]) == sorted(names[len(known) :])
    assert names[: len(known)] != names[len(known) :]


def test_each_record_is_another_but_for_those_of_one_producer() -> None:
    text = "cluster\nproduce t/0 a b\nproduce t/0 a\nproduce t/0 a producer=7\n----\nok\n"
    one = scenario_of(text, "short.txt")
    assert one is not None

    plain = next(v for v in (vary(one, Random(n)) for n in range(99)) if not v.changes)

    values = [c.words[1:] for c in plain.commands[1:]]
    assert len({*values[0], *values[1]}) == 3
    assert values[2] == ("a",)


def test_the_number_alone_decides_and_every_kind_of_change_comes() -> None:
    known = corpus()
    dealt = [one for n in range(1, 21) for one in deal(known, n, VARIATIONS)]
    told = [change for one in dealt for change in one.changes]

    assert [*deal(known, 7, VARIATIONS)] == dealt[6 * VARIATIONS : 7 * VARIATIONS]
    assert all(any(word in change for change in told) for word in WORDS)
    assert any(not one.changes for one in dealt)


def test_where_records_are_acknowledged_before_a_disk_has_them_nothing_else_changes() -> None:
    known = [one for one in corpus() if "flush_ms" in one.commands[0].options]
    dealt = [vary(one, Random(n)) for one in known for n in range(20)]

    assert known
    assert all(one.changes == () for one in dealt)


def test_without_a_broken_rule_nothing_is_wrong() -> None:
    found = [
        (number, told)
        for number in (1, 2)
        for told, _, events in variations(scenarios(), number, mutant=None, skips_own=False)
        if bad(events)
    ]

    assert found == []


def of_number(number: int, mutant: str) -> Iterator[tuple[str, list[TraceEvent]]]:
    for told, _, events in variations(scenarios(), number, mutant=mutant, skips_own=True):
        yield told, events


def test_a_broken_rule_is_seen_in_what_was_written_for_another() -> None:
    told = [told for told, events in of_number(1, "accept_older_controller_epoch") if bad(events)]

    assert told
    assert not any("h22" in one for one in told)


def test_what_was_written_for_the_mutant_can_be_left_out() -> None:
    dealt = [*deal(corpus(), 1, VARIATIONS)]
    mutant = next(mutant for one in dealt for mutant in sorted(one.scenario.mutants))

    told = [what for what, _ in of_number(1, mutant)]

    assert told == [one.told for one in dealt if mutant not in one.scenario.mutants]
    assert len(told) < VARIATIONS


def test_the_same_variation_is_the_same_run_and_its_moves_can_be_made() -> None:
    variation = next(one for one in deal(corpus(), 1, VARIATIONS) if one.changes)
    first, again = (played(variation) for _ in range(2))
    moves = [
        make() for _, make, _ in variations(scenarios(), 1, mutant="no_step_down", skips_own=True)
    ]

    assert [*map(encode, first)] == [*map(encode, again)]
    assert first[-1].action == "RunEnded"
    assert all(one.settles and one.mutant == "no_step_down" for one in moves)
    assert {"client-final"} <= {move.client for one in moves for move in one.moves}


def played(variation: Variation) -> list[TraceEvent]:
    make, events = moves_of_variation(variation, mutant_name("no_step_down"), "again")
    assert make().moves
    return events
