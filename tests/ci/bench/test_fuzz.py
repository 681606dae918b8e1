"""How the growth of a broker is read from its memory after each round."""

import sys
from pathlib import Path

import pytest

from fencepost.ci.bench.fuzz import GROWTH_MB_MAX, ROUND, growth_mb, measure
from fencepost.conformance.adapters.command_line import CommandLine

LEAKY = Path(__file__).with_name("leaky_broker.py")
ROUNDS = 15
"""After the second one more than 100 MB are refused unread."""


def test_what_swings_is_no_growth() -> None:
    assert growth_mb([60.0, 70, *[120.0, 260, 180, 110] * 5]) <= 0


def test_what_is_kept_for_good_is_seen_below_the_swings() -> None:
    sizes = [100.0 + number + 150 * (number % 3) for number in range(100)]

    assert growth_mb(sizes) == 78


@pytest.mark.zookeeper
def test_a_broker_that_keeps_what_it_refuses_is_seen_to_grow(tmp_path: Path) -> None:
    leaky = CommandLine(command=f"{sys.executable} {LEAKY} node")

    seen = measure(ROUNDS * ROUND, 0, tmp_path, leaky)

    assert seen.growth_mb > GROWTH_MB_MAX
    assert [wrong for wrong in seen.wrong if not wrong.startswith("the broker grew by ")] == []
