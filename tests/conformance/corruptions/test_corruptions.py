"""The checks reject each kind of corruption of what levels 3 to 5 add, wherever it has a place.

`corruptions.md` says which do.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain, islice
from pathlib import Path

import pytest

from fencepost.conformance.checks.registry import run_checks
from fencepost.impl.sim.adapter import play_story, simulate
from fencepost.spec.vocabulary import ProtocolLevel
from tests.conformance.corruptions.kinds import OF_LEVEL_3, OF_LEVEL_4, OF_LEVEL_5
from tests.spec.replay.corruptions import Corruption, Events

TABLE = Path(__file__).parent / "corruptions.md"
KINDS: Mapping[ProtocolLevel, Mapping[str, Corruption]] = {
    ProtocolLevel.BROKER_EPOCH: OF_LEVEL_3,
    ProtocolLevel.MAX_BROKER_EPOCH: OF_LEVEL_4,
    ProtocolLevel.CONTROLLER_MUTATIONS: OF_LEVEL_5,
}
SEED = 3
"""A short run in which every kind of its level has a place."""
PLACES_MAX = 3
"""So many of each kind are tried."""


@cache
def run_of(level: ProtocolLevel) -> Events:
    """At level 3 a broker asks to end."""
    if level > ProtocolLevel.BROKER_EPOCH:
        return simulate(SEED, level=level)
    end = {"kind": "proc.term", "id": "end", "target": 1, "for_ms": 2000}
    return play_story({"schema": 1, "id": "end", "actions": [end]}, level=level)


def violated(events: Events) -> set[str]:
    return {result.invariant.value for result in run_checks(events) if result.violations}


@pytest.mark.parametrize("level", KINDS)
def test_what_is_not_corrupted_is_accepted(level: ProtocolLevel) -> None:
    assert violated(run_of(level)) == set()


def rows(level: ProtocolLevel) -> Iterator[str]:
    """Of each kind, the checks that reject it at each of its places, and those that do at one."""
    for kind, corruption in KINDS[level].items():
        places = [violated(one.events) for one in islice(corruption(run_of(level)), PLACES_MAX)]
        always, ever = set.intersection(*places), set.union(*places)
        told = [*sorted(always), *(f"({name})" for name in sorted(ever - always))]
        yield f"| {kind} | {level} | {', '.join(told)} |"
        assert all(places), kind


def test_each_kind_is_rejected_as_the_table_says() -> None:
    head = ["| corruption | level | checks |", "|---|---|---|"]
    told = "\n".join([*head, *chain.from_iterable(map(rows, KINDS)), ""])

    assert told == TABLE.read_text(encoding="utf-8")
