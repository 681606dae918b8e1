"""Variations of stories: the same for everybody, harmless without a broken rule, telling with."""

from collections.abc import Iterator
from random import Random

import pytest

from fencepost.ci.bench.mutants_on_processes import scenarios
from fencepost.conformance.runs.run_end import run_end
from fencepost.conformance.whitebox.mutants_on_processes import is_violated
from fencepost.fault_injection.stories.steps.story_step import ProduceStep, verb_of
from fencepost.impl.mutants.mutants import mutant_name
from fencepost.impl.sim.adapter import VARIATIONS, variations
from fencepost.impl.sim.draw.story_mutations import (
    BaseStory,
    Variation,
    deal,
    story_of,
    vary,
)
from fencepost.impl.sim.engine.move_lists import moves_of_variation
from fencepost.spec.pacing import MoveList
from fencepost.spec.trace import TraceEvent, encode

HEAD = "schema: 1\nid: short\n"
TEXT = f"""\
{HEAD}cluster: {{brokers: 3, first_controller: 3}}
runs:
  - {{id: broken, cluster: {{mutant: no_step_down}}}}
  - {{id: repaired, cluster: {{session_timeout_ms: 2000}}}}
steps:
  - {{create_topic: t, replicas: [1, 2]}}
  - {{produce: t/0, records: [a]}}
  - {{kill: 1}}
  - {{run_ms: 200}}
  - heal_all
  - read
  - check
"""
WORDS = ("without ", " twice", " before ", "times x", "clients beside", "proc.", "zk.", "rpc.")
"""What each kind of change says of itself."""
NUMBERS = 20
"""A fifth of them or more shows the mutant that is looked for."""


def corpus() -> list[BaseStory]:
    found = [story_of(text, name) for name, text in sorted(scenarios().items())]
    return [one for one in found if one is not None]


def bad(events: list[TraceEvent]) -> bool:
    return is_violated(events) or bool(run_end(events).unhealed)


@pytest.mark.parametrize(
    ("step", "is_varied"),
    [
        ("control: StopReplica, to: 2, partition: t/0", False),
        ("set_znode: /brokers/topics/t, data: x", False),
        ("set_znode: /config/topics/t, data: x", False),
        ("set_znode: /config/changes, data: x", False),
        ("delete_znode: /brokers/topics/t/0/leaderAndISR", False),
        ("delete_znode: /controller", True),
    ],
)
def test_commands_and_states_that_are_made_up_are_not_varied(step: str, is_varied: bool) -> None:
    text = TEXT.replace("  - read\n", f"  - {{{step}}}\n  - read\n")

    assert (story_of(text, "short") is not None) == is_varied


@pytest.mark.parametrize(("second", "is_varied"), [(0, False), (1, True)])
def test_a_number_of_a_producer_that_comes_again_is_not_varied(
    second: int, *, is_varied: bool
) -> None:
    steps = "".join(
        f"  - {{produce: t/0, records: [a{number}], producer_id: 7, base_sequence: {number}}}\n"
        for number in (0, second)
    )
    text = TEXT.replace("  - read\n", f"{steps}  - read\n")

    assert (story_of(text, "short") is not None) == is_varied


def test_of_a_file_the_last_run_without_a_mutant_is_varied() -> None:
    one = story_of(TEXT, "short")

    assert one is not None
    assert (one.name, set(one.mutants)) == ("short", {"no_step_down"})
    assert [*map(verb_of, one.steps)][:2] == ["create_topic", "produce"]
    assert (one.options.session_timeout_ms, one.first_controller) == (2000, 3)


@pytest.mark.parametrize(
    "text", [TEXT.replace("\n  - {id: repaired, cluster: {session_timeout_ms: 2000}}", ""), HEAD]
)
def test_a_file_without_steps_of_the_right_protocol_is_not(text: str) -> None:
    assert story_of(text, "short") is None


def test_no_story_comes_again_before_all_came() -> None:
    known = corpus()
    dealt = [one for n in range(1, len(known)) for one in deal(known, n, 4)][: 2 * len(known)]
    names = [one.story.name for one in dealt]

    assert len(known) > 90
    assert sorted(names[: len(known)]) == sorted(names[len(known) :])
    assert names[: len(known)] != names[len(known) :]


def test_each_record_is_another_but_for_those_of_one_producer() -> None:
    records = ("[a, b]", "[a]", "[a], producer_id: 7")
    steps = "".join(f"  - {{produce: t/0, records: {given}}}\n" for given in records)
    one = story_of(f"{HEAD}steps:\n{steps}", "short")
    assert one is not None

    plain = next(v for v in (vary(one, Random(n)) for n in range(99)) if not v.changes)

    values = [step.records for step in plain.steps if isinstance(step, ProduceStep)]
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
    known = [one for one in corpus() if one.options.flush_ms]
    dealt = [vary(one, Random(n)) for one in known for n in range(20)]

    assert known
    assert all(one.changes == () for one in dealt)


@pytest.mark.long
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


@pytest.mark.long
def test_a_broken_rule_is_seen_in_what_was_written_for_another() -> None:
    mutant = "accept_older_controller_epoch"
    dealt = (one for number in range(1, NUMBERS + 1) for one in of_number(number, mutant))

    told = next((told for told, events in dealt if bad(events)), None)

    assert told is not None, f"none of {NUMBERS} numbers shows {mutant}"
    assert "h22" not in told


@pytest.mark.long
def test_what_was_written_for_the_mutant_can_be_left_out() -> None:
    dealt = [*deal(corpus(), 1, VARIATIONS)]
    mutant = next(mutant for one in dealt for mutant in sorted(one.story.mutants))

    told = [what for what, _ in of_number(1, mutant)]

    assert told == [one.told for one in dealt if mutant not in one.story.mutants]
    assert len(told) < VARIATIONS


@pytest.mark.long
def test_the_same_variation_is_the_same_run_and_its_moves_can_be_made() -> None:
    variation = next(one for one in deal(corpus(), 1, VARIATIONS) if one.changes)
    first, again = (played(variation) for _ in range(2))
    moves = next(made for number in range(1, NUMBERS) if (made := moves_of(number)))

    assert [*map(encode, first)] == [*map(encode, again)]
    assert first[-1].action == "RunEnded"
    assert all(one.settles and one.mutant == "no_step_down" for one in moves)
    assert {"client-final"} <= {move.client for one in moves for move in one.moves}


def moves_of(number: int) -> list[MoveList]:
    """Of all variations of the number; none where processes cannot make one of them."""
    drawn = variations(scenarios(), number, mutant="no_step_down", skips_own=True)
    try:
        return [make() for _, make, _ in drawn]
    except ValueError:
        return []


def played(variation: Variation) -> list[TraceEvent]:
    make, events = moves_of_variation(variation, mutant_name("no_step_down"), "again")
    assert make().moves
    return events
